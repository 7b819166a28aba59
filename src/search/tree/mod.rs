//! A tree of many glances: PUCT (Rosin 2011; Silver et al. 2017), sequential halving at the root when there are few looks, and mates
//! proved and drawn back through the tree.
//!
//! Each simulation walks from the root to a position that was not looked at yet, by the values found below each move
//! and the policy's liking for it, and brings that position's win, draw and loss back to the root. The most visited
//! move is played. Several threads may walk in it at once (`walkers`). Mates, stalemates, repetitions and the fifty-move rule are known exactly.
//! Where a position is visited again, a mate by checks alone is looked for: the policy hardly thinks of the sacrifices that it begins with.

mod effort;
mod halving;
mod kept;
mod nodes;
mod places;
mod run;
mod walkers;

use super::quiescence::Exchanges;
use super::report::Report;
use super::task::{Answer, Search, Task};

pub use effort::Effort;
pub use halving::Halving;
pub use kept::{Branch, Kept};

use run::Run;

/// The constants of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tree {
    /// Weight of the policy against values (win minus loss) at few visits…
    pub c_puct: f32,
    /// …how fast it grows with their logarithm…
    pub c_factor: f32,
    /// …and the visits at which it begins to.
    pub c_base: f32,
    /// How much worse than its position's value a move is taken to be before it was tried, times the root of the
    /// policy's share of the moves that were.
    pub fpu_reduction: f32,
    /// What the policy's probabilities are evened out by: taken to the power of one over it, and normalised.
    pub prior_temperature: f32,
    /// How the root is searched with few looks.
    pub halving: Halving,
    /// How the clock is used.
    pub effort: Effort,
    /// What exchanges add to the network's word; nothing: its word alone.
    pub exchanges: Option<Exchanges>,
    /// Whether a position that another way has led to before is taken to be worth what it is there, and not looked at again.
    pub transpositions: bool,
    /// Whether a position that comes up for the second time on a way from the root is a draw there, as if it were the third.
    pub repetitions: bool,
}

impl Default for Tree {
    fn default() -> Tree {
        // Set by games of the shipped network: benches/search.md has them.
        let halving = Halving { below: 100, most: 4, visit: 50.0, scale: 1.0 };
        let effort = Effort { falling: 8.0, doubt: 1.25, sure: 0.6 };
        Tree {
            c_puct: 1.0,
            c_factor: 2.0,
            c_base: 10_000.0,
            fpu_reduction: 0.4,
            prior_temperature: 1.0,
            halving,
            effort,
            exchanges: Some(Exchanges { settled: 1.1, standing: -0.2, choice: 2.0, hope: 2.0, tries: 16, deeper: 8 }),
            transpositions: true,
            repetitions: true,
        }
    }
}

