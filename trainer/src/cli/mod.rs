//! The command line: one file a command, which declares its arguments and does it.

mod average;
mod book;
mod export;
mod grow;
mod label;
mod measure;
mod output;
mod prepare;
mod train;
mod zoo;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use glance::evaluate::BackendName;

/// Makes the networks that Glance plays with.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Turn games and evaluations into shards; the same command goes on where it was stopped
    Prepare(prepare::Prepare),
    /// Let another UCI engine evaluate positions drawn from games; the same command goes on where it was stopped
    Label(label::Label),
    /// Train a network, or go on where an earlier run of the same folder stopped
    Train(train::Train),
    /// Write a run's averaged weights to a file that the engine plays with
    Export(export::Export),
    /// Write the weights that training begins with: those of a network, with what a recipe's has besides
    Grow(grow::Grow),
    /// Write the mean of the weights of several networks that were trained from each other's
    Average(average::Average),
    /// Measure a weights file on positions and puzzles that it was not trained on
    Measure(measure::Measure),
    /// Train several systems under one budget, measure them, let them play each other, and write one report
    Zoo(zoo::Zoo),
    /// Make an opening book (Polyglot) from shards of games
    Book(book::MakeBook),
}

/// Whatever can go wrong, for people to read.
type Anyhow = Box<dyn std::error::Error>;

/// Does what the command line says.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Prepare(command) => command.run(),
        Command::Label(command) => command.run(),
        Command::Train(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Grow(command) => command.run(),
        Command::Average(command) => command.run(),
        Command::Measure(command) => command.run(),
        Command::Zoo(command) => command.run(),
        Command::Book(command) => command.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("glance-trainer: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A flag that Ctrl-C sets.
fn on_interrupt() -> Result<Arc<AtomicBool>, Anyhow> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))?;
    Ok(interrupted)
}

/// Reads the name of a backend that can train.
fn backends() -> impl TypedValueParser<Value = BackendName> {
    let names = BackendName::ALL.into_iter().filter(|backend| backend.trains()).map(BackendName::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<BackendName>())
}

/// The bytes of a file of weights.
fn weights(path: &Path) -> Result<Vec<u8>, Anyhow> {
    Ok(std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
