#!/usr/bin/env python3
"""What the material that exchanges leave adds to a glance, on positions with an engine's evaluations that were not trained on.

    python3 benches/exchanges.py target/release/glance positions.parquet --count 6000

Takes win, draw and loss of one glance (Search=policy, over UCI) and the pawns that captures win (as src/search/quiescence.rs plays them out,
here on python-chess), and fits the weights of src/search/quiescence.rs on half of the positions by least squares: prints them with the squared
error of win less loss, halved, on the other half. The Parquet files are Lichess's evaluations (fen, cp from White's side).
Needs chess, pyarrow and numpy.
"""

import argparse
import random
import subprocess

import chess
import numpy as np
import pyarrow.parquet as pq

VALUE = {chess.PAWN: 1.0, chess.KNIGHT: 3.0, chess.BISHOP: 3.0, chess.ROOK: 5.0, chess.QUEEN: 9.0, chess.KING: 0.0}
DEEPEST, MATED, SCALE = 8, 20.0, 5.0
INFINITE = float("inf")


def won(board, move):
    taken = chess.PAWN if board.is_en_passant(move) else board.piece_type_at(move.to_square)
    promoted = VALUE[move.promotion] - VALUE[chess.PAWN] if move.promotion else 0.0
    return (VALUE[taken] if board.is_capture(move) else 0.0) + promoted


def after(board, move):
    board = board.copy(stack=False)
    board.push(move)
    return board


def play_out(board, alpha=-INFINITE, beta=INFINITE, plies=DEEPEST):
    if plies == 0:
        return 0.0
    moves, best = list(board.legal_moves), -MATED
    if not board.is_check():
        moves, best = [m for m in moves if board.is_capture(m) or m.promotion == chess.QUEEN], 0.0
    for m in sorted(moves, key=lambda m: (-won(board, m), VALUE[board.piece_type_at(m.from_square)])):
        if best >= beta:
            break
        alpha, here = max(alpha, best), won(board, m)
        best = max(best, here - play_out(after(board, m), here - beta, here - alpha, plies - 1))
    return best


def gain(board):
    taking = play_out(board)
    if taking > 0 or board.is_check() or play_out(after(board, chess.Move.null())) <= 0:
        return taking
    return min(0.0, max((won(board, m) - play_out(after(board, m)) for m in board.legal_moves), default=taking))


def balance(board):
    return sum(VALUE[p.piece_type] * (1 if p.color == board.turn else -1) for p in board.piece_map().values())


class Glance:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        for option in ("OwnBook value false", "UCI_ShowWDL value true", "SyzygyProbeLimit value 0", "Search value policy"):
            self.say(f"setoption name {option}")

    def say(self, line):
        self.process.stdin.write(line + "\n")

    def wdl(self, fen):
        """None where a mate is seen at once."""
        self.say(f"position fen {fen}")
        self.say("go nodes 1")
        found = None
        for line in self.process.stdout:
            words = line.split()
            if words[:1] == ["bestmove"]:
                return found
            if "wdl" in words and "mate" not in words:
                at = words.index("wdl")
                found = [max(int(w), 0.5) / 1000 for w in words[at + 1 : at + 4]]


def outcomes(cp):
    """As Wdl::from_centipawns."""
    logistic = lambda x: 1 / (1 + np.exp(-x))
    win, loss = logistic((cp - 110) / 120), logistic((-cp - 110) / 120)
    return np.stack([win, 1 - win - loss, loss], axis=1)


def weighed(wdl, features, weights, trust):
    lean = features @ weights
    logits = trust * np.log(wdl) + np.stack([lean, 0 * lean, -lean], axis=1)
    out = np.exp(logits - logits.max(axis=1, keepdims=True))
    return out / out.sum(axis=1, keepdims=True)


def fit(wdl, target, features, trusted):
    """Weights (and trust, unless it is to be 1) by Gauss and Newton, with slopes taken numerically."""
    aim = target[:, 0] - target[:, 2]

    def found(x):
        p = weighed(wdl, features, x[1:], x[0])
        return p[:, 0] - p[:, 2]

    x = np.concatenate([[1.0], np.zeros(features.shape[1])])
    free = range(1 if trusted else 0, len(x))
    for _ in range(30):
        now = found(x)
        slopes = np.stack([(found(x + 1e-4 * np.eye(len(x))[i]) - now) / 1e-4 for i in free], axis=1)
        x[list(free)] += np.linalg.lstsq(slopes, aim - now, rcond=None)[0]
    return x


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("glance")
    parser.add_argument("positions", nargs="+")
    parser.add_argument("--count", type=int, default=6000)
    args = parser.parse_args()
    rows = [row for path in args.positions for row in pq.read_table(path, columns=["fen", "cp"]).to_pylist()]
    random.seed(5)
    random.shuffle(rows)
    glance, kept = Glance(args.glance), []
    for row in rows:
        if len(kept) == args.count:
            break
        fen = row["fen"] if len(row["fen"].split()) > 4 else row["fen"] + " 0 1"
        board = chess.Board(fen)
        if row["cp"] is None or not board.is_valid() or board.is_game_over():
            continue
        wdl = glance.wdl(fen)
        if wdl:
            now = balance(board)
            kept.append((row["cp"] if board.turn else -row["cp"], wdl, now, now + gain(board)))
    cp, wdl, now, settled = (np.array(column, dtype=float) for column in zip(*kept))
    wdl /= wdl.sum(axis=1, keepdims=True)
    target = outcomes(cp)
    order = np.random.default_rng(1).permutation(len(kept))
    half, other = order[: len(kept) // 2], order[len(kept) // 2 :]
    pull = lambda pawns: np.tanh(pawns / SCALE)
    none = np.zeros((len(kept), 0))
    material, exchanges = pull(now)[:, None], np.stack([pull(settled), pull(now)], axis=1)
    print("| what is added | trust | weights | squared error |\n|---|---|---|---|")
    for name, features, trusted in (
        ("nothing", none, True),
        ("the material as it stands", material, True),
        ("after exchanges, and as it stands", exchanges, True),
        ("the same", exchanges, False),
    ):
        x = fit(wdl[half], target[half], features[half], trusted) if features.size else np.ones(1)
        p = weighed(wdl[other], features[other], x[1:], x[0])
        error = np.mean(((p[:, 0] - p[:, 2] - target[other, 0] + target[other, 2]) / 2) ** 2)
        print(f"| {name} | {x[0]:.2f} | {', '.join(f'{w:.2f}' for w in x[1:]) or '–'} | {error:.4f} |")


if __name__ == "__main__":
    main()
