//! What two pieces of the published systems cost: `cargo bench --bench systems`.
//!
//! * A mixture of experts, by the number of experts: the time is to grow with the tokens, not with the experts. Beside it the dense
//!   computation, in which every expert looks at every token.
//! * An autoregressive policy for all legal moves: the trunk once and three short passes, against the original's way, the whole
//!   network once for each square moved from.
//!
//! Medians of alternating runs on one thread.

use std::time::Instant;

use burn::tensor::backend::Backend;
use glance::board::{Conditions, Features, Game, MoveIndex};
use glance::network::{
    Activation, Biases, Config, Embedding, Experts, Moves, Network, Norm, PolicyHead, Reads, Trunk, ValueHead,
};

/// As in the engine.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Flex = burn_flex::Flex;

const FENS: [&str; 4] = [
    "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 4 9",
    "rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2",
    "8/5pk1/4p1p1/7p/1P2P2P/3r2P1/R4PK1/8 w - - 0 40",
    "1n2k3/P6P/8/8/8/8/p6p/1N2K1N1 w - - 3 77",
];

fn features() -> Vec<Features> {
    FENS.map(|fen| Features::of(&Game::from_fen(fen).expect("legal"), &Conditions::STRONGEST)).to_vec()
}

fn encoder(experts: Option<Experts>, ffn: usize, norm: Norm, activation: Activation) -> Trunk {
    Trunk::Encoder {
        layers: 4,
        d_model: 128,
        heads: 4,
        ffn,
        norm,
        activation,
        biases: Biases::All,
        input_norm: false,
        static_bias: false,
        smolgen: None,
        edges: Vec::new(),
        cls_map: false,
        experts,
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Medians of `rounds` runs of each, in turns.
fn in_turns(rounds: usize, runs: &[&dyn Fn()]) -> Vec<f64> {
    runs.iter().for_each(|run| run());
    let mut times = vec![Vec::new(); runs.len()];
    for _ in 0..rounds {
        for (run, times) in runs.iter().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    times.into_iter().map(median).collect()
}

fn experts() {
    let device = Default::default();
    let network = |count: Option<usize>, ffn| {
        let experts = count.map(|count| Experts { count, capacity: 1.25, balance: 0.01, router_z: 0.001 });
        Network::<Flex>::new(
            &Config {
                system: "bench".into(),
                embedding: Embedding::Pieces { cls: false, flags: false, view: Default::default() },
                trunk: encoder(experts, ffn, Norm::Layer, Activation::Gelu),
                policy: PolicyHead::Classes { reads: Reads::Squares, compress: Some(1) },
                value: ValueHead::Tanh { compress: Some(1), hidden: None },
                time: None,
            },
            &device,
        )
    };
    // Every expert on every token is the work of one layer as wide as all of them.
    let (one, wide) = (network(None, 512), network(None, 16 * 512));
    let mixtures = [2, 4, 16, 64].map(|count| network(Some(count), 512));
    let features = features();
    let run = |network: &Network<Flex>| {
        let output = network.forward(network.pack(features.iter(), &device));
        let _ = output.value.map(|v| v.into_data());
    };
    let [dense, all] = [&one, &wide].map(|n| move || run(n));
    let [a, b, c, d] = [&mixtures[0], &mixtures[1], &mixtures[2], &mixtures[3]].map(|n| move || run(n));
    let times = in_turns(25, &[&dense, &a, &b, &c, &d, &all]);
    let names =
        ["one dense layer", "2 experts", "4 experts", "16 experts", "64 experts", "16 experts, computed densely"];
    println!("four positions through four blocks of width 128, feed-forward 512, ms:");
    for (name, time) in names.iter().zip(&times) {
        println!("  {name:30} {time:7.2}  {:5.2} ×", time / times[0]);
    }
}

fn autoregressive() {
    let device = Default::default();
    Flex::seed(&device, 1);
    let network = Network::<Flex>::new(
        &Config {
            system: "bench".into(),
            embedding: Embedding::Set,
            trunk: encoder(None, 512, Norm::RmsGain, Activation::SwiGlu),
            policy: PolicyHead::Autoregressive,
            value: ValueHead::None,
            time: None,
        },
        &device,
    );
    println!("all legal moves of a position by an autoregressive head of that width, ms:");
    for (fen, features) in FENS.iter().zip(features()) {
        let once = || {
            let output = network.forward(network.pack(std::iter::once(&features), &device));
            if let Moves::Probabilities(moves) = output.moves {
                let _ = moves.into_data();
            }
        };
        // The original: the whole network, with the tokens of one move behind the board's, for each square moved from.
        let own = features.men().filter(|&(_, color, _)| color == features.turn).count();
        let some_move = MoveIndex::from_uci("e2e4");
        let each = || {
            for _ in 0..own {
                let packed = network.layout().pack(std::iter::once(&features));
                if let Moves::Played(move_) =
                    network.forward(packed.ask_played(some_move.into_iter()).to_device(&device)).moves
                {
                    let _ = move_.into_data();
                }
            }
        };
        let times = in_turns(15, &[&once, &each]);
        println!("  {:6.2} against {:7.2} ({own} men): {:4.1} ×   {fen}", times[0], times[1], times[1] / times[0]);
    }
}

fn main() {
    experts();
    autoregressive();
}