impl Search for Tree {
    fn search(&self, task: &Task, tell: &mut dyn FnMut(&Report)) -> Answer {
        let mut run = Run::new(task, *self);
        run.begin();
        run.plan();
        let run = walkers::walk(run, task.evaluator.threads(), tell);
        let answer = run.answer();
        if let Some(kept) = task.kept {
            if run.simulations >= 8 {
                kept.set_pace(run.start.elapsed() / run.simulations as u32);
            }
            kept.put(run.nodes, task.game, task.conditions);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::run::{Leaf, NATURAL};
    use super::*;
    use crate::board::{Conditions, Game};
    use crate::evaluate::{Evaluation, Evaluator, Query, Scripted, Span, Stop, Stopped, Wdl};
    use crate::search::outcome::{Bounds, Outcome};
    use crate::search::{Limits, Score};
    use shakmaty::Position;
    use std::collections::HashMap;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::RecvTimeoutError;
    use std::time::{Duration, Instant};

    static SCRIPTED: LazyLock<Scripted> = LazyLock::new(Scripted::default);

    fn task<'a>(game: &'a Game, limits: &'a Limits, lines: usize, stop: &'a Stop, evaluator: &'a Scripted) -> Task<'a> {
        let conditions = &Conditions::STRONGEST;
        Task { game, conditions, limits, lines, stop, evaluator, memory: 8 << 20, kept: None, endings: None }
    }

    fn search(game: &Game, limits: &Limits, lines: usize, stop: &Stop) -> Answer {
        Tree::default().search(&task(game, limits, lines, stop, &SCRIPTED), &mut |_| {})
    }

    fn nodes(fen: &str, nodes: u64, lines: usize) -> (Game, Answer) {
        let game = Game::from_fen(fen).expect(fen);
        let limits = Limits { nodes: Some(nodes), deepen: true, ..Limits::default() };
        let answer = search(&game, &limits, lines, &Stop::new(false, None));
        (game, answer)
    }

    #[test]
    fn the_opponents_mates_by_checks_are_seen() {
        // Wherever the knight goes, the king is smothered in four moves, the queen given up.
        let game = Game::from_fen("5r1k/1p4pp/p2N4/3Qp3/P2n1bP1/5P1q/1PP2R1P/4R2K b - - 0 1").expect("legal");
        let moves = ["d4c2", "d4e2"].map(|m| game.parse_uci(m).expect("legal")).to_vec();
        let limits = Limits { nodes: Some(40), moves, ..Limits::default() };
        let answer = search(&game, &limits, 1, &Stop::new(false, None));
        let line = &answer.report.lines[0];
        assert_eq!(line.score, Score::Mate(-4));
        let mut after = game.clone();
        line.moves.iter().for_each(|&m| after.play(m));
        assert!(line.moves.len() == 8 && after.position().is_checkmate(), "{:?}", line.moves);
    }

    /// A search at whose root the king's move is all but certain, and the pawn's, which takes something, all but left out.
    fn between_king_and_pawn<'a>(task: &'a Task<'a>, hope: f32, tries: u32) -> Run<'a> {
        let exchanges = Exchanges { settled: 0.0, standing: 0.0, choice: 0.01, hope, tries, deeper: 0 };
        let mut run = Run::new(task, Tree { exchanges: Some(exchanges), ..Tree::default() });
        run.begin();
        let [king, pawn] = ["e1e2", "e4d5"].map(|m| task.game.parse_uci(m).expect("legal"));
        run.nodes.open(0, [(king, 0.999), (pawn, 0.001)].into_iter());
        run
    }

    #[test]
    fn what_is_seen_to_win_more_than_all_that_was_tried_is_tried_next() {
        // The pawn takes a queen, which the network hardly thinks of.
        let game = Game::from_fen("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1").expect("legal");
        let (limits, stop) = (Limits::default(), Stop::new(false, None));
        let task = task(&game, &limits, 1, &stop, &SCRIPTED);
        let tried = |hope| between_king_and_pawn(&task, hope, 1).gather(2).len();
        // Where nothing is hoped for, the second waits for the first.
        assert_eq!([tried(0.0), tried(2.0)], [1, 2]);
    }

    #[test]
    fn what_is_seen_to_win_is_tried_more_than_once_whatever_a_first_look_says() {
        let game = Game::from_fen("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1").expect("legal");
        let (limits, stop) = (Limits::default(), Stop::new(false, None));
        let task = task(&game, &limits, 1, &stop, &SCRIPTED);
        let next = |tries| {
            let mut run = between_king_and_pawn(&task, 2.0, tries);
            let [king, pawn] = [0, 1].map(|edge| run.nodes.add_child(0, edge, None));
            (0..4).for_each(|_| run.nodes.back_up(&[0, king], Wdl::DRAW));
            // Lost, says the one look after it.
            run.nodes.back_up(&[0, pawn], Wdl::WIN);
            assert_eq!(run.gather(1).len(), 1);
            run.nodes.node(pawn as usize).pending == 1
        };
        assert_eq!([next(1), next(4)], [false, true]);
    }

    #[test]
    fn what_is_certain_decides_before_visits() {
        let game = Game::from_fen("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1").expect("legal");
        let (limits, stop) = (Limits { save: true, ..Limits::default() }, Stop::new(false, None));
        let task = task(&game, &limits, 1, &stop, &SCRIPTED);
        let several = Task { lines: 2, ..task };
        // The king's move has the visits, and what each of the two leads to is known, or only expected, by who then moves.
        let first = |king: Score, pawn: Score| {
            let mut run = between_king_and_pawn(&task, 0.0, 1);
            for (edge, score, visits) in [(0, king, 9), (1, pawn, 1)] {
                let exact = Some(score).filter(|score| Bounds::of(*score) != Bounds::default());
                let child = run.nodes.add_child(0, edge, exact);
                (0..visits).for_each(|_| run.nodes.back_up(&[0, child], score.wdl()));
                run.nodes.narrow(&[0, child]);
            }
            let found = (task.game.uci(run.answer().report.lines[0].moves[0], false), run.is_over());
            run.task = &several;
            assert!(!run.is_over(), "other moves are asked about too");
            found
        };
        let [loss, draw, win] = [Wdl::LOSS, Wdl::DRAW, Wdl::WIN].map(Score::Expected);
        let [better, worse] = [0.1, 0.9].map(|win| Score::Expected(Wdl { win, draw: 0.0, loss: 1.0 - win }));
        let king = ("e1e2".to_owned(), false);
        let pawn = ("e4d5".to_owned(), false);
        assert_eq!([first(better, worse), first(worse, better)], [king.clone(), king.clone()]);
        // Who is known not to win stands back behind who may, and not behind who is not going to.
        assert_eq!([first(draw, better), first(draw, worse)], [pawn.clone(), king]);
        // A draw is better than what is going to be lost, and anything than what is.
        assert_eq!([first(worse, draw), first(win, worse)], [pawn.clone(), pawn]);
        assert_eq!(first(better, loss), ("e4d5".to_owned(), true));
    }

    #[test]
    fn a_draw_by_the_last_man_that_can_move_is_seen() {
        // A rook behind: either man has to take it, and it is stalemate.
        let (game, answer) = nodes("8/1R6/7p/8/p7/kpb5/3p4/1K6 w - - 0 74", 20, 1);
        assert_eq!(game.uci(answer.report.lines[0].moves[0], false), "b7b3");
        // Who is ahead does not let it come to that, by the pawn's move, once that is looked at.
        let game = Game::from_fen("8/1R6/7p/8/p7/kpbp4/8/1K6 b - - 0 73").expect("legal");
        let (limits, stop) = (Limits::default(), Stop::new(false, None));
        let task = task(&game, &limits, 1, &stop, &SCRIPTED);
        let mut run = Run::new(&task, Tree::default());
        run.begin();
        let pawn = game.parse_uci("d3d2").expect("legal");
        let certain = |run: &Run| {
            run.nodes.root().edges.iter().find(|edge| edge.m == pawn).map(|edge| run.nodes.certain(edge).0.most)
        };
        assert_eq!(certain(&run), Some(Outcome::Win));
        while run.nodes.root().edges.iter().any(|edge| edge.m == pawn && run.nodes.visits(edge) == 0) {
            let mut leaves = run.gather(1);
            let found = Leaf::evaluate(&mut leaves, &task, run.exchanges());
            run.bring_back(&leaves, found);
        }
        assert_eq!(certain(&run), Some(Outcome::Draw));
    }

    #[test]
    fn other_lines_are_looked_at_beside_a_mate() {
        let (game, answer) = nodes("6k1/5ppp/8/8/3n4/4P3/8/R3K3 w - - 0 1", 200, 3);
        let lines = &answer.report.lines;
        assert_eq!((game.uci(lines[0].moves[0], false).as_str(), lines[0].score), ("a1a8", Score::Mate(1)));
        assert_eq!((game.uci(lines[1].moves[0], false).as_str(), answer.report.nodes), ("e3d4", 200));
        let visits = |m| answer.report.stats.iter().find(|stats| stats.m == m).map_or(0, |stats| stats.visits);
        assert!(visits(lines[1].moves[0]) > 50 && visits(lines[0].moves[0]) < 20, "{:?}", answer.report.stats);
        // Also one that takes a sacrifice.
        let (game, answer) = nodes("5r1k/6pp/7N/3Q4/8/8/8/6K1 w - - 0 1", 2, 3);
        let lines = &answer.report.lines;
        assert_eq!((game.uci(lines[0].moves[0], false).as_str(), lines[0].score), ("d5g8", Score::Mate(2)));
        assert_eq!((lines.len(), lines[0].moves.len()), (3, 3));
        // Where one is wanted it is enough.
        assert!(nodes("6k1/5ppp/8/8/3n4/4P3/8/R3K3 w - - 0 1", 200, 1).1.report.nodes < 200);
    }

    #[test]
    fn what_is_certain_decides_before_halving() {
        let game = Game::from_fen("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1").expect("legal");
        let (limits, stop) = (Limits { nodes: Some(40), ..Limits::default() }, Stop::new(false, None));
        let task = task(&game, &limits, 1, &stop, &SCRIPTED);
        let mut run = between_king_and_pawn(&task, 0.0, 1);
        run.plan();
        let king = game.parse_uci("e1e2").expect("legal");
        let edge = run.nodes.root().edges.iter().position(|edge| edge.m == king).expect("a move");
        let child = run.nodes.add_child(0, edge, Some(Score::Expected(Wdl::LOSS)));
        // So much that the other move, which is expected to be worth as much as all, has any number.
        (0..2000).for_each(|_| run.nodes.back_up(&[0, child], Wdl::LOSS));
        run.nodes.narrow(&[0, child]);
        assert_eq!(run.answer().report.lines[0].moves[0], king);
    }

    #[test]
    fn what_the_moves_of_the_root_win_is_seen_further_ahead() {
        // A rook for a knight, and the other pins the queen two plies later.
        let fen = "3QRnk1/2p2pp1/5r2/ppq5/6Pp/1P5P/P3R2K/8 w - - 1 2";
        let game = Game::from_fen(fen).expect(fen);
        let takes = game.parse_uci("e8f8").expect("legal");
        let wins = |nodes| {
            let (limits, stop) = (Limits { nodes: Some(nodes), ..Limits::default() }, Stop::new(false, None));
            let task = task(&game, &limits, 1, &stop, &SCRIPTED);
            let mut run = Run::new(&task, Tree::default());
            run.begin();
            run.plan();
            run.nodes.root().edges.iter().find(|edge| edge.m == takes).map(|edge| edge.pawns)
        };
        assert!(wins(60) < Some(0.0) && wins(64) > Some(1.0), "{:?} {:?}", wins(60), wins(64));
    }

    #[test]
    fn what_is_taken_back_is_seen() {
        // The pawn on e5 is protected: a glance takes it, a few more see the queen lost for it, and so do exchanges without any.
        let game = Game::from_fen("4k3/8/3p4/4p3/8/8/4Q3/4K3 w - - 0 1").expect("legal");
        let name = |nodes, exchanges| {
            let limits = Limits { nodes: Some(nodes), deepen: true, ..Limits::default() };
            let stop = Stop::new(false, None);
            let tree = Tree { exchanges, ..Tree::default() };
            let answer = tree.search(&task(&game, &limits, 1, &stop, &SCRIPTED), &mut |_| {});
            game.uci(answer.report.lines[0].moves[0], false)
        };
        assert_eq!(name(1, None), "e2e5");
        assert_ne!(name(200, None), "e2e5");
        assert_ne!(name(1, Tree::default().exchanges), "e2e5");
    }

    #[test]
    fn mates_are_proved_and_counted() {
        let mated = |fen: &str, budget: u64| {
            let (game, answer) = nodes(fen, budget, 1);
            let line = &answer.report.lines[0];
            let mut after = game.clone();
            for &m in &line.moves {
                assert!(after.position().is_legal(m));
                after.play(m);
            }
            assert!(after.position().is_checkmate(), "{fen}: {:?}", line.moves);
            line.score
        };
        // Enough looks for bounds to choose: with few, only the most probable moves are considered.
        assert_eq!(mated("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", 200), Score::Mate(1));
        assert_eq!(mated("7k/8/8/8/8/6p1/R7/1R2K3 w - - 0 1", 3000), Score::Mate(2));
        // All there is loses by force.
        assert_eq!(mated("k7/7p/1K6/8/8/8/8/6R1 b - - 0 1", 400), Score::Mate(-1));
    }

    #[test]
    fn a_position_is_looked_at_once_however_many_ways_lead_to_it() {
        let game = Game::from_fen("4k3/pp6/8/8/8/8/6PP/4K3 w - - 0 1").expect("legal");
        let limits = Limits { nodes: Some(400), deepen: true, ..Limits::default() };
        let stop = Stop::new(false, None);
        let task = task(&game, &limits, 1, &stop, &SCRIPTED);
        let looks = |transpositions| {
            let mut run = Run::new(&task, Tree { transpositions, ..Tree::default() });
            run.begin();
            let mut looked: HashMap<u64, u32> = HashMap::new();
            while !run.is_over() {
                let mut leaves = run.gather(1);
                leaves.iter().for_each(|leaf| *looked.entry(leaf.key()).or_default() += 1);
                let found = Leaf::evaluate(&mut leaves, &task, run.exchanges());
                run.bring_back(&leaves, found);
            }
            (looked.values().max().copied(), run.evaluated, run.simulations)
        };
        let (twice, evaluated, simulations) = looks(false);
        assert!(twice > Some(1) && evaluated == 400 && simulations < 420, "{twice:?} {evaluated} {simulations}");
        let (once, evaluated, simulations) = looks(true);
        assert!(once == Some(1) && evaluated == 400 && simulations > 440, "{once:?} {evaluated} {simulations}");
    }

    #[test]
    fn who_comes_back_to_a_position_of_the_search_has_a_draw() {
        // Two kings that can but walk to and fro, once before the search.
        let mut game = Game::from_fen("8/8/8/1p1p1p1k/pPpPpPpP/P1P1P1P1/8/6K1 w - - 0 1").expect("legal");
        for m in ["g1g2", "h5g6", "g2g1", "g6h5"] {
            game.play(game.parse_uci(m).expect("legal"));
        }
        let limits = Limits { nodes: Some(300), deepen: true, ..Limits::default() };
        let stop = Stop::new(false, None);
        let task = task(&game, &limits, 1, &stop, &SCRIPTED);
        let looks = |repetitions| {
            let mut run = Run::new(&task, Tree { repetitions, transpositions: false, ..Tree::default() });
            run.begin();
            // How many were of what came up before the search, and how many of what came up in it.
            let mut again = [0, 0];
            while !run.is_over() {
                let mut leaves = run.gather(1);
                for leaf in &leaves {
                    again[0] += u32::from(leaf.comes_up_again(usize::MAX));
                    again[1] += u32::from(leaf.comes_up_again(0));
                }
                let found = Leaf::evaluate(&mut leaves, &task, run.exchanges());
                run.bring_back(&leaves, found);
            }
            again
        };
        let ([before, never], [_, within]) = (looks(true), looks(false));
        assert!(before > 0 && never == 0 && within > 0, "{before} {never} {within}");
    }

    #[test]
    fn stalemate_and_repetition_are_draws() {
        // A queen up, but Qf7 leaves no move.
        let (game, answer) = nodes("7k/8/6K1/8/8/8/5Q2/8 w - - 0 1", 400, 218);
        let stalemate = answer.report.lines.iter().find(|l| game.after(l.moves[0]).position().is_stalemate());
        if let Some(line) = stalemate {
            assert!(line.score == Score::Expected(Wdl::DRAW) || line.rank.worth < 0.0, "{line:?}");
        }
        assert!(!game.after(answer.report.lines[0].moves[0]).position().is_stalemate());
    }

    #[test]
    fn the_same_nodes_give_the_same_answer_and_limits_hold() {
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3";
        let (one, two) = (nodes(fen, 150, 5).1, nodes(fen, 150, 5).1);
        assert_eq!(one.report.lines, two.report.lines);
        assert!(one.report.nodes <= 150 && one.report.lines.len() == 5);
        let game = Game::from_fen(fen).expect(fen);
        // A set signal, a depth of one: the policy's move at once.
        let stop = Stop::new(false, None);
        stop.set();
        assert_eq!(search(&game, &Limits { deepen: true, ..Limits::default() }, 1, &stop).report.nodes, 1);
        let depth = Limits { depth: Some(1), ..Limits::default() };
        assert_eq!(search(&game, &depth, 1, &Stop::new(false, None)).report.nodes, 1);
        // Both captures end the game, so that no line is deeper than one ply: a search for more ends nevertheless.
        let drawn = Game::from_fen("8/8/8/8/8/5k2/7n/6nK w - - 0 1").expect("a position");
        let depth = Limits { depth: Some(9), ..Limits::default() };
        let flat = search(&drawn, &depth, 1, &Stop::new(false, None));
        assert_eq!((flat.report.depth, flat.report.seldepth), (1, 1));
        // Without any limit it ends by itself, and memory ends it too.
        let free = search(&game, &Limits::default(), 1, &Stop::new(false, None));
        assert!(free.report.nodes > 30 && free.report.nodes <= NATURAL + 1, "{}", free.report.nodes);
        // Little memory: the tree is pruned, and the search goes on.
        let limits = Limits { nodes: Some(3000), ..Limits::default() };
        let stop = Stop::new(false, None);
        let task = Task { memory: 150_000, ..task(&game, &limits, 2, &stop, &SCRIPTED) };
        let mut run = Run::new(&task, Tree::default());
        run.begin();
        let mut most = 0;
        while !run.is_over() {
            let mut leaves = run.gather(4);
            let found = Leaf::evaluate(&mut leaves, &task, run.exchanges());
            run.bring_back(&leaves, found);
            run.prune();
            most = most.max(run.nodes.bytes());
        }
        assert!(run.evaluated == 3000 && most <= 100_000, "{} {most}", run.evaluated);
        assert!(run.nodes.root().visits > 2500 && run.answer().best().is_some());
    }

    #[test]
    fn several_walkers_share_a_tree() {
        let game = Game::from_fen("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3").expect("legal");
        // Slow enough that each of the four comes to the tree now and then, however they are scheduled.
        let evaluator = Scripted::slow(Duration::from_millis(1)).by(4);
        // As many positions as allowed, none waited for that does not come, memory kept to while paths are under way.
        let limits = Limits { nodes: Some(1500), ..Limits::default() };
        let stop = Stop::new(false, None);
        let shared = Task { memory: 150_000, ..task(&game, &limits, 1, &stop, &evaluator) };
        let mut told = 0;
        let mut run = Run::new(&shared, Tree::default());
        run.begin();
        let run = walkers::walk(run, 4, &mut |report| told = report.nodes);
        assert_eq!((run.evaluated, run.is_waiting()), (1500, false));
        let (bytes, pending) = (run.nodes.bytes(), run.nodes.node(0).pending);
        assert!(told >= 750 && bytes <= 100_000 && pending == 0, "{told} {bytes} {pending}");
        // Four at once, not one after the other.
        assert!(evaluator.most_at_once() > 1 && evaluator.most_at_once() <= 4, "{}", evaluator.most_at_once());
        // The signal ends all of them.
        let limits = Limits { deepen: true, ..Limits::default() };
        let stop = Stop::new(false, Some(Span::exactly(Duration::from_millis(100))));
        let start = Instant::now();
        let answer = Tree::default().search(&task(&game, &limits, 1, &stop, &evaluator), &mut |_| {});
        assert!(answer.report.nodes > 1 && start.elapsed() < Duration::from_secs(5));
        // A mate is proved by whoever sees it.
        let game = Game::from_fen("7k/8/8/8/8/6p1/R7/1R2K3 w - - 0 1").expect("legal");
        let limits = Limits { nodes: Some(3000), ..Limits::default() };
        let answer = Tree::default().search(&task(&game, &limits, 1, &Stop::new(false, None), &evaluator), &mut |_| {});
        assert_eq!(answer.report.lines[0].score, Score::Mate(2));
    }

    /// One that fails once, after a hundred batches.
    struct Failing(Scripted, AtomicBool);

    impl Evaluator for Failing {
        fn evaluate(&self, batch: &[Query], stop: &Stop) -> Result<Vec<Evaluation>, Stopped> {
            assert!(self.0.calls() < 100 || self.1.swap(true, Ordering::Relaxed), "failed for the test");
            self.0.evaluate(batch, stop)
        }

        fn threads(&self) -> usize {
            self.0.threads()
        }
    }

    #[test]
    fn the_failure_of_one_walker_ends_the_search_of_all() {
        let (alive, end) = std::sync::mpsc::channel::<()>();
        let searching = std::thread::spawn(move || {
            let evaluator = Failing(Scripted::slow(Duration::from_micros(100)).by(3), AtomicBool::new(false));
            let (game, stop) = (Game::default(), Stop::new(false, None));
            let limits = Limits { nodes: Some(1500), ..Limits::default() };
            let task = Task { evaluator: &evaluator, ..task(&game, &limits, 1, &stop, &SCRIPTED) };
            // Dropped with the thread, however that ends.
            let _alive = alive;
            Tree::default().search(&task, &mut |_| {});
        });
        assert_eq!(
            end.recv_timeout(Duration::from_secs(30)),
            Err(RecvTimeoutError::Disconnected),
            "the others still wait"
        );
        assert!(searching.join().is_err(), "the failure is passed on");
    }

    #[test]
    fn the_next_search_goes_on_with_the_tree() {
        let game = Game::from_fen("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3").expect("legal");
        let kept = Kept::default();
        let think = |game: &Game, depth, nodes| {
            let limits = Limits { depth, nodes, ..Limits::default() };
            let stop = Stop::new(false, None);
            let task = Task { kept: Some(&kept), ..task(game, &limits, 1, &stop, &SCRIPTED) };
            let mut run = Run::new(&task, Tree::default());
            run.begin();
            let known = run.nodes.root().visits;
            let answer = Tree::default().search(&task, &mut |_| {});
            (known, answer.report.lines[0].moves.clone())
        };
        // The first look at a tree takes it out: what `think` asks for is put back by its search.
        let (known, line) = think(&game, None, Some(400));
        assert_eq!(known, 1);
        let after = line[..2].iter().fold(game.clone(), |g, &m| g.after(m));
        let limits = Limits { depth: Some(3), ..Limits::default() };
        let stop = Stop::new(false, None);
        let next = Task { kept: Some(&kept), ..task(&after, &limits, 1, &stop, &SCRIPTED) };
        let mut run = Run::new(&next, Tree::default());
        run.begin();
        assert!(run.nodes.root().visits > 20 && run.evaluated == 0, "{}", run.nodes.root().visits);
        let moves = after.position().legal_moves();
        assert!(
            run.nodes.root().edges.iter().all(|e| moves.contains(&e.m)) && run.nodes.root().edges.len() == moves.len()
        );
        // A depth is that of the whole tree: a ply more takes more than one way that goes so far.
        think(&game, None, Some(400));
        let limits = Limits { depth: Some(run.depth() + 1), ..Limits::default() };
        let deeper = Tree::default().search(&Task { limits: &limits, ..next }, &mut |_| {}).report;
        assert!(deeper.depth == run.depth() + 1 && deeper.nodes > 20, "{} {}", deeper.depth, deeper.nodes);
        // Not with a limit in nodes, which is to give the same twice; not from another game.
        think(&game, None, Some(400));
        assert_eq!(think(&after, None, Some(5)).0, 1);
        think(&game, None, Some(400));
        let mut other = game.after(line[0]);
        let reply = other.position().legal_moves().into_iter().find(|&m| m != line[1]).expect("another move");
        other.play(reply);
        let elsewhere = Game::new(other.position().clone());
        assert_eq!(think(&elsewhere, Some(2), None).0, 1);
    }

    #[test]
    fn another_move_than_the_one_pondered_on_finds_its_tree() {
        let game = Game::from_fen("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3").expect("legal");
        let kept = Kept::default();
        let think = |game: &Game, limits: Limits, held| {
            let stop = Stop::new(held, None);
            let task = Task { kept: Some(&kept), ..task(game, &limits, 1, &stop, &SCRIPTED) };
            Tree::default().search(&task, &mut |_| {});
        };
        think(&game, Limits { nodes: Some(600), ..Limits::default() }, false);
        let [best] = &kept.branches(&[1, 2])[..] else { panic!("a best move") };
        let after = |branch: &Branch| game.after(best.stats.m).after(branch.stats.m);
        let [guessed, other] = &best.replies[..] else { panic!("two replies") };
        let known = |game: &Game| {
            let (limits, stop) = (Limits::default(), Stop::new(false, None));
            let task = Task { kept: Some(&kept), ..task(game, &limits, 1, &stop, &SCRIPTED) };
            let mut run = Run::new(&task, Tree::default());
            run.begin();
            (run.nodes.root().visits, run.evaluated)
        };
        think(&after(guessed), Limits { depth: Some(2), ..Limits::default() }, true);
        assert_eq!(known(&after(other)), (other.stats.visits, 0));
        // Once the opponent has moved, nothing else is kept.
        assert_eq!(known(&after(other)), (1, 1));
    }

    #[test]
    fn a_settled_root_saves_time_only_on_a_clock() {
        // The only capture wins a queen: there is no need to think about it for long.
        let game = Game::from_fen("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1").expect("legal");
        let think = |save| {
            let start = Instant::now();
            let stop = Stop::new(false, Some(Span::exactly(Duration::from_millis(400))));
            let limits = Limits { deepen: true, save, ..Limits::default() };
            let slow = Scripted::slow(Duration::from_millis(1));
            let task = task(&game, &limits, 1, &stop, &slow);
            let answer = Tree::default().search(&task, &mut |_| {});
            assert_eq!(game.uci(answer.report.lines[0].moves[0], false), "e4d5");
            start.elapsed()
        };
        let (saved, used) = (think(true), think(false));
        assert!(used >= Duration::from_millis(400), "{used:?}");
        assert!(saved < used - Duration::from_millis(50), "{saved:?}");
    }
}
