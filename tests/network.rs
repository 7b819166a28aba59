//! Networks end to end: probabilities, weights files good and bad, the shipped network.

mod common;

use burn::module::{Module, list_param_ids};
use glance::board::{Conditions, Edge, Game};
use glance::evaluate::{BackendName, Evaluation, Evaluator, NetworkEvaluator, Query, Stop, open};
use glance::network::{
    Config, Embedding, Int8, Network, Norm, Precision, Trunk, WeightsError, load, read_config, save,
};
use shakmaty::Position;

type Flex = burn_flex::Flex;

fn tiny() -> Vec<u8> {
    let config = Config::tiny();
    save(&Network::<Flex>::new(&config, &Default::default()), Precision::Half).expect("saved")
}

#[test]
fn every_legal_move_gets_a_probability_and_no_other() {
    let evaluator = NetworkEvaluator::<Flex>::new(&tiny(), Default::default(), 2).expect("weights");
    let mut games = Vec::new();
    common::random_positions(10_000, |game| games.push(game.clone()));
    let conditions = Conditions::STRONGEST;
    for part in games.chunks(250) {
        let queries: Vec<Query> = part.iter().map(|game| Query { game, conditions: &conditions }).collect();
        let found = evaluator.evaluate(&queries, &Stop::new(false, None)).expect("not stopped");
        assert_eq!(found.len(), part.len());
        for (game, e) in part.iter().zip(found) {
            let legal = game.position().legal_moves();
            assert_eq!(e.moves.len(), legal.len());
            assert!(e.moves.iter().all(|m| m.probability > 0.0 && legal.contains(&m.m)));
            assert!((e.moves.iter().map(|m| m.probability).sum::<f32>() - 1.0).abs() < 1e-4);
            assert!(e.moves.windows(2).all(|w| w[0].logit >= w[1].logit));
            assert!((e.wdl.win + e.wdl.draw + e.wdl.loss - 1.0).abs() < 1e-4);
        }
    }
}

#[test]
fn backends_agree() {
    let weights = glance::play::embedded_weights();
    let flex = open(weights, BackendName::Flex, 1).expect("the shipped weights");
    let ndarray = open(weights, BackendName::Ndarray, 1).expect("the shipped weights");
    let game = Game::from_fen("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 4 4").expect("legal");
    let (a, b) = (flex.glance(&game, &Conditions::STRONGEST), ndarray.glance(&game, &Conditions::STRONGEST));
    for (x, y) in a.moves.iter().zip(&b.moves) {
        assert!((x.probability - y.probability).abs() < 1e-3, "{x:?} {y:?}");
    }
    assert!((a.wdl.balance() - b.wdl.balance()).abs() < 1e-3);
}

/// Hardly anything is lost with weights and rows of 8 bits.
#[test]
fn bytes_say_nearly_the_same() {
    let weights = glance::play::embedded_weights();
    let flex = open(weights, BackendName::Flex, 1).expect("the shipped weights");
    let int8 = open(weights, BackendName::Int8, 1).expect("the shipped weights");
    let (mut positions, mut divergence, mut squares, mut first, mut less) = (0.0, 0.0, 0.0, 0.0, 0.0);
    common::random_positions(2000, |game| {
        let (a, b) = (flex.glance(game, &Conditions::STRONGEST), int8.glance(game, &Conditions::STRONGEST));
        let Some(best) = a.moves.first() else { return };
        positions += 1.0;
        divergence += a.moves.iter().fold(0.0, |sum, a| {
            let b = b.moves.iter().find(|b| b.m == a.m).expect("the same moves");
            sum + f64::from(a.probability) * f64::from(a.probability / b.probability).ln()
        });
        squares += f64::from(a.wdl.balance() - b.wdl.balance()).powi(2);
        first += f64::from(u8::from(best.m == b.moves[0].m));
        let chosen = a.moves.iter().find(|a| a.m == b.moves[0].m).expect("the same moves");
        less += f64::from(best.probability - chosen.probability);
    });
    let (divergence, deviation) = (divergence / positions, (squares / positions).sqrt());
    let (first, less) = (first / positions, less / positions);
    println!(
        "divergence {divergence:.5} nats, deviation {deviation:.4}, the same first move in {:.1} %, another is {:.3} % less probable in the mean of all",
        first * 100.0,
        less * 100.0
    );
    assert!(divergence > 0.0, "the shipped network is one that bytes are known for");
    // Where the first move is another, the two are next to equal: how often that is says more of the positions than of bytes.
    assert!(divergence < 0.001 && deviation < 0.02 && first > 0.98 && less < 0.001);
}

