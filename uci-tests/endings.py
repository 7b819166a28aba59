#!/usr/bin/env python3
"""Won endings, played as a person of a rating: who is a rook or more ahead brings the game home.

Endings are drawn at random: the player to move is ahead by at least five pawns,
neither side can take anything at once, and the defender has neither a check nor a far pawn. The
defender plays at full strength.
"""

import argparse
import random
import sys

import chess
import chess.engine

VALUES = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 0}
# Men of the stronger and of the weaker side, besides the kings.
KINDS = ["q-", "r-", "bb-", "qr-", "qp-p", "rp-p", "rpp-pp", "rr-b", "qn-n", "rb-p", "qpp-rp", "rnp-bp", "qppp-nppp", "rrpp-rpp",
         "rbppp-bppp", "qrpp-qpp"]


def far(board, side):
    """Whether the weaker side has a pawn that is about to decide, or a pair of bishops is of one colour."""
    advanced = any(chess.square_rank(s) in ((5, 6) if side else (1, 2)) for s in board.pieces(chess.PAWN, side))
    bishops = [bool(chess.BB_SQUARES[s] & chess.BB_LIGHT_SQUARES) for s in board.pieces(chess.BISHOP, not side)]
    return advanced or (len(bishops) == 2 and bishops[0] == bishops[1])


def ending(kind):
    """A random position of a kind, the stronger side to move, with nothing to be taken by either."""
    strong, weak = kind.split("-")
    while True:
        board = chess.Board(None)
        colour = random.choice([True, False])
        men = [(m, colour) for m in "k" + strong] + [(m, not colour) for m in "k" + weak]
        for (symbol, side), square in zip(men, random.sample(range(64), len(men))):
            board.set_piece_at(square, chess.Piece(chess.PIECE_SYMBOLS.index(symbol), side))
        board.turn = colour
        if not board.is_valid() or board.is_check() or any(board.generate_legal_captures()):
            continue
        if any(chess.square_rank(s) in (0, 7) for s in board.pieces(chess.PAWN, True) | board.pieces(chess.PAWN, False)):
            continue
        board.push(chess.Move.null())
        quiet = board.is_valid() and not any(board.generate_legal_captures()) and any(board.legal_moves)
        promotes = any(m.promotion for m in board.legal_moves)
        checked = any(board.gives_check(m) for m in board.legal_moves)
        board.pop()
        if quiet and not promotes and not checked and not far(board, not colour):
            board.clear_stack()
            return board


def play(winner, defender, board, most):
    """Moves until mate, or None."""
    start = board.fullmove_number
    strong = board.turn
    while board.fullmove_number < start + most:
        if board.is_game_over(claim_draw=True):
            return board.fullmove_number - start + 1 if board.is_checkmate() and board.turn != strong else None
        player, limit = (winner, chess.engine.Limit(time=10)) if board.turn == strong else (defender, chess.engine.Limit(nodes=32))
        move = player.play(board, limit).move
        assert move in board.legal_moves, f"{move} in {board.fen()}"
        board.push(move)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine")
    parser.add_argument("--elo", type=int, default=1200)
    parser.add_argument("--endings", type=int, default=200)
    parser.add_argument("--moves", type=int, default=60)
    parser.add_argument("--least", type=float, default=0.95, help="share that is to be won")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    random.seed(12)
    winner = chess.engine.SimpleEngine.popen_uci(args.engine, timeout=60)
    defender = chess.engine.SimpleEngine.popen_uci(args.engine, timeout=60)
    winner.configure({"UCI_LimitStrength": True, "UCI_Elo": args.elo})
    won, lengths, missed = 0, [], {}
    for i in range(args.endings):
        kind = KINDS[i % len(KINDS)]
        board = ending(kind)
        fen = board.fen()
        moves = play(winner, defender, board, args.moves)
        if moves is None:
            missed[kind] = missed.get(kind, 0) + 1
            if args.verbose:
                print(f"not won: {kind} {fen} -> {board.fen()}", flush=True)
        else:
            won += 1
            lengths.append(moves)
    winner.quit()
    defender.quit()
    lengths.sort()
    median = lengths[len(lengths) // 2] if lengths else 0
    print(f"at {args.elo}: {won} of {args.endings} endings won within {args.moves} moves, median {median}; not won: {missed or 'none'}")
    assert won >= args.least * args.endings, f"{won} of {args.endings} endings won, {args.least:.0%} expected"


try:
    main()
except AssertionError as error:
    sys.exit(f"endings: {error}")
