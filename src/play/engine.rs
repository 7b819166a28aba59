//! The player: chooses a move from mate in one, book, tablebases and search, in this order; or as a person would.

use std::time::Duration;

use rand::Rng;
use shakmaty::{Color, Move, Position};

use super::book::Book;
use super::loading::{EngineError, load_evaluator};
use super::person;
use super::settings::{SearchName, Settings};
use super::tablebase::Tablebases;
use crate::board::{Conditions, Game, Pool, Terminal};
use crate::evaluate::{Evaluation, Evaluator, Stop, Wdl};
use crate::human::{self, Dial};
use crate::search::{
    Answer, Branch, Kept, Limits, Line, Policy, Report, Score, Search, Task, find_mate, find_mate_by_checks,
    mating_move,
};

/// The book inside the program.
static EMBEDDED_BOOK: &[u8] = include_bytes!("../../weights/book.bin");

/// Positions of a mate by checks alone that is looked for before the tree is searched: a millisecond at most.
const POSITIONS_OF_CHECKS: u64 = 1000;

/// What one move is to be chosen under.
#[derive(Clone, Debug, Default)]
pub struct Go {
    /// How far to search.
    pub limits: Limits,
    /// Look for a mate in at most so many moves.
    pub mate: Option<u32>,
    /// `go infinite` or `go ponder`: analysis, not a move to be played now.
    pub analysis: bool,
    /// The time given for this move alone.
    pub move_time: Option<Duration>,
    /// White's and Black's clocks in seconds, and the increment.
    pub clocks: (Option<f32>, Option<f32>, Option<f32>),
}

/// Where a move came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The game is over: there is no move.
    Over,
    /// A mate in one.
    Mate,
    /// The book.
    Book,
    /// Tablebases.
    Tablebase,
    /// The search.
    Search,
}

/// A chosen move.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The move; none when the game is over.
    pub best: Option<Move>,
    /// What the opponent is expected to answer.
    pub ponder: Option<Move>,
    /// Where the move came from.
    pub source: Source,
    /// The last report, its first line beginning with the move.
    pub report: Report,
    /// The network's view of the position, most probable move first.
    pub glance: Option<Evaluation>,
    /// The time after which a person would answer.
    pub think: Option<Duration>,
}

/// The player, with everything that it keeps between moves.
pub struct Engine {
    settings: Settings,
    evaluator: Option<Box<dyn Evaluator>>,
    /// An evaluator from outside, which options do not replace.
    fixed: bool,
    book: Book,
    human_book: Option<Book>,
    dial: Dial,
    tables: Tablebases,
    /// What a tree search leaves for the next.
    kept: Kept,
}

impl Default for Engine {
    fn default() -> Engine {
        Engine {
            settings: Settings::default(),
            evaluator: None,
            fixed: false,
            book: Book::embedded(EMBEDDED_BOOK),
            human_book: None,
            dial: Dial::embedded(),
            tables: Tablebases::embedded(),
            kept: Kept::default(),
        }
    }
}

/// The evaluator, loaded first if it is not there yet.
fn ready<'a>(slot: &'a mut Option<Box<dyn Evaluator>>, settings: &Settings) -> Result<&'a dyn Evaluator, EngineError> {
    match slot {
        Some(evaluator) => Ok(&**evaluator),
        None => Ok(&**slot.insert(load_evaluator(settings)?)),
    }
}

