#!/usr/bin/env python3
"""Suites of test positions (EPD with `bm` or `am`; STS with points for each move in `c8` and `c9`) through the engine.

    uci-tests/suites.py target/release/glance wac.epd sts.epd bratko-kopec.epd --limit "depth 1" "nodes 128" "nodes 512"

A position is solved when the move is one of the best, or none of those to be avoided. Points are what the move played is worth of the
most that could be had.
"""

import argparse
import os
import re

import chess

from puzzles import Solver


class Position:
    def __init__(self, line):
        # Four fields of FEN; what follows a bare clock or a stray semicolon is operations.
        fields = line.split(None, 4)
        self.board = chess.Board(" ".join(fields[:4]) + " 0 1")
        operations = dict(re.findall(r'\b([a-z]+\d*)\s+("[^"]*"|[^;"]+);?', fields[4] if len(fields) > 4 else ""))
        self.best, self.avoid = (self.moves(operations.get(name, "")) for name in ("bm", "am"))
        values = operations.get("c8", "").strip('"').split()
        names = operations.get("c9", "").strip('"').split()
        self.points = dict(zip(names, map(int, values))) if names and len(names) == len(values) else {}

    def moves(self, text):
        # A check mark may stand by itself.
        return {self.board.parse_san(san).uci() for san in text.split() if san not in ("+", "#")}

    def solved(self, move):
        return move in self.best if self.best else move not in self.avoid


def read(path):
    positions = []
    for number, line in enumerate(open(path, encoding="utf-8", errors="replace"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            positions.append(Position(line))
        except ValueError as error:
            print(f"{path}:{number}: {error}; it is left out")
    return positions


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("suites", nargs="+")
    parser.add_argument("--limit", nargs="+", default=["nodes 128"])
    parser.add_argument("--search", nargs="+", default=["tree"])
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    args = parser.parse_args()
    extra = dict(o.split("=", 1) for o in args.option)
    print("| search | limit | suite | solved | points |")
    print("|---|---|---|---|---|")
    for search in args.search:
        for limit in args.limit:
            engine = Solver(args.engine, {"OwnBook": "false", "Search": search, **extra})
            for path in args.suites:
                positions = read(path)
                solved = gained = most = 0
                for position in positions:
                    engine.say("ucinewgame")
                    move = engine.move(position.board.fen(), [], limit)
                    solved += position.solved(move)
                    gained += position.points.get(move, 0)
                    most += max(position.points.values(), default=0)
                share = f"{gained} of {most}, {gained / most:.1%}" if most else "–"
                name = os.path.splitext(os.path.basename(path))[0]
                print(f"| `{search}` | {limit} | {name} | {solved} of {len(positions)}, {solved / len(positions):.1%} | {share} |", flush=True)
            engine.say("quit")


if __name__ == "__main__":
    main()
