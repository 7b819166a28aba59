//! How a move is chosen, in order: a mate at once, book, tablebases, a mate by force, search; or as a person would.

use rand::Rng;
use shakmaty::{Move, MoveList};

use super::book::Book;
use super::decision::{Decision, Go, Source};
use super::person;
use super::settings::{SearchName, Settings};
use super::tablebase::Tablebases;
use crate::board::{Game, Terminal};
use crate::evaluate::Wdl;
use crate::human::{self, Dial};
use crate::search::{
    Answer, Limits, Line, Policy, Rank, Report, Score, Search, Task, find_mate, find_mate_by_checks, mating_move,
};

/// Positions of a mate by checks alone that is looked for before the tree is searched: a millisecond at most.
const POSITIONS_OF_CHECKS: u64 = 1000;

/// Who listens to the reports of a search.
type Tell<'t> = &'t mut dyn FnMut(&Report);

/// A move that is asked for, and all that it may be chosen by.
pub(super) struct Asked<'a> {
    pub(super) task: Task<'a>,
    /// The moves that may be played.
    pub(super) allowed: MoveList,
    pub(super) go: &'a Go,
    pub(super) settings: &'a Settings,
    pub(super) dial: &'a Dial,
    pub(super) book: &'a Book,
    pub(super) human_book: Option<&'a Book>,
    pub(super) tables: &'a Tablebases,
}

/// A move chosen: where it came from, and the report whose first line begins with it.
type Chosen = (Source, Report);

impl Asked<'_> {
    /// Chooses a move.
    pub(super) fn choose(&self, tell: Tell) -> Decision {
        if self.allowed.is_empty() {
            let report = over(self.task.game);
            tell(&report);
            return Decision { best: None, ponder: None, source: Source::Over, report, glance: None, think: None };
        }
        if self.settings.as_person() && self.go.mate.is_none() {
            let think = || person::think(&self.task, self.go, self.settings.move_overhead, &mut rand::rng());
            let chosen = self.as_person(tell);
            let think = self.settings.human_time.then(think).flatten();
            return Decision { think, ..self.decide(chosen, tell) };
        }
        let chosen = self.at_once().or_else(|| self.by_book(tell)).unwrap_or_else(|| self.by_search(tell));
        self.decide(chosen, tell)
    }

    /// Tells the final report and takes the move from it.
    fn decide(&self, (source, mut report): Chosen, tell: Tell) -> Decision {
        let Task { game, conditions, evaluator, .. } = self.task;
        let glance = self.settings.verbose_move_stats.then(|| evaluator.glance(game, conditions));
        report.lines.truncate(self.settings.multi_pv.max(1));
        report.hashfull = evaluator.hashfull();
        tell(&report);
        let line = report.lines.first().map(|l| l.moves.clone()).unwrap_or_default();
        Decision { best: line.first().copied(), ponder: line.get(1).copied(), source, report, glance, think: None }
    }

    /// What the network says of these moves alone.
    fn glance_at(&self, moves: Vec<Move>, tell: Tell) -> Report {
        let limits = Limits { moves, ..self.go.limits.clone() };
        Policy.search(&Task { limits: &limits, ..self.task }, tell).report
    }

    /// The move of a person, or of the book for them.
    fn as_person(&self, tell: Tell) -> Chosen {
        let (draws, rng) = (!self.go.analysis, &mut rand::rng());
        let book = self.human_book.filter(|_| draws);
        match book.and_then(|book| book.pick(self.task.game.position(), &self.allowed, rng)) {
            Some(m) => (Source::Book, self.glance_at(vec![m], tell)),
            None => {
                let style = self.settings.style(self.dial);
                let chosen = person::choose(&self.task, &style, self.settings, self.tables, draws, rng);
                (if chosen.by_tables { Source::Tablebase } else { Source::Search }, chosen.report)
            }
        }
    }

    /// Whether several lines are to be shown.
    fn several(&self) -> bool {
        self.settings.multi_pv > 1
    }

    fn at_once(&self) -> Option<Chosen> {
        let m = mating_move(self.task.game.position(), &self.allowed).filter(|_| !self.several())?;
        let score = Score::Mate(1);
        let line = Line { moves: vec![m], score, probability: 1.0, rank: score.rank(0.0) };
        Some((Source::Mate, Report { depth: 1, seldepth: 1, nodes: 1, lines: vec![line], ..Report::default() }))
    }

    fn by_book(&self, tell: Tell) -> Option<Chosen> {
        let Settings { own_book, analyse, .. } = *self.settings;
        let asked = own_book && !analyse && !self.go.analysis && self.go.mate.is_none();
        let m = asked.then(|| self.book.pick(self.task.game.position(), &self.allowed, &mut rand::rng())).flatten()?;
        Some((Source::Book, self.glance_at(vec![m], tell)))
    }

    /// By tablebases where they know a winner; otherwise a search of the moves that they leave.
    fn by_search(&self, tell: Tell) -> Chosen {
        let settings = self.settings;
        let (limit, fifty) = (settings.syzygy_probe_limit, settings.syzygy_50_move_rule);
        let Some(verdict) = self.tables.probe(self.task.game.position(), &self.allowed, limit, fifty) else {
            return (Source::Search, self.searched(&self.go.limits, 0, tell));
        };
        let tbhits = verdict.probes;
        if verdict.wdl == 0 {
            let limits = Limits { moves: verdict.moves, ..self.go.limits.clone() };
            return (Source::Search, self.searched(&limits, tbhits, tell));
        }
        let mut report = self.glance_at(verdict.moves, tell);
        let certain = Score::Expected(if verdict.wdl > 0 { Wdl::WIN } else { Wdl::LOSS });
        report.lines.iter_mut().for_each(|line| line.score = certain);
        report.tbhits = tbhits;
        (Source::Tablebase, report)
    }

    /// A mate that was found ahead of the search, or what the search finds.
    fn searched(&self, limits: &Limits, tbhits: u64, tell: Tell) -> Report {
        let (settings, evaluator) = (self.settings, self.task.evaluator);
        let name = match settings.search {
            search if search.needs_value() && !evaluator.has_value() => SearchName::Lookahead,
            search => search,
        };
        if let Some(moves) = self.mate(name, limits) {
            let depth = moves.len() as u32;
            let score = Score::mate_after(moves.len());
            let line = Line { moves, score, probability: 1.0, rank: score.rank(0.0) };
            return Report { depth, seldepth: depth, nodes: 1, tbhits, lines: vec![line], ..Report::default() };
        }
        let search = name.search(settings.guards);
        let draws = settings.temperature > 0 && !settings.analyse && !self.go.analysis;
        let lines = if draws { self.allowed.len() } else { settings.multi_pv };
        let Answer { mut report } = search.search(&Task { limits, lines, ..self.task }, &mut |report| {
            let tbhits = tbhits + report.tbhits;
            let mut report = Report { tbhits, hashfull: evaluator.hashfull(), ..report.clone() };
            report.lines.truncate(settings.multi_pv.max(1));
            tell(&report);
        });
        report.tbhits += tbhits;
        if draws {
            let unit = search.rank_unit() * settings.temperature as f32 / 100.0;
            draw(&mut report.lines, unit, &mut rand::rng());
        }
        report
    }

    /// A mate by force: as long as was asked for, or by checks alone.
    fn mate(&self, name: SearchName, limits: &Limits) -> Option<Vec<Move>> {
        let Task { game, stop, .. } = self.task;
        match self.go.mate {
            Some(moves) => {
                let most = if limits.deepen || self.go.analysis { u64::MAX } else { 20_000_000 };
                find_mate(game.position(), &self.allowed, moves, most, stop)
            }
            // A policy hardly thinks of the sacrifices that such mates begin with.
            None if name == SearchName::Tree && !self.several() => {
                find_mate_by_checks(game, &self.allowed, POSITIONS_OF_CHECKS, stop)
            }
            None => None,
        }
    }
}

