#!/usr/bin/env bash
# The matches of the README, with fastchess (https://github.com/Disservin/fastchess) and Debian's stockfish.
#
#   uci-tests/match.sh fastchess openings.epd stockfish 1350 [rounds] [tc]     Glance against stockfish at a UCI_Elo
#   uci-tests/match.sh fastchess openings.epd random [rounds] [tc]             … against a random mover
#   uci-tests/match.sh fastchess openings.epd tree value [rounds] [tc]         one search against another, without book
#   uci-tests/match.sh fastchess openings.epd networks new.safetensors built-in tree [rounds] [tc]     one network against another, likewise
#
# A round is two games, one with each colour. GLANCE names another binary than target/release/glance, SEED draws other
# openings (7). Instead of a time control, nodes=128 gives both so many positions a move: the machine's speed then changes nothing. Such games are given up when nine pawns
# down for four moves, and drawn when within 0.2 for eight moves after the sixtieth.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
glance=${GLANCE:-$here/../target/release/glance}
fastchess=$1 openings=$2
shift 2
case $1 in
stockfish)
    one=(cmd="$glance" name=glance)
    two=(cmd="$(command -v stockfish || echo /usr/games/stockfish)" name="stockfish-$2" option.UCI_LimitStrength=true option.UCI_Elo="$2")
    shift 2
    ;;
random)
    one=(cmd="$glance" name=glance)
    two=(cmd="$here/random_mover.py" name=random)
    shift
    ;;
networks)
    one=(cmd="$glance" name="new" option.Search="$4" option.OwnBook=false)
    two=(cmd="$glance" name="old" option.Search="$4" option.OwnBook=false)
    [ "$2" = built-in ] || one+=(option.WeightsFile="$(realpath "$2")")
    [ "$3" = built-in ] || two+=(option.WeightsFile="$(realpath "$3")")
    shift 4
    ;;
*)
    one=(cmd="$glance" name="$1" option.Search="$1" option.OwnBook=false)
    two=(cmd="$glance" name="$2" option.Search="$2" option.OwnBook=false)
    shift 2
    ;;
esac
limit=${2:-1+0.01}
case $limit in
nodes=*) each=(tc=inf "$limit" -resign movecount=4 score=900 -draw movenumber=60 movecount=8 score=20) ;;
*) each=(tc="$limit") ;;
esac
exec "$fastchess" -engine "${one[@]}" -engine "${two[@]}" -each "${each[@]}" -rounds "${1:-50}" -concurrency 2 \
    -openings file="$openings" format=epd order=random -srand "${SEED:-7}" -repeat -recover -pgnout file=match.pgn
