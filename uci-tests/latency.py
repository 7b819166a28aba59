#!/usr/bin/env python3
"""What a GUI waits for: start to uciok and readyok, the reply to `stop`, movetime kept; and the memory that is used.

    uci-tests/latency.py target/release/glance
"""

import statistics
import sys
import time

from engine import Engine

STOPS = 200
# Milliseconds that a search may take to end.
ENDS = 20


class Timed(Engine):
    def __init__(self, path):
        self.start = time.perf_counter()
        super().__init__(path)

    def heard(self, start):
        """When a line begins so."""
        self.until(start)
        return time.perf_counter()


def summary(name, times, allowed=None):
    ms = [1000 * t for t in times]
    over = f" ({sum(x > allowed for x in ms)} over {allowed} ms)" if allowed else ""
    print(f"{name}: median {statistics.median(ms):.1f} ms, most {max(ms):.1f} ms, of {len(ms)}{over}")


def main():
    path = sys.argv[1]
    ok, ready = [], []
    for _ in range(10):
        e = Timed(path)
        e.say("uci")
        ok.append(e.heard("uciok") - e.start)
        e.say("isready")
        ready.append(e.heard("readyok") - e.start)
        e.say("quit")
    summary("start to uciok", ok)
    summary("start to readyok, network loaded", ready)
    e = Timed(path)
    e.say("setoption name OwnBook value false")
    stops, idle, over = [], [], []
    for i in range(STOPS):
        e.say("position startpos moves e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4")
        e.say("setoption name Clear Hash")
        e.say("go infinite")
        time.sleep(0.02 + 0.4 * i / STOPS)
        # What the machine itself keeps waiting: an answer that needs no search to end.
        start = time.perf_counter()
        e.say("isready")
        idle.append(e.heard("readyok") - start)
        start = time.perf_counter()
        e.say("stop")
        stops.append(e.heard("bestmove") - start)
    summary("isready to readyok, while searching", idle, ENDS)
    summary("stop to bestmove", stops, ENDS)
    for _ in range(30):
        start = time.perf_counter()
        e.say("go movetime 200")
        over.append(e.heard("bestmove") - start)
    summary("go movetime 200", over)
    with open(f"/proc/{e.process.pid}/status", encoding="ascii") as status:
        print("memory:", next(line.split(":")[1].strip() for line in status if line.startswith("VmHWM")))
    e.say("quit")


main()
