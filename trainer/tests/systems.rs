//! The recipes of all systems: they can be read, have their authors' sizes, and their tiny forms learn and play.

mod common;

use std::path::{Path, PathBuf};

use burn::module::Module;
use common::{lists, recipes, samples, seeded, tiny};
use glance::board::Game;
use glance::evaluate::Stop;
use glance::network::{Config, Precision, Rounding, save};
use glance::play::{Engine, Go, SearchName, Settings};
use glance::search::Limits;
use glance_trainer::train::batch::Aims;
use glance_trainer::train::machines::Share;
use glance_trainer::train::optimizer::Optimizer;
use glance_trainer::train::recipe::{Budget, Compute, Recipe};
use glance_trainer::train::step::{Means, Read, Split, Work, gradients};
use glance_trainer::train::trained::Trained;
use shakmaty::Position;

type Flex = burn_flex::Flex;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("systems")
}

/// Millions of weights as their authors tell, where they do, or as follows from the description.
const PUBLISHED: [(&str, f64); 4] =
    [("microchess", 38.9), ("chessformer", 50.4), ("smolgen", 6.8), ("alphaminustwo", 123.5)];

#[test]
fn systems_have_their_authors_sizes() {
    let recipes = recipes(&folder());
    for (name, millions) in PUBLISHED {
        let (_, recipe) = recipes.iter().find(|(n, _)| n == name).expect(name);
        let found = recipe.network.parameters() as f64 / 1e6;
        assert!((found / millions - 1.0).abs() < 0.02, "{name}: {found} million instead of {millions}");
    }
    let names: Vec<&str> = recipes.iter().map(|(n, _)| n.as_str()).collect();
    let all = [
        "alpha-zero-medium",
        "alpha-zero-small",
        "alphaminustwo",
        "chessformer",
        "deep-chess-medium",
        "deep-chess-moe-large",
        "deep-chess-moe-small",
        "deep-chess-small",
        "glance",
        "glance-deep",
        "glance-small",
        "glance-small-ahead",
        "glance-small-attacks",
        "glance-small-edges",
        "glance-small-more",
        "glance-small-moves",
        "glance-small-muon",
        "glance-small-outlook",
        "glance-small-time",
        "microchess",
        "smolgen",
    ];
    assert_eq!(names, all);
}

/// A whole game with every search that the network's heads allow, from a weights file.
#[test]
fn tiny_systems_play_whole_games() {
    let recipes = recipes(&folder().join("tiny"));
    assert_eq!(recipes.len(), 8);
    let weights = std::env::temp_dir().join(format!("glance-systems-{}.safetensors", std::process::id()));
    for (name, recipe) in recipes {
        let network = seeded::<Flex>(&recipe.network, 1);
        assert_eq!(network.num_params(), recipe.network.parameters(), "{name}");
        std::fs::write(&weights, save(&network, Precision::Half).expect("saved")).expect("written");
        for (search_name, search) in SearchName::ALL {
            let mut engine = Engine::default();
            let settings =
                Settings { weights_file: Some(weights.clone()), own_book: false, search, ..Settings::default() };
            let errors = engine.configure(settings);
            if search.needs_value() && !recipe.network.value.exists() {
                let text = errors.first().expect("it has no values").to_string();
                assert!(text.contains(search_name) && text.contains("policy or lookahead is allowed"), "{text}");
                continue;
            }
            assert!(errors.is_empty(), "{name} {search_name}: {errors:?}");
            let said = glance::cli::eval_text(&mut engine, &Game::default()).expect("weights");
            assert_eq!(said.contains("win "), recipe.network.value.exists(), "{name}: {said}");
            let go = Go { limits: Limits { nodes: Some(8), ..Limits::default() }, ..Go::default() };
            let mut game = Game::default();
            let plies = if search == SearchName::Policy { 300 } else { 20 };
            for _ in 0..plies {
                let found = engine.go(&game, &go, &Stop::new(false, None), &mut |_| {}).expect("weights");
                let Some(best) = found.best else { break };
                assert!(game.position().is_legal(best), "{name}");
                game.play(best);
            }
        }
    }
    let _ = std::fs::remove_file(&weights);
}

