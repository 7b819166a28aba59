//! One tree search against others, with the shipped network: how the constants are set.
//!
//! ```console
//! cargo bench --bench tune -- nodes=32 pairs=50 openings=openings.epd a.c_puct=1.5 b.c_puct=2.0
//! cargo bench --bench tune -- clock=6000 increment=60 pairs=50 openings=openings.epd b.falling=0
//! cargo bench --bench tune -- nodes=128 suite=sts.epd suite=wac.epd b.fpu_reduction=0.3 c.fpu_reduction=0.2
//! ```
//!
//! A letter and a dot before a name set a constant of one side, `a.` of the first, which all others are compared with: `c_puct`, `c_factor`,
//! `c_base`, `fpu_reduction`, `prior_temperature`; the halving's `below`, `most`, `visit`, `scale`; the exchanges' `settled`, `standing`,
//! `choice`, `hope`, `tries`, `deeper` (`exchanges=0` for none); `transpositions` (0: each is looked at anew); `repetitions` (0: only the third
//! is a draw); `falling`, `doubt`, `sure`, by which the clock is used; `rating` and `pool` (its number), which the network is told (0 and -1:
//! nothing); and `nodes`, or `clock` and `increment` in milliseconds. Without a letter, those of all sides.
//! `openings` are played as games: prints A's score and the Elo difference with its 95 % interval, from the pairs of games. A `suite` is of
//! test positions (EPD), where small differences show sooner, and where sides share what the network says: the more at once, the less each
//! takes. `threads` of them at a time; all cores unless told.

mod games;
mod side;
mod suite;
mod workers;

use std::collections::BTreeMap;

use side::Side;

/// As in the engine.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let (mut pairs, mut openings, mut suites) = (20, None, Vec::new());
    let mut threads = std::thread::available_parallelism().map_or(1, usize::from);
    // What is for all sides first, wherever it stands.
    let (mut for_all, mut for_one) = (Side::default(), BTreeMap::from([('a', Vec::new()), ('b', Vec::new())]));
    for argument in std::env::args().skip(1).filter(|a| !a.starts_with("--")) {
        let (name, value) = argument.split_once('=').expect("name=value");
        let number = || value.parse::<f32>().expect("a number");
        if let Some((side, name)) = name.split_once('.') {
            let letter = side.parse::<char>().expect("a letter before the dot");
            for_one.entry(letter).or_default().push((name.to_owned(), number()));
            continue;
        }
        match name {
            "pairs" => pairs = number() as usize,
            "threads" => threads = number() as usize,
            "openings" => openings = Some(value.to_owned()),
            "suite" => suites.push(value.to_owned()),
            name => for_all.set(name, number()),
        }
    }
    let sides: Vec<(char, Side)> = for_one
        .into_iter()
        .map(|(letter, constants)| {
            let mut side = for_all;
            constants.iter().for_each(|(name, value)| side.set(name, *value));
            (letter.to_ascii_uppercase(), side)
        })
        .collect();
    for path in &suites {
        suite::compare(&sides, path, threads);
    }
    if openings.is_some() || suites.is_empty() {
        let openings = openings.unwrap_or_default();
        for (letter, other) in &sides[1..] {
            println!("A against {letter}:");
            games::compare(&sides[0].1, other, &openings, pairs, threads);
        }
    }
}
