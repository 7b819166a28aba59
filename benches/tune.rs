//! One tree search against another by games, with the shipped network: how the constants are set.
//!
//! ```console
//! cargo bench --bench tune -- nodes=32 pairs=50 openings=openings.epd a.c_puct=1.5 b.c_puct=2.0
//! ```
//!
//! Every opening is played twice, with colours exchanged. `a.` and `b.` set constants of the two: `c_puct`, `c_factor`, `c_base`,
//! `fpu_reduction`, `below`, `most`, `visit`, `scale` (the last four are the halving's), and `nodes`. Prints A's score and the Elo
//! difference with its 95 % interval, from the pairs of games.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use glance::board::{Conditions, Game, Terminal};
use glance::evaluate::{BackendName, Cached, Evaluator, Stop, open};
use glance::search::{Limits, Search, Task, Tree};
use shakmaty::Position;

/// As in the engine.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Clone, Copy)]
struct Side {
    tree: Tree,
    nodes: u64,
}

impl Side {
    fn set(&mut self, name: &str, value: f32) {
        let Tree { c_puct, c_factor, c_base, fpu_reduction, halving, .. } = &mut self.tree;
        match name {
            "c_puct" => *c_puct = value,
            "c_factor" => *c_factor = value,
            "c_base" => *c_base = value,
            "fpu_reduction" => *fpu_reduction = value,
            "below" => halving.below = value as u64,
            "most" => halving.most = value as usize,
            "visit" => halving.visit = value,
            "scale" => halving.scale = value,
            "nodes" => self.nodes = value as u64,
            _ => panic!("no constant '{name}'"),
        }
    }
}

/// Points of White.
fn play(start: &Game, white: &Side, black: &Side, evaluator: &dyn Evaluator) -> f64 {
    let mut game = start.clone();
    for _ in 0..300 {
        match game.terminal() {
            Some(Terminal::Checkmate) => return game.position().turn().fold_wb(0.0, 1.0),
            Some(_) => return 0.5,
            None => {}
        }
        let side = game.position().turn().fold_wb(white, black);
        let limits = Limits { nodes: Some(side.nodes), deepen: true, ..Limits::default() };
        let stop = Stop::new(false, None);
        let task = Task {
            game: &game,
            conditions: &Conditions::STRONGEST,
            limits: &limits,
            lines: 1,
            stop: &stop,
            evaluator,
            memory: 32 << 20,
            kept: None,
            endings: None,
        };
        let answer = side.tree.search(&task, &mut |_| {});
        let Some(line) = answer.best() else { break };
        game.play(line.moves[0]);
    }
    0.5
}

fn main() {
    let (mut pairs, mut openings) = (20, String::new());
    let side = Side { tree: Tree::default(), nodes: 32 };
    let (mut a, mut b) = (side, side);
    for argument in std::env::args().skip(1).filter(|a| !a.starts_with("--")) {
        let (name, value) = argument.split_once('=').expect("name=value");
        let number = || value.parse::<f32>().expect("a number");
        match name.split_once('.') {
            Some(("a", name)) => a.set(name, number()),
            Some(("b", name)) => b.set(name, number()),
            _ => match name {
                "pairs" => pairs = number() as usize,
                "openings" => openings = value.to_owned(),
                name => [&mut a, &mut b].into_iter().for_each(|side| side.set(name, number())),
            },
        }
    }
    let text = std::fs::read_to_string(&openings).unwrap_or_default();
    let mut starts: Vec<Game> = text.lines().filter_map(|line| Game::from_fen(line).ok()).collect();
    if starts.is_empty() {
        println!(
            "openings='{openings}': no positions there; the start of the game is played, which gives two games only"
        );
        starts.push(Game::default());
        pairs = 1;
    }
    // Spread over the file, always the same ones.
    let step = (starts.len() / pairs.max(1)).max(1);
    let starts: Vec<&Game> = starts.iter().step_by(step).take(pairs).collect();
    let (next, points) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let inner = open(glance::play::embedded_weights(), BackendName::Flex, 1).expect("the shipped weights");
                let evaluator = Cached::new(inner, 64 << 20);
                while let Some(start) = starts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    evaluator.clear();
                    let pair = play(start, &a, &b, &evaluator) + 1.0 - play(start, &b, &a, &evaluator);
                    points.lock().expect("no panics").push(pair);
                }
            });
        }
    });
    let points = points.into_inner().expect("no panics");
    let n = points.len() as f64;
    let mean = points.iter().sum::<f64>() / n / 2.0;
    let variance = points.iter().map(|p| (p / 2.0 - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let error = 1.96 * (variance / n).sqrt();
    let elo = |score: f64| -400.0 * (1.0 / score.clamp(1e-3, 1.0 - 1e-3) - 1.0).log10();
    println!(
        "A: {:.1} % of {} games, {:+.0} Elo ({:+.0} to {:+.0})",
        100.0 * mean,
        2 * points.len(),
        elo(mean),
        elo(mean - error),
        elo(mean + error)
    );
}
