#!/usr/bin/env python3
"""Draws the README's pictures: a position with the network's moves as arrows, and the validation curves of a run.

    python3 benches/draw.py target/release/glance runs/small/validation.csv weights

Needs python-chess.
"""

import csv
import json
import subprocess
import sys

import chess
import chess.svg

FEN = "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 4 8"
COLOURS = {"engines": "#7a5195", "online": "#ef5675", "otb": "#ffa600", "positions": "#003f5c"}


def position(engine, out):
    told = json.loads(subprocess.run([engine, "eval", "--json", FEN], capture_output=True, check=True, text=True).stdout)
    board = chess.Board(FEN)
    arrows, lines = [], []
    for i, entry in enumerate(told["moves"][:5]):
        move = board.parse_uci(entry["move"])
        alpha = format(max(60, int(255 * entry["probability"] / told["moves"][0]["probability"])), "02x")
        arrows.append(chess.svg.Arrow(move.from_square, move.to_square, color=f"#15781B{alpha}"))
        y = 60 + 44 * i
        lines.append(
            f'<text x="420" y="{y}" class="m">{board.san(move)}</text>'
            f'<rect x="490" y="{y - 18}" width="{300 * entry["probability"]:.0f}" height="24" fill="#15781B"/>'
            f'<text x="{500 + 300 * entry["probability"]:.0f}" y="{y}" class="p">{100 * entry["probability"]:.0f} %</text>'
        )
    wdl, x = told["wdl"], 420.0
    for name, colour in (("win", "#f0f0f0"), ("draw", "#a0a0a0"), ("loss", "#404040")):
        width = 350 * wdl[name]
        lines.append(f'<rect x="{x:.0f}" y="300" width="{width:.0f}" height="28" fill="{colour}" stroke="#202020"/>')
        x += width
    lines.append(
        f'<text x="420" y="360" class="p">win {100 * wdl["win"]:.0f} %, draw {100 * wdl["draw"]:.0f} %, '
        f'loss {100 * wdl["loss"]:.0f} %</text>'
    )
    inner = chess.svg.board(board, arrows=arrows, size=390)
    with open(f"{out}/glance.svg", "w", encoding="utf-8") as file:
        file.write(
            '<svg xmlns="http://www.w3.org/2000/svg" width="860" height="400" viewBox="0 0 860 400">'
            "<style>.m{font:600 24px sans-serif}.p{font:20px sans-serif}</style>"
            f'<rect width="860" height="400" fill="white"/>{inner}{"".join(lines)}</svg>\n'
        )


def curves(path, out):
    runs = {}
    for row in csv.DictReader(open(path, encoding="utf-8")):
        runs.setdefault(row["source"], []).append((float(row["minutes"]), 100 * float(row["top1"])))
    last = max(points[-1][0] for points in runs.values())
    low, high = 10, 60
    at = lambda m, p: (60 + 680 * m / last, 340 - 300 * (p - low) / (high - low))
    parts = []
    for p in range(low, high + 1, 10):
        _, y = at(0, p)
        parts.append(f'<line x1="60" x2="740" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/><text x="20" y="{y + 5:.0f}">{p} %</text>')
    free = 0.0
    for source, points in sorted(runs.items(), key=lambda item: -item[1][-1][1]):
        path_ = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*p) for p in points))
        x, y = at(*points[-1])
        parts.append(f'<polyline points="{path_}" fill="none" stroke="{COLOURS.get(source, "#000")}" stroke-width="3"/>')
        free = max(y + 5, free + 18)
        parts.append(f'<text x="{x + 6:.0f}" y="{free:.0f}" fill="{COLOURS.get(source, "#000")}">{source} {points[-1][1]:.1f}</text>')
    parts.append(f'<text x="60" y="375">minutes of training on two CPU cores: 0 to {last:.0f}; share of moves predicted (top-1)</text>')
    with open(f"{out}/training.svg", "w", encoding="utf-8") as file:
        file.write(
            '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="390" viewBox="0 0 900 390">'
            "<style>text{font:16px sans-serif}</style>"
            f'<rect width="900" height="390" fill="white"/>{"".join(parts)}</svg>\n'
        )


engine, validation, out = sys.argv[1:4]
position(engine, out)
curves(validation, out)
