#!/usr/bin/env python3
"""Lichess puzzles through the engine: how many each search solves, by rating.

    uci-tests/puzzles.py target/release/glance puzzles.csv.zst --search policy value --limit "depth 1" --count 2000

A puzzle is solved when every move of the solver is the puzzle's (any mate counts at the end). "Advancement" is the share
of the solution reached before the first miss.
"""

import argparse
import csv
import io
import random
import subprocess

import chess

from engine import Engine


class Solver(Engine):
    def __init__(self, path, options):
        super().__init__(path)
        self.say(*(f"setoption name {name} value {value}" for name, value in options.items()))

    def move(self, fen, moves, limit):
        self.say(f"position fen {fen} moves {' '.join(moves)}", f"go {limit}")
        while True:
            line = self.until("bestmove|info string", fen)
            if line.startswith("bestmove"):
                return line.split()[1]
            print(line)


def read(path):
    if path.endswith(".zst"):
        text = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True, text=True).stdout
    else:
        text = open(path, encoding="utf-8").read()
    return list(csv.DictReader(io.StringIO(text)))


def solve(engine, row, limit):
    moves = row["Moves"].split()
    played = [moves[0]]
    done = 0
    for i in range(1, len(moves), 2):
        best = engine.move(row["FEN"], played, limit)
        if best != moves[i]:
            board = chess.Board(row["FEN"])
            for m in [*played, best]:
                board.push_uci(m)
            if not board.is_checkmate():
                break
        done += 1
        played += moves[i : i + 2]
    total = len(moves) // 2
    return done == total, done / total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("puzzles")
    parser.add_argument("--search", nargs="+", default=["policy", "lookahead", "value", "tree"])
    parser.add_argument("--limit", default="depth 1")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    args = parser.parse_args()
    rows = read(args.puzzles)
    random.Random(6).shuffle(rows)
    rows = rows[: args.count]
    extra = dict(o.split("=", 1) for o in args.option)
    for search in args.search:
        engine = Solver(args.engine, {"OwnBook": "false", "Search": search, **extra})
        buckets = {}
        for row in rows:
            solved, advancement = solve(engine, row, args.limit)
            bucket = buckets.setdefault(int(row["Rating"]) // 400 * 400, [0, 0, 0.0])
            bucket[0] += 1
            bucket[1] += solved
            bucket[2] += advancement
        n, solved, advancement = (sum(b[i] for b in buckets.values()) for i in range(3))
        print(f"{search:10} {args.limit}: {100 * solved / n:.1f} % solved, {100 * advancement / n:.1f} % advancement, {n} puzzles")
        print("           " + "  ".join(f"{k}: {100 * b[1] / b[0]:.0f} %" for k, b in sorted(buckets.items())))


if __name__ == "__main__":
    main()
