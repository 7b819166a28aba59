//! Files as the world publishes them, prepared whole: what is kept, what is left out, and how it goes on after a stop.

mod common;

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use glance_trainer::data::manifest::Manifest;
use glance_trainer::data::prepare::{Options, Preparation, PrepareError, inputs};
use glance_trainer::data::shard::{Kind, Shard};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use shakmaty::san::SanPlus;
use shakmaty::{Chess, Position};

use common::Folder;

fn options_in(folder: &Folder, out: &str) -> Options {
    Options {
        out: folder.0.join(out),
        seed: 1,
        selection: None,
        threads: 2,
        shard_bytes: 1 << 20,
        interrupted: Arc::default(),
    }
}

fn prepare(options: &Options, input: &Path) -> Manifest {
    let mut preparation = Preparation::new(options.clone()).expect("a folder");
    let (path, name) = inputs(&[input.to_owned()]).expect("one file").remove(0);
    preparation.file(&path, &name).expect("prepared")
}

/// The records of all shards of a folder, sorted.
fn records(options: &Options, manifest: &Manifest) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for name in &manifest.shards {
        let shard = Shard::open(&options.out.join(name)).expect("whole");
        all.extend((0..shard.len()).map(|i| match shard.kind() {
            Kind::Games => shard.game(i).expect("a game").ranks.to_vec(),
            Kind::Positions => shard.bytes(i).expect("a position").to_vec(),
        }));
    }
    all.sort();
    all
}

const SAMPLE: &str = r#"[Event "Rated Blitz game"]
[Site "https://lichess.org/abcdefgh"]
[Result "1-0"]
[UTCDate "2025.05.01"]
[WhiteElo "1950"]
[BlackElo "1132"]
[TimeControl "600+3"]

1. e4 { [%eval 0.3] [%clk 0:10:00] } 1... e5 { [%clk 0:10:00] } 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 (4. Bxc6) Nf6 5. O-O Be7 1-0

[Event "Rated Rapid game"]
[Site "https://lichess.org/bbbbbbbb"]
[Result "0-1"]
[UTCDate "2024.05.01"]
[WhiteElo "1700"]
[BlackElo "9999"]
[TimeControl "600+0"]

1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. Bg5 Be7 5. e3 O-O 6. Nf3 { a plain remark } Nbd7 0-1

