//! A whole run on a handful of games: it learns, it can be killed and resumed, and what it writes the engine plays with.

mod common;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use burn::backend::Autodiff;
use common::{Folder, recipe, seeded, shards, weights};
use glance::board::{Conditions, Game};
use glance::evaluate::{BackendName, open};
use glance::network::{Config, Precision, Trunk, read_config, save};
use glance_trainer::data::book;
use glance_trainer::data::mixture::Mixture;
use glance_trainer::train::card::Card;
use glance_trainer::train::checkpoint::State;
use glance_trainer::train::export::export;
use glance_trainer::train::log::{self, Metrics};
use glance_trainer::train::machines::Place;
use glance_trainer::train::optimizer::{Betas, OptimizerConfig};
use glance_trainer::train::recipe::{Budget, Compute, Recipe};
use glance_trainer::train::run::{Options, TrainError, train};
use glance_trainer::train::schedule::Schedule;
use glance_trainer::train::step::Split;

type B = Autodiff<burn_flex::Flex>;

/// The weights that every run begins with: drawn before any does, as a run sets the seed too.
static INIT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let network = seeded::<burn_flex::Flex>(&Config::tiny(), 1);
    save(&network, Precision::Full).expect("saved")
});

fn run(folder: &Path, name: &str, steps: u64, interrupted: Arc<AtomicBool>) -> Result<State, TrainError> {
    run_of(&recipe(steps), folder, name, interrupted)
}

fn run_of(recipe: &Recipe, folder: &Path, name: &str, interrupted: Arc<AtomicBool>) -> Result<State, TrainError> {
    std::fs::write(folder.join("init.safetensors"), &*INIT).expect("written");
    run_from(recipe, folder, name, interrupted)
}

/// From the weights that are there.
fn run_from(recipe: &Recipe, folder: &Path, name: &str, interrupted: Arc<AtomicBool>) -> Result<State, TrainError> {
    let mixture = Mixture::open(folder, &recipe.mixture(), recipe.data.augmentation.clone()).expect("shards");
    let options = Options {
        run: folder.join(name),
        init: Some(folder.join("init.safetensors")),
        split: Split { workers: 2, micro: 4 },
        loaders: 2,
        every: 1e6,
        plain: true,
        place: Place::Alone,
        backend: "flex".into(),
        interrupted,
    };
    train::<B>(recipe, &options, Arc::new(mixture), &[], &[Default::default()])
}

fn last_loss(run: &Path) -> f64 {
    let text = std::fs::read_to_string(run.join("metrics.csv")).expect("metrics");
    text.lines().last().and_then(|l| l.split(',').nth(4)).and_then(|x| x.parse().ok()).expect("a loss")
}

#[test]
fn it_learns_and_the_engine_plays_with_what_it_wrote() {
    let folder = Folder::new("learns");
    shards(&folder.0);
    let state = run(&folder.0, "run", 160, Arc::default()).expect("trains");
    assert_eq!(state.step, 160);
    // Guessing among some 30 moves costs 3.4 nats.
    assert!(last_loss(&folder.0.join("run")) < 1.8, "{}", last_loss(&folder.0.join("run")));
    let out = folder.0.join("out.safetensors");
    export(&folder.0.join("run"), &out, Precision::Half).expect("exported");
    let evaluator = open(&std::fs::read(&out).expect("readable"), BackendName::Flex, 1).expect("weights");
    let mut game = Game::default();
    game.play(game.parse_uci("e2e4").expect("legal"));
    let reply = evaluator.glance(&game, &Conditions::default()).moves[0].m;
    assert_eq!(game.uci(reply, false), "e7e5", "the only answer it has seen");
}

#[test]
fn a_larger_network_goes_on_from_one_with_fewer_blocks_and_hidden_numbers() {
    let folder = Folder::new("larger");
    shards(&folder.0);
    let mut larger = recipe(2);
    let Trunk::Encoder { layers, ffn, .. } = &mut larger.network.trunk else { panic!("an encoder") };
    *layers += 1;
    *ffn += 16;
    run_of(&larger, &folder.0, "run", Arc::default()).expect("trains");
    let out = folder.0.join("out.safetensors");
    export(&folder.0.join("run"), &out, Precision::Half).expect("exported");
    assert_eq!(read_config(&std::fs::read(&out).expect("readable")).expect("a config"), larger.network);

    // Not the other way round.
    std::fs::rename(&out, folder.0.join("init.safetensors")).expect("moved");
    let error = run_from(&recipe(2), &folder.0, "back", Arc::default()).expect_err("fewer of both");
    assert!(error.to_string().contains("not the recipe's"), "{error}");
}

