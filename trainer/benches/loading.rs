//! How fast batches are made from shards, on one thread: positions a second, medians of several rounds. With recipes, also how fast the samples
//! are then laid out for their networks (edges between squares are found there): the loader's threads do both.
//!
//! `cargo bench -p glance-trainer --bench loading -- ../data/train online otb train systems/glance.toml`: paths go from `trainer/`, where cargo
//! runs it.

use std::path::Path;
use std::time::Instant;

use glance::network::Layout;
use glance_trainer::data::mixture::{Mixture, Share};
use glance_trainer::data::sample::Augmentation;
use glance_trainer::train::batch::Parcel;
use glance_trainer::train::recipe::Recipe;

/// As in the trainer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCH: usize = 512;
const ROUNDS: u64 = 5;
/// Positions of each source that are laid out for a recipe.
const LAID_OUT: usize = 8 * BATCH;

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Positions a second of what makes so many of them.
fn rate(make: impl FnOnce() -> usize) -> f64 {
    let start = Instant::now();
    let made = make() as f64;
    made / start.elapsed().as_secs_f64()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let Some((folder, rest)) = arguments.split_first() else {
        eprintln!("loading: a folder of shards, the beginnings of their names, and recipes (.toml), are expected");
        return;
    };
    let (recipes, prefixes): (Vec<&String>, Vec<&String>) = rest.iter().partition(|name| name.ends_with(".toml"));
    if let Err(error) = measure(Path::new(folder), &prefixes, &recipes) {
        eprintln!("loading: {error}");
    }
}

fn measure(folder: &Path, prefixes: &[&String], recipes: &[&String]) -> Result<(), Box<dyn std::error::Error>> {
    println!("| source | in pools | each drawn by itself |\n|---|---|---|");
    let mut drawn = Vec::new();
    for prefix in prefixes {
        let mixture = Mixture::open(folder, &[Share::new(prefix, 1.0)], Augmentation::default())?;
        let (mut pools, mut single) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            pools.push(rate(|| mixture.pool(1, round, BATCH).len()));
            single.push(rate(|| mixture.set(round, 8192).len()));
        }
        println!("| {prefix} | {:.0} positions/s | {:.0} positions/s |", median(pools), median(single));
        drawn.push((prefix, mixture.set(1, LAID_OUT)));
    }
    if recipes.is_empty() {
        return Ok(());
    }
    println!("\n| recipe | source | laid out |\n|---|---|---|");
    for path in recipes {
        let network = Recipe::read(Path::new(path))?.network;
        let layout = Layout::of(&network);
        for (prefix, samples) in &drawn {
            let parcels =
                || samples.chunks(BATCH).map(|part| Parcel::of(part, &layout, &network.value).positions()).sum();
            let rates = (0..ROUNDS).map(|_| rate(parcels)).collect();
            println!("| {path} | {prefix} | {:.0} positions/s |", median(rates));
        }
    }
    Ok(())
}
