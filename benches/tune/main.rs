//! One tree search against others, or one network: how the constants are set.
//!
//! ```console
//! cargo bench --bench tune -- nodes=32 pairs=50 openings=openings.epd a.c_puct=1.5 b.c_puct=2.0
//! cargo bench --bench tune -- clock=6000 increment=60 pairs=50 openings=openings.epd b.falling=0
//! cargo bench --bench tune -- nodes=128 suite=sts.epd suite=wac.epd b.fpu_reduction=0.3 c.fpu_reduction=0.2
//! cargo bench --bench tune -- nodes=128 suite=sts.epd b.weights=new.safetensors
//! ```
//!
//! A letter and a dot before a name set a constant of one side, `a.` of the first, which all others are compared with: `c_puct`, `c_factor`,
//! `c_base`, `fpu_reduction`, `prior_temperature`; the halving's `below`, `most`, `visit`, `scale`; the exchanges' `settled`, `standing`,
//! `choice`, `hope`, `tries`, `deeper` (`exchanges=0` for none); `transpositions` (0: each is looked at anew); `repetitions` (0: only the third
//! is a draw); `falling`, `doubt`, `sure`, by which the clock is used; `rating` and `pool` (its number), which the network is told (0 and -1:
//! nothing); `weights`, the file of its network (the shipped one unless told); and `nodes`, or `clock` and `increment` in milliseconds.
//! Without a letter, those of all sides.
//! `openings` are played as games: prints A's score and the Elo difference with its 95 % interval, from the pairs of games. A `suite` is of
//! test positions (EPD), where small differences show sooner, and where sides share what the network says: the more at once, the less each
//! takes. `threads` of them at a time; all cores unless told.

mod games;
mod side;
mod suite;
mod workers;

use std::collections::BTreeMap;

use side::Side;
use workers::Work;

/// As in the engine.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Sets what a side is told, and notes its network.
fn set(side: &mut Side, name: &str, value: &str, networks: &mut Vec<Vec<u8>>) {
    if name == "weights" {
        let weights = std::fs::read(value).unwrap_or_else(|error| panic!("weights={value}: {error}"));
        let known = networks.iter().position(|known| *known == weights);
        side.network = known.unwrap_or(networks.len());
        networks.extend(known.is_none().then_some(weights));
    } else {
        side.set(name, value.parse().expect("a number"));
    }
}

fn main() {
    let (mut pairs, mut openings, mut suites) = (20, None, Vec::new());
    let mut threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut networks = vec![glance::play::embedded_weights().to_vec()];
    // What is for all sides first, wherever it stands.
    let (mut for_all, mut for_one) = (Side::default(), BTreeMap::from([('a', Vec::new()), ('b', Vec::new())]));
    for argument in std::env::args().skip(1).filter(|a| !a.starts_with("--")) {
        let (name, value) = argument.split_once('=').expect("name=value");
        let number = || value.parse::<usize>().expect("a number");
        if let Some((side, name)) = name.split_once('.') {
            let letter = side.parse::<char>().expect("a letter before the dot");
            for_one.entry(letter).or_default().push((name.to_owned(), value.to_owned()));
            continue;
        }
        match name {
            "pairs" => pairs = number(),
            "threads" => threads = number(),
            "openings" => openings = Some(value.to_owned()),
            "suite" => suites.push(value.to_owned()),
            name => set(&mut for_all, name, value, &mut networks),
        }
    }
    let mut sides = Vec::new();
    for (letter, constants) in for_one {
        let mut side = for_all;
        constants.iter().for_each(|(name, value)| set(&mut side, name, value, &mut networks));
        sides.push((letter.to_ascii_uppercase(), side));
    }
    let work = Work { networks: &networks, threads };
    for path in &suites {
        suite::compare(&sides, path, &work);
    }
    if openings.is_some() || suites.is_empty() {
        let openings = openings.unwrap_or_default();
        for (letter, other) in &sides[1..] {
            println!("A against {letter}:");
            games::compare(&sides[0].1, other, &openings, pairs, &work);
        }
    }
}