/// Whatever the head and the loss, a few steps on a few positions make both losses fall.
#[test]
fn every_system_learns() {
    type B = burn::backend::Autodiff<Flex>;
    let device = Default::default();
    let samples = samples();
    for (name, recipe) in tiny() {
        let network = seeded::<B>(&recipe.network, 1);
        let t = &recipe.training;
        let mut optimizer = Optimizer::new(&t.optimizer, 0.0, &network);
        let mut trained = Trained::new(network);
        let aims = Aims {
            value_weight: t.value_weight,
            time_weight: t.time_weight,
            policy: t.policy_loss,
            smoothing: t.smoothing,
        };
        let means = Means { devices: &[device], precision: Compute::F32, rounding: false };
        let mut losses = Vec::new();
        for step in 1..=60 {
            let work = Work::of(
                &samples,
                Share::WHOLE,
                Split { workers: 2, micro: 4 },
                &trained.frame().layout(),
                &recipe.network.value,
            );
            let (grads, loss) = gradients(&trained, work, &aims, &means);
            losses.push(loss.read(1.0));
            let gradient = trained.gradient(&grads);
            optimizer.step(5e-4 * (f64::from(step) / 30.0).min(1.0), &mut trained, gradient);
        }
        let (Read { policy, value, .. }, after) = (losses[0], losses[59]);
        let (policy_after, value_after) = (after.policy, after.value);
        assert!(policy_after < 0.8 * policy, "{name}: policy {policy} became {policy_after}");
        assert!(value_after < 0.9 * value || value == 0.0, "{name}: value {value} became {value_after}");
        assert_eq!(value == 0.0, !recipe.network.value.exists(), "{name}");
    }
}

/// In bfloat16 every system says nearly the same, and learns in nearly the same direction; its weights stay in single precision. So it does where only
/// products are rounded.
#[test]
fn every_system_computes_in_bfloat16() {
    type B = burn::backend::Autodiff<Flex>;
    let device = Default::default();
    let samples = &samples()[..8];
    for (name, recipe) in tiny() {
        let trained = Trained::new(seeded::<B>(&recipe.network, 1));
        let t = &recipe.training;
        let aims = Aims { value_weight: 1.0, time_weight: 1.0, policy: t.policy_loss, smoothing: t.smoothing };
        let learn = |precision, rounding| {
            let work = Work::of(
                samples,
                Share::WHOLE,
                Split { workers: 1, micro: 8 },
                &trained.frame().layout(),
                &recipe.network.value,
            );
            let (grads, loss) = gradients(&trained, work, &aims, &Means { devices: &[device], precision, rounding });
            let flat: Vec<f64> = lists(trained.frame(), &grads).into_iter().flatten().map(f64::from).collect();
            (loss.read(1.0), flat)
        };
        let (loss, one) = learn(Compute::F32, false);
        for (what, (loss_16, other)) in
            [("tensors", learn(Compute::Bf16, false)), ("products", learn(Compute::F32, true))]
        {
            let near = |a: f64, b: f64| (a - b).abs() < 0.02 * a.abs().max(0.1);
            assert!(near(loss.policy, loss_16.policy), "{name}, {what}: {loss:?}, {loss_16:?}");
            assert!(near(loss.value, loss_16.value), "{name}, {what}: {loss:?}, {loss_16:?}");
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
            let cosine = dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt();
            assert_eq!(one.len(), other.len(), "{name}, {what}");
            assert!(cosine > 0.95, "{name}, {what}: {cosine}");
            let rounded = what == "tensors" || Rounding::instructions().is_some();
            assert_eq!(one != other, rounded, "{name}, {what}");
        }
    }
}

/// What differs in one thing says so of a system that is compared with it, and can be trained.
#[test]
fn claims_are_of_systems_that_are_there() {
    let tiny = recipes(&folder().join("tiny"));
    for group in ["claims", "choices"] {
        let own = recipes(&folder().join(group));
        assert!(own.len() >= 2, "{group}");
        for (name, recipe) in &own {
            assert_eq!(*name, recipe.network.system);
            let claim = recipe.claims.first().expect(name);
            let (with, without) = claim.sides(name).expect("checked");
            let other = if with == name { without } else { with };
            let (_, other) = tiny.iter().chain(&own).find(|(n, _)| n == other).expect(other);
            let named_alike = Recipe {
                network: Config { system: name.clone(), ..other.network.clone() },
                claims: recipe.claims.clone(),
                ..other.clone()
            };
            assert_ne!(*recipe, named_alike, "{name} differs in nothing");
        }
    }
}