/// The report of a game that is over.
fn over(game: &Game) -> Report {
    let score = match game.terminal() {
        Some(Terminal::Checkmate) => Score::Mate(0),
        _ => Score::Expected(Wdl::DRAW),
    };
    let line = Line { moves: Vec::new(), score, probability: 0.0, rank: Rank::open(0.0) };
    Report { lines: vec![line], ..Report::default() }
}

/// Puts a line first that was drawn with probability proportional to exp(worth / unit), of those that stand best.
fn draw(lines: &mut [Line], unit: f32, rng: &mut impl Rng) {
    let Some(best) = lines.iter().map(|l| l.rank).max_by(Rank::order) else { return };
    let weight = |rank: Rank| {
        let share = ((rank.worth - best.worth) / unit.max(1e-3)).exp();
        if rank.standing == best.standing { share } else { 0.0 }
    };
    let weights: Vec<f32> = lines.iter().map(|l| weight(l.rank)).collect();
    if let Some(chosen) = human::draw(&weights, rng) {
        lines[..=chosen].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Standing;

    #[test]
    fn drawing_follows_the_ranks() {
        let m = Game::default().parse_uci("e2e4").expect("legal");
        let line = |rank| Line { moves: vec![m], score: Score::Expected(Wdl::DRAW), probability: 0.5, rank };
        let mut first = [0; 2];
        for _ in 0..4000 {
            let lost = Rank { standing: Standing::Lost, worth: 9.0 };
            let mut lines = vec![line(Rank::open(0.0)), line(Rank::open(-1.0)), line(lost)];
            draw(&mut lines, 1.0, &mut rand::rng());
            assert_eq!(lines[0].rank.standing, Standing::Open);
            first[usize::from(lines[0].rank.worth < -0.5)] += 1;
        }
        // e⁰ : e⁻¹ is 73 : 27.
        assert!((900..1260).contains(&first[1]), "{first:?}");
    }
}
