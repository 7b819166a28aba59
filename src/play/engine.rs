//! The player: what is kept from move to move, and what options change of it.

use std::path::Path;

use shakmaty::{Color, Move, Position};

use super::book::Book;
use super::choose::Asked;
use super::decision::{Decision, Go};
use super::loading::{EngineError, load_evaluator};
use super::settings::{SearchName, Settings};
use super::tablebase::Tablebases;
use crate::board::{Conditions, Game, Pool};
use crate::evaluate::{Evaluator, Stop};
use crate::human::{self, Dial};
use crate::search::{Branch, Kept, Report, Task};

/// The book inside the program.
static EMBEDDED_BOOK: &[u8] = include_bytes!("../../weights/book.bin");

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
    pub fn configure(&mut self, new: Settings) -> Vec<EngineError> {
        self.take(new, None)
    }

    /// Reads once more what the settings name so: it may have been written anew. What cannot be loaded stays as it was; the errors say what.
    pub fn read_again(&mut self, named: &str) -> Vec<EngineError> {
        self.take(self.settings.clone(), Some(named.as_ref()))
    }

    /// Takes new settings, and loads what they name otherwise than those in force, or so.
    fn take(&mut self, mut new: Settings, again: Option<&Path>) -> Vec<EngineError> {
        let mut errors = Vec::new();
        let old = &self.settings;
        let is_again = |path: Option<&Path>| path.is_some() && path == again;
        if new.book_file != old.book_file || is_again(new.book_file.as_deref()) {
            let book = new.book_file.as_deref().map_or_else(|| Ok(Book::embedded(EMBEDDED_BOOK)), Book::open);
            match book {
                Ok(book) => self.book = book,
                Err(error) => {
                    errors.push(error.into());
                    new.book_file.clone_from(&old.book_file);
                }
            }
        }
        if new.human_book != old.human_book || is_again(new.human_book.as_deref()) {
            match new.human_book.as_deref().map(Book::open).transpose() {
                Ok(book) => self.human_book = book,
                Err(error) => {
                    errors.push(error.into());
                    new.human_book.clone_from(&old.human_book);
                }
            }
        }
        if new.dial_file != old.dial_file || is_again(new.dial_file.as_deref()) {
            match new.dial_file.as_deref().map_or_else(|| Ok(Dial::embedded()), Dial::open) {
                Ok(dial) => self.dial = dial,
                Err(error) => {
                    errors.push(error.into());
                    new.dial_file.clone_from(&old.dial_file);
                }
            }
        }
        if new.syzygy_path != old.syzygy_path || is_again(new.syzygy_path.as_deref().map(Path::new)) {
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
        let weights_again = is_again(new.weights_file.as_deref());
        if !self.fixed && (evaluator_of(&new) != evaluator_of(old) || weights_again) {
            let weights_changed = new.weights_file != old.weights_file || new.backend != old.backend || weights_again;
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
        let asked = Asked {
            task,
            allowed: task.moves(),
            go,
            settings,
            dial: &self.dial,
            book: &self.book,
            human_book: self.human_book.as_ref(),
            tables: &self.tables,
        };
        Ok(asked.choose(tell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::Scripted;
    use crate::play::Source;
    use crate::search::{Guards, Limits, Score};
    use shakmaty::Square;

    fn decide(engine: &mut Engine, fen: &str, go: &Go) -> Decision {
        let game = Game::from_fen(fen).expect(fen);
        engine.go(&game, go, &Stop::new(false, None), &mut |_| {}).expect("scripted")
    }

    fn scripted() -> Engine {
        Engine::with_evaluator(Box::new(Scripted::default()))
    }

    #[test]
    fn a_mate_is_played_however_many_lines_are_shown() {
        for (name, search) in SearchName::ALL {
            for multi_pv in [1, 3] {
                let mut engine = scripted();
                let guards = Guards { bonuses: false, blunders: false, replies: false };
                engine.configure(Settings { search, multi_pv, guards, ..Settings::default() });
                // The network would rather take the knight.
                let decision = decide(&mut engine, "6k1/5ppp/8/8/3n4/4P3/8/R3K3 w - - 0 1", &Go::default());
                let first = &decision.report.lines[0];
                assert_eq!((first.moves[0].to(), first.score), (Square::A8, Score::Mate(1)), "{name}, {multi_pv}");
                assert_eq!(decision.report.lines.len(), multi_pv, "{name}");
            }
        }
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
    fn what_is_named_again_is_read_again() {
        let file = |name: &str| std::env::temp_dir().join(format!("glance-again-{}-{name}", std::process::id()));
        let (book, weights) = (file("book.bin"), file("weights.safetensors"));
        std::fs::write(&book, EMBEDDED_BOOK).expect("written");
        std::fs::write(&weights, super::super::embedded_weights()).expect("written");
        let mut engine = Engine::default();
        let named =
            Settings { book_file: Some(book.clone()), weights_file: Some(weights.clone()), ..Settings::default() };
        assert!(engine.configure(named.clone()).is_empty());
        let game = Game::default();
        let moves = engine.book_moves(&game).len();
        std::fs::write(&book, []).expect("written");
        std::fs::write(&weights, b"no weights").expect("written");
        assert!(engine.configure(Settings { multi_pv: 2, ..named.clone() }).is_empty());
        assert_eq!(engine.book_moves(&game).len(), moves, "what is not named stays");
        assert!(engine.read_again(&book.display().to_string()).is_empty());
        assert_eq!((engine.book_moves(&game).len(), moves > 0), (0, true));
        let errors = engine.read_again(&weights.display().to_string());
        assert!(matches!(errors[..], [EngineError::Weights { .. }]), "{errors:?}");
        assert_eq!(engine.settings(), &Settings { multi_pv: 2, ..named });
        assert!(engine.prepare().is_ok(), "the weights in use stay");
        for path in [book, weights] {
            std::fs::remove_file(path).expect("removed");
        }
    }
}
