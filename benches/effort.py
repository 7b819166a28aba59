#!/usr/bin/env python3
"""How the time of a game is best shared among its moves: sets the numbers of src/search/tree/effort.rs.

    python3 benches/effort.py look target/release/glance stockfish match.pgn --player glance --out looks.jsonl
    python3 benches/effort.py share looks.jsonl

`look` searches every position of the PGN's games in which the player is to move with more and more looks (Search=tree, over UCI), notes what the
root says and which move would be played, and asks stockfish what the moves are worth. Stopped, the same command goes on.
`share` then gives each move of these games as many looks as a rule says, as src/search/tree/effort.rs does with time (with the early end when
the second move cannot catch up), scales the rule so that all moves together take as many looks as planned, and prints how much expected
score is lost a move. A search that is limited by looks begins anew: the tree of the move before is not there, which real games have.
Needs chess and numpy; draws nothing by chance.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import threading

import chess
import chess.engine
import chess.pgn
import numpy as np

PLAN = 200
CHECKS = [105, 120, 140, 160, 180, 200, 240, 280, 320, 360, 400, 450, 500, 560, 630, 700, 800]


def opened(path):
    engine = chess.engine.SimpleEngine.popen_uci(path)
    engine.configure({"OwnBook": False, "SyzygyProbeLimit": 0, "Threads": 1, "VerboseMoveStats": True})
    return engine


def looks(glance, board, nodes, game):
    """The move that is played, and [move, visits, value of win less loss] of those tried."""
    tried = []
    with glance.analysis(board, chess.engine.Limit(nodes=nodes), game=game) as analysis:
        for info in analysis:
            # "e2e4 (P: 12.00%) … (N: 12) … (Q: 0.1234)", as Lc0 prints it.
            text = info.get("string", "")
            if "(Q:" in text:
                visits = int(text.split("(N:")[1].split(")")[0])
                tried.append([text.split()[0], visits, float(text.split("(Q:")[1].split(")")[0])])
    return analysis.wait().move.uci(), tried


def worth(engine, board, moves):
    """Expected score of each move: by the curve that Lichess fitted to its players' games."""
    if len(moves) == 1:
        return {moves[0]: 0.0}
    found = engine.analyse(board, chess.engine.Limit(depth=13), multipv=len(moves), root_moves=[chess.Move.from_uci(m) for m in moves])
    score = lambda info: info["score"].pov(board.turn).score(mate_score=10000)
    return {info["pv"][0].uci(): 1 / (1 + math.exp(-0.00368208 * score(info))) for info in found}


def look_at(game, player, glance, engine):
    """One record a move; None where the player is not in the game."""
    colour = {game.headers["White"]: chess.WHITE, game.headers["Black"]: chess.BLACK}.get(player)
    if colour is None:
        return None
    board, records = game.board(), []
    for move in game.mainline_moves():
        if board.turn == colour and len(list(board.legal_moves)) > 1:
            checks = [looks(glance, board, n, game) for n in CHECKS]
            values = worth(engine, board, sorted({best for best, _ in checks}))
            records.append({"ply": board.ply(), "checks": checks, "worth": values})
        board.push(move)
    return records


def look(args):
    done = {json.loads(line)["game"] for line in args.out.read_text().splitlines()} if args.out.exists() else set()
    games = []
    for path in args.pgn:
        with open(path) as file:
            while game := chess.pgn.read_game(file):
                games.append(game)
    left = [(i, game) for i, game in enumerate(games[: args.games]) if i not in done]
    own, lock, engines = threading.local(), threading.Lock(), []

    def one(item):
        if not hasattr(own, "glance"):
            own.glance, own.engine = opened(args.glance), chess.engine.SimpleEngine.popen_uci(args.stockfish)
            engines.extend((own.glance, own.engine))
        i, game = item
        records = look_at(game, args.player, own.glance, own.engine)
        with lock, args.out.open("a") as out:
            out.write(json.dumps({"game": i, "moves": records or []}) + "\n")
            print(f"\rgame {i}: {len(records or [])} moves", end="", flush=True)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(one, left))
    for engine in engines:
        engine.quit()


