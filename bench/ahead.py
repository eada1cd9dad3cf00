"""What the bench does before its first measurement, on all processors at once: builds, and the start of the peers.

Nothing of it runs while something is timed.
"""
# SPDX-License-Identifier: MIT
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import rows


def build(commands):
    """Runs them side by side. What fails is said where it is measured."""
    def one(command):
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(one, commands))


class Peers:
    """bench/peers.py in a process of its own, which answers row after row: importing PyTorch takes seconds. A peer
    may take the GPU down with it: then the row's answer is why, and the next row gets a new process."""

    def __init__(self, tlc):
        self.env = {**os.environ, "TLC": os.path.abspath(tlc)}
        self.script = os.environ.get("TLC_BENCH_PEERS") or os.path.join(rows.HERE, "peers.py")
        self.process = self.said = None

    def say(self, question):
        if self.process is None:
            self.said = tempfile.TemporaryFile("w+", errors="replace")
            self.process = subprocess.Popen([sys.executable, self.script], stdin=subprocess.PIPE, env=self.env,
                                            stdout=subprocess.PIPE, stderr=self.said, text=True, errors="replace")
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: answer() says how

    def answer(self, name):
        """The next line that is an object."""
        for line in self.process.stdout:
            if line.startswith("{"):
                try:
                    return json.loads(line)
                except ValueError:
                    pass
        status = self.process.wait()
        self.said.seek(0)
        lines = self.said.read().strip().splitlines()
        self.process = None
        return {"missing": [f"{name}: {lines[-1] if lines else 'no message'} (exit {status})"]}

    def end(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process = None
