//! Another UCI engine as a child process, asked for its opinion of positions.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use glance::board::{Game, parse_fen};

/// Bytes of a line at most; what is longer is taken for several.
const LONGEST: u64 = 1 << 20;
/// Lines that wait to be heard; an engine that says more has to wait.
const WAITING: usize = 256;

/// How an engine is started and how long it thinks.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The program.
    pub program: PathBuf,
    /// Options set before the first position: name and value.
    pub options: Vec<(String, String)>,
    /// What follows `go`: "nodes 2000", "depth 10", "movetime 50".
    pub limit: String,
    /// Longest time for an answer.
    pub patience: Duration,
}

/// What an engine thinks of a position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opinion {
    /// Depth in plies.
    pub depth: i32,
    /// Nodes searched.
    pub nodes: u64,
    /// Centipawns for the player to move.
    pub cp: Option<i32>,
    /// Moves to mate, negative when being mated.
    pub mate: Option<i32>,
    /// Principal variation in UCI notation, the best move first.
    pub line: Vec<String>,
}

/// Why an engine gave no answer.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("engine {program}: {reason}")]
pub struct EngineError {
    /// The program.
    pub program: String,
    /// What went wrong.
    pub reason: String,
}

/// A running engine. It is ended when this is dropped.
pub struct Engine {
    options: EngineOptions,
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Engine {
    /// Starts the engine and waits until it is ready.
    ///
    /// # Errors
    /// When it cannot be started, or does not speak UCI.
    pub fn start(options: &EngineOptions) -> Result<Engine, EngineError> {
        let fail = |reason: String| EngineError { program: options.program.display().to_string(), reason };
        if options.limit.contains(['\n', '\r']) || options.options.iter().any(|(n, v)| format!("{n}{v}").contains('\n'))
        {
            return Err(fail("options and limits are one line each".into()));
        }
        let mut child = Command::new(&options.program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| fail(e.to_string()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(fail("no pipes to it".into()));
        };
        let (send, lines) = bounded(WAITING);
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(line) = line(&mut output) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut engine = Engine { options: options.clone(), child, input, lines };
        engine.say("uci")?;
        engine.wait(|line| line == "uciok")?;
        for (name, value) in options.options.clone() {
            engine.say(&format!("setoption name {name} value {value}"))?;
        }
        engine.say("isready")?;
        engine.wait(|line| line == "readyok")?;
        Ok(engine)
    }

    fn fail(&self, reason: String) -> EngineError {
        EngineError { program: self.options.program.display().to_string(), reason }
    }

    fn say(&mut self, line: &str) -> Result<(), EngineError> {
        writeln!(self.input, "{line}").map_err(|e| self.fail(format!("does not listen: {e}")))
    }

    /// Lines until one is wanted.
    fn wait(&mut self, mut wanted: impl FnMut(&str) -> bool) -> Result<(), EngineError> {
        let until = Instant::now() + self.options.patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if wanted(line.trim()) => return Ok(()),
                // One that never stops talking does not answer either.
                Ok(_) if !left.is_zero() => {}
                Ok(_) | Err(RecvTimeoutError::Timeout) => {
                    return Err(self.fail(format!("no answer within {} s", self.options.patience.as_secs_f64())));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.fail("went away".into())),
            }
        }
    }

    /// Asks for the engine's opinion of a position, given as a FEN. Its variation ends before the first move that is not legal.
    ///
    /// # Errors
    /// When it goes away, does not answer in time, or answers without a score, or with a move that is not legal.
    pub fn ask(&mut self, fen: &str) -> Result<Opinion, EngineError> {
        let position = parse_fen(fen).map_err(|e| self.fail(e.to_string()))?;
        self.say(&format!("position fen {fen}"))?;
        self.say(&format!("go {}", self.options.limit))?;
        let mut opinion = None;
        self.wait(|line| {
            opinion = parse_info(line).or_else(|| opinion.take());
            line.starts_with("bestmove")
        })?;
        let mut opinion = opinion.ok_or_else(|| self.fail(format!("no score for {fen}")))?;
        let mut game = Game::new(position);
        for (i, m) in opinion.line.iter().enumerate() {
            match game.parse_uci(m) {
                Ok(m) => game.play(m),
                Err(error) if i == 0 => return Err(self.fail(error.to_string())),
                Err(_) => {
                    opinion.line.truncate(i);
                    break;
                }
            }
        }
        Ok(opinion)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.say("quit");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The next line, or so much of it as is [allowed](LONGEST), whatever its bytes; `None` at the end.
fn line(output: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let read = output.take(LONGEST).read_until(b'\n', &mut line).ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&line).into_owned())
}

