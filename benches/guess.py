#!/usr/bin/env python3
"""How well `glance guess-elo` tells players' ratings, and the numbers of src/human/guess.rs that would tell them best.

    python3 benches/guess.py target/release/glance online.parquet --count 800

Games are drawn at random from files as Lichess publishes them (Parquet: WhiteElo, BlackElo, TimeControl, movetext), of which the network has
seen none. Half of them are fitted on: what is thought of players before they move, how much the moves of a game count together, and how much
an equal opponent's against one's own are those under which the ratings are likeliest, told from both players' moves and from one's own alone.
The other half tells how far off the guesses are, as they are now and with the fitted numbers. Needs numpy and pyarrow.
"""

import argparse
import itertools
import json
import random
import subprocess
import tempfile

import numpy as np
import pyarrow.parquet as pq

COLUMNS = ["Event", "WhiteElo", "BlackElo", "TimeControl", "Result", "movetext"]
# Ratings at which signals are told, and how near to them players count for each.
SIGNALS, NEAR = (1000, 1400, 1800, 2200), 200


class Player:
    """A player of a game: what was found out, and the logarithms of how likely all moves are by rating, one's own and the opponent's."""

    def __init__(self, own, other):
        self.rated, self.guess, self.low, self.high = (own[key] for key in ("rated", "guess", "low", "high"))
        self.grid = np.array(own["ratings"])
        self.own, self.other = (np.sum([m["log"] for m in side["moves"]], axis=0) for side in (own, other))
        self.strengths = [m["strength"] for m in own["moves"]]


def drawn(paths, count):
    rows = [row for path in paths for row in pq.read_table(path, columns=COLUMNS).to_pylist()]
    random.seed(1)
    return random.sample([row for row in rows if row["WhiteElo"] and row["BlackElo"]], count)


def looked_at(glance, rows):
    """The players of each game that is long enough to guess from."""
    with tempfile.NamedTemporaryFile("w", suffix=".pgn") as file:
        for row in rows:
            tags = "".join(f'[{key} "{row[key]}"]\n' for key in COLUMNS[:-1])
            file.write(f"{tags}\n{row['movetext']}\n\n")
        file.flush()
        found = subprocess.run([glance, "guess-elo", "--json", file.name], stdout=subprocess.PIPE, check=True, text=True)
    pairs = [json.loads(line)["players"] for line in found.stdout.splitlines()]
    return [[Player(*pair), Player(*pair[::-1])] for pair in pairs if all(player["moves"] for player in pair)]


def posterior(player, numbers):
    mean, deviation, weight, equal = numbers
    log = weight * (player.own + equal * player.other) - 0.5 * ((player.grid - mean) / deviation) ** 2
    likely = np.exp(log - log.max())
    return likely / likely.sum()


def alone(numbers):
    """The same without the opponent's moves."""
    return [*numbers[:3], 0.0]


def surprise(players, numbers):
    """Minus the logarithm of how likely the ratings are, in the mean, from both players' moves and from one's own."""
    places = [np.interp(p.rated, p.grid, posterior(p, n)) for p in players for n in (numbers, alone(numbers))]
    return -np.mean(np.log(np.maximum(places, 1e-12)))


def fitted(players):
    """The numbers under which the ratings are likeliest: each in turn the best of those around it, with ever smaller steps."""
    numbers, steps = np.array([1500.0, 350.0, 0.6, 0.8]), np.array([200.0, 200.0, 0.4, 0.4])
    best = surprise(players, numbers)
    while (steps > [5, 5, 0.01, 0.01]).any():
        moved = False
        for i, sign in itertools.product(range(len(numbers)), (1, -1)):
            tried = numbers.copy()
            tried[i] += sign * steps[i]
            if tried[1:].min() <= 0 or (value := surprise(players, tried)) >= best:
                continue
            numbers, best, moved = tried, value, True
        if not moved:
            steps /= 2
    return numbers


def quantile(grid, chances, share):
    """As src/human/guess.rs: each rating stands for those within half a step."""
    step, before = grid[1] - grid[0], np.cumsum(chances) - chances
    at = min(np.searchsorted(np.cumsum(chances), share), len(grid) - 1)
    return grid[at] + step * ((share - before[at]) / chances[at] - 0.5)


def told(players, numbers):
    found = [(p.grid, posterior(p, numbers)) for p in players]
    means = [grid @ chances for grid, chances in found]
    return means, [(quantile(*f, 0.1), quantile(*f, 0.9)) for f in found]


def report(name, players, means, intervals):
    rated = np.array([p.rated for p in players])
    off = np.abs(np.array(means) - rated)
    inside = np.mean([low <= r <= high for (low, high), r in zip(intervals, rated)])
    error = 1.96 * off.std() / len(off) ** 0.5
    print(f"{name}: off by {off.mean():.0f} ± {error:.0f} points on average, {100 * inside:.1f} % within intervals of 80 %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("glance")
    parser.add_argument("games", nargs="+", help="Parquet files")
    parser.add_argument("--count", type=int, default=800)
    args = parser.parse_args()
    games = looked_at(args.glance, drawn(args.games, args.count))
    flat = lambda games: [player for game in games for player in game]
    learnt, held = flat(games[: len(games) // 2]), flat(games[len(games) // 2 :])
    numbers = fitted(learnt)
    print(f"fitted on {len(learnt)} players: prior {numbers[0]:.0f} ± {numbers[1]:.0f}, weight {numbers[2]:.3f}, of an equal {numbers[3]:.3f}")
    for rating in SIGNALS:
        strengths = [s for p in flat(games) if abs(p.rated - rating) < NEAR for s in p.strengths]
        if strengths:
            print(f"signal at {rating}: {np.quantile(strengths, 0.99):.2f}, one of a hundred of {len(strengths)} moves exceeds it")
    rated = np.array([p.rated for p in held])
    print(f"{len(held)} other players, rated {rated.min()} to {rated.max()}: the mean of all is off by {np.abs(rated - rated.mean()).mean():.0f}")
    report("as it is", held, [p.guess for p in held], [(p.low, p.high) for p in held])
    report("fitted", held, *told(held, numbers))
    report("fitted, own moves alone", held, *told(held, alone(numbers)))


if __name__ == "__main__":
    main()