[Event "The same moves again"]
[Result "1-0"]
[WhiteElo "1950"]
[TimeControl "-"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 1-0

[Event "Illegal"]
[WhiteElo "1950"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 Kd5 *

[Event "Short"]
[WhiteElo "1950"]

1. e4 *

[Event "Abandoned"]

 0-1

[Event "Crazyhouse"]
[Variant "Crazyhouse"]
[WhiteElo "1950"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 1-0
"#;

#[test]
fn pgn_is_read_with_all_its_faults() {
    let folder = Folder::new("pgn");
    let input = folder.write("games.pgn", SAMPLE.as_bytes());
    let options = options_in(&folder, "out");
    let manifest = prepare(&options, &input);
    let c = &manifest.counts;
    assert_eq!((c.rows, c.kept, c.plies, c.duplicates, c.short, c.variants, c.bad), (7, 2, 22, 1, 2, 1, 1));
    assert_eq!(c.absurd_ratings, 1);
    assert!(c.examples[0].contains("games.pgn row 4: illegal move Kd5 at ply 6"), "{:?}", c.examples);
    let shard = Shard::open(&options.out.join("games.games")).expect("whole");
    let game = (0..2).filter_map(|i| shard.game(i)).find(|g| g.head.white == Some(1950)).expect("the first game");
    assert_eq!((game.eval(0), game.clock(0), game.clock(1), game.clock(2)), (Some(30), Some(600), Some(600), None));
    assert_eq!((game.head.black, game.head.time_control), (Some(1132), Some((600, 3))));
    // Again, and everything is there already; with another selection, that is refused.
    assert_eq!(prepare(&options, &input), manifest);
    let other = Options { selection: Some("WhiteElo > 1".into()), ..options.clone() };
    let error = Preparation::new(other).expect("a folder").file(&input, "games").expect_err("made from all rows");
    assert!(matches!(error, PrepareError::Other { .. }), "{error}");
}

#[test]
fn a_predicate_chooses_games_of_any_format() {
    let folder = Folder::new("where");
    let plain = folder.write("year=2025/month=05/games.pgn", SAMPLE.as_bytes());
    let packed = zstd::encode_all(SAMPLE.as_bytes(), 1).expect("compresses");
    let packed = folder.write("packed.pgn.zst", &packed);
    for (input, out) in [(plain, "a"), (packed, "b")] {
        let selection = Some("WhiteElo > 1800 and TimeControl like '600+%' and UTCDate >= '2025-01-01'".into());
        let options = Options { selection, ..options_in(&folder, out) };
        let manifest = prepare(&options, &input);
        assert_eq!((manifest.counts.kept, manifest.counts.not_wanted), (1, 6), "{}", input.display());
    }
    let options = Options { selection: Some("Elo > 3".into()), ..options_in(&folder, "c") };
    let error = Preparation::new(options).expect("a folder").file(&folder.0.join("packed.pgn.zst"), "x");
    let error = error.expect_err("no such column").to_string();
    assert!(error.contains("Elo") && error.contains("packed.pgn.zst") && !error.contains('\n'), "{error}");
}

#[test]
fn what_is_cut_short_gives_what_it_has() {
    let folder = Folder::new("cut");
    let mut rng = StdRng::seed_from_u64(7);
    let text: String = (0..3000).map(|_| random_game(&mut rng)).collect();
    let packed = zstd::encode_all(text.as_bytes(), 1).expect("compresses");
    let input = folder.write("cut.pgn.zst", &packed[..packed.len() * 2 / 3]);
    let manifest = prepare(&options_in(&folder, "out"), &input);
    assert!(manifest.finished && manifest.counts.kept > 500, "{manifest:?}");
    let reason = manifest.cut_short.expect("cut short");
    assert!(reason.contains("cut.pgn.zst: game "), "{reason}");
    // Not what its name says at all.
    let noise = folder.write("noise.pgn.zst", b"\x00\x01\x02 not zstd");
    assert_eq!(prepare(&options_in(&folder, "out"), &noise).counts.kept, 0);
    let noise = folder.write("noise.parquet", b"PAR1 not parquet");
    let error =
        Preparation::new(options_in(&folder, "out")).expect("a folder").file(&noise, "n").expect_err("no Parquet");
    assert!(error.to_string().contains("noise.parquet"), "{error}");
    let error = Preparation::new(options_in(&folder, "out")).expect("a folder").file(Path::new("games.txt"), "t");
    assert!(error.expect_err("unknown ending").to_string().contains(".pgn.zst"));
}

fn random_game(rng: &mut StdRng) -> String {
    let mut position = Chess::default();
    let mut text = String::from("[Event \"random\"]\n[Result \"*\"]\n\n");
    for ply in 0..20 {
        let moves = position.legal_moves();
        if moves.is_empty() {
            break;
        }
        let m = moves[rng.random_range(0..moves.len())];
        if ply % 2 == 0 {
            text += &format!("{}. ", ply / 2 + 1);
        }
        text += &format!("{} ", SanPlus::from_move_and_play_unchecked(&mut position, m));
    }
    text + "*\n\n"
}

#[test]
fn preparing_goes_on_where_it_was_stopped() {
    let folder = Folder::new("resume");
    let mut rng = StdRng::seed_from_u64(3);
    let text: String = (0..7000).map(|_| random_game(&mut rng)).collect();
    let input = folder.write("games.pgn", text.as_bytes());
    let whole = Options { shard_bytes: 40_000, ..options_in(&folder, "whole") };
    let expected = prepare(&whole, &input);
    assert!(expected.shards.len() > 2, "{:?}", expected.shards);

    let options = Options { shard_bytes: 40_000, ..options_in(&folder, "stopped") };
    let stopped = Options { interrupted: Arc::new(AtomicBool::new(true)), ..options.clone() };
    for _ in 0..2 {
        stopped.interrupted.store(true, Ordering::Relaxed);
        let error = Preparation::new(stopped.clone()).expect("a folder").file(&input, "games").expect_err("stopped");
        assert!(matches!(error, PrepareError::Interrupted), "{error}");
    }
    let halfway = Manifest::read(&Manifest::path(&options.out, "games")).expect("readable").expect("there");
    assert!(!halfway.finished && halfway.counts.rows > 2048 && halfway.counts.rows < 7000, "{halfway:?}");
    // A kill between shard and manifest leaves a shard that nobody knows of, and halves of files.
    std::fs::write(options.out.join(format!("games.{}.games", halfway.shards.len())), b"half").expect("writable");
    let resumed = prepare(&options, &input);
    assert_eq!(resumed.counts, expected.counts);
    assert_eq!(records(&options, &resumed), records(&whole, &expected));
}

#[test]
fn evaluations_come_as_lichess_exports_them_or_flat() {
    let folder = Folder::new("jsonl");
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let mut text = Vec::new();
    writeln!(text, r#"{{"fen":"{start}","evals":[{{"pvs":[{{"cp":10,"line":"d2d4"}}],"knodes":9,"depth":20}},{{"pvs":[{{"cp":31,"line":"e2e4 e7e5"}},{{"cp":20,"line":"c2c4"}}],"knodes":99,"depth":40}}]}}"#).expect("in memory");
    writeln!(text, r#"{{"fen":"7k/5Q2/8/6K1/8/8/8/8 w - -","line":"g5g6","depth":12,"knodes":1,"cp":null,"mate":2}}"#)
        .expect("in memory");
    writeln!(text, r#"{{"fen":"{start}","line":"g1f3","depth":10,"knodes":1,"cp":5}}"#).expect("in memory");
    writeln!(text, r#"{{"fen":"{start}","line":"e2e5","depth":10,"knodes":1,"cp":5}}"#).expect("in memory");
    writeln!(text, "no json").expect("in memory");
    let input = folder.write("evals.jsonl.zst", zstd::encode_all(&text[..], 1).expect("compresses"));
    let options = options_in(&folder, "out");
    let manifest = prepare(&options, &input);
    let c = &manifest.counts;
    assert_eq!((c.rows, c.kept, c.duplicates, c.bad), (5, 2, 1, 2), "{c:?}");
    let shard = Shard::open(&options.out.join("evals.positions")).expect("whole");
    let mut evals: Vec<i16> = (0..2).filter_map(|i| shard.position(i)).map(|p| p.eval).collect();
    evals.sort();
    assert_eq!(evals, [31, 31_998]);
    // What another file has already is not taken twice.
    let again = folder.write("more.jsonl", &text);
    assert_eq!(prepare(&options, &again).counts.duplicates, 3);
}

#[test]
fn two_files_do_not_share_a_name() {
    let folder = Folder::new("names");
    let a = folder.write("a/games.pgn", SAMPLE.as_bytes());
    let b = folder.write("b/games.pgn.zst", b"");
    assert!(matches!(inputs(&[a, b]), Err(PrepareError::SameName(..))));
    let names: Vec<String> =
        inputs(std::slice::from_ref(&folder.0)).expect("two files").into_iter().map(|(_, n)| n).collect();
    assert_eq!(names, ["a-games", "b-games"]);
    assert!(inputs(&[folder.0.join("nothing")]).is_ok_and(|i| i.len() == 1));
}
