#!/usr/bin/env python3
"""For how many moves the time of a game is best planned: sets the numbers of src/play/clock.rs.

    python3 benches/horizon.py match.pgn … --player glance

Plays the clock of every game over again with the moves that the player made in it, for each plan and time control. A move is taken to lose
expected score in proportion to time^-power (0.356 is the line through what benches/effort.py found with 105, 200, 400 and 800 looks) and to
take `--used` of its plan, as searches end early. Prints how much more a game loses than by the best of the fixed plans for that time control,
and what is left on the clock at its end. Needs chess and numpy.
"""

import argparse

import chess
import chess.pgn
import numpy as np

CONTROLS = [(1, 0.01), (2, 0.02), (10, 0.1), (60, 0), (60, 0.6), (180, 0.5), (180, 2), (300, 0), (300, 1), (600, 5)]
HORIZONS = [10, 12, 15, 17, 20, 24, 30, 36]
OVERHEAD = 0.02


def lengths(paths, player):
    """Moves that the player made, of each game."""
    found = []
    for path in paths:
        with open(path) as file:
            while game := chess.pgn.read_game(file):
                colour = {game.headers["White"]: chess.WHITE, game.headers["Black"]: chess.BLACK}.get(player)
                if colour is not None:
                    turns = [node.turn() for node in game.mainline()]
                    found.append(sum(turn != colour for turn in turns))
    return found


def fixed(moves):
    return lambda safe, increment: moves


def shipped(safe, increment):
    """As src/play/clock.rs has it, but for what it adds where time is scarce and no increment comes."""
    return 30 - 15 * min(100 * increment / max(safe, 1e-3), 1)


def played(lengths, control, horizon, used, power):
    """Lost a game, in units of their own, and seconds left at the end of each."""
    start, increment = control
    lost, left = [], []
    for moves in lengths:
        clock, sum_lost = start, 0.0
        for _ in range(moves):
            safe = max(clock - OVERHEAD, 0)
            share = min(safe / horizon(safe, increment) + 0.75 * increment, safe / 2)
            taken = used * (share - min(OVERHEAD, share / 2))
            sum_lost += max(taken, 1e-3) ** -power
            clock += increment - taken
        lost.append(sum_lost)
        left.append(clock)
    return np.mean(lost), np.array(left)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pgn", nargs="+")
    parser.add_argument("--player", default="glance")
    parser.add_argument("--used", type=float, default=0.65)
    parser.add_argument("--power", type=float, default=0.356)
    args = parser.parse_args()
    moves = lengths(args.pgn, args.player)
    if not moves:
        parser.error(f"no games of {args.player}: the names stand in the White and Black tags")
    print(f"{len(moves)} games, {np.percentile(moves, 10):.0f} to {np.percentile(moves, 90):.0f} moves (80 % of them)\n")
    print(f"| time | {' | '.join(map(str, HORIZONS))} | as shipped | left, median | least |")
    print("|---" * (len(HORIZONS) + 4) + "|")
    for control in CONTROLS:
        rules = [fixed(n) for n in HORIZONS] + [shipped]
        results = [played(moves, control, rule, args.used, args.power) for rule in rules]
        best = min(lost for lost, _ in results[:-1])
        more = " | ".join(f"{100 * (lost / best - 1):+.1f} %" for lost, _ in results)
        left = results[-1][1]
        print(f"| {control[0]}+{control[1]:g} | {more} | {np.median(left):.2f} s | {left.min():.2f} s |")


if __name__ == "__main__":
    main()
