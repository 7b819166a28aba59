//! One tree search against another, with the shipped network: how the constants are set.
//!
//! ```console
//! cargo bench --bench tune -- nodes=32 pairs=50 openings=openings.epd a.c_puct=1.5 b.c_puct=2.0
//! cargo bench --bench tune -- clock=6000 increment=60 pairs=50 openings=openings.epd b.falling=0
//! cargo bench --bench tune -- nodes=128 suite=sts.epd suite=wac.epd a.fpu_reduction=0.3
//! ```
//!
//! `a.` and `b.` set constants of the two: `c_puct`, `c_factor`, `c_base`, `fpu_reduction`, `prior_temperature`; the halving's `below`,
//! `most`, `visit`, `scale`; the exchanges' `settled`, `standing`, `choice`, `deeper` (`exchanges=0` for none); `falling`, `doubt`, `sure`, by which the clock
//! is used; and `nodes`, or `clock` and `increment` in milliseconds. Without either, those of both. `openings` are played as games: prints
//! A's score and the Elo difference with its 95 % interval, from the pairs of games. A `suite` is of test positions (EPD), where small
//! differences show sooner. `threads` of them at a time; all cores unless told.

mod games;
mod side;
mod suite;
mod workers;

use side::Side;

/// As in the engine.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let (mut pairs, mut openings, mut suites) = (20, None, Vec::new());
    let mut threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut a, mut b) = (Side::default(), Side::default());
    for argument in std::env::args().skip(1).filter(|a| !a.starts_with("--")) {
        let (name, value) = argument.split_once('=').expect("name=value");
        let number = || value.parse::<f32>().expect("a number");
        match name.split_once('.') {
            Some(("a", name)) => a.set(name, number()),
            Some(("b", name)) => b.set(name, number()),
            _ => match name {
                "pairs" => pairs = number() as usize,
                "threads" => threads = number() as usize,
                "openings" => openings = Some(value.to_owned()),
                "suite" => suites.push(value.to_owned()),
                name => [&mut a, &mut b].into_iter().for_each(|side| side.set(name, number())),
            },
        }
    }
    for path in &suites {
        suite::compare(&a, &b, path, threads);
    }
    if openings.is_some() || suites.is_empty() {
        games::compare(&a, &b, &openings.unwrap_or_default(), pairs, threads);
    }
}
