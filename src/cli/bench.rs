//! A fixed set of positions, searched to fixed limits: nodes that change only when search or network change, and speed.

use std::time::Instant;

use crate::board::Game;
use crate::evaluate::Stop;
use crate::play::{Engine, EngineError, Go, Settings};
use crate::search::Limits;

/// Positions of all phases.
const POSITIONS: [&str; 12] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 4 8",
    "2rq1rk1/pb1n1ppN/4p3/1pb5/3P1Pn1/P1N5/1PQ1B1PP/R1B2RK1 b - - 0 16",
    "r2q1rk1/ppp2ppp/2n1bn2/2b1p3/3pP3/3P1NPP/PPPNBP2/R1BQ1RK1 w - - 0 1",
    "4rrk1/pp1n3p/3q2pQ/2p1pb2/2PP4/2P3N1/P2B2PP/4RRK1 b - - 7 19",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "8/8/1p1k4/p2p1p2/P2P1P2/1P1K4/8/8 w - - 0 1",
    "6k1/5pp1/4p2p/3pP3/1p1P1P2/1P4P1/r4RKP/8 b - - 0 34",
    "3r2k1/p4ppp/1p2b3/2p5/2P1q3/1P2B1P1/P3QP1P/3R2K1 w - - 0 24",
    "8/8/4k3/3n1n2/5P2/3K4/8/8 b - - 0 12",
];
/// Evaluations for each.
const NODES: u64 = 400;

/// Runs it, or as much of it as there is before it is to stop. The last line is the one that OpenBench reads.
///
/// # Errors
/// When the weights cannot be loaded.
pub fn bench(engine: &mut Engine, stop: &Stop, tell: &mut dyn FnMut(String)) -> Result<(), EngineError> {
    let before = engine.settings().clone();
    let defaults = Settings::default();
    engine.configure(Settings {
        own_book: false,
        limit_strength: false,
        temperature: 0,
        multi_pv: defaults.multi_pv,
        verbose_move_stats: false,
        ..before.clone()
    });
    engine.prepare()?;
    let (mut nodes, start) = (0, Instant::now());
    let result = POSITIONS.iter().enumerate().try_for_each(|(i, fen)| -> Result<(), EngineError> {
        let Ok(game) = Game::from_fen(fen) else { return Ok(()) };
        if stop.is_set() {
            return Ok(());
        }
        engine.clear();
        let limits = Limits { nodes: Some(NODES), deepen: true, ..Limits::default() };
        let go = Go { limits, ..Go::default() };
        let decision = engine.go(&game, &go, stop, &mut |_| {})?;
        if stop.is_set() {
            // Cut short.
            return Ok(());
        }
        nodes += decision.report.nodes;
        let best = decision.best.map_or_else(|| "0000".into(), |m| game.uci(m, false));
        tell(format!("position {:2}/{} bestmove {best} nodes {}", i + 1, POSITIONS.len(), decision.report.nodes));
        Ok(())
    });
    engine.configure(before);
    result?;
    if stop.is_set() {
        tell("bench: stopped".into());
        return Ok(());
    }
    let time = start.elapsed().as_secs_f64();
    tell(format!("time {:.0} ms", time * 1000.0));
    tell(format!("{nodes} nodes {:.0} nps", nodes as f64 / time.max(1e-3)));
    Ok(())
}
