#!/usr/bin/env python3
"""Runs the dialogues of dialogues.txt against the engine given as the first argument."""

import pathlib
import shlex
import sys

from engine import Engine


def main():
    engine, checks, sessions, said = None, 0, 0, ""
    for raw in (pathlib.Path(__file__).parent / "dialogues.txt").read_text().splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("---"):
            if engine:
                engine.end()
            engine = Engine(sys.argv[1], *shlex.split(line[3:]))
            sessions += 1
        elif line.startswith("> "):
            said = line[2:]
            engine.say(said)
        elif line.startswith("< "):
            engine.until(f"(?:{line[2:]})$", said)
            checks += 1
        else:
            sys.exit(f"dialogues.txt: {raw!r} begins with none of '---', '>', '<'")
    engine.end()
    print(f"dialogues: {checks} lines as expected in {sessions} sessions")


main()
