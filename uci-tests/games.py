#!/usr/bin/env python3
"""Whole games through python-chess: against random movers and Debian's stockfish.

Every info line is checked: scores, a legal line that begins with the move played, numbers that make sense.
"""

import argparse
import random
import shutil
import sys

import chess
import chess.engine


def check(board, info, move):
    """One dictionary of python-chess against the position it was made for."""
    pv = info.get("pv")
    assert pv, f"no pv in {info}"
    line = board.copy()
    for m in pv:
        assert m in line.legal_moves, f"{m} in {pv} is illegal in {line.fen()}"
        line.push(m)
    assert pv[0] == move, f"bestmove {move} is not the first of {pv}"
    assert "score" in info and info["depth"] >= 1 and info["seldepth"] >= info["depth"], info
    assert info["nodes"] >= 0 and 0 <= info["hashfull"] <= 1000 and info["tbhits"] >= 0, info
    wdl = info["wdl"].relative
    assert wdl.wins + wdl.draws + wdl.losses == 1000, info


def play(engine, other, white, options, limit, chess960=False):
    """One game; returns the engine's score."""
    board = chess.Board.from_chess960_pos(random.randrange(960)) if chess960 else chess.Board()
    engine.configure(options)
    while not board.is_game_over(claim_draw=True) and board.fullmove_number < 200:
        if board.turn == white:
            result = engine.play(board, limit, info=chess.engine.INFO_ALL)
            assert result.move in board.legal_moves, f"{result.move} in {board.fen()}"
            check(board, result.info, result.move)
            board.push(result.move)
        elif other is None:
            board.push(random.choice(list(board.legal_moves)))
        else:
            board.push(other.play(board, chess.engine.Limit(time=0.01)).move)
    outcome = board.outcome(claim_draw=True)
    if outcome is None or outcome.winner is None:
        return 0.5
    return 1.0 if outcome.winner == white else 0.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("--games", type=int, default=2, help="games of each kind")
    args = parser.parse_args()
    random.seed(6)
    engine = chess.engine.SimpleEngine.popen_uci(args.engine, timeout=60)
    engine.configure({"UCI_ShowWDL": True})
    for search in ["policy", "lookahead", "value", "tree"]:
        score = 0
        for i in range(args.games):
            limit = chess.engine.Limit(time=0.02)
            score += play(engine, None, i % 2 == 0, {"Search": search, "OwnBook": i > 0}, limit)
        print(f"{search} against random moves: {score} of {args.games}")
        assert score >= 0.75 * args.games, f"{search} does not beat random moves"
    score = play(engine, None, True, {"Search": "value"}, chess.engine.Limit(nodes=40), chess960=True)
    print(f"Chess960 against random moves: {score} of 1")
    stockfish = shutil.which("stockfish") or "/usr/games/stockfish"
    other = chess.engine.SimpleEngine.popen_uci(stockfish, timeout=60)
    other.configure({"UCI_LimitStrength": True, "UCI_Elo": 1350})
    score = 0
    for i in range(args.games):
        clock = chess.engine.Limit(white_clock=1, black_clock=1, white_inc=0.05, black_inc=0.05)
        score += play(engine, other, i % 2 == 0, {"Search": "tree"}, clock)
    print(f"against stockfish at UCI_Elo 1350: {score} of {args.games}")
    other.quit()
    engine.quit()


try:
    main()
except AssertionError as error:
    sys.exit(f"games: {error}")
