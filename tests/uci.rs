//! The real binary, as a GUI sees it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

struct Engine {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Engine {
    fn start(args: &[&str]) -> Engine {
        let mut child = Command::new(env!("CARGO_BIN_EXE_glance"))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the engine starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Engine { input: child.stdin.take(), child, lines }
    }

    fn say(&mut self, text: &str) {
        self.raw(format!("{text}\n").as_bytes());
    }

    fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("open");
        input.write_all(bytes).expect("the engine listens");
        input.flush().expect("the engine listens");
    }

    /// Everything up to a line that begins so, which is the last.
    fn until(&mut self, start: &str) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_secs(60)) {
                Ok(line) => {
                    let last = line.starts_with(start);
                    seen.push(line);
                    if last {
                        return seen;
                    }
                }
                Err(_) => panic!("no line '{start}' after {seen:#?}"),
            }
        }
    }

    fn nothing_for(&mut self, time: Duration, start: &str) {
        let end = Instant::now() + time;
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            assert!(!line.starts_with(start), "{line}");
        }
    }

    fn end(mut self) {
        self.input = None;
        let status = self.child.wait().expect("the engine ends");
        assert!(status.success(), "{status}");
    }
}

#[test]
fn a_gui_starts_and_plays() {
    let mut e = Engine::start(&[]);
    e.say("uci");
    let lines = e.until("uciok");
    assert!(lines[0].starts_with("id name Glance"));
    for name in [
        "Threads",
        "Hash",
        "Clear Hash",
        "Ponder",
        "MultiPV",
        "Move Overhead",
        "UCI_Chess960",
        "UCI_ShowWDL",
        "UCI_AnalyseMode",
        "UCI_LimitStrength",
        "UCI_Elo",
        "UCI_Opponent",
        "SelfElo",
        "OppoElo",
        "HumanTime",
        "HumanBook",
        "DialFile",
        "UCI_EngineAbout",
        "OwnBook",
        "BookFile",
        "SyzygyPath",
        "SyzygyProbeLimit",
        "Syzygy50MoveRule",
        "WeightsFile",
        "Backend",
        "Search",
        "Temperature",
        "VerboseMoveStats",
        "Log File",
    ] {
        assert!(lines.iter().any(|l| l.starts_with(&format!("option name {name} type "))), "{name}");
    }
    // lichess-bot's default configuration.
    for option in ["Move Overhead value 100", "Threads value 4", "Hash value 512", "UCI_ShowWDL value true"] {
        e.say(&format!("setoption name {option}"));
    }
    e.say(concat!("setoption name SyzygyPath value ", env!("CARGO_MANIFEST_DIR"), "/tablebases"));
    e.say("isready");
    assert_eq!(e.until("readyok"), ["readyok"], "nothing to complain of");
    e.say("ucinewgame");
    e.say("position startpos moves d2d4 a7a6 h2h4 h7h6 a2a4 a6a5 h4h5");
    e.say("go wtime 1000 btime 1000 winc 10 binc 10");
    let lines = e.until("bestmove");
    let info = &lines[lines.len() - 2];
    for word in ["depth", "seldepth", "multipv", "score", "wdl", "nodes", "nps", "hashfull", "tbhits", "time", "pv"] {
        assert!(info.split(' ').any(|w| w == word), "{word} in {info}");
    }
    let best = lines[lines.len() - 1].split(' ').nth(1).expect("a move");
    assert!(info.contains(&format!(" pv {best}")), "{info} {best}");
    e.say("quit");
    e.end();
}

#[test]
fn thinking_does_not_stop_it_listening() {
    let mut e = Engine::start(&[]);
    e.say("setoption name OwnBook value false");
    e.say("isready");
    e.until("readyok");
    e.say("go infinite");
    e.until("info depth 1");
    e.say("isready");
    e.until("readyok");
    e.say("setoption name MultiPV value 2");
    e.say("go depth 1");
    e.until("info string go: a search is running");
    e.say("stop");
    e.until("bestmove");
    // The option that was set meanwhile counts now.
    e.say("go depth 1");
    let lines = e.until("bestmove");
    assert!(lines.iter().any(|l| l.contains("multipv 2")), "{lines:#?}");
    // Pondering: no move before the opponent's, then one within the time.
    e.say("position startpos moves e2e4 a7a5");
    e.say("go ponder movetime 50");
    e.nothing_for(Duration::from_millis(300), "bestmove");
    e.say("ponderhit");
    e.until("bestmove");
    e.say("go ponder wtime 100 btime 100");
    e.say("stop");
    e.until("bestmove");
    // `stop` with nothing to stop, and a search that would never end.
    e.say("stop");
    e.say("go");
    e.nothing_for(Duration::from_millis(200), "bestmove");
    e.end();
}

