#!/usr/bin/env python3
"""Where a player's points go: how much expected score each of its moves loses, as Stockfish judges, by the men that are left on the board.

    pip install chess
    benches/losses.py match.pgn … --player glance --worst 20

Every position in which the player is to move is judged before and after the move that was played (openings of --book plies are left out), a line
for each number of men, then the moves that lost most, as EPD with the better move. Expected score is 1 / (1 + 10^(-pawns / 4)), as that of a
difference of ratings. A judge with few nodes is wrong now and then: losses below zero count as nothing, so that even good moves seem to lose some.
"""

import argparse
import collections

import chess
import chess.engine
import chess.pgn

MATE = 3000
MEN = [(25, 32), (17, 24), (13, 16), (9, 12), (7, 8), (5, 6), (2, 4)]

Loss = collections.namedtuple("Loss", "lost men move better board")


def games(paths, player):
    """The games that the player is in, with its colour."""
    for path in paths:
        with open(path, encoding="utf-8") as file:
            while game := chess.pgn.read_game(file):
                colour = {game.headers["White"]: chess.WHITE, game.headers["Black"]: chess.BLACK}.get(player)
                if colour is not None:
                    yield game, colour


def expected(info, colour):
    return 1 / (1 + 10 ** (-info["score"].pov(colour).score(mate_score=MATE) / 400))


def lost(engine, limit, board, move):
    """What a move loses, and what would have been better."""
    before = engine.analyse(board, limit)
    better = before["pv"][0]
    if better == move:
        return 0.0, better
    after = board.copy()
    after.push(move)
    if after.is_game_over():
        left = {"1-0": 1.0, "0-1": 0.0}.get(after.result(), 0.5)
        left = left if board.turn == chess.WHITE else 1 - left
    else:
        left = expected(engine.analyse(after, limit), board.turn)
    return max(expected(before, board.turn) - left, 0.0), better


def losses(engine, limit, game, colour, book):
    board = game.board()
    for ply, move in enumerate(game.mainline_moves()):
        if board.turn == colour and ply >= book and board.legal_moves.count() > 1:
            so_much, better = lost(engine, limit, board, move)
            yield Loss(so_much, len(board.piece_map()), move, better, board.copy(stack=False))
        board.push(move)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pgn", nargs="+")
    parser.add_argument("--player", required=True)
    parser.add_argument("--nodes", type=int, default=40000, help="of Stockfish, a position")
    parser.add_argument("--book", type=int, default=16, help="plies at the beginning that are left out")
    parser.add_argument("--worst", type=int, default=0, help="moves that lost most, to show")
    parser.add_argument("--engine", default="/usr/games/stockfish")
    args = parser.parse_args()
    found, count = [], 0
    with chess.engine.SimpleEngine.popen_uci(args.engine) as engine:
        engine.configure({"Threads": 1, "Hash": 128})
        for game, colour in games(args.pgn, args.player):
            found += losses(engine, chess.engine.Limit(nodes=args.nodes), game, colour, args.book)
            count += 1
            print(f"\r{count} games", end="", flush=True)
    if not found:
        parser.error(f"no moves of {args.player!r} after {args.book} plies")
    print("\n| men | moves | lost a move | a game | of all |\n|---|---|---|---|---|")
    total = sum(loss.lost for loss in found) or 1.0
    for least, most in MEN:
        here = [loss.lost for loss in found if least <= loss.men <= most]
        if here:
            mean = sum(here) / len(here)
            print(f"| {least} to {most} | {len(here)} | {mean:.4f} | {sum(here) / count:.3f} | {sum(here) / total:.0%} |")
    for loss in sorted(found, key=lambda loss: -loss.lost)[: args.worst]:
        board = loss.board
        print(f'{board.epd()} bm {board.san(loss.better)}; am {board.san(loss.move)}; c0 "lost {loss.lost:.2f}";')


if __name__ == "__main__":
    main()
