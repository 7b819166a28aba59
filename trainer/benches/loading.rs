//! How fast batches are made from shards, on one thread: positions a second, medians of several rounds.
//!
//! `cargo bench -p glance-trainer --bench loading -- data/train online otb train`

use std::path::PathBuf;
use std::time::Instant;

use glance_trainer::data::mixture::{Mixture, Share};
use glance_trainer::data::sample::Augmentation;

/// As in the trainer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCH: usize = 512;
const ROUNDS: u64 = 5;

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let Some((folder, prefixes)) = arguments.split_first() else {
        eprintln!("loading: a folder of shards, and the beginnings of their names, are expected");
        return;
    };
    println!("| source | in pools | each drawn by itself |\n|---|---|---|");
    for prefix in prefixes {
        let mixture = match Mixture::open(&PathBuf::from(folder), &[Share::new(prefix, 1.0)], Augmentation::default()) {
            Ok(mixture) => mixture,
            Err(error) => return eprintln!("loading: {error}"),
        };
        let (mut pools, mut single) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let start = Instant::now();
            let made = mixture.pool(1, round, BATCH).len() as f64;
            pools.push(made / start.elapsed().as_secs_f64());
            let start = Instant::now();
            let made = mixture.set(round, 8192).len() as f64;
            single.push(made / start.elapsed().as_secs_f64());
        }
        println!("| {prefix} | {:.0} positions/s | {:.0} positions/s |", median(pools), median(single));
    }
}