#[test]
fn searches_sent_at_once_are_answered_in_turn() {
    let mut e = Engine::start(&["--option", "OwnBook=false"]);
    let move_of =
        |lines: Vec<String>| lines.last().and_then(|l| l.split(' ').nth(1).map(str::to_owned)).expect("a move");
    // A mate for each side, as a script would send them.
    for fen in ["6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "r3k3/8/8/8/8/8/5PPP/6K1 b - - 0 1"].repeat(3) {
        e.say(&format!("position fen {fen}"));
        e.say("go nodes 50");
    }
    for expected in ["a1a8", "a8a1"].repeat(3) {
        assert_eq!(move_of(e.until("bestmove")), expected);
    }
    // Each has its own time.
    let start = Instant::now();
    e.say("position startpos moves e2e4");
    for _ in 0..3 {
        e.say("go movetime 150");
    }
    for _ in 0..3 {
        e.until("bestmove");
    }
    assert!(start.elapsed() > Duration::from_millis(300), "{:?}", start.elapsed());
    // `stop` is meant for all of them, and the next does not wait for their answers.
    for _ in 0..3 {
        e.say("go movetime 3600000");
    }
    e.say("stop");
    e.say("position fen 6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1");
    e.say("go movetime 1000");
    for _ in 0..3 {
        let first = move_of(e.until("bestmove"));
        assert!(first.ends_with(['5', '6']), "{first}: 1. e4 is answered");
    }
    assert_eq!(move_of(e.until("bestmove")), "a1a8");
    // The end of the input is no `stop`.
    e.say("go movetime 100");
    e.say("go movetime 100");
    e.input = None;
    e.until("bestmove");
    e.until("bestmove");
    e.end();
}

