//! Every published system against its twin in PyTorch: the same weights and positions give the same numbers.
//! `tests/fixtures/make.py` wrote both files of each.

use std::collections::BTreeMap;
use std::path::Path;

use glance::board::{Conditions, Features, Game, MoveIndex, Seat};
use glance::network::{Input, Moves, Network, load};
use serde::Deserialize;
use shakmaty::{Move, Position};

type Flex = burn_flex::Flex;

/// A position, and what the twin said of it.
#[derive(Deserialize)]
struct Case {
    fen: String,
    /// Ratings of White and Black, their clocks, the increment.
    conditions: [Option<f32>; 5],
    /// A number for each legal move.
    moves: BTreeMap<String, f32>,
    value: Vec<f32>,
    auxiliary: f32,
}

impl Case {
    fn game(&self) -> Game {
        Game::from_fen(&self.fen).expect("legal")
    }

    fn features(&self) -> Features {
        let [white, black, white_clock, black_clock, increment] = self.conditions;
        let conditions = Conditions {
            white: Seat { rating: white, clock: white_clock },
            black: Seat { rating: black, clock: black_clock },
            increment,
            pool: None,
        };
        Features::of(&self.game(), &conditions)
    }

    /// The legal moves with the twin's numbers.
    fn legal(&self) -> Vec<(Move, f32)> {
        let position = self.game().position().clone();
        let legal = position.legal_moves();
        assert_eq!(legal.len(), self.moves.len(), "{}", self.fen);
        legal.iter().map(|&m| (m, self.moves[&m.to_uci(shakmaty::CastlingMode::Chess960).to_string()])).collect()
    }
}

fn systems() -> Vec<(String, Network<Flex>, Vec<Case>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("fixtures").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "safetensors") {
            let network = load(&std::fs::read(&path).expect("readable"), &Default::default()).expect("weights");
            let text = std::fs::read_to_string(path.with_extension("json")).expect("readable");
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            found.push((name, network, serde_json::from_str(&text).expect("cases")));
        }
    }
    assert_eq!(found.len(), 14);
    found
}

fn close(what: &str, found: f32, expected: f32) {
    let most = 1e-4 * expected.abs().max(1.0);
    assert!((found - expected).abs() <= most, "{what}: {found} instead of {expected}");
}

fn numbers(tensor: burn::tensor::Tensor<Flex, 2>) -> Vec<f32> {
    tensor.into_data().iter().collect()
}

#[test]
fn every_system_says_what_its_twin_says() {
    for (name, network, cases) in systems() {
        let features: Vec<Features> = cases.iter().map(Case::features).collect();
        // All together, then each alone: with other positions beside it nothing may change.
        let together: Vec<Vec<&Case>> = vec![cases.iter().collect()];
        for batch in together.into_iter().chain(cases.iter().map(|c| vec![c])) {
            let features: Vec<Features> = batch.iter().map(|c| c.features()).collect();
            let output = network.forward(network.pack(features.iter(), &Default::default()));
            let (Moves::Logits(moves) | Moves::Probabilities(moves)) = output.moves else {
                panic!("{name} was asked about all moves")
            };
            let moves = numbers(moves);
            let value = output.value.map(numbers).unwrap_or_default();
            let width = value.len() / batch.len();
            for (i, case) in batch.iter().enumerate() {
                for (m, expected) in case.legal() {
                    let seen = MoveIndex::seen_by(m, features[i].turn);
                    let found = moves[i * 1968 + network.layout().named(seen, &features[i]).get()];
                    close(&format!("{name}, {}, {m:?}", case.fen), found, expected);
                }
                assert_eq!(width, case.value.len(), "{name}");
                for (found, expected) in value[i * width..][..width].iter().zip(&case.value) {
                    close(&format!("{name}, value of {}", case.fen), *found, *expected);
                }
            }
            if let ([case], Some(auxiliary)) = (&batch[..], output.auxiliary) {
                close(&format!("{name}, the router's losses"), auxiliary.into_scalar(), case.auxiliary);
            }
        }
        assert_eq!(features.len(), 10);
    }
}

/// Asked about one move, an autoregressive head answers as when it is asked about all.
#[test]
fn one_move_is_as_probable_as_among_all() {
    let (_, network, cases) = systems().into_iter().find(|(name, ..)| name == "chessformer").expect("chessformer");
    for case in &cases {
        let features = case.features();
        let legal = case.legal();
        let inputs: Vec<&Features> = legal.iter().map(|_| &features).collect();
        let named = legal.iter().map(|&(m, _)| MoveIndex::of(m));
        let input: Input<Flex> =
            network.layout().pack(inputs.into_iter()).ask_played(named).to_device(&Default::default());
        let output = network.forward(input);
        let Moves::Played(found) = output.moves else { panic!("asked about one move each") };
        let found: Vec<f32> = found.into_data().iter().collect();
        for (found, (m, expected)) in found.iter().zip(legal) {
            close(&format!("{}, {m:?}", case.fen), *found, expected);
        }
    }
}

#[test]
fn configs_count_their_weights() {
    use burn::module::Module;
    for (name, network, _) in systems() {
        assert_eq!(network.config().parameters(), network.num_params(), "{name}");
    }
}
