"""Enough of TileLang for bench/tilelang_peer.py to search samples/gemm_nt.tl: install(log) puts it in the place of the
real one. A kernel's time follows from its configuration and K; tiles of 256 x 256 do not compile, one faults."""
# SPDX-License-Identifier: MIT
import sys
import types


def ms(c):
    return abs(c["block_M"] - 128) + abs(c["block_N"] - (64 if c["K"] < 1000 else 256)) + c["num_stages"] + c["block_K"] / 64


class Kernel:
    def __init__(self, c):
        self.config = c

    def get_profiler(self):
        return self

    def do_bench(self, warmup, rep):
        if (self.config["block_M"], self.config["block_N"]) == (64, 256):
            raise RuntimeError("a fault")
        return ms(self.config)

    def __call__(self, a, b):
        return (self.config, a, b)


class Jit:
    def __init__(self, log):
        self.log = log

    def par_compile(self, configs, ignore_error=False):
        self.log.append(len(configs))
        return [None if c["block_M"] == c["block_N"] == 256 else Kernel(c) for c in configs]


def install(log):
    fake, language = types.ModuleType("tilelang"), types.ModuleType("tilelang.language")
    fake.__version__, fake.__file__, fake.language = "0", "/somewhere/tilelang.py", language
    fake.jit = lambda **_: lambda fn: Jit(log)
    fake.autotune = lambda configs, **_: lambda impl: types.SimpleNamespace(jit_impl=impl, configs=configs)
    language.GemmWarpPolicy = types.SimpleNamespace(Square=0)
    sys.modules.update({"tilelang": fake, "tilelang.language": language})
