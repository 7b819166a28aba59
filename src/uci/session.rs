//! A session: hears every command at once, also while the worker thinks.

use std::io::{self, BufRead, Read as _};
use std::sync::{Arc, Weak};
use std::time::Duration;

use shakmaty::{Color, Position};
use vampirc_uci::UciMessage;

use super::options::{self, Effect, OPTIONS};
use super::output::Output;
use super::parse::{self, Command, GoWords};
use super::worker::{Job, Searching, Worker};
use super::{AUTHOR, NAME};
use crate::board::Game;
use crate::evaluate::Stop;
use crate::play::{Engine, Go, Lag, Settings};
use crate::search::Limits;

/// Searches that wait for others to end, at most.
const MOST_WAITING: usize = 1000;

/// The state between commands.
pub struct Session {
    out: Output,
    worker: Worker,
    /// As asked for: read here only for what the session itself does.
    settings: Settings,
    game: Game,
    /// The signal of the last search.
    stop: Stop,
    /// Those of the searches before it that have yet to answer.
    earlier: Vec<(Stop, Weak<()>)>,
    /// What moves cost beyond their time.
    lag: Lag,
    /// Alive as long as a search is queued or running: its clones go with the jobs.
    searching: Weak<()>,
    debug: bool,
}

/// Reads commands until `quit` or the end of the input, and waits for what is still being thought about: a search with an end
/// is finished, an endless one is stopped.
pub fn run(engine: Engine, input: impl BufRead, out: Output) {
    let mut session = Session::new(engine, out);
    let mut input = input;
    let mut bytes = Vec::new();
    while let Ok(true) = read_line(&mut input, &mut bytes) {
        let line = String::from_utf8_lossy(&bytes);
        if !session.hear(line.trim_end_matches(['\n', '\r'])) {
            break;
        }
    }
    session.end();
}

