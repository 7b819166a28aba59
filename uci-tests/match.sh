#!/usr/bin/env bash
# The matches of the README, with fastchess (https://github.com/Disservin/fastchess) and Debian's stockfish.
#
#   uci-tests/match.sh fastchess openings.epd stockfish 1350 [rounds] [tc]     Glance against stockfish at a UCI_Elo
#   uci-tests/match.sh fastchess openings.epd random [rounds] [tc]             … against a random mover
#   uci-tests/match.sh fastchess openings.epd tree value [rounds] [tc]         one search against another, without book
#
# A round is two games, one with each colour. GLANCE names another binary than target/release/glance.
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
*)
    one=(cmd="$glance" name="$1" option.Search="$1" option.OwnBook=false)
    two=(cmd="$glance" name="$2" option.Search="$2" option.OwnBook=false)
    shift 2
    ;;
esac
exec "$fastchess" -engine "${one[@]}" -engine "${two[@]}" -each tc="${2:-1+0.01}" -rounds "${1:-50}" -concurrency 2 \
    -openings file="$openings" format=epd order=random -srand 7 -repeat -recover -pgnout file=match.pgn
