//! The comparison of systems, run as a person would, on a handful of games.

mod common;

use common::{Folder, text, write_games};
use glance_trainer::data::shard::GameResult;

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    let games = [
        ("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 1-0", GameResult::White),
        ("1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. Bg5 Be7 5. e3 O-O 6. Nf3 Nbd7 7. Rc1 c6 1/2-1/2", GameResult::Draw),
    ];
    std::fs::create_dir_all(folder.0.join("data")).expect("temporary folder");
    write_games(&folder.0.join("data/masters.games"), &games);
    let systems = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("systems/tiny");
    for name in ["deep-chess", "smolgen"] {
        let recipe = std::fs::read_to_string(systems.join(name).with_extension("toml")).expect("a recipe");
        folder.write(&format!("systems/{name}.toml"), recipe.replace("online = ", "masters = "));
    }
    folder
}

#[test]
fn systems_are_trained_measured_and_played_once() {
    let folder = folder("zoo");
    let command = "zoo systems --data data --validation data --out out --positions 256 --count 20 --openings 1";
    let out = folder.trainer(command);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let said = text(&out.stdout);
    assert!(said.contains("| `deep-chess` |") && said.contains("| `smolgen` |"), "{said}");
    assert!(said.contains("on 256 positions of the same data, then played 2 games"), "{said}");
    let read = |name: &str| std::fs::read_to_string(folder.0.join("out").join(name)).expect(name);
    let report = read("zoo.md");
    assert!(said.ends_with(&report), "{report}");
    assert!(read("zoo.html").contains("</svg>"));
    let pgn = read("games.pgn");
    assert_eq!(pgn.matches("[White \"deep-chess\"]").count(), 1, "{pgn}");
    // The same command does nothing again, and says the same.
    let again = folder.trainer(command);
    assert!(text(&again.stdout).contains("smolgen: done before"));
    assert_eq!((read("zoo.md"), read("games.pgn")), (report, pgn));
}

#[test]
fn what_cannot_be_compared_is_said_in_one_line() {
    let folder = folder("no-zoo");
    folder.write("twice/one.toml", std::fs::read(folder.0.join("systems/smolgen.toml")).expect("a recipe"));
    folder.write("twice/two.toml", std::fs::read(folder.0.join("systems/smolgen.toml")).expect("a recipe"));
    let common = "--data data --validation data --out out2 --positions 256";
    for (systems, expected) in [
        ("systems/smolgen.toml", "1 recipe: at least two are needed"),
        ("twice", "two recipes of the name 'smolgen'"),
        ("nowhere", "nowhere"),
        ("systems --search oracle", "oracle"),
        ("systems --search tree", "smolgen: Search 'tree': the weights in use have no value head"),
    ] {
        let out = folder.trainer(&format!("zoo {systems} {common} --openings 1 --count 5"));
        let error = text(&out.stderr);
        assert!(!out.status.success() && error.contains(expected), "{systems}: {error}");
    }
}
