//! What the trainer's tests share: a folder that goes away, the program itself, a shard of games, random networks.
#![allow(dead_code, reason = "each test uses what it needs")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use burn::tensor::backend::AutodiffBackend;
use glance::board::{Conditions, Game, Pool};
use glance::evaluate::Wdl;
use glance::network::{Config, Kernels, Network, Precision};
use glance_trainer::data::movetext;
use glance_trainer::data::sample::{Augmentation, Sample, sample};
use glance_trainer::data::shard::{self, GameHead, GameResult, Kind};
use glance_trainer::train::export::export;
use glance_trainer::train::optimizer::OptimizerConfig;
use glance_trainer::train::recipe::{Budget, Compute, Data, Part, PolicyLoss, Recipe, Training};
use glance_trainer::train::schedule::Schedule;
use shakmaty::Position;

/// A temporary folder, removed when dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty folder of this name.
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("glance-trainer-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("temporary folder");
        Folder(path)
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("temporary folder");
        std::fs::write(&path, bytes).expect("writable");
        path
    }

    /// Runs the trainer in it.
    pub fn trainer(&self, arguments: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_glance-trainer"))
            .current_dir(&self.0)
            .args(arguments.split_whitespace())
            .output()
            .expect("it starts")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes games with their results as a shard of masters' games.
pub fn write_games(path: &Path, games: &[(&str, GameResult)]) {
    let records: Vec<Vec<u8>> = games
        .iter()
        .map(|&(text, result)| {
            let head = GameHead { result, pool: Pool::Otb, white: Some(2600), black: Some(2500), time_control: None };
            shard::encode_game(&head, &movetext::parse(text).expect("a game"))
        })
        .collect();
    shard::write(path, Kind::Games, &records).expect("written");
}

/// Games enough to learn from.
const GAMES: [(&str, GameResult); 3] = [
    ("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 1-0", GameResult::White),
    ("1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. Bg5 Be7 5. e3 O-O 6. Nf3 Nbd7 7. Rc1 c6 1/2-1/2", GameResult::Draw),
    ("1. c4 e5 2. Nc3 Nf6 3. Nf3 Nc6 4. g3 d5 5. cxd5 Nxd5 6. Bg2 Nb6 7. O-O Be7 0-1", GameResult::Black),
];

/// A shard of a few masters' games in a folder.
pub fn shards(folder: &Path) -> PathBuf {
    let path = folder.join("masters.games");
    write_games(&path, &GAMES);
    path
}

/// How a tiny network learns them.
pub fn recipe(steps: u64) -> Recipe {
    Recipe {
        network: Config::tiny(),
        training: Training {
            budget: Budget::Steps(steps),
            batch: 16,
            optimizer: OptimizerConfig::default(),
            learning_rate: 3e-3,
            schedule: Schedule::default(),
            warmup: 0.1,
            weight_decay: 0.01,
            clip: 1.0,
            ema: 0.9,
            value_weight: 1.0,
            time_weight: 0.25,
            precision: Compute::F32,
            part: Part::All,
            policy_loss: PolicyLoss::default(),
            smoothing: 0.0,
            seed: 7,
        },
        data: Data {
            mixture: [("masters".to_owned(), toml::Value::Float(1.0))].into_iter().collect(),
            augmentation: Augmentation::default(),
        },
        claims: Vec::new(),
    }
}

/// A run's averaged weights, to the last bit.
pub fn weights(run: &Path) -> Vec<u8> {
    let out = run.with_extension("safetensors");
    export(run, &out, Precision::Full).expect("exported");
    behind_header(&out)
}

/// What is behind the header of a weights file: the order of the header's entries is left to chance, that of the weights is not.
pub fn behind_header(file: &Path) -> Vec<u8> {
    let bytes = std::fs::read(file).expect("readable");
    let header = bytes.first_chunk::<8>().map_or(0, |n| u64::from_le_bytes(*n) as usize);
    bytes[8 + header..].to_vec()
}

/// The seed is the process's own, and tests run side by side: who makes a network has it to themselves until all weights are drawn.
static SEED: Mutex<()> = Mutex::new(());

/// The same random network each time, whatever the other tests do.
pub fn seeded<B: Kernels>(config: &Config, seed: u64) -> Network<B> {
    let _alone = SEED.lock().unwrap_or_else(PoisonError::into_inner);
    let device = B::Device::default();
    B::seed(&device, seed);
    let network = Network::new(config, &device);
    // Parameters are drawn when they are first looked at.
    network.fork(&device)
}

/// All recipes of a folder, by name.
pub fn recipes(folder: &Path) -> Vec<(String, Recipe)> {
    let mut found: Vec<(String, Recipe)> = std::fs::read_dir(folder)
        .expect("recipes")
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .map(|p| (p.file_stem().expect("a name").to_string_lossy().into_owned(), Recipe::read(&p).expect("a recipe")))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// Every tiny system, and Glance's with everything that it can be shown of attacks and moves.
pub fn tiny() -> Vec<(String, Recipe)> {
    let systems = Path::new(env!("CARGO_MANIFEST_DIR")).join("systems");
    let mut all = recipes(&systems.join("tiny"));
    all.extend(recipes(&systems.join("choices")).into_iter().filter(|(name, _)| name == "glance-ahead"));
    all
}

/// Positions of a game, each with the move played and an evaluation.
pub fn samples() -> Vec<Sample> {
    let moves = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1h1 f8e7 f1e1 b7b5 a4b3 d7d6 c2c3 e8h8";
    let mut game = Game::default();
    let mut samples = Vec::new();
    for (i, text) in moves.split(' ').enumerate() {
        let played = game.parse_uci(text).expect("legal");
        let wdl = if i % 2 == 0 { Wdl::from_centipawns(150) } else { Wdl::from_centipawns(-150) };
        let legal = game.position().legal_moves();
        let mut sample = sample(&game, &legal, &Conditions::STRONGEST, played, true, Some(wdl));
        sample.facts.pawns = Some(if i % 2 == 0 { 15.0 } else { -15.0 });
        samples.push(sample);
        game.play(played);
    }
    samples
}

struct Lists<'a>(&'a GradientsParams, Vec<Vec<f32>>);

impl<B: AutodiffBackend> ModuleVisitor<B> for Lists<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        if let Some(grad) = self.0.get::<B::InnerBackend, D>(param.id) {
            self.1.push(grad.into_data().iter::<f32>().collect());
        }
    }
}

/// The gradients of a network, one list a parameter.
pub fn lists<B: AutodiffBackend + Kernels>(network: &Network<B>, grads: &GradientsParams) -> Vec<Vec<f32>> {
    let mut lists = Lists(grads, Vec::new());
    Module::<B>::visit(network, &mut lists);
    lists.1
}
