"""Random loops of two products with work between them, as attention has: what may run late, beside the next
iteration, and what may not; masks, sums that the loop carries, tiles filled outside of it. make(seed) as tilegen's.
SPDX-License-Identifier: MIT
"""
import random

HEAD = """import tilelang
import tilelang.language as T

@tilelang.jit
def f():
    @T.prim_func
    def main(Q: T.Tensor(({M}, {D}), "{t}"), K: T.Tensor(({L}, {D}), "{t}"), V: T.Tensor(({L}, {E}), "{t}"),
             O: T.Tensor(({M}, {E}), "float32"), R: T.Tensor(({M},), "float32")):
        with T.Kernel({grid}, threads={threads}) as b:
            Qs = T.alloc_shared(({BM}, {D}), "{t}")
            Ks = T.alloc_shared(({BN}, {D}), "{t}")
            Vs = T.alloc_shared(({BN}, {E}), "{t}")
            S = T.alloc_fragment(({BM}, {BN}), "float32")
            P = T.alloc_fragment(({BM}, {BN}), "{t}")
            acc = T.alloc_fragment(({BM}, {E}), "float32")
            top = T.alloc_fragment(({BM},), "float32")
            part = T.alloc_fragment(({BM},), "float32")
            total = T.alloc_fragment(({BM},), "float32")
            e = T.alloc_fragment(({BM},), "float32")
"""


class Chain:
    def __init__(self, seed):
        self.r, self.lines, self.indent = random.Random(seed), [], 3

    def chance(self, p):
        return self.r.random() < p

    def emit(self, text):
        self.lines.append("    " * self.indent + text)

    def rows(self, text):
        self.emit(f"for i in T.Parallel({self.BM}):")
        self.emit(f"    {text}")

    def tile(self, text, cols):
        self.emit(f"for i, j in T.Parallel({self.BM}, {cols}):")
        self.emit(f"    {text}")

    def mask(self):
        at, row = f"k * {self.BN} + j", f"b * {self.BM} + i"
        return self.r.choice((f"{at} <= {row}", f"{at} < {self.L}", f"{at} <= {row} and {at} > {row} - {self.BN}",
                              f"{at} * 2 > {row} + 9 * k", f"not ({at} > {row} or {at} >= {self.L})"))

    def first(self):
        if self.chance(0.3):
            self.tile(f"S[i, j] = T.if_then_else({self.mask()}, 0, -3)", self.BN)
            clear = "False"
        elif self.chance(0.3):
            self.emit("T.clear(S)")
            clear = "False"
        else:
            clear = "True"
        self.emit(f"T.gemm(Qs, Ks, S, transpose_B=True, clear_accum={clear})")

    def between(self):
        work = ["clamp", "cast", "scale"]
        work += [w for w, p in (("mask", 0.5), ("sum", 0.6), ("max", 0.4), ("V", 0.8)) if self.chance(p)]
        if "V" not in work:
            self.emit(f"T.copy(V[k * {self.BN}, 0], Vs)")
        order = [w for w in work if w not in ("cast", "scale", "V")]
        self.r.shuffle(order)
        order.insert(self.r.randint(0, len(order)), "V") if "V" in work else None
        order.append("cast")
        order.insert(self.r.randint(len(order) - 1, len(order)) if self.chance(0.7) else 0, "scale")
        for w in order:
            getattr(self, "do_" + w)()

    def do_clamp(self):
        self.tile("S[i, j] = T.max(T.min(S[i, j], 4.0), -4.0)", self.BN)

    def do_mask(self):
        self.tile(f"S[i, j] = T.if_then_else({self.mask()}, S[i, j], {self.r.choice(('-1.0', '0.0'))})", self.BN)

    def do_sum(self):
        self.emit("T.reduce_sum(S, part, dim=1)")
        self.rows(self.r.choice(("total[i] = total[i] * e[i] + part[i]", "total[i] = part[i] + total[i]",
                                 "total[i] = part[i] + e[i] * total[i]", "total[i] = part[i] * total[i] + part[i]")))

    def do_max(self):
        self.emit(f"T.reduce_max(S, top, dim=1, clear={self.chance(0.5)})")
        self.rows("e[i] = T.if_then_else(top[i] > 2.0, 0.5, 1.0)")

    def do_cast(self):
        self.emit("T.copy(S, P)")

    def do_scale(self):
        self.tile(self.r.choice(("acc[i, j] *= e[i]", "acc[i, j] = 1.0 - acc[i, j]", "acc[i, j] *= 0.5")), self.E)

    def do_V(self):
        self.emit(f"T.copy(V[k * {self.BN}, 0], Vs)")

    def after(self):
        steps = ["T.copy(total, R[b * %d])" % self.BM, "acc"]
        self.r.shuffle(steps)
        for s in steps:
            if s != "acc":
                self.emit(s)
                continue
            if self.chance(0.5):
                self.tile("acc[i, j] *= e[i]", self.E)
            self.emit(f"T.copy(acc, O[b * {self.BM}, 0])")

    def program(self):
        r = self.r
        self.threads = r.choice((128, 256, 256, 384))
        self.BM = 64 * r.choice((1, 2)) if self.threads == 128 else self.threads // 2
        self.BN, self.D, self.E = r.choice((16, 32, 64)), r.choice((32, 64)), r.choice((32, 64))
        self.L, M = r.choice((40, 96, 200)), self.BM * r.randint(1, 3) - r.choice((0, 0, 7))
        grid = -(-M // self.BM)
        trips = r.choice((str(-(-self.L // self.BN)), f"T.ceildiv({self.L}, {self.BN})",
                          f"T.min({-(-self.L // self.BN)}, b + {r.randint(0, 1)})"))
        if self.chance(0.8):
            self.emit(f"T.copy(Q[b * {self.BM}, 0], Qs)")
            inside = False
        else:
            inside = True
        self.emit("T.clear(acc)")
        self.rows("total[i] = 0.0")
        self.rows("top[i] = -1.0")
        self.rows(f"e[i] = {r.choice(('1.0', '0.5'))}")
        self.emit(f"for k in T.Pipelined({trips}, num_stages={r.choice((0, 1, 2, 3))}):")
        self.indent += 1
        if self.chance(0.1):
            self.emit("if (k + b) % 2 == 0:")
            self.indent += 1
        if inside:
            self.emit(f"T.copy(Q[b * {self.BM}, 0], Qs)")
        self.emit(f"T.copy(K[k * {self.BN}, 0], Ks)")
        self.first()
        self.between()
        self.emit("T.gemm(P, Vs, acc)")
        if self.chance(0.1):
            self.tile("acc[i, j] += 1.0", self.E)
        self.indent = 3
        self.after()
        head = HEAD.format(M=M, L=self.L, D=self.D, E=self.E, BM=self.BM, BN=self.BN, grid=grid, threads=self.threads,
                           t=r.choice(("float16", "float16", "bfloat16")))
        return head + "\n".join(self.lines) + "\n\n    return main\n"


def make(seed):
    return Chain(seed).program(), []
