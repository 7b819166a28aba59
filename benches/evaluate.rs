//! Milliseconds for one pass of the shipped network: `cargo bench --bench evaluate -- <backend> <batch> <passes>`.
//!
//! With `dump` in place of a backend: inputs and outputs of a few positions as JSON, for the PyTorch twin in
//! `benches/twin.py`, which runs all of this side by side with ONNX Runtime.

use std::time::Instant;

use glance::board::{Conditions, Edge, Features, Game, MoveIndex, attacked};
use glance::network::{Int8, Kernels, Moves, Network, Output, load};

/// As in the engine.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MOVES: &str =
    "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6 c1e3 e7e5 d4b3 c8e6 f2f3 f8e7 d1d2 e8g8 e1c1 b8d7";

fn positions(count: usize) -> Vec<Features> {
    let mut game = Game::default();
    let mut out = vec![Features::of(&game, &Conditions::STRONGEST)];
    for text in MOVES.split(' ') {
        game.play(game.parse_uci(text).expect("the line above is legal"));
        out.push(Features::of(&game, &Conditions::STRONGEST));
    }
    out.into_iter().cycle().take(count).collect()
}

/// Policy and value, as numbers.
fn numbers<B: Kernels>(output: Output<B>) -> (Vec<f32>, Vec<f32>) {
    let Moves::Logits(moves) = output.moves else { panic!("the shipped network has logits") };
    let value = output.value.expect("the shipped network has a value");
    (moves.into_data().iter().collect(), value.into_data().iter().collect())
}

fn median(passes: usize, mut pass: impl FnMut()) {
    let mut times: Vec<f64> = (0..passes + 5)
        .map(|_| {
            let start = Instant::now();
            pass();
            start.elapsed().as_secs_f64() * 1e3
        })
        .skip(5)
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{:.4}", times[times.len() / 2]);
}

fn time<B: Kernels>(batch: usize, passes: usize) {
    let device = Default::default();
    let network: Network<B> = load(glance::play::embedded_weights(), &device).expect("the shipped weights");
    let features = positions(batch);
    median(passes, || {
        let _ = numbers(network.forward(network.pack(features.iter(), &device)));
    });
}

/// Forty moves of each position, as many as there usually are.
fn time_int8(batch: usize, passes: usize) {
    let network: Network<burn_flex::Flex> =
        load(glance::play::embedded_weights(), &Default::default()).expect("the shipped weights");
    let int8 = Int8::of(&network).expect("Glance's own system, on a processor that multiplies and adds in one step");
    let moves: Vec<MoveIndex> = (0..40).filter_map(|i| MoveIndex::new(i * 49)).collect();
    let features = positions(batch);
    median(passes, || {
        for features in &features {
            std::hint::black_box(int8.look(features, &moves));
        }
    });
}

fn dump() {
    let device = Default::default();
    let network: Network<burn_flex::Flex> =
        load(glance::play::embedded_weights(), &device).expect("the shipped weights");
    let features = positions(8);
    let config = network.config();
    let output = network.forward(network.pack(features.iter(), &device));
    let inputs: Vec<_> = features
        .iter()
        .map(|f| {
            let codes: Vec<Vec<u8>> = f.codes.iter().map(|b| b.to_vec()).collect();
            let marks: Vec<u64> = f.marks.into_iter().chain(attacked(&f.codes[0])).collect();
            let edges: Vec<_> = Edge::all(&config.edges(), f).iter().map(|sets| sets.to_vec()).collect();
            serde_json::json!({ "codes": codes, "marks": marks, "globals": f.globals.to_vec(), "edges": edges })
        })
        .collect();
    let (policy, value) = numbers(output);
    println!("{}", serde_json::json!({ "inputs": inputs, "policy": policy, "value": value }));
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let number = |i: usize, default| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (batch, passes) = (number(1, 1), number(2, 50));
    match args.first().map(String::as_str) {
        Some("dump") => dump(),
        Some("int8") => time_int8(batch, passes),
        Some("flex") => time::<burn_flex::Flex>(batch, passes),
        Some("ndarray") => time::<burn_ndarray::NdArray<f32>>(batch, passes),
        _ => {
            for batch in [1, 16] {
                print!("int8 batch {batch}, ms: ");
                time_int8(batch, passes);
                print!("flex batch {batch}, ms: ");
                time::<burn_flex::Flex>(batch, passes);
                print!("ndarray batch {batch}, ms: ");
                time::<burn_ndarray::NdArray<f32>>(batch, passes);
            }
        }
    }
}
