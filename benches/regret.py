#!/usr/bin/env python3
"""Test positions where every move has its points: what it scores, as Stockfish expects, of positions of games.

    pip install chess pyarrow
    benches/regret.py engines.parquet otb.parquet online.parquet --count 1200 --out regret.epd
    cargo bench --bench tune -- nodes=600 suite=regret.epd b.c_puct=1.5 c.c_puct=2

Positions are drawn evenly from the files (Lichess's Parquet games), plies 8 to 120, a quarter of them after one random move more, and left
out where one side is more than 2.5 pawns ahead; --ahead asks for others (endings to be won: --men 10 --ahead 1.8 25). Points are thousandths of
1 / (1 + 10^(-pawns / 2.1)), with one line for every legal move, written as the Strategic Test Suite has them (c8, c9).
"""

import argparse
import random
import re

import chess
import chess.engine
import pyarrow.parquet

MATE = 10000


def games(path, least, rng):
    rows = pyarrow.parquet.read_table(path, columns=["movetext", "WhiteElo"]).to_pylist()
    texts = [row["movetext"] for row in rows if (row["WhiteElo"] or least) >= least]
    rng.shuffle(texts)
    return texts


def position(movetext, rng, most):
    """A position of a game with so many men at most; None where it is too short, or has too many."""
    words = re.sub(r"\{[^}]*\}", "", movetext).split()
    sans = [word for word in words if not re.match(r"\d+\.|(1-0|0-1|1/2-1/2|\*)$", word)]
    if len(sans) < 14:
        return None
    board, fit = chess.Board(), []
    for ply, san in enumerate(sans[:120]):
        if ply >= 8 and len(board.piece_map()) <= most:
            fit.append(board.copy(stack=False))
        board.push_san(san)
    if not fit:
        return None
    board = rng.choice(fit)
    if rng.random() < 0.25 and board.legal_moves:
        board.push(rng.choice(list(board.legal_moves)))
    return chess.Board(board.fen())


def points(centipawns):
    return round(1000 / (1 + 10 ** (-max(-2000, min(2000, centipawns)) / 210)))


def problem(engine, board, depth, ahead):
    """A line of EPD; None where nothing is to be lost or all is."""
    if board.legal_moves.count() < 2 or len(board.piece_map()) < 5:
        return None
    score = lambda info: info["score"].relative.score(mate_score=MATE)
    if not ahead[0] <= abs(score(engine.analyse(board, chess.engine.Limit(depth=8)))) / 100 <= ahead[1]:
        return None
    lines = engine.analyse(board, chess.engine.Limit(depth=depth), multipv=256)
    worth = [(line["pv"][0], points(score(line))) for line in lines]
    if worth[0][1] == worth[-1][1]:
        return None
    named = " ".join(move.uci() for move, _ in worth)
    given = " ".join(str(p) for _, p in worth)
    return f'{board.epd()} bm {board.san(worth[0][0])}; c8 "{given}"; c9 "{named}";'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--count", type=int, default=1200)
    parser.add_argument("--depth", type=int, default=10)
    parser.add_argument("--least", type=int, default=1700, help="rating of White")
    parser.add_argument("--men", type=int, default=32, help="on the board, at most")
    parser.add_argument("--ahead", type=float, nargs=2, default=(0, 2.5), help="pawns, of either side, at least and at most")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--engine", default="/usr/games/stockfish")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    sources = [games(path, args.least, rng) for path in args.games]
    with chess.engine.SimpleEngine.popen_uci(args.engine) as engine, open(args.out, "w", encoding="utf-8") as out:
        written = 0
        while written < args.count:
            source = rng.choice([source for source in sources if source] or parser.error("too few games"))
            board = position(source.pop(), rng, args.men)
            line = board and problem(engine, board, args.depth, args.ahead)
            if line:
                written += 1
                print(line, file=out, flush=True)
                print(f"\r{written} of {args.count}", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
