#!/usr/bin/env python3
"""Draws the README's pictures: a position with the network's moves as arrows, and what each run of training added,
which it also prints as the table of weights/runs.md.

    python3 benches/draw.py target/release/glance weights/runs.csv weights

Needs python-chess.
"""

import csv
import json
import math
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


def table(path):
    """The same runs as the table of weights/runs.md."""
    head = [
        "run", "minutes", "million positions (steps)", "recipe", "peak, seed", "begins from",
        "policy loss: engines", "online", "over the board", "positions", "value loss, online",
        "one glance against the one before", "tree",
    ]  # fmt: skip
    print("| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    of = lambda row, name: f"{float(row[name]):.1f} % of {row[name + '_games']}" if row[name] else ""
    for row in csv.DictReader(open(path, encoding="utf-8")):
        if row["minutes"]:
            trained = [f"{row['million']} ({int(row['steps']):,})", f"`{row['recipe']}`", f"{row['peak']}, {row['seed']}"]
        else:
            trained = ["", row["recipe"], ""]
        losses = [row[name] for name in (*COLOURS, "value")]
        cells = [row["run"], row["minutes"], *trained, row["init"], *losses, of(row, "glance"), of(row, "tree")]
        print("| " + " | ".join(cell or "–" for cell in cells) + " |")


def runs(path, out):
    """What each run of training added: the loss of the moves by all positions seen until then."""
    total, curves = 0.0, {}
    for row in csv.DictReader(open(path, encoding="utf-8")):
        total += float(row["million"])
        for source in COLOURS:
            if row[source]:
                curves.setdefault(source, []).append((total, float(row[source])))
    first = min(points[0][0] for points in curves.values())
    least = min(loss for points in curves.values() for _, loss in points)
    most = max(loss for points in curves.values() for _, loss in points)
    low, high = math.floor(least * 10) / 10, math.ceil(most * 10) / 10
    at = lambda n, loss: (60 + 680 * (n - first) / (total - first), 40 + 300 * (high - loss) / (high - low))
    parts = []
    for tenth in range(round(low * 10), round(high * 10) + 1):
        _, y = at(first, tenth / 10)
        parts.append(f'<line x1="60" x2="740" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/><text x="20" y="{y + 5:.0f}">{tenth / 10:.1f}</text>')
    free = 0.0
    for source, points in sorted(curves.items(), key=lambda item: -item[1][-1][1]):
        colour = COLOURS[source]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*p) for p in points))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="3"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>' for x, y in (at(*p) for p in points)]
        x, y = at(*points[-1])
        free = max(y + 5, free + 18)
        parts.append(f'<text x="{x + 10:.0f}" y="{free:.0f}" fill="{colour}">{source} {points[-1][1]:.3f}</text>')
    parts.append(f'<text x="60" y="375">loss of the moves, nats; {first:.0f} to {total:.0f} million positions of training, a point after each run</text>')
    with open(f"{out}/training.svg", "w", encoding="utf-8") as file:
        file.write(
            '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="390" viewBox="0 0 900 390">'
            "<style>text{font:16px sans-serif}</style>"
            f'<rect width="900" height="390" fill="white"/>{"".join(parts)}</svg>\n'
        )


engine, trained, out = sys.argv[1:4]
position(engine, out)
runs(trained, out)
table(trained)
