#!/usr/bin/env python3
"""A UCI engine that plays random legal moves: the weakest opponent there is. Needs python-chess."""

import random
import sys

import chess

board = chess.Board()
for line in sys.stdin:
    words = line.split()
    if not words:
        continue
    if words[0] == "uci":
        print("id name random\nid author nobody\nuciok", flush=True)
    elif words[0] == "isready":
        print("readyok", flush=True)
    elif words[0] == "position":
        moves = words.index("moves") if "moves" in words else len(words)
        board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:moves]))
        for move in words[moves + 1 :]:
            board.push_uci(move)
    elif words[0] == "go":
        legal = list(board.legal_moves)
        print(f"bestmove {random.choice(legal).uci() if legal else '0000'}", flush=True)
    elif words[0] == "quit":
        break
