#!/usr/bin/env python3
"""Runs the dialogues of dialogues.txt against the engine given as the first argument."""

import pathlib
import re
import shlex
import subprocess
import sys
import threading
import queue

ENGINE = sys.argv[1]
TIMEOUT = 60


class Engine:
    def __init__(self, args):
        self.process = subprocess.Popen(
            [ENGINE, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def expect(self, pattern):
        seen = []
        while True:
            try:
                line = self.lines.get(timeout=TIMEOUT)
            except queue.Empty:
                line = None
            if line is None:
                sys.exit(f"expected {pattern!r}, saw {seen}")
            seen.append(line)
            if re.fullmatch(pattern, line):
                return

    def end(self):
        self.process.stdin.close()
        if self.process.wait(TIMEOUT) != 0:
            sys.exit("the engine failed at the end")


def main():
    engine, checks, sessions = None, 0, 0
    for raw in (pathlib.Path(__file__).parent / "dialogues.txt").read_text().splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("---"):
            if engine:
                engine.end()
            engine = Engine(shlex.split(line[3:]))
            sessions += 1
        elif line.startswith("> "):
            engine.say(line[2:])
        elif line.startswith("< "):
            engine.expect(line[2:])
            checks += 1
        else:
            sys.exit(f"dialogues.txt: {raw!r} begins with none of '---', '>', '<'")
    engine.end()
    print(f"dialogues: {checks} lines as expected in {sessions} sessions")


main()
