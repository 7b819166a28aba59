#!/usr/bin/env python3
"""Measures how strong Glance plays at settings of its dial, by games, and fits ratings to the results.

    python3 benches/calibrate.py play out/ --fastchess fastchess --glance target/release/glance \
        --stockfish stockfish --openings openings.epd --tc 1+0.01 --rounds 25 PLAYER PLAYER …
    python3 benches/calibrate.py fit out/*.pgn
    python3 benches/calibrate.py summary weights/calibration.csv out/*.pgn > new.csv
    python3 benches/calibrate.py dial out/*.pgn > weights/dial.json
    python3 benches/calibrate.py plot out/*.pgn > calibration.svg      # needs matplotlib

A PLAYER is `sf:1500` (Stockfish at that UCI_Elo), `g:1500` (Glance at that UCI_Elo), `s:NETWORK,TEMPERATURE,NODES,RELIANCE`
(a style, given to Glance as a DialFile of its own), `e:NETWORK,…` (the same style of the earlier network that `--earlier` names), `fairy:-5` (Fairy-Stockfish at that Skill Level), or `uci:COMMAND,depth=1` (any
engine; `nodes=`, or nothing, for its full strength). Every player meets every other that is listed within `--near` places of
it. `plot` draws what was found at every `g:` and at the styles that the dial has, and `dial` puts the styles at the ratings that
they were found to have. `fit` finds the ratings under which the results are likeliest (Bradley, Terry 1952), with standard errors by
bootstrap over games. One level of Stockfish, `ANCHOR`, says where the scale lies; how wide it is the games say alone, Stockfish's other
levels too, so that 100 points are always 64 % of the points. `summary` adds games up to a line a pairing and time control;
wherever a PGN is read, such a file can be too, so that games can be added to those played before. With a new network, those
are another player's: call its `s:` there `e:`, and play the one against the other.
"""

import argparse
import csv
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict

TEN = math.log(10) / 400
# A style of the present network, and of an earlier one.
STYLE, EARLIER = "s:", "e:"
# The player that is what its name says.
ANCHOR = "sf:1500"
# Of points of the dial that are nearer to each other, the one with more games is enough.
APART = 20
# A busy machine is not to decide games: it takes a while until a move that was made is heard.
OVERHEAD = "option.Move Overhead=50"


def style(name, cut):
    network, temperature, nodes, reliance = name[2:].split(",")
    return {"network": float(network), "temperature": float(temperature), "cut": cut, "nodes": int(nodes),
            "reliance": float(reliance)}


def engine(name, args):
    """The words of fastchess for a player."""
    kind, _, what = name.partition(":")
    if kind == "sf":
        return ["-engine", f"cmd={args.stockfish}", f"name={name}", "option.UCI_LimitStrength=true",
                f"option.UCI_Elo={what}", "option.Hash=16", OVERHEAD]
    if kind == "fairy":
        return ["-engine", "cmd=fairy-stockfish", f"name={name}", f"option.Skill Level={what}", "option.Hash=16", OVERHEAD]
    if kind == "uci":
        command, *limits = what.split(",")
        return ["-engine", f"cmd={command}", f"name={name}", *limits]
    words = ["-engine", f"cmd={args.glance}", f"name={name}", "option.UCI_LimitStrength=true", "option.Hash=16"]
    if kind == "g":
        dial = [f"option.DialFile={os.path.abspath(args.dial)}"] if args.dial else []
        return words + [f"option.UCI_Elo={what}"] + dial
    if name.startswith((STYLE, EARLIER)):
        point = {"elo": 1500, **style(name, args.cut)}
        path = os.path.abspath(os.path.join(args.out, name.replace(":", "-").replace(",", "-") + ".json"))
        with open(path, "w") as file:
            json.dump({"points": [point, dict(point, elo=1501)]}, file)
        weights = []
        if name.startswith(EARLIER):
            if not args.earlier:
                sys.exit(f"player '{name}': --earlier has to name that network's weights")
            weights = [f"option.WeightsFile={os.path.abspath(args.earlier)}"]
        return words + ["option.UCI_Elo=1500", f"option.DialFile={path}", *weights]
    sys.exit(f"player '{name}': sf:, g:, s:, e:, fairy: or uci: is expected")


def is_ours(player):
    return player.startswith(("g:", STYLE, EARLIER))