class Moves:
    """All moves of the games, a row each, a column for each check."""

    def __init__(self, paths):
        rows = []
        lines = [line for path in paths for line in path.read_text().splitlines()]
        for number, line in enumerate(lines):
            before = None
            for move in json.loads(line)["moves"]:
                checks = [self.root(tried) for _, tried in move["checks"]]
                best = max(move["worth"].values())
                lost = [best - move["worth"][m] for m, _ in move["checks"]]
                score = [c[0] for c in checks]
                rows.append((number, checks, lost, score[0] if before is None else before))
                before = score[CHECKS.index(PLAN)]
        self.game = np.array([r[0] for r in rows])
        score, doubt, share, lead = np.array([r[1] for r in rows]).transpose(2, 0, 1)
        self.lost = np.array([r[2] for r in rows])
        self.fall = np.maximum(np.array([r[3] for r in rows])[:, None] - score, 0)
        self.doubt, self.share, self.lead = doubt, share, lead

    @staticmethod
    def root(tried):
        """Expected score, whether another move has the best value, share of the looks and lead of the most visited one."""
        if not tried:
            # A mate was seen at once.
            return 1.0, False, 1.0, CHECKS[-1]
        visits = sorted((n for _, n, _ in tried), reverse=True) + [0]
        total = max(sum(visits), 1)
        first = max(tried, key=lambda t: t[1])
        doubt = any(q > first[2] for _, n, q in tried if 4 * n >= first[1])
        score = sum(n * q for _, n, q in tried) / total
        return (1 + score) / 2, doubt, visits[0] / total, visits[0] - visits[1]

    def effort(self, falling, doubt, sure):
        certain = np.clip((self.share - 0.5) * 2, 0, 1)
        return (1 + falling * self.fall) * np.where(self.doubt > 0, doubt, 1.0) * (1 - (1 - sure) * certain)

    def stops(self, effort, scale):
        """At which check each move's search ends."""
        deadline = np.minimum(scale * effort, 4) * PLAN
        looks = np.array(CHECKS)
        over = (deadline <= looks) | (self.lead > deadline - looks)
        over[:, -1] = True
        return over.argmax(axis=1)

    def share_out(self, effort):
        """Lost score of each move when all together take what is planned, and how many times the rule the looks were then."""
        low, high = 0.1, 10.0
        for _ in range(40):
            scale = math.sqrt(low * high)
            taken = np.array(CHECKS)[self.stops(effort, scale)].mean()
            low, high = (scale, high) if taken < PLAN else (low, scale)
        return self.lost[np.arange(len(self.game)), self.stops(effort, scale)], scale

    def mean(self, differences, which=slice(None)):
        """A mean over some moves and half of its 95 % interval, in hundredths: the games, not the moves, are by chance."""
        chosen = differences[which]
        off = chosen - chosen.mean()
        sums = np.bincount(self.game[which], weights=off)
        return f"{100 * chosen.mean():+.3f} ± {100 * 1.96 * math.sqrt((sums**2).sum()) / len(off):.3f}"


def share(args):
    moves = Moves(args.looks)
    lost = {n: moves.lost[:, i] for i, n in enumerate(CHECKS)}
    print(f"{len(moves.game)} moves of {len(set(moves.game))} games; a move loses, in hundredths of a point,")
    for n in (CHECKS[0], PLAN, 2 * PLAN, 4 * PLAN):
        print(f"  {100 * lost[n].mean():.3f} with {n} looks")
    known, gained = CHECKS.index(PLAN), lost[PLAN] - lost[2 * PLAN]
    doubt, certain, fallen = moves.doubt[:, known] > 0, moves.share[:, known] >= 0.7, moves.fall[:, known] >= 0.1
    print(f"twice the plan gains {moves.mean(gained)}")
    for name, which in (
        ("looks and values name different moves", doubt),
        ("they name the same", ~doubt),
        ("the first move has 70 % of the looks", certain),
        ("a tenth of a point was lost since the move before", fallen),
    ):
        print(f"  {moves.mean(gained, which)} where {name} ({which.sum()} moves)")
    print("\n| `falling` | `doubt` | `sure` | lost a move | against always the plan | scale |\n|---|---|---|---|---|---|")
    base, _ = moves.share_out(np.ones_like(moves.share))
    print(f"| no early end | | | {100 * lost[PLAN].mean():.3f} | {moves.mean(lost[PLAN] - base)} | 1.00 |")
    for text in args.rules:
        falling, doubt, sure = map(float, text.split(","))
        found, scale = moves.share_out(moves.effort(falling, doubt, sure))
        print(f"| {falling:g} | {doubt:g} | {sure:g} | {100 * found.mean():.3f} | {moves.mean(found - base)} | {scale:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("look")
    command.add_argument("glance")
    command.add_argument("stockfish")
    command.add_argument("pgn", nargs="+")
    command.add_argument("--player", default="glance")
    command.add_argument("--games", type=int)
    command.add_argument("--jobs", type=int, default=2)
    command.add_argument("--out", type=pathlib.Path, required=True)
    command.set_defaults(run=look)
    command = commands.add_parser("share")
    command.add_argument("looks", nargs="+", type=pathlib.Path)
    alone = ["0,1,1", "4,1,1", "8,1,1", "16,1,1", "0,1.25,1", "0,1.5,1", "0,2,1", "0,1,0.8", "0,1,0.6", "0,1,0.3"]
    together = ["8,1.25,0.6", "4,1.25,0.6", "16,1.25,0.6", "8,1,0.6", "8,1.5,0.6", "8,1.25,0.8", "8,1.25,0.3", "4,1.5,0.6"]
    command.add_argument("--rules", nargs="+", default=alone + together)
    command.set_defaults(run=share)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
