"""An engine as a child process, spoken to line by line: for tests of the protocol itself, where a client that knows UCI would help too much."""

import queue
import re
import subprocess
import sys
import threading

# Seconds until it counts as hung: it is to be far below one, also on a busy machine.
PATIENCE = 60


class Engine:
    def __init__(self, *command, folder=None):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder)
        self.said, self.complaints = queue.Queue(), []
        threading.Thread(target=self.hear, daemon=True).start()
        threading.Thread(target=self.hear_complaints, daemon=True).start()

    def hear(self):
        for line in self.process.stdout:
            self.said.put(line.decode(errors="replace").rstrip("\r\n"))
        self.said.put(None)

    def hear_complaints(self):
        for line in self.process.stderr:
            self.complaints.append(line.decode(errors="replace").rstrip())

    def say(self, *lines):
        """Text, or bytes where it is to be no text."""
        encoded = (line if isinstance(line, bytes) else line.encode() for line in lines)
        try:
            self.process.stdin.write(b"".join(line + b"\n" for line in encoded))
            self.process.stdin.flush()
        except BrokenPipeError:
            sys.exit(f"the engine went away before {lines[0][:200]!r}: {self.complaints}")

    def until(self, pattern, after=""):
        """The next line that begins as the regular expression says; `after` is named where none comes."""
        seen = []
        while True:
            try:
                line = self.said.get(timeout=PATIENCE)
            except queue.Empty:
                sys.exit(f"no {pattern!r} within {PATIENCE} s after {after!r}, only {seen[-5:]}")
            if line is None:
                sys.exit(f"the engine went away after {after!r} before {pattern!r}: {seen[-5:]}, {self.complaints}")
            if re.match(pattern, line):
                return line
            seen.append(line)

    def end(self):
        """Its input ends, and so does it."""
        self.process.stdin.close()
        if self.process.wait(PATIENCE) != 0:
            sys.exit(f"the engine failed at the end: {self.complaints}")
