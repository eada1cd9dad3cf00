"""Enough of TileLang, of tlc's kernel and of a GPU for bench/tilelang_peer.py to search samples/gemm_nt.tl: install(log)
puts them in the place of the real ones. A kernel's time follows from its configuration and K. As a program:
bench/tilelang_search.py with them, where one candidate ends the process and another hangs."""
# SPDX-License-Identifier: MIT
import os
import sys
import time
import types

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def ms(c):
    return 100 + abs(c["block_M"] - 128) + abs(c["block_N"] - (64 if c["K"] < 1000 else 256)) + 4 * c["num_stages"] \
        + c["block_K"] / 64


def is_(c, m, n, k, stages, threads=128, panels=True):
    return (c["block_M"], c["block_N"], c["block_K"], c["num_stages"], c["thread_num"], c["enable_rasteration"]) == \
        (m, n, k, stages, threads, panels)


class Rival:
    def __init__(self, c):
        self.config = c

    def __call__(self, a, b):
        if is_(self.config, 128, 64, 64, 1):
            raise RuntimeError("a fault\nin two lines")
        if is_(self.config, 128, 128, 64, 2) and self.config["K"] == 8192 and __name__ == "__main__":
            print("CUDA error: an illegal address was made up", flush=True)
            os._exit(7)
        if is_(self.config, 128, 128, 64, 3) and self.config["K"] == 8192 and __name__ == "__main__":
            time.sleep(30)
        return (self.config, a, b)


class Jit:
    def __init__(self, log):
        self.log = log

    def par_compile(self, configs, ignore_error=False):
        self.log.append(len(configs))
        return [None if c["block_M"] == c["block_N"] == 256 else Rival(c) for c in configs]


class Kernel:
    """tlc's."""

    def __init__(self, ask):
        self.ask, self.waited = ask, 0

    def call(self):
        pass

    def inputs(self):
        return ["a", "b"]

    def spoil(self):
        pass

    def wait(self):
        self.waited += 1

    def agrees(self, got):
        return not is_(got[0], 128, 256, 64, 1)


class Contender:
    """The short burst of one of the fastest is disturbed."""

    def __init__(self, call, graph=True):
        self.config = call()[0]
        self.ms, self.samples = ms(self.config) * (100 if is_(self.config, 128, 64, 32, 0, 256, False) else 1), []

    def short(self):
        return ms(self.config)

    def burst(self):
        self.samples.append(ms(self.config))


def install(log):
    fake, language = types.ModuleType("tilelang"), types.ModuleType("tilelang.language")
    fake.__version__, fake.__file__, fake.language = "0", "/somewhere/tilelang.py", language
    fake.jit = lambda **_: lambda fn: Jit(log)
    fake.autotune = lambda configs, **_: lambda impl: types.SimpleNamespace(jit_impl=impl, configs=configs)
    language.GemmWarpPolicy = types.SimpleNamespace(Square=0)
    sys.modules.update({"tilelang": fake, "tilelang.language": language})
    sys.path.insert(0, os.path.join(TOP, "bench"))
    import contenders
    contenders.Contender = Contender
    contenders.time = types.SimpleNamespace(sleep=lambda s: None)


if __name__ == "__main__":
    install([])
    import peers
    import tilelang_search
    peers.Kernel, tilelang_search.HUNG_S = Kernel, 4
    tilelang_search.main()