#[test]
fn recipes_say_how_they_differ_from_another() {
    let folder = common::Folder::new("extends");
    let tiny = std::fs::read_to_string(self::folder().join("tiny/glance.toml")).expect("readable");
    folder.write("base.toml", tiny.replace("[network]", "[[claims]]\nasks = \"a\"\nwith = \"b\"\n\n[network]"));
    let read = |text: &str| {
        folder.write("own.toml", text);
        Recipe::read(&folder.0.join("own.toml"))
    };
    let base = Recipe::read(&folder.0.join("base.toml")).expect("a recipe");
    let own = read(
        "extends = \"base.toml\"\nleave_out = [\"network.trunk.smolgen\", \"training.budget\"]\n\
         [training]\nbatch = 7\nbudget = { steps = 3 }\n",
    )
    .expect("a recipe");
    assert_eq!(own.training.batch, 7);
    assert_eq!(own.training.budget, Budget::Steps(3));
    assert_eq!(own.training.learning_rate, base.training.learning_rate);
    assert_eq!((base.claims.len(), own.claims.len()), (1, 0), "claims are not inherited");
    assert!(own.network.parameters() < base.network.parameters(), "smolgen is left out");
    for (text, expected) in [
        ("extends = 3\n", "extends is 3: the file of another recipe is allowed"),
        ("extends = \"nowhere.toml\"\n", "nowhere.toml"),
        ("extends = \"own.toml\"\n", "8 recipes that extend one another are allowed"),
        ("leave_out = [\"data\"]\n", "leave_out is allowed beside extends"),
        ("extends = \"base.toml\"\nleave_out = [\"network.wings\"]\n", "'network.wings' is not in 'base.toml'"),
        ("extends = \"base.toml\"\nleave_out = [\"network.system.x\"]\n", "'network.system.x' is not in 'base.toml'"),
        ("extends = \"base.toml\"\nleave_out = \"data\"\n", "a list of keys with their tables is allowed"),
        ("extends = \"base.toml\"\n[[claims]]\nasks = \"c\"\n", "claims is c: one of with and without is allowed"),
        ("extends = \"base.toml\"\n[network.trunk]\nheads = 5\n", "trunk.heads is 5"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn bad_recipes_are_named_in_one_line() {
    let text = std::fs::read_to_string(folder().join("tiny/microchess.toml")).expect("readable");
    let path = std::env::temp_dir().join(format!("glance-recipe-{}.toml", std::process::id()));
    let error = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        std::fs::write(&path, text.replace(from, to)).expect("written");
        let error = Recipe::read(&path).expect_err("bad").to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    };
    assert!(error("kind = \"fen\"", "kind = \"feen\"").contains("unknown variant `feen`, expected one of `squares`"));
    assert!(error("heads = 4", "heads = 5").contains("trunk.heads is 5: a divisor of d_model = 64 is allowed"));
    assert!(error("reads = \"cls\"", "reads = \"squares\"").contains("policy.reads is squares"));
    assert!(error("kind = \"none\"", "kind = \"tanh\"").contains("value.kind"));
    assert!(error("flip_colours = 0.5", "flip_colours = 5").contains("flip_colours is 5: 0 to 1 is allowed"));
    for (name, value) in [("forget_conditions", "-0.1"), ("forget_history", "1.5"), ("people_eval_weight", "inf")] {
        let error = error("flip_colours = 0.5", &format!("{name} = {value}"));
        assert!(error.contains(&format!("data.augmentation.{name} is {value}: 0 to 1 is allowed")), "{error}");
    }
    let error_of_part = error("[training]", "[training]\npart = \"time\"");
    assert_eq!(error_of_part, "training.part is time: all is allowed without network.time");
    // A head that does not fit the loss.
    let text = std::fs::read_to_string(folder().join("tiny/chessformer.toml")).expect("readable");
    std::fs::write(&path, text.replace("[training]", "[training]\nsmoothing = 0.1")).expect("written");
    let error = Recipe::read(&path).expect_err("bad").to_string();
    assert_eq!(error, "training.smoothing is 0.1: 0 is allowed with policy.kind = autoregressive");
    let _ = std::fs::remove_file(&path);
}
