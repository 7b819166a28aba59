//! The head for the time that a person takes: added to a network that was trained without, it learns from the clocks alone,
//! and the rest of the network answers as before.

mod common;

use std::sync::Arc;

use burn::backend::Autodiff;
use common::{Folder, seeded};
use glance::board::{Conditions, Game, Pool, Seat, fair_share};
use glance::evaluate::{BackendName, open};
use glance::network::{Config, Precision, TimeHead, save};
use glance_trainer::data::mixture::Mixture;
use glance_trainer::data::movetext;
use glance_trainer::data::sample::Augmentation;
use glance_trainer::data::shard::{self, GameHead, GameResult, Kind};
use glance_trainer::measure::figures::Figures;
use glance_trainer::measure::validation::{SEED, look, sets};
use glance_trainer::train::export::export;
use glance_trainer::train::machines::Place;
use glance_trainer::train::recipe::Recipe;
use glance_trainer::train::run::{Options, train};
use glance_trainer::train::step::Split;

/// White takes two seconds a move, Black twenty; the first move of each is free.
const GAME: &str = "1. e4 {[%clk 0:10:00]} e5 {[%clk 0:10:00]} 2. Nf3 {[%clk 0:09:58]} Nc6 {[%clk 0:09:40]} \
                    3. Bb5 {[%clk 0:09:56]} a6 {[%clk 0:09:20]} 4. Ba4 {[%clk 0:09:54]} Nf6 {[%clk 0:09:00]} \
                    5. O-O {[%clk 0:09:52]} Be7 {[%clk 0:08:40]}";

const RECIPE: &str = r#"
[network]
system = "glance"
embedding = { kind = "squares", boards = 8 }
policy = { kind = "from-to", dim = 32 }
value = { kind = "wdl", compress = 16, hidden = 64 }
time = { compress = 4, hidden = 16 }

[network.trunk]
kind = "encoder"
layers = 1
d_model = 32
heads = 2
ffn = 32
norm = "rms"
activation = "relu"
static_bias = true
smolgen = { compress = 8, hidden = 64, generate = 32 }

[training]
budget = { steps = 120 }
batch = 16
learning_rate = 0.01
warmup = 0.1
weight_decay = 0.01
clip = 1.0
ema = 0.9
value_weight = 1.0
part = "time"
seed = 7

[data.mixture]
clocked = 1.0
"#;

#[test]
fn a_head_for_time_learns_and_leaves_the_rest_alone() {
    let folder = Folder::new("timing");
    let head = GameHead {
        result: GameResult::White,
        pool: Pool::Lichess,
        white: Some(1500),
        black: Some(1500),
        time_control: Some((600, 0)),
    };
    let records = [shard::encode_game(&head, &movetext::parse(GAME).expect("a game"))];
    shard::write(&folder.0.join("clocked.games"), Kind::Games, &records).expect("written");
    let recipe = Recipe::read(&folder.write("recipe.toml", RECIPE)).expect("a recipe");
    assert_eq!(recipe.network, Config { time: Some(TimeHead { compress: 4, hidden: 16 }), ..Config::tiny() });

    // Of random networks a few have nothing that so small a head can learn from.
    let before = seeded::<burn_flex::Flex>(&Config::tiny(), 1);
    let init = folder.write("init.safetensors", save(&before, Precision::Full).expect("saved"));
    let options = Options {
        run: folder.0.join("run"),
        init: Some(init.clone()),
        split: Split { workers: 2, micro: 4 },
        loaders: 1,
        every: 1e6,
        plain: true,
        place: Place::Alone,
        backend: "flex".into(),
        interrupted: Arc::default(),
    };
    let mixture = |augmentation| Mixture::open(&folder.0, &recipe.mixture(), augmentation).expect("a shard");
    let learnt = Arc::new(mixture(recipe.data.augmentation.clone()));
    train::<Autodiff<burn_flex::Flex>>(&recipe, &options, learnt, &[], &[Default::default()]).expect("trains");
    let out = folder.0.join("out.safetensors");
    export(&options.run, &out, Precision::Full).expect("exported");

    // Measured: all but the first moves are timed, and the quick are told from the slow.
    let network = glance::network::load::<burn_flex::Flex>(&std::fs::read(&out).expect("read"), &Default::default());
    let set = &sets(&[("clocked".to_owned(), mixture(Augmentation::none()))], 200, SEED)[0];
    let looked = look(&network.expect("weights"), &set.samples, 1, 16, &Default::default(), &|_| {});
    let f = Figures::of(&looked);
    assert!(f.times > 100 && f.times < 200, "{}", f.times);
    assert!(f.time_marginal > 0.9 && f.time_loss < 0.45, "{} {}", f.time_marginal, f.time_loss);
    assert!(f.time_correlation > 0.9, "{}", f.time_correlation);

    // Asked: the engine knows too, and everything else is what it was.
    let evaluator = |path| open(&std::fs::read(path).expect("read"), BackendName::Flex, 1).expect("weights");
    let (old, new) = (evaluator(&init), evaluator(&out));
    let mut game = Game::default();
    for m in ["e2e4", "e7e5", "g1f3"] {
        game.play(game.parse_uci(m).expect("legal"));
    }
    let seat = Seat { rating: Some(1500.0), clock: Some(600.0) };
    let conditions = Conditions { white: seat, black: seat, increment: Some(0.0), pool: Some(Pool::Lichess) };
    assert_eq!(old.move_time(&game, &conditions), None);
    let median = new.move_time(&game, &conditions).expect("it knows").quantile(0.5) * fair_share(600.0, 0.0);
    assert!((15.0..30.0).contains(&median), "{median}");
    let (was, is) = (old.glance(&game, &conditions), new.glance(&game, &conditions));
    assert_eq!(was, is);
}