#[test]
fn killed_and_resumed_is_the_same_as_uninterrupted() {
    let ways = [
        (OptimizerConfig::AdamW as fn(Betas) -> OptimizerConfig, Compute::F32),
        (OptimizerConfig::Adam, Compute::F32),
        (OptimizerConfig::Muon, Compute::Bf16),
    ];
    for (optimizer, precision) in ways {
        let mut recipe = recipe(120);
        recipe.training.precision = precision;
        recipe.training.optimizer = optimizer(Betas::default());
        recipe.training.schedule = Schedule::Linear;
        resumes(&recipe);
    }
}

fn resumes(recipe: &Recipe) {
    let folder = Folder::new("resumes");
    shards(&folder.0);
    let Budget::Steps(steps) = recipe.training.budget else { panic!("exact only with a budget in steps") };
    run_of(recipe, &folder.0, "whole", Arc::default()).expect("trains");
    let interrupted = Arc::new(AtomicBool::new(false));
    let (flag, metrics) = (interrupted.clone(), folder.0.join("parts/metrics.csv"));
    let watcher = std::thread::spawn(move || {
        // After the first line of figures, in the middle of things.
        while !std::fs::read_to_string(&metrics).is_ok_and(|t| t.lines().count() >= 2) {
            std::thread::sleep(Duration::from_millis(1));
        }
        flag.store(true, Ordering::Relaxed);
    });
    let first = run_of(recipe, &folder.0, "parts", interrupted).expect("trains");
    watcher.join().expect("watches");
    assert!((20..steps).contains(&first.step), "interrupted at {}", first.step);
    let second = run_of(recipe, &folder.0, "parts", Arc::default()).expect("resumes");
    assert_eq!(second.step, steps);
    assert!(weights(&folder.0.join("whole")) == weights(&folder.0.join("parts")), "the same weights to the last bit");
    // The losses on the way are the same too, and each step is there once.
    let losses = |name: &str| -> Vec<(u64, f64)> {
        let rows: Vec<Metrics> = log::read(&folder.0.join(name).join("metrics.csv"));
        rows.iter().map(|m| (m.step, m.policy_loss)).collect()
    };
    let (whole, parts) = (losses("whole"), losses("parts"));
    assert_eq!(whole.last(), parts.last());
    assert!(parts.is_sorted_by(|a, b| a.0 < b.0), "{parts:?}");
    let read = |name: &str| std::fs::read_to_string(folder.0.join("parts").join(name)).expect(name);
    assert!(read("report.html").contains("</svg>"));
    let card: Card = serde_json::from_str(&read("card.json")).expect("a card");
    assert_eq!((card.steps, card.positions, card.sources.len()), (steps, steps * 16, 1));
    assert!(read("card.md").contains("| masters | 3 games | 100.0 % |"), "{}", read("card.md"));
}

#[test]
fn books_are_made_from_games() {
    let folder = Folder::new("book");
    let games = shards(&folder.0);
    let selection = book::Selection { rating: 2500, plies: 10, games: 1, share: 0.0, score: 0.0 };
    let out = folder.0.join("book.bin");
    assert_eq!(book::build(&[&games], &selection, &out).expect("built"), 30);
    let read = glance::play::Book::open(&out).expect("a book");
    assert_eq!(read.moves(Game::default().position()).len(), 3);
    let nobody = book::Selection { rating: 2501, ..selection };
    assert_eq!(book::build(&[&games], &nobody, &out).expect("built"), 0);
}

#[test]
fn bad_recipes_are_named() {
    let folder = Folder::new("recipes");
    let path = folder.0.join("r.toml");
    let good = toml::to_string(&recipe(10)).expect("serialises");
    let read = |text: &str| {
        std::fs::write(&path, text).expect("written");
        Recipe::read(&path)
    };
    assert_eq!(read(&good).expect("good"), recipe(10));
    for (from, to, expected) in [
        ("batch = 16", "batch = 0", "training.batch is 0: 1 to 65536 are allowed"),
        ("heads = 2", "heads = 5", "trunk.heads is 5"),
        ("steps = 10", "steps = 0", "training.budget.steps is 0"),
        ("kind = \"encoder\"", "kind = \"oracle\"", "encoder"),
        ("masters = 1.0", "masters = \"all\"", "data.mixture.masters"),
        ("seed = 7", "seeds = 7", "seeds"),
        ("\"cosine\"", "\"zigzag\"", "zigzag"),
        ("\"adamw\"", "\"newton\"", "newton"),
        ("beta_1 = ", "beta_9 = ", "beta_9"),
    ] {
        assert!(good.contains(from), "{from} in {good}");
        let error = read(&good.replace(from, to)).expect_err(to).to_string();
        assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
    }
}
