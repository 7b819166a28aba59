#!/usr/bin/env python3
"""Thousands of lines that no GUI should send: the engine stays, answers `isready`, says nothing to stderr, and plays a legal move after.

    uci-tests/garbled.py target/release/glance --lines 5000 --seed 1

Lines of dialogues.txt are cut up, mixed, and given numbers and letters out of range; some are noise from the start.
"""

import argparse
import pathlib
import random
import sys
import tempfile
import time

import chess

from engine import Engine

NUMBERS = ["-1", "0", "3.5", "1e9", "NaN", "65537", "4294967296", "-9223372036854775808", "99999999999999999999"]
# What ends the engine, takes long by intent, asks the machine for threads and memory, names files to be written, or is what we wait for.
LEFT_ALONE = ("quit", "bench", "perft", "threads", "hash", "log", "isready")


def garble(line, words, rng):
    parts = line.split()
    for _ in range(rng.randint(0, 4)):
        at = rng.randrange(len(parts)) if parts else 0
        match rng.randrange(6):
            case 0:
                parts[at : at + 1] = [rng.choice(words)]
            case 1:
                parts.insert(at, rng.choice(words))
            case 2:
                del parts[at : at + 1]
            case 3:
                parts[at : at + 1] = ["".join(chr(max(1, ord(c) + rng.choice([-1, 0, 0, 1, 300]))) for c in p) for p in parts[at : at + 1]]
            case 4:
                parts[at : at + 1] = [rng.choice(NUMBERS)]
            case 5:
                rng.shuffle(parts)
    return " ".join(parts).encode()


def noise(rng):
    size = rng.choice([1, 10, 100, 100_000])
    return rng.randbytes(size).replace(b"\n", b"\r")


def answer(engine, board):
    """The move on a board, also where an earlier search has yet to end and to give its own."""
    task = f"position fen {board.fen()}", "go movetime 200"
    engine.say(*task)
    while True:
        words = engine.until("bestmove|info string go: a search is running", task[0]).split()
        if words[0] == "info":
            time.sleep(0.05)
            engine.say(*task)
        elif board.is_legal(chess.Move.from_uci(words[1])):
            return words[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("--lines", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    dialogues = (pathlib.Path(__file__).parent / "dialogues.txt").read_text().splitlines()
    lines = [line[2:] for line in dialogues if line.startswith("> ")]
    words = sorted({word for line in lines for word in line.split()})
    sent = 0
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(pathlib.Path(args.engine).resolve(), folder=folder)
        while sent < args.lines:
            line = noise(rng) if rng.random() < 0.02 else garble(rng.choice(lines), words, rng)
            if any(word.encode() in line.lower() for word in LEFT_ALONE):
                continue
            engine.say(line, "stop", "isready")
            engine.until("readyok", line[:200])
            if b"go" in line:
                # So that not every search meets the one before.
                time.sleep(0.005)
            sent += 1
        # Whatever was set on the way: it still plays.
        board = chess.Board()
        board.push_uci("e2e4")
        move = answer(engine, board)
        engine.end()
        if engine.complaints:
            sys.exit(f"on stderr: {engine.complaints[:3]}")
        if left := list(pathlib.Path(folder).iterdir()):
            sys.exit(f"files were written: {left}")
    print(f"garbled: {sent} lines, {move} after them")


main()