def play(args):
    os.makedirs(args.out, exist_ok=True)
    near = args.near or len(args.players)
    for (i, one), (j, other) in itertools.combinations(enumerate(args.players), 2):
        if j - i > near or not (is_ours(one) or is_ours(other)):
            continue
        pgn = os.path.join(args.out, f"{one}-{other}.pgn".replace(":", "").replace(",", "_").replace("/", "_"))
        if os.path.exists(pgn):
            continue
        clocked = [[*engine(p, args), f"tc={args.own_tc if args.own_tc and is_ours(p) else args.tc}"] for p in (one, other)]
        command = [args.fastchess, *clocked[0], *clocked[1], "-each", "timemargin=1000", "proto=uci",
                   "-rounds", str(args.rounds), "-games", "2", "-repeat", "-concurrency", str(args.concurrency),
                   "-openings", f"file={args.openings}", "format=epd", "order=random", "-srand", str(args.seed + i * 100 + j),
                   "-maxmoves", "200", "-draw", "movenumber=60", "movecount=8", "score=15",
                   "-pgnout", f"file={pgn}.partial", "notation=uci", "nodes=false"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        os.rename(pgn + ".partial", pgn)
        score, games = tally(results([pgn]), one, other)
        print(f"{one:24} {other:24} {score:6.1f} of {games}", flush=True)


POINTS = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}
COLUMNS = ["white", "black", "control", *POINTS]


def results(paths):
    """(white, black, points of White) of every finished game."""
    return [game[:3] for game in finished(paths)]


def finished(paths):
    """The same with the time control."""
    found = []
    for path in paths:
        if path.endswith(".csv"):
            with open(path, newline="") as file:
                for row in csv.DictReader(file):
                    for result, points in POINTS.items():
                        found += [(row["white"], row["black"], points, row["control"])] * int(row[result])
            continue
        tags = {}
        with open(path, errors="replace") as file:
            for line in file:
                tag = re.match(r'\[(\w+) "(.*)"\]', line)
                if tag:
                    if tag[1] == "Event":
                        tags = {}
                    tags[tag[1]] = tag[2]
                elif tags.get("Result") in POINTS and line.strip() == "":
                    if "White" in tags:
                        points = POINTS[tags["Result"]]
                        clocks = [tags.get(side + "TimeControl", "?") for side in ("White", "Black")]
                        control = tags.get("TimeControl") or " v ".join(clocks)
                        found.append((tags["White"], tags["Black"], points, control))
                    tags = {}
    return found


def summary(args):
    count = Counter(finished(args.pgn))
    rows = sorted({(white, black, control) for white, black, _, control in count})
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    for white, black, control in rows:
        writer.writerow([white, black, control, *(count[white, black, points, control] for points in POINTS.values())])


def tally(games, one, other):
    points = [p if w == one else 1 - p for w, b, p in games if {w, b} == {one, other}]
    return sum(points), len(points)


def rate(games):
    """Ratings by maximum likelihood, draws as half a win and half a loss; the anchor stays. A weak pull keeps the unbeaten finite."""
    players = sorted({p for g in games for p in g[:2]})
    ratings = {p: float(p[3:]) if p.startswith("sf:") else 1400.0 for p in players}
    free = [p for p in players if p != ANCHOR]
    pairs = defaultdict(lambda: [0.0, 0])
    for white, black, points in games:
        for one, other, p in ((white, black, points), (black, white, 1 - points)):
            pairs[one, other][0] += p
            pairs[one, other][1] += 1
    of = defaultdict(list)
    for (one, other), (points, n) in pairs.items():
        of[one].append((other, points, n))
    for _ in range(400):
        largest = 0.0
        for p in free:
            slope = curve = 0.0
            for other, points, n in of[p]:
                expected = 1 / (1 + math.exp(TEN * (ratings[other] - ratings[p])))
                slope += points - n * expected
                curve += n * expected * (1 - expected) * TEN
            curve += 0.5 * TEN
            step = max(-100.0, min(100.0, slope / curve))
            ratings[p] += step
            largest = max(largest, abs(step))
        if largest < 0.05:
            break
    return ratings


def estimates(args):
    """(player, games, rating, half of its 95 % interval) in order of rating; the interval by bootstrap over games."""
    games = results(args.pgn)
    if not games:
        sys.exit("no finished games in these files")
    ratings = rate(games)
    random.seed(1)
    samples = [rate(random.choices(games, k=len(games))) for _ in range(args.bootstrap)]
    count = Counter(p for game in games for p in game[:2])

    def error(p):
        values = [s[p] for s in samples if p in s]
        mean = sum(values) / max(1, len(values))
        return 1.96 * (sum((v - mean) ** 2 for v in values) / max(1, len(values) - 1)) ** 0.5

    return len(games), [(p, count[p], ratings[p], error(p)) for p in sorted(ratings, key=ratings.get)]


