#!/usr/bin/env python3
"""Games of a person of a rating against itself: how many are different, as a whole and after ten plies.

    uci-tests/diversity.py target/release/glance --elo 1500 --games 100

Fails when two whole games are the same.
"""

import argparse
import sys
from collections import Counter

import chess
import chess.engine

MOST_PLIES = 300


def game(engine, tenth):
    """The moves of one game, on a clock of five minutes that never runs."""
    board = chess.Board()
    limit = chess.engine.Limit(white_clock=300, black_clock=300)
    while not board.is_game_over(claim_draw=True) and board.ply() < MOST_PLIES:
        board.push(engine.play(board, limit, game=tenth).move)
    return tuple(board.move_stack), board.result(claim_draw=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("--elo", type=int, default=1500)
    parser.add_argument("--games", type=int, default=100)
    args = parser.parse_args()
    with chess.engine.SimpleEngine.popen_uci(args.engine) as engine:
        engine.configure({"UCI_LimitStrength": True, "UCI_Elo": args.elo})
        played = [game(engine, number) for number in range(args.games)]
    whole = Counter(moves for moves, _ in played)
    opened = Counter(moves[:10] for moves, _ in played)
    results = Counter(result for _, result in played)
    print(f"at {args.elo}: {len(whole)} of {args.games} games are different, {len(opened)} after ten plies;",
          f"the commonest ten plies came {max(opened.values())} times; results {dict(results)}")
    sys.exit(len(whole) < args.games)


main()