#[test]
fn bad_input_is_one_line_and_the_last_good_state() {
    let mut e = Engine::start(&["--option", "OwnBook=false"]);
    e.say("position startpos moves e2e4");
    for (line, expected) in [
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "empty board"),
        ("position fen rnbqkbnr/pppppppp/8/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "fen"),
        ("position startpos moves e2e4 e2e4 e7e5", "move 2"),
        ("position fen 4k3/4R3/8/8/8/8/8/4K3 w - - 0 1", "opposite check"),
        ("setoption name Hash value -3", "1 to 65536"),
        ("setoption name Hash value lots", "1 to 65536"),
        ("setoption name Nonsense value 3", "no such option"),
        ("setoption name WeightsFile value /no/such/file", "/no/such/file"),
        ("setoption name WeightsFile value /dev/zero", "/dev/zero"),
        ("setoption name BookFile value /dev/null/x", "/dev/null/x"),
        ("setoption name SyzygyPath value /no/such/folder", "/no/such/folder"),
        ("setoption name SyzygyPath value src", "no tables"),
        ("setoption name Log File value /no/such/folder/log", "/no/such/folder/log"),
        ("setoption name Backend value abacus", "int8"),
        ("go depth x", "go depth"),
        ("hello", "unknown command"),
    ] {
        e.say(line);
        let seen = e.until("info string");
        assert!(seen[seen.len() - 1].contains(expected), "{line}: {seen:?}");
        e.say("isready");
        assert_eq!(e.until("readyok").len(), 1, "{line}: one line, no more");
    }
    let mut noise: Vec<u8> = (0..100_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    noise.push(b'\n');
    e.raw(&noise);
    e.raw(&vec![b'k'; 1 << 20]);
    e.raw(b"\n\0\0\n");
    e.say("isready");
    e.until("readyok");
    e.say("d");
    let lines = e.until("Fen:");
    assert!(lines[lines.len() - 1].contains("4P3"), "still after e4: {lines:?}");
    e.say("go nodes 1");
    e.until("bestmove");
    e.end();
}

#[test]
fn games_that_are_over_and_odd_limits() {
    let mut e = Engine::start(&["--option", "OwnBook=false"]);
    for (position, limits, expected) in [
        ("fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "depth 1", "bestmove 0000"),
        ("startpos moves f2f3 e7e5 g2g4 d8h4", "movetime 10", "bestmove 0000"),
        ("fen 6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "nodes 0", "bestmove a1a8"),
        ("fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1", "wtime -5 btime 0 searchmoves e1g1", "bestmove e1g1"),
        ("startpos", "wtime 1 btime 1 searchmoves e2e5 d2d3 zz", "bestmove d2d3"),
        ("startpos", "depth 0 nodes 0 movetime 0", "bestmove"),
        ("fen 7k/8/8/8/8/8/R7/1R2K3 w - - 0 1", "mate 2", "bestmove"),
    ] {
        e.say(&format!("position {position}"));
        e.say(&format!("go {limits}"));
        let lines = e.until("bestmove");
        assert!(lines[lines.len() - 1].starts_with(expected), "{position} {limits}: {lines:#?}");
        assert!(lines.iter().any(|l| l.contains(" score ")), "{position} {limits}: {lines:#?}");
    }
    e.end();
}

#[test]
fn the_end_of_the_input_waits_for_what_ends_by_itself() {
    let mut e = Engine::start(&[]);
    e.say("position startpos moves a2a3 h7h6");
    e.say("go movetime 100");
    e.input = None;
    e.until("bestmove");
    e.end();
}

#[test]
fn a_person_plays_a_game_its_own_way() {
    let mut e = Engine::start(&[]);
    e.say("setoption name UCI_LimitStrength value true\nsetoption name UCI_Elo value 1500");
    e.say("setoption name UCI_Opponent value GM 2700 human Somebody");
    let mut answers = std::collections::HashSet::new();
    for _ in 0..24 {
        e.say("position startpos moves e2e4 e7e5 g1f3 b8c6\ngo wtime 60000 btime 60000 winc 1000 binc 1000");
        answers.insert(e.until("bestmove").pop());
    }
    assert!(answers.len() > 1, "no two games are alike: {answers:?}");
    // The clock is short, and time is taken: never more than a quarter of it. `stop` ends the wait.
    e.say("setoption name HumanTime value true");
    e.say("position startpos moves e2e4 e7e5");
    e.say("isready");
    e.until("readyok");
    let start = Instant::now();
    e.say("go wtime 1000 btime 1000");
    e.until("bestmove");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    e.say("go wtime 36000000 btime 36000000");
    e.say("stop");
    e.until("bestmove");
    // What has no clock is answered at once; the opponent's clock is no reason to wait.
    for go in ["go nodes 1", "go depth 2", "go btime 36000000"] {
        e.say(go);
        e.until("bestmove");
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    e.say("setoption name HumanBook value /no/such.bin\nsetoption name DialFile value /no/such.json\nisready");
    let lines = e.until("readyok");
    assert!(lines.iter().any(|l| l.contains("book '/no/such.bin'") && l.contains("stays")), "{lines:?}");
    assert!(lines.iter().any(|l| l.contains("dial '/no/such.json'") && l.contains("stays")), "{lines:?}");
    e.end();
}

/// Runs the program: whether it succeeded, what it said, what it complained of.
fn run(args: &[&str]) -> (bool, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_glance")).args(args).stdin(Stdio::null()).output().expect("runs");
    (
        out.status.success(),
        String::from_utf8_lossy(&out.stdout).into_owned(),
        String::from_utf8_lossy(&out.stderr).into_owned(),
    )
}

#[test]
fn moves_by_rating() {
    // Scholar's mate: who sees it?
    let fen = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4";
    let svg = std::env::temp_dir().join(format!("glance-human-{}.svg", std::process::id()));
    let (ok, out, err) =
        run(&["human", fen, "--elo", "1000..1400", "--clock", "30", "--svg", &svg.display().to_string()]);
    assert!(ok, "{err}");
    assert_eq!(out.lines().count(), 7, "{out}");
    assert!(out.contains("Qxf7#") && out.contains("\n  1000 ") && out.contains("first choice: "), "{out}");
    let drawn = std::fs::read_to_string(&svg).expect("drawn");
    assert!(drawn.contains("<svg") && drawn.contains("Qxf7#"));
    std::fs::remove_file(&svg).expect("removable");
    let (ok, out, _) = run(&["human", fen, "--json", "--step", "500"]);
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert!(ok && value["ratings"].as_array().is_some_and(|r| r.len() == 5), "{out}");
    let first: f64 =
        value["moves"].as_array().expect("moves").iter().filter_map(|m| m["probability"][0].as_f64()).sum();
    assert!((first - 1.0).abs() < 1e-3, "{first}");
    for (bad, expected) in [
        (&["human", "--elo", "100..900"], "LOW..HIGH with 400"),
        (&["human", "--clock", "-3"], "seconds from 0"),
        (&["human", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "--json"], "the game is over"),
    ] as [(&[&str], &str); 3]
    {
        let (ok, _, err) = run(bad);
        assert!(!ok && err.contains(expected), "{err}");
    }
}

#[test]
fn ratings_by_moves() {
    let path = std::env::temp_dir().join(format!("glance-guess-{}.pgn", std::process::id()));
    let named = path.display().to_string();
    let game = "[White \"A\"]\n[WhiteElo \"1450\"]\n\n1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n\n";
    let long =
        "[White \"B\"]\n\n1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. Bg5 Be7 5. e3 O-O 6. Nf3 {a comment} h6 (6... c6) *\n\n";
    std::fs::write(&path, format!("{game}{long}{game}[White \"C\"]\n\n1. e4 Ke6 *\n")).expect("written");
    let (ok, out, err) = run(&["guess-elo", &named, "--moves", "--signals"]);
    assert!(ok, "{err}");
    assert!(out.contains("White (B): ") && out.contains("6... h6") && out.contains("prove nothing"), "{out}");
    assert!(err.contains("game 1: 7 plies: too short") && err.contains("game 4, move 1... Ke6: illegal"), "{err}");
    let (ok, out, _) = run(&["guess-elo", &named, "--json"]);
    let value: serde_json::Value = serde_json::from_str(out.lines().next().expect("a line")).expect("JSON");
    assert!(ok && value["players"][0]["moves"].as_array().is_some_and(|m| m.len() == 6), "{out}");
    std::fs::write(&path, "").expect("written");
    let (ok, _, err) = run(&["guess-elo", &named]);
    assert!(!ok && err.contains("no game in it"), "{err}");
    std::fs::remove_file(&path).expect("removable");
    let (ok, _, err) = run(&["guess-elo", &named]);
    assert!(!ok && err.contains(&named) && err.lines().count() == 1, "{err}");
}

#[test]
fn what_would_take_years_ends_at_stop_and_at_quit() {
    let mut engine = Engine::start(&[]);
    engine.say("perft 12\nisready");
    engine.until("readyok");
    engine.say("stop");
    engine.until("info string perft: stopped");
    engine.say("bench\nstop\nperft 2");
    let seen = engine.until("nodes 400 ");
    assert!(seen.iter().any(|line| line == "bench: stopped"), "{seen:?}");
    engine.say("go infinite\nperft 3\nbench");
    engine.until("info string perft: a search is running");
    engine.until("info string bench: a search is running");
    engine.say("stop");
    engine.until("bestmove");
    engine.say("perft 12\nquit");
    assert!(engine.child.wait().expect("it ends").success());
}

#[test]
fn the_command_line() {
    let (ok, out, _) = run(&["eval", "--json", "4k3/8/8/8/8/8/8/4K2R w K - 0 1"]);
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert!(ok && value["moves"].as_array().is_some_and(|m| m.len() == 15), "{out}");
    let (ok, out, _) = run(&["eval"]);
    assert!(ok && out.contains("win") && out.contains('%'));
    let (ok, out, _) = run(&["perft", "3"]);
    assert!(ok && out.contains("nodes 8902"));
    let (ok, out, _) = run(&["--help"]);
    assert!(ok && out.contains("Move Overhead"));
    let (ok, _, err) = run(&["eval", "nonsense"]);
    assert!(!ok && err.contains("'nonsense'") && err.lines().count() == 1, "{err}");
    let (ok, _, err) = run(&["--option", "Hash=0"]);
    assert!(!ok && err.contains("1 to 65536") && err.lines().count() == 1, "{err}");
    let (ok, out, _) = run(&["--option", "Search=policy", "bench"]);
    assert!(ok && out.trim_end().ends_with("nps"), "{out}");
}