def fit(args):
    games, found = estimates(args)
    print(f"{games} games\n\n| player | games | rating | ± (95 %) |\n|---|---|---|---|")
    for p, count, rating, error in found:
        print(f"| {p} | {count} | {rating:.0f} | {'anchor' if p == ANCHOR else f'{error:.0f}'} |")


def plot(args):
    """The ratings found against those on the dial, as SVG: where they agree is the diagonal, with 50 points on both sides."""
    games, found = estimates(args)
    with open(args.dial) as file:
        dial = json.load(file)["points"]

    def place(player):
        """What the dial says of a player; None where it does not have these settings."""
        if player.startswith("g:"):
            return float(player[2:])
        if player.startswith(STYLE):
            own = style(player, 0)
            return next((p["elo"] for p in dial if all(p[key] == own[key] for key in own if key != "cut")), None)
        return None

    points = sorted((place(p), rating, error) for p, _, rating, error in found if place(p) is not None)
    if not points:
        sys.exit("no player of these files is on the dial")
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    settings, ratings, errors = zip(*points)
    figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
    ends = [settings[0] - 50, settings[-1] + 50]
    axes.fill_between(ends, [x - 50 for x in ends], [x + 50 for x in ends], alpha=0.2)
    axes.errorbar(settings, ratings, yerr=errors, fmt="o")
    # A player of few games is not to make the others small.
    axes.set_xlim(*ends)
    axes.set_ylim(ends[0] - 250, ends[1] + 250)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel("UCI_Elo")
    axes.set_ylabel(f"rating found in {games} games, with its 95 % interval")
    figure.savefig(sys.stdout.buffer, format="svg")


def dial(args):
    """The styles at their ratings, in the order of their strength by the settings; a rating below the one before counts with it."""
    games = results(args.pgn)
    ratings = rate(games)
    styles = {p: style(p, args.cut) for p in ratings if p.startswith(STYLE)}
    names = sorted(styles, key=lambda p: (styles[p]["nodes"], styles[p]["reliance"], ratings[p]))
    blocks = []
    for name in names:
        blocks.append([[name], ratings[name]])
        while len(blocks) > 1 and blocks[-2][1] >= blocks[-1][1] - 1:
            last, before = blocks.pop(), blocks.pop()
            n, m = len(last[0]), len(before[0])
            blocks.append([before[0] + last[0], (before[1] * m + last[1] * n) / (n + m)])
    count = Counter(p for game in games for p in game[:2])
    kept = []
    for names, rating in blocks:
        name = names[(len(names) - 1) // 2]
        if kept and rating < kept[-1][1] + APART:
            if count[name] < count[kept[-1][0]]:
                continue
            kept.pop()
        kept.append((name, rating))
    points = [json.dumps({"elo": round(rating), **styles[name]}) for name, rating in kept]
    print('{"points": [\n  ' + ",\n  ".join(points) + "\n]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    p = commands.add_parser("play")
    p.add_argument("out")
    p.add_argument("players", nargs="+")
    p.add_argument("--fastchess", default="fastchess")
    p.add_argument("--glance", default="target/release/glance")
    p.add_argument("--stockfish", default="stockfish")
    p.add_argument("--openings", required=True)
    p.add_argument("--tc", default="1+0.01")
    p.add_argument("--own-tc", help="for Glance, which counts positions: more time where the machine is too slow for them")
    p.add_argument("--earlier", help="the weights of the network whose styles are called e:")
    p.add_argument("--dial", help="another than the built-in one, for every g:")
    p.add_argument("--rounds", type=int, default=25)
    p.add_argument("--concurrency", type=int, default=2)
    p.add_argument("--near", type=int, default=0)
    p.add_argument("--cut", type=float, default=0.002)
    p.add_argument("--seed", type=int, default=1)
    p.set_defaults(run=play)
    f = commands.add_parser("fit")
    f.add_argument("pgn", nargs="+")
    f.add_argument("--bootstrap", type=int, default=100)
    f.set_defaults(run=fit)
    o = commands.add_parser("plot")
    o.add_argument("pgn", nargs="+")
    o.add_argument("--bootstrap", type=int, default=100)
    o.add_argument("--dial", default="weights/dial.json")
    o.set_defaults(run=plot)
    s = commands.add_parser("summary")
    s.add_argument("pgn", nargs="+")
    s.set_defaults(run=summary)
    d = commands.add_parser("dial")
    d.add_argument("pgn", nargs="+")
    d.add_argument("--cut", type=float, default=0.002)
    d.set_defaults(run=dial)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
