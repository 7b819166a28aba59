//! The thread that thinks: it takes jobs in order, so that options set during a search count after it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, unbounded};
use shakmaty::Move;
use vampirc_uci::UciMessage;

use super::options::Effect;
use super::output::Output;
use super::{info, options};
use crate::board::Game;
use crate::evaluate::Stop;
use crate::play::{Decision, Engine, EngineError, Go, Source};
use crate::search::Report;

/// Something to do.
pub(super) enum Job {
    /// Set an option, whose value has been checked: on top of what is in force, which is not what was asked for
    /// where a file could not be loaded.
    Set(String, Option<String>),
    /// Say `readyok` once everything is loaded.
    Ready,
    /// Forget the cache.
    Clear,
    /// Find a move.
    Go(Box<(Game, Go, Stop)>),
    /// Show what the network thinks.
    Eval(Box<Game>),
    /// Run the benchmark.
    Bench(Stop),
    /// Count leaves so many plies below.
    Perft(Box<Game>, u32, Stop),
}

impl Job {
    /// What it is called where it failed.
    fn name(&self) -> &'static str {
        match self {
            Job::Set(..) => "setting an option",
            Job::Ready => "loading the network",
            Job::Clear => "clearing",
            Job::Go(_) => "the search",
            Job::Eval(_) => "eval",
            Job::Bench(_) => "bench",
            Job::Perft(..) => "perft",
        }
    }
}

/// The thread, with the way to it.
pub(super) struct Worker {
    jobs: Option<Sender<(Job, Searching)>>,
    thread: Option<JoinHandle<()>>,
}

/// Dropped when a job is done: tells the session whether a search is under way.
pub(super) type Searching = std::sync::Arc<()>;

impl Worker {
    pub(super) fn start(engine: Engine, out: Output) -> Worker {
        let (jobs, todo) = unbounded();
        let thread = std::thread::spawn(move || work(engine, &todo, &out));
        Worker { jobs: Some(jobs), thread: Some(thread) }
    }

    pub(super) fn give(&self, job: Job, token: Searching) {
        if let Some(jobs) = &self.jobs {
            // The thread ends only when this sender is gone.
            let _ = jobs.send((job, token));
        }
    }