#[test]
fn networks_that_bytes_are_not_known_for_are_computed_as_they_are() {
    let config = Config::tiny();
    let mut other = config.clone();
    if let Trunk::Encoder { norm, .. } = &mut other.trunk {
        *norm = Norm::Layer;
    }
    for (config, known) in [(config, true), (other, false)] {
        let network = Network::<Flex>::new(&config, &Default::default());
        assert_eq!(Int8::of(&network).is_some(), known);
        let weights = save(&network, Precision::Full).expect("saved");
        let [int8, flex] = [BackendName::Int8, BackendName::Flex].map(|name| open(&weights, name, 1).expect("weights"));
        let [a, b] = [int8, flex].map(|evaluator| evaluator.glance(&Game::default(), &Conditions::default()));
        assert_eq!(a.moves.iter().zip(&b.moves).all(|(a, b)| a.m == b.m && a.logit == b.logit), !known);
    }
}

#[test]
fn a_deeper_network_says_the_same_until_it_is_trained() {
    let shipped = load::<Flex>(glance::play::embedded_weights(), &Default::default()).expect("the shipped weights");
    let Trunk::Encoder { layers, .. } = shipped.config().trunk else { panic!("an encoder") };
    let parameters = shipped.num_params();
    let said = all_said(&shipped);
    // Once for each block, and unevenly.
    for more in [2 * layers, 2 * layers + 1] {
        let deeper = shipped.clone().deeper(more);
        assert!(matches!(deeper.config().trunk, Trunk::Encoder { layers, .. } if layers == more));
        assert!(deeper.num_params() > parameters);
        for (a, b) in said.iter().zip(all_said(&deeper)) {
            assert!(a.moves.iter().zip(&b.moves).all(|(a, b)| a.m == b.m && a.logit == b.logit));
            assert_eq!(a.wdl, b.wdl);
        }
    }
    assert_eq!(shipped.clone().deeper(1).config(), shipped.config(), "none is taken away");
}

#[test]
fn a_network_that_is_shown_attacks_says_the_same_until_it_is_trained() {
    let plain = Network::<Flex>::new(&Config::tiny(), &Default::default());
    let (parameters, said) = (plain.num_params(), all_said(&plain));
    let shown = plain.with_attacks();
    assert_eq!(shown.num_params(), shown.config().parameters());
    assert!(shown.num_params() > parameters);
    for (a, b) in said.iter().zip(all_said(&shown)) {
        assert!(a.moves.iter().zip(&b.moves).all(|(a, b)| a.m == b.m && a.logit == b.logit));
        assert_eq!(a.wdl, b.wdl);
    }
    assert_eq!(shown.clone().with_attacks().config(), shown.config(), "not twice");
}

#[test]
fn a_network_with_edges_says_the_same_until_it_is_trained() {
    let plain = Network::<Flex>::new(&Config::tiny(), &Default::default());
    let (parameters, said) = (plain.num_params(), all_said(&plain));
    assert_eq!(list_param_ids(&plain.clone().with_edges(&[])).len(), list_param_ids(&plain).len(), "none for no kind");
    let same = plain.clone().with_edges_of_moves(&[]);
    assert_eq!(list_param_ids(&same).len(), list_param_ids(&plain).len(), "nor for moves");
    let [first, all] = [&[Edge::Attacks][..], &[Edge::Attacks, Edge::Safe, Edge::Checks]];
    let biased = plain.with_edges(first).with_edges_of_moves(&all[1..2]).with_edges(all).with_edges_of_moves(&all[1..]);
    assert_eq!(biased.num_params(), biased.config().parameters());
    assert!(biased.num_params() > parameters);
    for (a, b) in said.iter().zip(all_said(&biased)) {
        assert!(a.moves.iter().zip(&b.moves).all(|(a, b)| a.m == b.m && a.logit == b.logit));
        assert_eq!(a.wdl, b.wdl);
    }
    assert_eq!(biased.clone().with_edges(first).config(), biased.config(), "none is taken away");
    assert_eq!(biased.clone().with_edges_of_moves(&[]).config(), biased.config(), "nor from moves");
}

