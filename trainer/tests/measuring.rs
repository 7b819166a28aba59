//! The measuring, averaging and labelling commands, run as a person would, on a handful of games and random weights.

mod common;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use common::{Folder, behind_header, seeded, text, write_games};
use glance::board::{parse_fen, write_fen};
use glance::network::{Config, Precision, TimeHead, save};
use glance_trainer::data::shard::{GameResult, Shard};
use shakmaty::{CastlingMode, Chess, Position};

/// A folder with a shard of two games, and random weights.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::create_dir_all(folder.0.join("data")).expect("temporary folder");
    let games = [
        ("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 1-0", GameResult::White),
        (
            "1. d4 {[%eval 0.2]} d5 {[%eval 0.3]} 2. c4 e6 3. Nc3 Nf6 4. Bg5 Be7 5. e3 O-O 6. Nf3 Nbd7 7. Rc1 c6 0-1",
            GameResult::Black,
        ),
    ];
    write_games(&folder.0.join("data/masters.games"), &games);
    let network = seeded::<burn_flex::Flex>(&Config::tiny(), 1);
    folder.write("w.safetensors", save(&network, Precision::Half).expect("saved"));
    folder
}

#[test]
fn a_network_is_measured_in_every_way() {
    let folder = folder("all");
    let puzzles = "PuzzleId,FEN,Moves,Rating,RatingDeviation\n\
                   abc,rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1,e2e4 e7e5,1500,70\n";
    std::fs::write(folder.0.join("puzzles.csv"), puzzles).expect("written");
    let out = folder
        .trainer("measure --weights w.safetensors --data data --count 300 --least 20 --puzzles puzzles.csv --out m");
    assert!(out.status.success(), "{}", text(&out.stderr));
    let told = text(&out.stdout);
    for expected in
        ["| masters | 300 |", "| masters | 2600 |", "| masters | 2500 |", "| all | 1 |", "| 1400 to 1599 | 1 |"]
    {
        assert!(told.contains(expected), "{expected} in\n{told}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.0.join("m").join(name)).expect(name);
    assert_eq!(read("measure.md"), told);
    assert!(read("measure.html").matches("</svg>").count() == 4 && read("measure.csv").lines().count() == 4);
    let json: serde_json::Value = serde_json::from_str(&read("measure.json")).expect("JSON");
    let figures = &json["sources"][0]["figures"];
    let of = |name: &str| figures[name].as_f64().expect(name);
    // Random weights know nothing: no better than guessing among some thirty moves, of which few are legal, and worse
    // than guessing as far as they are sure of themselves.
    assert!(of("top1") < 0.5 && of("top3") >= of("top1") && of("legal") < 0.5, "{figures}");
    assert!(of("policy_loss") > 2.5 && of("policy_loss") < 20.0, "{figures}");
    assert!(of("result_loss") > 0.3 && of("result_loss") < 20.0, "{figures}");
    assert_eq!(of("results"), 300.0);

    // The same positions each time, others with another seed.
    let again = |seed: &str| {
        let line = format!("measure --weights w.safetensors --data data --count 300 --json {seed}");
        let json: serde_json::Value = serde_json::from_str(&text(&folder.trainer(&line).stdout)).expect("JSON");
        json["sources"][0]["figures"]["policy_loss"].as_f64()
    };
    assert_eq!(again(""), Some(of("policy_loss")));
    assert!(again("--seed 7").is_some_and(|loss| loss != of("policy_loss")));
}

#[test]
fn what_cannot_be_measured_is_said_in_one_line() {
    let folder = folder("bad");
    std::fs::write(folder.0.join("bad.csv"), "PuzzleId,FEN\nx,y\n").expect("written");
    for (arguments, expected) in [
        ("measure --weights none.safetensors --data data", "none.safetensors"),
        ("measure --weights w.safetensors --data nowhere", "nowhere"),
        ("measure --weights w.safetensors --data data --count 50 --puzzles bad.csv", "bad.csv"),
        ("measure --weights w.safetensors --data data --count 50 --engine /no/engine", "/no/engine"),
        ("label data/masters.games --out labels --engine /no/engine", "/no/engine"),
        ("label w.safetensors --out labels", "w.safetensors"),
        ("label data/masters.games --out labels --tree 40 --weights none.safetensors", "none.safetensors"),
        ("train --recipe none.toml --data data --run r", "none.toml"),
        ("export --run nowhere --out o", "nowhere"),
        ("average w.safetensors none.safetensors --out a", "none.safetensors"),
        ("average w.safetensors bad.csv --out a", "bad.csv"),
        ("average w.safetensors w.safetensors --shares 1 --out a", "1 shares for 2 files"),
        ("average w.safetensors w.safetensors --shares 1,0 --out a", "share 0"),
        ("average w.safetensors w.safetensors --shares 1,NaN --out a", "share NaN"),
        ("average w.safetensors --out nowhere/a", "nowhere/a"),
        ("book nothing.games --out b", "nothing.games"),
        ("prepare nothing.pgn --out p", "nothing.pgn"),
    ] {
        let out = folder.trainer(arguments);
        let told = text(&out.stderr);
        assert!(!out.status.success() && told.contains(expected) && told.lines().count() == 1, "{arguments}: {told}");
        assert!(!told.contains("panicked"), "{told}");
    }
}

#[test]
fn networks_are_averaged_by_their_shares() {
    let folder = Folder::new("average");
    let config = Config::tiny();
    for (name, seed) in [("a", 1), ("b", 2)] {
        let network = seeded::<burn_flex::Flex>(&config, seed);
        folder.write(&format!("{name}.safetensors"), save(&network, Precision::Full).expect("saved"));
    }
    let averaged = |arguments: &str| -> Vec<f32> {
        let out = folder.trainer(&format!("average {arguments} --full --out mean.safetensors"));
        assert!(out.status.success(), "{}", text(&out.stderr));
        numbers(&folder.0.join("mean.safetensors"))
    };
    let [a, b] = ["a", "b"].map(|name| numbers(&folder.0.join(name).with_extension("safetensors")));
    assert!(a.len() == config.parameters() && a != b);
    let between = |share: f32| -> Vec<f32> { a.iter().zip(&b).map(|(a, b)| a * share + b * (1.0 - share)).collect() };
    for (arguments, expected) in [
        ("a.safetensors", a.clone()),
        ("a.safetensors b.safetensors", between(0.5)),
        ("a.safetensors b.safetensors --shares 3,1", between(0.75)),
        ("a.safetensors b.safetensors b.safetensors --shares 5,3,2", between(0.5)),
        ("a.safetensors b.safetensors --shares 1e308,1e308", between(0.5)),
    ] {
        let mean = averaged(arguments);
        assert_eq!(mean.len(), expected.len());
        let far = mean.iter().zip(&expected).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
        assert!(far < 1e-6, "{arguments}: {far}");
    }

    // What has another shape has no mean with it.
    let device = Default::default();
    let other = seeded::<burn_flex::Flex>(&config, 1).with_time(TimeHead { compress: 4, hidden: 16 }, &device);
    folder.write("other.safetensors", save(&other, Precision::Full).expect("saved"));
    let out = folder.trainer("average a.safetensors other.safetensors --out mean.safetensors");
    let told = text(&out.stderr);
    assert!(!out.status.success() && told.contains("other.safetensors") && told.lines().count() == 1, "{told}");
}

/// The weights in a file, which has four bytes for each.
fn numbers(file: &Path) -> Vec<f32> {
    behind_header(file).as_chunks::<4>().0.iter().map(|&n| f32::from_le_bytes(n)).collect()
}

/// Always 17 centipawns for the player to move, and the first legal move, with one after it that is not. While there is a file `stop`, it goes
/// away after twelve questions; while there is one `illegal`, its first move is not legal either.
#[test]
#[ignore = "no test: an engine, for the tests of labels to start"]
fn an_engine() {
    // What the tests say of themselves is on the line before.
    println!();
    let mut position = Chess::default();
    for line in std::io::stdin().lines() {
        let line = line.expect("text");
        match line.split(' ').next() {
            Some("uci") => println!("uciok"),
            Some("isready") => println!("readyok"),
            Some("position") => position = parse_fen(line.trim_start_matches("position fen ")).expect("legal"),
            Some("go") => {
                // One engine after another writes there.
                let asked = std::fs::read_to_string("asked").unwrap_or_default() + "x";
                std::fs::write("asked", &asked).expect("written");
                if asked.len() > 12 && Path::new("stop").exists() {
                    std::process::exit(1);
                }
                let first = position.legal_moves()[0].to_uci(CastlingMode::Standard);
                let first = if Path::new("illegal").exists() { "a1a1".to_owned() } else { first.to_string() };
                println!("info depth 7 nodes 2100 score cp 17 pv {first} a1a1\nbestmove {first}");
            }
            Some("quit") => std::process::exit(0),
            _ => {}
        }
    }
}

#[cfg(unix)]
#[test]
fn labels_are_written_from_whites_side_and_go_on_where_they_stopped() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder("label");
    let tests = std::env::current_exe().expect("the tests' program");
    let engine = format!("#!/bin/sh\nexec '{}' --ignored --exact an_engine --nocapture\n", tests.display());
    let path = folder.0.join("engine.sh");
    std::fs::write(&path, engine).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let command = |out: &str| {
        format!("label data/masters.games --engine ./engine.sh --count 25 --part 10 --threads 1 --out {out}")
    };

    assert!(folder.trainer(&command("whole")).status.success());
    std::fs::write(folder.0.join("stop"), "").expect("written");
    std::fs::remove_file(folder.0.join("asked")).expect("removed");
    let out = folder.trainer(&command("parts"));
    assert!(!out.status.success() && text(&out.stderr).contains("engine.sh"), "{}", text(&out.stderr));
    let parts = |name: &str| rows(&folder.0.join(name));
    assert_eq!(parts("parts").len(), 10, "the first file is there, the second is not");
    std::fs::remove_file(folder.0.join("stop")).expect("removed");
    assert!(folder.trainer(&command("parts")).status.success());
    assert_eq!(parts("parts"), parts("whole"));
    let rows = parts("whole");
    assert_eq!(rows.len(), 25);
    assert!(rows.iter().all(|(fen, cp, _)| *cp == if fen.contains(" w ") { 17 } else { -17 }), "{rows:?}");
    assert!(rows.iter().all(|(fen, ..)| fen.split(' ').count() == 4));
    // Only as far as the line is legal.
    assert!(rows.iter().all(|(.., line)| line.len() == 4 && line != "a1a1"), "{rows:?}");

    // An engine whose move is not legal is not believed.
    folder.write("illegal", Vec::new());
    let out = folder.trainer(&command("illegal-moves"));
    let told = text(&out.stderr);
    assert!(
        !out.status.success() && told.contains("engine.sh: move 'a1a1': not legal in ") && told.lines().count() == 1,
        "{told}"
    );
    std::fs::remove_file(folder.0.join("illegal")).expect("removed");

    // With few men only; with two kings alone there is nothing to be said.
    let game = "1. e4 d5 2. exd5 Qxd5 3. Nc3 Qxa2 4. Rxa2 Nc6 0-1";
    write_games(&folder.0.join("data/taken.games"), &[(game, GameResult::Black)]);
    let few = |men: u32| {
        let out = format!("few-{men}");
        let arguments = command(&out).replace("masters", "taken");
        (folder.trainer(&format!("{arguments} --men {men}")), out)
    };
    let most = |men| {
        let (found, out) = few(men);
        assert!(found.status.success(), "{}", text(&found.stderr));
        let men = |fen: &str| fen.chars().take_while(|&c| c != ' ').filter(char::is_ascii_alphabetic).count();
        parts(&out).iter().map(|(fen, ..)| men(fen)).max()
    };
    assert_eq!([29, 32].map(most), [Some(29), Some(30)]);
    let (none, _) = few(2);
    assert!(!none.status.success() && text(&none.stderr).contains("only 0 different"), "{}", text(&none.stderr));

    // What a search looks at: the same each time, all different, and not where it begins from only.
    let looked = |out: &str| {
        let of_tree = "--tree 40 --weights w.safetensors --looks 0.5 --one-random 0 --two-random 0";
        let out_of = folder.trainer(&format!("{} {of_tree}", command(out)));
        assert!(out_of.status.success(), "{}", text(&out_of.stderr));
        parts(out)
    };
    let rows = looked("looked");
    let different: HashSet<&String> = rows.iter().map(|(fen, ..)| fen).collect();
    assert_eq!((rows.len(), different.len()), (25, 25));
    let shard = Shard::open(&folder.0.join("data/masters.games")).expect("a shard");
    let records = (0..shard.len()).map(|i| shard.game(i).expect("a game"));
    let placement = |fen: &str| fen.split(' ').next().map(str::to_owned);
    let of_games: HashSet<_> =
        records.flat_map(|r| r.line().map(|(p, _)| placement(&write_fen(&p))).collect::<Vec<_>>()).collect();
    assert!(rows.iter().filter(|(fen, ..)| !of_games.contains(&placement(fen))).count() > 12, "{rows:?}");
    std::fs::remove_file(folder.0.join("looked/part-00001.parquet")).expect("removed");
    assert_eq!(looked("looked"), rows);
}

/// FEN, centipawns and line of all labels in a folder.
fn rows(folder: &Path) -> Vec<(String, i16, String)> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int16Type;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "parquet"));
    paths.sort();
    let mut rows = Vec::new();
    for path in paths {
        let file = std::fs::File::open(path).expect("readable");
        for batch in ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").build().expect("Parquet") {
            let batch = batch.expect("rows");
            let fens = batch.column_by_name("fen").expect("fen").as_string::<i32>().clone();
            let scores = batch.column_by_name("cp").expect("cp").as_primitive::<Int16Type>().clone();
            let lines = batch.column_by_name("line").expect("line").as_string::<i32>().clone();
            rows.extend(
                (0..batch.num_rows()).map(|i| (fens.value(i).to_owned(), scores.value(i), lines.value(i).to_owned())),
            );
        }
    }
    rows
}