    /// Waits until all jobs are done.
    pub(super) fn finish(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(mut engine: Engine, todo: &Receiver<(Job, Searching)>, out: &Output) {
    while let Ok((job, token)) = todo.recv() {
        let name = job.name();
        match job {
            Job::Go(task) => {
                let (game, go, stop) = *task;
                stop.begin();
                let answer = search(&mut engine, &game, &go, &stop, out);
                // Over before the GUI reads the answer: it may send the next `go` at once.
                drop(token);
                out.line(answer);
            }
            Job::Ready => {
                if let Some(Err(error)) = guarded(&mut engine, name, out, Engine::prepare) {
                    out.info(error);
                }
                // Whatever failed: a GUI that waits for this waits for ever.
                out.line(UciMessage::ReadyOk.to_string());
            }
            job => {
                guarded(&mut engine, name, out, |engine| obey(engine, job, out));
            }
        }
    }
}

/// Does something that a fault of the program's own may end: to be read about in the log, not to be paid for with a game that hangs.
/// `None` where it failed.
fn guarded<T>(engine: &mut Engine, what: &str, out: &Output, act: impl FnOnce(&mut Engine) -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(|| act(engine))).ok();
    if done.is_none() {
        // Whatever it left half done.
        engine.clear();
        out.info(format!("{what} failed, and the session goes on; please report the lines on standard error"));
    }
    done
}

/// Does what is no search.
fn obey(engine: &mut Engine, job: Job, out: &Output) {
    match job {
        Job::Set(name, value) => {
            let mut settings = engine.settings().clone();
            match options::set(&mut settings, &name, value.as_deref()) {
                Ok(Effect::ReadAgain) => {
                    engine.read_again(value.as_deref().unwrap_or_default().trim()).iter().for_each(|e| out.info(e));
                }
                Ok(_) => engine.configure(settings).iter().for_each(|e| out.info(e)),
                Err(error) => out.info(error),
            }
        }
        Job::Clear => engine.clear(),
        Job::Eval(game) => match crate::cli::eval_text(engine, &game) {
            Ok(text) => out.lines(text.lines()),
            Err(error) => out.info(error),
        },
        Job::Bench(stop) => {
            if let Err(error) = crate::cli::bench(engine, &stop, &mut |line| out.line(line)) {
                out.info(error);
            }
        }
        Job::Perft(game, depth, stop) => perft(&game, depth, engine.settings().chess960, &stop, out),
        // Answered where they are taken.
        Job::Go(_) | Job::Ready => {}
    }
}

/// Counts leaves below each legal move, and all of them.
fn perft(game: &Game, depth: u32, chess960: bool, stop: &Stop, out: &Output) {
    let start = Instant::now();
    let Some((mut lines, total)) = crate::cli::perft(game, depth, chess960, stop) else {
        out.info("perft: stopped");
        return;
    };
    lines.push(format!("nodes {total} time {} ms", start.elapsed().as_millis()));
    out.lines(lines);
}

/// Thinks, shows what it thinks, and returns the `bestmove` line.
fn search(engine: &mut Engine, game: &Game, go: &Go, stop: &Stop, out: &Output) -> String {
    let start = Instant::now();
    let found = guarded(engine, "the search", out, |engine| {
        let settings = engine.settings().clone();
        let mut tell = |report: &Report| out.lines(info::lines(game, report, &settings, start.elapsed()));
        let decision = engine.go(game, go, stop, &mut tell)?;
        let stats = decision.glance.as_ref();
        let stats = stats.map(|glance| info::move_stats(game, glance, &decision.report.stats, &settings));
        Ok::<_, EngineError>((stats, best_move(game, &decision, settings.chess960), decision.think))
    });
    // `go infinite` and `go ponder` are answered when the GUI asks, not before.
    stop.wait_until_released();
    match found {
        Some(Ok((stats, answer, think))) => {
            if let Some(think) = think {
                stop.wait_for_command_until(start + think);
            }
            stats.into_iter().for_each(|lines| out.lines(lines));
            answer
        }
        // Even without a network, or a search, a game is not to be lost by silence.
        failed => {
            if let Some(Err(error)) = failed {
                out.info(error);
            }
            out.info("the first legal move is played");
            let moves = shakmaty::Position::legal_moves(game.position());
            best_line(game, moves.first().copied(), None, engine.settings().chess960)
        }
    }
}

fn best_move(game: &Game, decision: &Decision, chess960: bool) -> String {
    let ponder = decision.ponder.filter(|_| decision.source != Source::Over);
    best_line(game, decision.best, ponder, chess960)
}

fn best_line(game: &Game, best: Option<Move>, ponder: Option<Move>, chess960: bool) -> String {
    let Some(best) = best else {
        return "bestmove 0000".into();
    };
    let read = |text: String| match vampirc_uci::parse_one(&format!("bestmove {text}")) {
        UciMessage::BestMove { best_move, .. } => Some(best_move),
        _ => None,
    };
    let text = game.uci(best, chess960);
    let answer = ponder.map(|m| game.after(best).uci(m, chess960));
    match read(text.clone()) {
        Some(best_move) => UciMessage::BestMove { best_move, ponder: answer.and_then(read) }.to_string(),
        None => format!("bestmove {text}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::evaluate::{Evaluation, Evaluator, Query, Stopped};
    use crate::play::Settings;

    struct Broken;

    impl Evaluator for Broken {
        fn evaluate(&self, _: &[Query], _: &Stop) -> Result<Vec<Evaluation>, Stopped> {
            panic!("broken for the test");
        }
    }

    #[test]
    fn what_fails_is_answered_and_the_session_goes_on() {
        let (mut said, out) = std::io::pipe().expect("a pipe");
        let mut engine = Engine::with_evaluator(Box::new(Broken));
        engine.configure(Settings { own_book: false, ..Settings::default() });
        let mut worker = Worker::start(engine, Output::new(out));
        let game = Game::default();
        for _ in 0..2 {
            let go = Job::Go(Box::new((game.clone(), Go::default(), Stop::new(false, None))));
            worker.give(go, Searching::default());
        }
        worker.give(Job::Eval(Box::new(game.clone())), Searching::default());
        worker.give(Job::Ready, Searching::default());
        worker.finish();
        let mut heard = String::new();
        said.read_to_string(&mut heard).expect("text");
        let moves: Vec<&str> = heard.lines().filter_map(|line| line.strip_prefix("bestmove ")).collect();
        assert!(
            matches!(moves[..], [one, two] if game.parse_uci(one).is_ok() && game.parse_uci(two).is_ok()),
            "{heard}"
        );
        assert!(heard.ends_with("readyok\n"), "{heard}");
        assert_eq!(heard.matches("info string the search failed").count(), 2, "{heard}");
        assert_eq!(heard.matches("info string eval failed").count(), 1, "{heard}");
    }
}