#[test]
fn edges_are_the_same_in_bytes() {
    for name in ["glance-edges", "glance-ahead", "glance-outlook"] {
        same_in_bytes(name);
    }
}

fn same_in_bytes(name: &str) {
    let weights = std::fs::read(format!("tests/fixtures/{name}.safetensors")).expect("a fixture");
    let network = load::<Flex>(&weights, &Default::default()).expect("weights");
    assert!(Int8::of(&network).is_some());
    let [int8, flex] = [BackendName::Int8, BackendName::Flex].map(|name| open(&weights, name, 1).expect("weights"));
    let mut differences = Vec::new();
    common::random_positions(200, |game| {
        let [a, b] = [&int8, &flex].map(|evaluator| evaluator.glance(game, &Conditions::default()));
        let most = a.moves.iter().map(|a| (a.probability - b.probability(a.m)).abs()).fold(0.0, f32::max);
        // Its weights are drawn at random: the policy's gates, rounded, move its logits more than attention's do. One in the wrong place would
        // move them by about one.
        assert!(most < 0.04, "{most} in {}", game.position().board());
        differences.push(most);
    });
    let mean = differences.iter().sum::<f32>() / differences.len() as f32;
    assert!(mean < 0.007, "{mean} in the mean");
}

#[test]
fn attacks_are_the_same_in_bytes() {
    let embedding = Embedding::Squares { boards: 8, attacks: true };
    let shown = Network::<Flex>::new(&Config { embedding, ..Config::tiny() }, &Default::default());
    assert!(Int8::of(&shown).is_some());
    let weights = save(&shown, Precision::Full).expect("saved");
    let [int8, flex] = [BackendName::Int8, BackendName::Flex].map(|name| open(&weights, name, 1).expect("weights"));
    common::random_positions(200, |game| {
        let [a, b] = [&int8, &flex].map(|evaluator| evaluator.glance(game, &Conditions::default()));
        let most = a.moves.iter().map(|a| (a.probability - b.probability(a.m)).abs()).fold(0.0, f32::max);
        assert!(most < 0.02, "{most} in {}", game.position().board());
    });
}

#[test]
fn a_wider_network_says_the_same_until_it_is_trained() {
    let shipped = load::<Flex>(glance::play::embedded_weights(), &Default::default()).expect("the shipped weights");
    let Trunk::Encoder { ffn, .. } = shipped.config().trunk else { panic!("an encoder") };
    let (parameters, said) = (shipped.num_params(), all_said(&shipped));
    for more in [ffn + 16, 2 * ffn] {
        let wider = shipped.clone().wider(more);
        assert_eq!(wider.num_params(), wider.config().parameters());
        assert!(wider.num_params() > parameters);
        for (a, b) in said.iter().zip(all_said(&wider)) {
            assert!(a.moves.iter().all(|a| (a.probability - b.probability(a.m)).abs() < 1e-5));
            assert!((a.wdl.balance() - b.wdl.balance()).abs() < 1e-5);
        }
    }
    assert_eq!(shipped.clone().wider(ffn - 16).config(), shipped.config(), "none is taken away");
}