/// The opinion in an `info` line that has an exact score and a variation, and is of the first line.
fn parse_info(line: &str) -> Option<Opinion> {
    let mut words = line.strip_prefix("info ")?.split_whitespace();
    let mut opinion = Opinion::default();
    while let Some(word) = words.next() {
        match word {
            "string" | "lowerbound" | "upperbound" => return None,
            "multipv" if words.next()? != "1" => return None,
            "depth" => opinion.depth = words.next()?.parse().ok()?,
            "nodes" => opinion.nodes = words.next()?.parse().ok()?,
            "score" => match words.next()? {
                "cp" => opinion.cp = Some(words.next()?.parse().ok()?),
                "mate" => opinion.mate = Some(words.next()?.parse().ok()?),
                _ => return None,
            },
            "pv" => opinion.line = words.by_ref().map(str::to_owned).collect(),
            _ => {}
        }
    }
    (!opinion.line.is_empty() && (opinion.cp.is_some() || opinion.mate.is_some())).then_some(opinion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_lines_are_read() {
        let line =
            "info depth 9 seldepth 12 multipv 1 score cp -31 nodes 2044 nps 9 hashfull 0 tbhits 0 time 3 pv e2e4 e7e5";
        let opinion = parse_info(line).expect("an opinion");
        assert_eq!((opinion.depth, opinion.nodes, opinion.cp, opinion.mate), (9, 2044, Some(-31), None));
        assert_eq!(opinion.line, ["e2e4", "e7e5"]);
        assert_eq!(parse_info("info depth 3 score mate -2 pv a1a2").expect("an opinion").mate, Some(-2));
        for nothing in [
            "info depth 9 score cp 3 lowerbound pv e2e4",
            "info depth 9 multipv 2 score cp 3 pv e2e4",
            "info string score cp 3 pv e2e4",
            "info depth 9 currmove e2e4",
            "info depth x score cp 3 pv e2e4",
            "bestmove e2e4",
        ] {
            assert_eq!(parse_info(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn lines_may_be_of_any_bytes_and_of_any_length() {
        let said = [b"id author Fran\xe7ois\r\n".as_slice(), &vec![b'x'; LONGEST as usize + 1], b"\nend"].concat();
        let mut said = said.as_slice();
        let lines: Vec<String> = std::iter::from_fn(|| line(&mut said)).collect();
        assert_eq!((lines.len(), lines[0].trim(), lines[3].as_str()), (4, "id author Fran\u{fffd}ois", "end"));
        assert_eq!((lines[1].len() as u64, lines[2].as_str()), (LONGEST, "x\n"));
    }

    #[test]
    fn what_is_no_engine_is_an_error() {
        let options = |program: &str| EngineOptions {
            program: program.into(),
            options: Vec::new(),
            limit: "nodes 1".into(),
            patience: Duration::from_millis(300),
        };
        let error = |program: &str| Engine::start(&options(program)).err().expect("no engine").to_string();
        assert!(error("/no/such/engine").contains("/no/such/engine"));
        // Which of the two comes first is left to chance.
        let ended = error("true");
        assert!(ended.contains("went away") || ended.contains("does not listen"), "{ended}");
        assert!(error("cat").contains("no answer within"));
        // Says something all the time, and never what it was asked for.
        assert!(error("yes").contains("no answer within"));
    }
}
