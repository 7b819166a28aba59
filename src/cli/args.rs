//! The command line. Without a command it speaks UCI.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::{GuessElo, Human, bench, board, eval_json, eval_text, eval_tree, perft};
use crate::board::Game;
use crate::evaluate::Stop;
use crate::play::{Engine, Settings};
use crate::uci::{self, options};

/// Plays chess at a glance: one look of a transformer at the board gives the moves.
#[derive(Parser)]
#[command(version, after_long_help = options_help())]
pub struct Cli {
    /// Without a command: UCI, for chess GUIs
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Sets an option, as `setoption` would; may be given again
    #[arg(long = "option", value_name = "NAME=VALUE", global = true)]
    pub options: Vec<String>,
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Speak UCI on standard input and output
    Uci,
    /// Search a fixed set of positions: nodes and speed
    Bench,
    /// Show the most probable moves of a position, and win, draw and loss
    Eval {
        /// The position; without one, the start of the game
        fen: Option<String>,
        /// All moves, as JSON
        #[arg(long, conflicts_with = "tree")]
        json: bool,
        /// The main lines of a tree search over so many positions, drawn
        #[arg(long, value_name = "NODES", num_args = 0..=1, default_missing_value = "400")]
        tree: Option<u64>,
    },
    /// Show at which rating each move of a position is found
    Human(Human),
    /// Guess the players' ratings from the moves of their games
    GuessElo(GuessElo),
    /// Count the leaves of the tree of legal moves
    Perft {
        /// Plies
        #[arg(value_parser = clap::value_parser!(u32).range(1..=12))]
        depth: u32,
        /// The position; without one, the start of the game
        fen: Option<String>,
    },
    /// Print the table of options as Markdown
    Options,
}

/// The options, for `--help`.
fn options_help() -> String {
    let mut out = String::from("Options of the engine (--option NAME=VALUE, or setoption):\n");
    for d in options::OPTIONS {
        let (default, allowed) = d.describe();
        let default = if default.is_empty() { String::new() } else { format!(", default {default}") };
        out.push_str(&format!("  {:19} {} ({allowed}{default})\n", d.name, d.help));
    }
    out
}

/// Runs the program.
pub fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "glance: {error}");
            ExitCode::FAILURE
        }
    }
}

type Failure = Box<dyn std::error::Error>;

fn run(cli: Cli) -> Result<(), Failure> {
    let mut settings = Settings::default();
    for assignment in &cli.options {
        let (name, value) =
            assignment.split_once('=').ok_or_else(|| format!("--option '{assignment}': NAME=VALUE is expected"))?;
        if let options::Effect::Clamped(used) = options::set(&mut settings, name, Some(value))? {
            let _ = writeln!(io::stderr(), "glance: {}", options::clamped(name, value, used));
        }
    }
    let out = uci::output::Output::new(io::stdout());
    out.log_to(settings.log_file.as_deref()).map_err(|e| format!("option Log File: {e}"))?;
    let mut engine = Engine::default();
    let errors = engine.configure(settings);
    if let Some(error) = errors.into_iter().next() {
        return Err(error.into());
    }
    let game = |fen: Option<String>| fen.map_or_else(|| Ok(Game::default()), |fen| Game::from_fen(&fen));
    match cli.command.unwrap_or(Command::Uci) {
        Command::Uci => uci::run(engine, io::stdin().lock(), out),
        Command::Bench => bench(&mut engine, &Stop::new(false, None), &mut |line| out.line(line))?,
        Command::Eval { fen, json: _, tree: Some(nodes) } => {
            let game = game(fen)?;
            out.line(board(&game));
            out.line("");
            out.line(eval_tree(&mut engine, &game, nodes)?);
        }
        Command::Eval { fen, json, tree: None } => {
            let game = game(fen)?;
            if json {
                out.line(eval_json(&mut engine, &game)?);
            } else {
                out.line(board(&game));
                out.line("");
                out.line(eval_text(&mut engine, &game)?);
            }
        }
        Command::Human(asked) => out.line(asked.run(&mut engine)?),
        Command::GuessElo(asked) => asked.run(&mut engine, &mut |line| out.lines(line.lines()), &mut |skipped| {
            let _ = writeln!(io::stderr(), "glance: {skipped}");
        })?,
        Command::Perft { depth, fen } => {
            let game = game(fen)?;
            if let Some((parts, total)) = perft(&game, depth, false, &Stop::new(false, None)) {
                out.lines(parts);
                out.line(format!("nodes {total}"));
            }
        }
        Command::Options => out.line(options::markdown().trim_end()),
    }
    Ok(())
}
