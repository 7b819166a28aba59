//! What the trainer's tests share: a folder that goes away, the program itself, a shard of games, random networks.
#![allow(dead_code, reason = "each test uses what it needs")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use burn::module::Module;
use glance::board::Pool;
use glance::network::{Config, Kernels, Network};
use glance_trainer::data::movetext;
use glance_trainer::data::shard::{self, GameHead, GameResult, Kind};

/// A temporary folder, removed when dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty folder of this name.
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("glance-trainer-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("temporary folder");
        Folder(path)
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("temporary folder");
        std::fs::write(&path, bytes).expect("writable");
        path
    }

    /// Runs the trainer in it.
    pub fn trainer(&self, arguments: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_glance-trainer"))
            .current_dir(&self.0)
            .args(arguments.split_whitespace())
            .output()
            .expect("it starts")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes games with their results as a shard of masters' games.
pub fn write_games(path: &Path, games: &[(&str, GameResult)]) {
    let records: Vec<Vec<u8>> = games
        .iter()
        .map(|&(text, result)| {
            let head = GameHead { result, pool: Pool::Otb, white: Some(2600), black: Some(2500), time_control: None };
            shard::encode_game(&head, &movetext::parse(text).expect("a game"))
        })
        .collect();
    shard::write(path, Kind::Games, &records).expect("written");
}

/// The seed is the process's own, and tests run side by side: who makes a network has it to themselves until all weights are drawn.
static SEED: Mutex<()> = Mutex::new(());

/// The same random network each time, whatever the other tests do.
pub fn seeded<B: Kernels>(config: &Config, seed: u64) -> Network<B> {
    let _alone = SEED.lock().unwrap_or_else(PoisonError::into_inner);
    let device = B::Device::default();
    B::seed(&device, seed);
    let network = Network::new(config, &device);
    // Parameters are drawn when they are first looked at.
    network.fork(&device)
}
