"""Interleaved bursts on the GPU by PyTorch's events: the method of tlc --bench (runtime/bench.c), for callables."""
# SPDX-License-Identifier: MIT
import time

ROUNDS, IDLE_S, WARM_UPS, LAUNCHES, BURST_MS, GRAPH = 15, 0.3, 2, 10, 10.0, 20
SHORT_MS = 0.2  # launches from Python that are shorter than this are replayed from a graph
LONG_MS, LONGEST_MS = 20.0, 200.0


def median(values):
    """Median, and the order statistics that hold the population's with 95 % confidence."""
    v, n = sorted(values), len(values)
    cut, choose, below = 0, 1.0, 0.5**n
    for k in range(1, n):
        choose *= (n - k + 1) / k
        mass = below + choose * 0.5**n
        if mass > 0.025:
            break
        cut, below = k, mass
    return (v[n // 2] if n % 2 else (v[n // 2 - 1] + v[n // 2]) / 2), [v[cut], v[n - 1 - cut]]


class Contender:
    """What is timed: ms is that of a short burst, samples those of the bursts."""

    def __init__(self, call, graph=True):
        import torch
        self.torch, self.call, self.graph, self.samples = torch, call, None, []
        self.ms = self.short()
        self.launches = int(max(-(-BURST_MS // max(self.ms, 1e-4)), min(LAUNCHES, LONGEST_MS // self.ms), 1))
        if graph and self.ms < SHORT_MS:
            self.capture()

    def short(self):
        """ms of a short burst; of one launch where that is long."""
        for _ in range(WARM_UPS):
            once = self.timed(1, self.call)
            if once > LONG_MS:
                return once
        return self.timed(3, self.call)

    def capture(self):
        graph = self.torch.cuda.CUDAGraph()
        try:
            with self.torch.cuda.graph(graph):
                for _ in range(GRAPH):
                    self.call()
        except Exception:  # a library that waits or allocates cannot be captured
            self.torch.cuda.synchronize()
            return
        self.graph = graph

    def timed(self, n, call):
        a, b = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        a.record()
        for _ in range(n):
            call()
        b.record()
        b.synchronize()
        return a.elapsed_time(b) / n

    def burst(self):
        for _ in range(WARM_UPS):
            self.call()
        if self.graph:
            self.samples.append(self.timed(-(-self.launches // GRAPH), self.graph.replay) / GRAPH)
        else:
            self.samples.append(self.timed(self.launches, self.call))


def rounds(everyone, turns, idle_s):
    """A burst of each in each turn, a different one first."""
    for turn in range(turns):
        for i in range(len(everyone)):
            time.sleep(idle_s)
            everyone[(turn + i) % len(everyone)].burst()


def compare(call, others):
    """The peers' part of a row: of each, its time and the ratio of speeds, tlc's over its."""
    everyone = [Contender(c) for c in (call, *(c for _, c in others))]
    rounds(everyone, ROUNDS, IDLE_S)
    out = []
    for (name, _), c in zip(others, everyone[1:]):
        us, between = median([1e3 * ms for ms in c.samples])
        ratio, interval = median([ms / mine for ms, mine in zip(c.samples, everyone[0].samples)])
        out.append({"name": name, "us": us, "us_interval": between, "ratio": ratio, "ratio_interval": interval})
    return out