/// What a network says of some positions, once it has been saved and loaded.
fn all_said(network: &Network<Flex>) -> Vec<Evaluation> {
    let bytes = save(network, Precision::Full).expect("saved");
    let evaluator = NetworkEvaluator::<Flex>::new(&bytes, Default::default(), 1).expect("its own weights");
    let mut found = Vec::new();
    common::random_positions(20, |game| found.push(evaluator.glance(game, &Conditions::default())));
    found
}

#[test]
fn a_batch_says_what_its_positions_say_alone() {
    let evaluator = open(glance::play::embedded_weights(), BackendName::Flex, 2).expect("the shipped weights");
    let mut games = Vec::new();
    common::random_positions(20, |game| games.push(game.clone()));
    let conditions = Conditions::default();
    let queries: Vec<Query> = games.iter().map(|game| Query { game, conditions: &conditions }).collect();
    let together = evaluator.evaluate(&queries, &Stop::new(false, None)).expect("not stopped");
    for (game, e) in games.iter().zip(together) {
        let alone = evaluator.glance(game, &conditions);
        assert!((alone.wdl.balance() - e.wdl.balance()).abs() < 1e-3);
        assert!((alone.moves[0].probability - e.moves[0].probability).abs() < 1e-3);
    }
}

/// What a trained network cannot fail at: if it does, the shipped file is not a trained one.
#[test]
fn the_shipped_network_knows_chess() {
    let evaluator = open(glance::play::embedded_weights(), BackendName::Flex, 1).expect("the shipped weights");
    let balance = |fen: &str| {
        let game = Game::from_fen(fen).expect(fen);
        evaluator.glance(&game, &Conditions::STRONGEST).wdl.balance()
    };
    // A queen up, a queen down, level.
    assert!(balance("6k1/5ppp/8/8/8/8/5PPP/3Q2K1 w - - 0 1") > 0.6);
    assert!(balance("6k1/5ppp/8/8/8/8/5PPP/3Q2K1 b - - 0 1") < -0.6);
    assert!(balance("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1").abs() < 0.4);
    // It takes a queen that hangs.
    let game = Game::from_fen("rnb1kbnr/ppp1pppp/8/3q4/8/2N5/PPPP1PPP/R1BQKBNR w KQkq - 0 4").expect("legal");
    let first = evaluator.glance(&game, &Conditions::STRONGEST).moves[0];
    assert_eq!(game.uci(first.m, false), "c3d5");
}

#[test]
fn bad_weights_are_named() {
    let good = tiny();
    let device = Default::default();
    assert_eq!(read_config(&good).expect("good"), Config::tiny());
    let error = |bytes: &[u8]| load::<Flex>(bytes, &device).expect_err("bad weights").to_string();
    assert!(error(b"").contains("not a safetensors file"));
    assert!(error(&good[..good.len() / 2]).contains("not a safetensors file"));
    assert!(error(&good[..100]).contains("not a safetensors file"));
    assert!(error(&[0xff; 4096]).contains("not a safetensors file"));
    // Safetensors of somebody else.
    let foreign = br#"{"__metadata__":{"format":"pt"}}"#;
    let mut bytes = (foreign.len() as u64).to_le_bytes().to_vec();
    bytes.extend(foreign);
    assert!(matches!(load::<Flex>(&bytes, &device), Err(WeightsError::Foreign)));
    // A config that asks for far more than the file holds, or for the impossible. The header keeps its length.
    let patch = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = good.windows(from.len()).position(|w| w == from.as_bytes()).expect(from);
        let mut bad = good.clone();
        bad[at..at + to.len()].copy_from_slice(to.as_bytes());
        error(&bad)
    };
    assert!(patch(r#"\"d_model\":32"#, r#"\"d_model\":96"#).contains("asks for at least"));
    assert!(patch(r#"\"layers\":1"#, r#"\"layers\":0"#).contains("trunk.layers is 0: 1 to 64 are allowed"));
    assert!(patch(r#"\"heads\":2"#, r#"\"heads\":3"#).contains("divisor"));
    assert!(patch(r#"\"heads\":2"#, r#"\"heads\":1"#).contains("do not fit their config"));
    assert!(patch("from-to", "fromage").contains("config in the weights"));
}
