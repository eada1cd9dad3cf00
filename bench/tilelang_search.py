"""One search of TileLang's declared space at one size: tilelang_search.py < QUESTION, by bench/tilelang_peer.py.

Every configuration is built, its result compared with tlc's, and timed in a short burst; nothing is left out but what
is more than FAR times as slow as the best so far in both of two bursts. Those that remain meet in interleaved bursts,
fewer and more bursts each time. Ends with a status other than 0 when a candidate took the GPU down: the next call goes
on behind it. Begins no candidate after the seconds that it is given.
"""
# SPDX-License-Identifier: MIT
import json
import os
import signal
import sys
import time

START = time.monotonic()
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import contenders  # noqa: E402
import tilelang_peer  # noqa: E402

PART, FAR = 32, 1.5
HUNG_S = 60  # of one candidate: then the process ends
# Turns, idle seconds before a burst, and who goes on: within a factor of the best, at most so many.
TURNS = ((1, 0.03, 1.25, 288), (3, 0.05, 1.25, 20), (5, 0.1, 1e9, 20))


class Search:
    def __init__(self, trial, book, most_s):
        self.trial, self.book, self.most_s = trial, book, most_s
        self.tried = book.record.setdefault("tried", {})
        self.count = book.record["of"] = len(trial.configs)
        self.field = {}  # contenders by number
        for i in [i for i, t in self.tried.items() if t.get("now")]:
            self.tried[i] = {"failed": "hung, or ended the process"}

    def best(self):
        return min((t["ms"] for t in self.tried.values() if "ms" in t), default=float("inf"))

    def attempt(self, i, rival):
        """Compares and times one. The file names it meanwhile."""
        self.tried[str(i)] = {"now": True}
        self.book.save()
        signal.alarm(HUNG_S)
        try:
            one = self.trial.enter(rival)
            ms = one.ms if one.ms <= FAR * self.best() else min(one.ms, one.short())
            self.tried[str(i)] = {"ms": ms}
            if ms <= FAR * self.best():
                self.field[i] = one
        except tilelang_peer.Failed as e:
            self.tried[str(i)] = {"failed": str(e)}
            self.trial.kernel.wait()  # raises where no further candidate can run: this process ends
        finally:
            signal.alarm(0)
            self.book.save()

    def everyone(self):
        """The first bursts: of those not tried, and again of those in the running that an earlier process tried. False
        when there is no time for all."""
        near = FAR * self.best()
        todo = [i for i in range(self.count) if self.tried.get(str(i), {"ms": 0}).get("ms", float("nan")) <= near]
        while todo:
            part, todo = todo[:PART], todo[PART:]
            for i, rival in self.trial.build(part).items():
                if time.monotonic() - START > self.most_s:
                    return False
                self.attempt(i, rival)
        return True

    def turns(self):
        for i, c in self.field.items():
            if self.tried[str(i)]["ms"] > FAR * self.best():
                self.tried[str(i)]["ms"] = min(self.tried[str(i)]["ms"], c.short())
        field = [(c, i) for i, c in self.field.items() if self.tried[str(i)]["ms"] <= FAR * self.best()]
        for turns, idle, factor, most in TURNS:
            for c, _ in field:
                c.samples.clear()
            signal.alarm(HUNG_S + int(len(field) * turns * (idle + 1)))
            contenders.rounds([c for c, _ in field], turns, idle)
            signal.alarm(0)
            ranked = sorted(((tilelang_peer.ms(c), i, c) for c, i in field), key=lambda r: r[:2])
            field = [(c, i) for ms, i, c in ranked if ms <= factor * ranked[0][0]][:most]
        self.book.record["ranked"] = [[ms, i] for ms, i, _ in ranked]
        self.book.save()


def main():
    ask = json.loads(sys.stdin.readline())
    import peers
    os.environ.setdefault("TILELANG_COMPILE_TIMEOUT_SECONDS", "120")
    jit, configs = tilelang_peer.function(ask["file"])
    kernel = peers.Kernel(ask)
    book = tilelang_peer.Book(ask["ranks"], ask["name"], ask["file"], ask["sizes"])
    search = Search(tilelang_peer.Trial(jit, configs, ask["sizes"], kernel), book, ask["most_s"])
    if search.everyone():
        search.turns()


if __name__ == "__main__":
    main()