/// The next line, at most a little longer than any line that counts: the rest of a longer one is thrown away.
fn read_line(input: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<bool> {
    bytes.clear();
    let limit = parse::LONGEST as u64 + 2;
    if input.by_ref().take(limit).read_until(b'\n', bytes)? == 0 {
        return Ok(false);
    }
    if bytes.len() as u64 == limit && bytes.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(true)
}

impl Session {
    /// A session with this player.
    pub fn new(engine: Engine, out: Output) -> Session {
        let settings = engine.settings().clone();
        let worker = Worker::start(engine, out.clone());
        Session {
            out,
            worker,
            settings,
            game: Game::default(),
            stop: Stop::new(false, None),
            earlier: Vec::new(),
            lag: Lag::default(),
            searching: Weak::new(),
            debug: false,
        }
    }

    fn stop_all(&mut self) {
        self.stop.set();
        self.earlier.drain(..).for_each(|(stop, _)| stop.set());
    }

    fn is_searching(&self) -> bool {
        self.searching.strong_count() > 0
    }

    fn give(&self, job: Job) {
        self.worker.give(job, Arc::new(()));
    }

    /// Takes a line. Returns whether to go on.
    pub fn hear(&mut self, line: &str) -> bool {
        self.out.heard(line);
        match parse::parse(line) {
            Ok(Command::Quit) => {
                self.stop_all();
                return false;
            }
            Ok(command) => self.obey(command),
            Err(error) => self.out.info(error),
        }
        true
    }

    /// Waits for the worker.
    pub fn end(mut self) {
        if self.stop.is_held() {
            self.stop.set();
        }
        self.worker.finish();
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Uci => self.introduce(),
            Command::Debug(on) => self.debug = on,
            // While thinking the answer is at once; otherwise once everything asked for is loaded.
            Command::IsReady if self.is_searching() => self.out.line(UciMessage::ReadyOk.to_string()),
            Command::IsReady => self.give(Job::Ready),
            Command::SetOption(name, value) => self.set_option(&name, value.as_deref()),
            Command::NewGame => {
                self.game = Game::default();
                self.give(Job::Clear);
            }
            Command::Position(text) => match parse::position(&text) {
                Ok(game) => self.game = game,
                Err(error) => self.out.info(error),
            },
            Command::Go(words) => self.go(&words),
            Command::Stop => self.stop_all(),
            Command::PonderHit => self.stop.ponder_hit(),
            Command::Bench => self.begin("bench", Job::Bench),
            Command::Display => self.out.lines(crate::cli::board(&self.game).lines()),
            Command::Eval => self.give(Job::Eval(Box::new(self.game.clone()))),
            Command::Perft(depth) => {
                let game = Box::new(self.game.clone());
                self.begin("perft", |stop| Job::Perft(game, depth, stop));
            }
            Command::Help => self.out.lines(HELP.lines()),
            Command::Quit | Command::Nothing => {}
        }
    }

    fn introduce(&self) {
        let id = |name, author| UciMessage::Id { name, author }.to_string();
        let mut lines = vec![id(Some(NAME.into()), None), id(None, Some(AUTHOR.into()))];
        lines.extend(OPTIONS.iter().map(options::Declaration::uci_line));
        lines.push(UciMessage::UciOk.to_string());
        self.out.lines(lines);
    }

    fn set_option(&mut self, name: &str, value: Option<&str>) {
        let mut new = self.settings.clone();
        match options::set(&mut new, name, value) {
            Ok(Effect::ClearHash) => self.give(Job::Clear),
            Ok(effect) => {
                if let Effect::Clamped(used) = effect {
                    self.out.info(options::clamped(name, value.unwrap_or_default(), used));
                }
                if new.log_file != self.settings.log_file
                    && let Err(error) = self.out.log_to(new.log_file.as_deref())
                {
                    self.out.info(format!("Log File '{}': {error}", value.unwrap_or_default()));
                    return;
                }
                self.settings = new;
                if self.debug {
                    self.out.info(format!("{name} is set"));
                }
                self.give(Job::Set(name.to_owned(), value.map(str::to_owned)));
            }
            Err(error) => self.out.info(error),
        }
    }

    fn go(&mut self, words: &GoWords) {
        // A script does not wait for the answer to its last `go`, nor does every GUI after `stop`.
        let waits = self.is_searching();
        if self.refuses("go") {
            return;
        }
        // Where only a mate was asked for and there is none, two plies are enough for an answer.
        let only_mate = words.mate.is_some() && words.clock(true).left.or(words.movetime).or(words.btime).is_none();
        let depth = words.depth.or((only_mate && words.nodes.is_none() && !words.infinite).then_some(2));
        let mut limits = Limits { nodes: words.nodes, depth, deepen: true, ..Limits::default() };
        for text in &words.searchmoves {
            match self.game.parse_uci(text) {
                Ok(m) => limits.moves.push(m),
                Err(error) => self.out.info(format!("searchmoves: {error}; it is left out")),
            }
        }
        let white = self.game.position().turn() == Color::White;
        limits.save = words.movetime.is_none() && words.nodes.is_none() && words.clock(white).left.is_some();
        let clock = words.clock(white);
        // A person's thinking time is no lag.
        let given = self.stop.given().filter(|_| !self.settings.human_time);
        if !waits {
            self.lag.learn(self.game.plies(), clock, given);
        }
        let span = clock.span(self.settings.move_overhead, self.lag.millis());
        let stop = if words.ponder {
            Stop::pondering(span)
        } else if waits && words.movetime.is_some() && !words.infinite {
            Stop::waiting(span)
        } else {
            Stop::new(words.is_endless(), span.filter(|_| !words.infinite))
        };
        let token = self.under(stop);
        let seconds = |ms: Option<i64>| ms.map(|ms| ms.max(0) as f32 / 1000.0);
        let increment = seconds(if white { words.winc } else { words.binc });
        let go = Go {
            limits,
            mate: words.mate,
            analysis: words.infinite || words.is_endless(),
            move_time: words.movetime.map(|ms| Duration::from_millis(ms.max(0).unsigned_abs())),
            clocks: (seconds(words.wtime), seconds(words.btime), increment),
        };
        self.worker.give(Job::Go(Box::new((self.game.clone(), go, self.stop.clone()))), token);
    }

    /// Whether something must not be begun, because a search runs that only a command ends; it says so.
    fn refuses(&self, what: &str) -> bool {
        let refuses = self.is_searching() && self.stop.is_held();
        if refuses {
            self.out.info(format!("{what}: a search is running; 'stop' ends it"));
        }
        refuses
    }

    /// Begins what takes long and is no search. It ends when it is done, or at `stop`.
    fn begin(&mut self, what: &str, job: impl FnOnce(Stop) -> Job) {
        if self.refuses(what) {
            return;
        }
        let token = self.under(Stop::new(false, None));
        self.worker.give(job(self.stop.clone()), token);
    }

    /// Makes a signal the one that `stop` sets, and returns what tells that what it ends is under way.
    fn under(&mut self, stop: Stop) -> Searching {
        let before = std::mem::replace(&mut self.stop, stop);
        self.queue(before);
        let token = Arc::new(());
        self.searching = Arc::downgrade(&token);
        token
    }

    /// Notes the signal of the search before, if that has yet to answer.
    fn queue(&mut self, before: Stop) {
        loop {
            self.earlier.retain(|(_, searching)| searching.strong_count() > 0);
            if self.earlier.len() < MOST_WAITING {
                break;
            }
            // None of these is endless. What is sent meanwhile waits with the sender.
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.is_searching() {
            self.earlier.push((before, self.searching.clone()));
        }
    }
}

const HELP: &str = "\
Glance speaks UCI: a chess GUI drives it with these commands.
  uci, isready, ucinewgame, debug on|off, quit
  setoption name <option> [value <value>]
  position startpos|fen <fen> [moves <move> ...]
  go [wtime btime winc binc movestogo movetime depth nodes mate infinite ponder searchmoves]
  stop, ponderhit
Beside them:
  d          draw the board
  eval       what the network thinks of the position
  bench      a fixed set of positions: nodes and speed
  perft <n>  count the leaves of the tree of legal moves
  help       this text";