impl Engine {
    /// A player around another evaluator: for tests and experiments.
    pub fn with_evaluator(evaluator: Box<dyn Evaluator>) -> Engine {
        Engine { evaluator: Some(evaluator), fixed: true, ..Engine::default() }
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Takes new settings. What cannot be loaded stays as it was, in the settings too; the errors say what.
    pub fn configure(&mut self, mut new: Settings) -> Vec<EngineError> {
        let mut errors = Vec::new();
        let old = &self.settings;
        if new.book_file != old.book_file {
            let book = new.book_file.as_deref().map_or_else(|| Ok(Book::embedded(EMBEDDED_BOOK)), Book::open);
            match book {
                Ok(book) => self.book = book,
                Err(error) => {
                    errors.push(error.into());
                    new.book_file.clone_from(&old.book_file);
                }
            }
        }
        if new.human_book != old.human_book {
            match new.human_book.as_deref().map(Book::open).transpose() {
                Ok(book) => self.human_book = book,
                Err(error) => {
                    errors.push(error.into());
                    new.human_book.clone_from(&old.human_book);
                }
            }
        }
        if new.dial_file != old.dial_file {
            match new.dial_file.as_deref().map_or_else(|| Ok(Dial::embedded()), Dial::open) {
                Ok(dial) => self.dial = dial,
                Err(error) => {
                    errors.push(error.into());
                    new.dial_file.clone_from(&old.dial_file);
                }
            }
        }
        if new.syzygy_path != old.syzygy_path {
            let mut tables = Tablebases::embedded();
            match new.syzygy_path.as_deref().map_or(Ok(0), |folders| tables.add(folders)) {
                Ok(_) => self.tables = tables,
                Err(error) => {
                    errors.push(EngineError::Tablebases(error));
                    new.syzygy_path.clone_from(&old.syzygy_path);
                }
            }
        }
        let evaluator_of = |s: &Settings| (s.weights_file.clone(), s.backend, s.threads, s.hash);
        if !self.fixed && evaluator_of(&new) != evaluator_of(old) {
            let weights_changed = new.weights_file != old.weights_file || new.backend != old.backend;
            // Sizes alone can wait until the network is needed; new weights are tried at once.
            if weights_changed {
                match load_evaluator(&new) {
                    Ok(evaluator) => self.evaluator = Some(evaluator),
                    Err(error) => {
                        errors.push(error);
                        new.weights_file.clone_from(&old.weights_file);
                        new.backend = old.backend;
                    }
                }
            } else {
                self.evaluator = None;
            }
        }
        if new.search.needs_value() && self.evaluator.as_ref().is_some_and(|e| !e.has_value()) {
            let used = if old.search.needs_value() { SearchName::Lookahead } else { old.search };
            errors.push(EngineError::NoValue { asked: new.search.name(), used: used.name() });
            new.search = used;
        }
        // Another network, other tables or rules: what the tree knows may not hold.
        self.kept.clear();
        self.settings = new;
        errors
    }

    /// Loads whatever is not loaded yet.
    ///
    /// # Errors
    /// When the weights cannot be loaded.
    pub fn prepare(&mut self) -> Result<(), EngineError> {
        self.evaluator().map(|_| ())
    }

    /// The evaluator in use.
    ///
    /// # Errors
    /// When the weights cannot be loaded.
    pub fn evaluator(&mut self) -> Result<&dyn Evaluator, EngineError> {
        ready(&mut self.evaluator, &self.settings)
    }

    /// Forgets what was cached.
    pub fn clear(&self) {
        if let Some(evaluator) = &self.evaluator {
            evaluator.clear();
        }
        self.kept.clear();
    }

    /// The tree that the last tree search left, as many moves wide at each ply as `widths` says.
    pub fn branches(&self, widths: &[usize]) -> Vec<Branch> {
        self.kept.branches(widths)
    }

    /// The book's moves here, with their weights.
    pub fn book_moves(&self, game: &Game) -> Vec<(Move, u16)> {
        self.book.moves(game.position())
    }

    /// The conditions that the network is asked under: at full strength two engines, otherwise people of that rating with
    /// the clocks as they are.
    pub fn conditions(&self, turn: Color, go: &Go) -> Conditions {
        if !self.settings.as_person() {
            return Conditions::STRONGEST;
        }
        let own = self.settings.style(&self.dial).network;
        human::conditions(turn, (Some(own), Some(self.settings.opponent_of(own))), go.clocks, Some(Pool::Lichess))
    }

    /// Chooses a move. `tell` is given the reports of the search as it runs, and the final one.
    ///
    /// # Errors
    /// When the network cannot be loaded.
    pub fn go(
        &mut self,
        game: &Game,
        go: &Go,
        stop: &Stop,
        tell: &mut dyn FnMut(&Report),
    ) -> Result<Decision, EngineError> {
        let conditions = self.conditions(game.position().turn(), go);
        let settings = &self.settings;
        let evaluator = ready(&mut self.evaluator, settings)?;
        let endings = self.tables.within(settings.syzygy_probe_limit, settings.syzygy_50_move_rule);
        let task = Task {
            game,
            conditions: &conditions,
            limits: &go.limits,
            lines: settings.multi_pv,
            stop,
            evaluator,
            memory: settings.half_of_hash(),
            kept: Some(&self.kept),
            endings: Some(&endings),
        };
        let allowed = task.moves();
        let mut limits = go.limits.clone();
        if allowed.is_empty() {
            let report = over(game);
            tell(&report);
            return Ok(Decision { best: None, ponder: None, source: Source::Over, report, glance: None, think: None });
        }
        let decide = |source, mut report: Report, tell: &mut dyn FnMut(&Report)| {
            let glance = settings.verbose_move_stats.then(|| evaluator.glance(game, &conditions));
            report.lines.truncate(settings.multi_pv.max(1));
            report.hashfull = evaluator.hashfull();
            tell(&report);
            let line = report.lines.first().map(|l| l.moves.clone()).unwrap_or_default();
            Decision { best: line.first().copied(), ponder: line.get(1).copied(), source, report, glance, think: None }
        };
        if settings.as_person() && go.mate.is_none() {
            let (draws, rng) = (!go.analysis, &mut rand::rng());
            let booked =
                self.human_book.as_ref().filter(|_| draws).and_then(|b| b.pick(game.position(), &allowed, rng));
            let (source, report) = match booked {
                Some(m) => {
                    limits.moves = vec![m];
                    (Source::Book, Policy.search(&Task { limits: &limits, ..task }, tell).report)
                }
                None => {
                    let chosen = person::choose(&task, &settings.style(&self.dial), settings, &self.tables, draws, rng);
                    (if chosen.by_tables { Source::Tablebase } else { Source::Search }, chosen.report)
                }
            };
            let think = settings.human_time.then(|| person::think(&task, go, settings.move_overhead, rng)).flatten();
            return Ok(Decision { think, ..decide(source, report, tell) });
        }
        let several = settings.multi_pv > 1;
        if let Some(m) = mating_move(game.position(), &allowed).filter(|_| !several) {
            let line = Line { moves: vec![m], score: Score::Mate(1), probability: 1.0, rank: 1.0 };
            let report = Report { depth: 1, seldepth: 1, nodes: 1, lines: vec![line], ..Report::default() };
            return Ok(decide(Source::Mate, report, tell));
        }
        let booked = settings.own_book && !settings.analyse && !go.analysis && go.mate.is_none();
        if booked && let Some(m) = self.book.pick(game.position(), &allowed, &mut rand::rng()) {
            limits.moves = vec![m];
            let answer = Policy.search(&Task { limits: &limits, ..task }, tell);
            return Ok(decide(Source::Book, answer.report, tell));
        }
        let verdict =
            self.tables.probe(game.position(), &allowed, settings.syzygy_probe_limit, settings.syzygy_50_move_rule);
        let tbhits = verdict.as_ref().map_or(0, |v| v.probes);
        if let Some(verdict) = verdict {
            limits.moves = verdict.moves;
            if verdict.wdl != 0 {
                let mut report = Policy.search(&Task { limits: &limits, ..task }, tell).report;
                let certain = Score::Expected(if verdict.wdl > 0 { Wdl::WIN } else { Wdl::LOSS });
                report.lines.iter_mut().for_each(|line| line.score = certain);
                report.tbhits = tbhits;
                return Ok(decide(Source::Tablebase, report, tell));
            }
        }
        let name = match settings.search {
            search if search.needs_value() && !evaluator.has_value() => SearchName::Lookahead,
            search => search,
        };
        let mate = match go.mate {
            Some(moves) => {
                let most = if limits.deepen || go.analysis { u64::MAX } else { 20_000_000 };
                find_mate(game.position(), &allowed, moves, most, stop)
            }
            // A policy hardly thinks of the sacrifices that such mates begin with.
            None if name == SearchName::Tree && !several => {
                find_mate_by_checks(game, &allowed, POSITIONS_OF_CHECKS, stop)
            }
            None => None,
        };
        if let Some(moves) = mate {
            let depth = moves.len() as u32;
            let score = Score::mate_after(moves.len());
            let line = Line { moves, score, probability: 1.0, rank: f32::INFINITY };
            let report = Report { depth, seldepth: depth, nodes: 1, tbhits, lines: vec![line], ..Report::default() };
            return Ok(decide(Source::Search, report, tell));
        }
        let search = name.search(settings.guards);
        let temperature = settings.temperature;
        let draws = temperature > 0 && !settings.analyse && !go.analysis;
        let lines = if draws { allowed.len() } else { settings.multi_pv };
        let whole = Task { limits: &limits, lines, ..task };
        let Answer { mut report } = search.search(&whole, &mut |report| {
            let tbhits = tbhits + report.tbhits;
            let mut report = Report { tbhits, hashfull: evaluator.hashfull(), ..report.clone() };
            report.lines.truncate(settings.multi_pv.max(1));
            tell(&report);
        });
        report.tbhits += tbhits;
        if draws {
            let unit = search.rank_unit() * temperature as f32 / 100.0;
            draw(&mut report.lines, unit, &mut rand::rng());
        }
        Ok(decide(Source::Search, report, tell))
    }
}

/// The report of a game that is over.
fn over(game: &Game) -> Report {
    let score = match game.terminal() {
        Some(Terminal::Checkmate) => Score::Mate(0),
        _ => Score::Expected(Wdl::DRAW),
    };
    let line = Line { moves: Vec::new(), score, probability: 0.0, rank: 0.0 };
    Report { lines: vec![line], ..Report::default() }
}

/// Puts a line first that was drawn with probability proportional to exp(rank / unit).
fn draw(lines: &mut [Line], unit: f32, rng: &mut impl Rng) {
    let best = lines.iter().map(|l| l.rank).fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = lines.iter().map(|l| ((l.rank - best) / unit.max(1e-3)).exp()).collect();
    if let Some(chosen) = human::draw(&weights, rng) {
        lines[..=chosen].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::Scripted;

    fn decide(engine: &mut Engine, fen: &str, go: &Go) -> Decision {
        let game = Game::from_fen(fen).expect(fen);
        engine.go(&game, go, &Stop::new(false, None), &mut |_| {}).expect("scripted")
    }

    fn scripted() -> Engine {
        Engine::with_evaluator(Box::new(Scripted::default()))
    }

    #[test]
    fn the_order_is_mate_book_tablebase_search() {
        let mut engine = scripted();
        let go = Go::default();
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert_eq!(decide(&mut engine, start, &go).source, Source::Book);
        assert_eq!(decide(&mut engine, "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", &go).source, Source::Mate);
        assert_eq!(decide(&mut engine, "8/8/8/3k4/8/8/8/KBN5 w - - 0 1", &go).source, Source::Tablebase);
        assert_eq!(decide(&mut engine, "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", &go).source, Source::Over);
        engine.configure(Settings { own_book: false, ..Settings::default() });
        assert_eq!(decide(&mut engine, start, &go).source, Source::Search);
        // A drawn ending: the search chooses among the moves that keep the draw.
        let drawn = decide(&mut engine, "8/8/8/8/8/4k3/4p3/4K3 w - - 0 1", &go);
        assert_eq!(drawn.source, Source::Over);
        let drawn = decide(&mut engine, "8/8/8/8/4k3/4p3/8/4K3 w - - 0 1", &go);
        assert_eq!(drawn.source, Source::Search);
        assert!(drawn.report.tbhits > 0);
    }

    #[test]
    fn every_search_answers_with_a_legal_move_whatever_the_limits() {
        for (name, _) in SearchName::ALL {
            let mut engine = scripted();
            let search = name.parse().expect("a search");
            engine.configure(Settings { search, own_book: false, multi_pv: 3, ..Settings::default() });
            for nodes in [Some(0), Some(1), Some(5), None] {
                let go = Go { limits: Limits { nodes, depth: Some(3), ..Limits::default() }, ..Go::default() };
                let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3";
                let d = decide(&mut engine, fen, &go);
                let game = Game::from_fen(fen).expect("legal");
                assert!(game.position().is_legal(d.best.expect("a move")), "{name} {nodes:?}");
                assert_eq!(d.report.lines.len(), 3);
            }
        }
    }

    #[test]
    fn mates_are_proved_when_asked_for() {
        let go = Go { mate: Some(2), ..Go::default() };
        let d = decide(&mut scripted(), "7k/8/8/8/8/6p1/R7/1R2K3 w - - 0 1", &go);
        assert_eq!(d.report.lines[0].score, Score::Mate(2));
        assert_eq!(d.report.lines[0].moves.len(), 3);
    }

    #[test]
    fn what_cannot_be_loaded_leaves_what_was_there() {
        let mut engine = Engine::default();
        let bad = Settings {
            weights_file: Some("/no/such.safetensors".into()),
            book_file: Some("/no/such.bin".into()),
            syzygy_path: Some("/no/such/folder".into()),
            multi_pv: 4,
            ..Settings::default()
        };
        let errors = engine.configure(bad);
        assert_eq!(errors.len(), 3);
        assert!(errors.iter().all(|e| e.to_string().contains("/no/such") && e.to_string().contains("stay")));
        assert_eq!(engine.settings(), &Settings { multi_pv: 4, ..Settings::default() });
    }

    #[test]
    fn drawing_follows_the_ranks() {
        let m = Game::default().parse_uci("e2e4").expect("legal");
        let line = |rank| Line { moves: vec![m], score: Score::Mate(1), probability: 0.5, rank };
        let mut first = [0; 2];
        for _ in 0..4000 {
            let mut lines = vec![line(0.0), line(-1.0)];
            draw(&mut lines, 1.0, &mut rand::rng());
            first[usize::from(lines[0].rank < -0.5)] += 1;
        }
        // e⁰ : e⁻¹ is 73 : 27.
        assert!((900..1260).contains(&first[1]), "{first:?}");
    }
}
