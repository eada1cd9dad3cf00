"""Random reductions and scans of tiles, whose results every order of additions gives.
SPDX-License-Identifier: MIT
"""
from tilegen import EXACT
from tilethreads import Threads


class Reductions(Threads):
    def line_source(self, dims):
        tiles = [b for b in self.visible("shared", "frag") if b.kind == "tame" and len(b.shape) in dims]
        return self.pick(tiles) if tiles and not self.brief else None

    def exact_type(self, src, most):
        fits = [t for t in ("float32", "float64", "int32", "int64", src.dtype) if EXACT.get(t, 0) > most]
        return self.pick(fits) if fits else None

    def s_reduce(self):
        src = self.line_source((1, 2, 3))
        if src is None:
            return False
        d = self.r.randrange(len(src.shape))
        n, keep = src.shape[d], len(src.shape) == 1 or self.chance(0.3)
        shape = [1 if i == d else e for i, e in enumerate(src.shape) if i != d or keep]
        ops = ["sum", "sum", "max", "max", "min", "abssum", "absmax"]
        ops += ["bitand", "bitor", "bitxor"] if "int" in src.dtype else []
        op = self.pick(ops)
        bits = op.startswith("bit")
        dtype = src.dtype if bits else self.exact_type(src, (src.limit * n + 8) * max(1, self.times) * 4)
        if dtype is None:
            return False
        dst = self.tile(self.pick(("frag", "frag", "shared")), dtype, shape, 4, "wild")
        if dst is None:
            return False
        dst.keep = not self.stack
        extra = ", clear=False" if op != "abssum" and self.chance(0.3) else ""
        if "max" in op or op == "min":
            extra += ", nan_propagate=True" if self.chance(0.2) else ""
        dim = d if self.chance(0.7) else d - len(src.shape)
        self.emit(f"T.reduce_{op}({src.name}, {dst.name}, dim={dim}{extra})")
        self.work(self.product(src.shape) * 2)
        return True

    def s_scan(self):
        src = self.line_source((1, 2))
        if src is None:
            return False
        d = self.r.randrange(len(src.shape))
        op = self.pick(("cumsum", "cummax"))
        dtype = self.exact_type(src, src.limit * src.shape[d]) if op == "cumsum" else src.dtype
        dst = dtype and self.tile(self.pick(("frag", "shared")), dtype, src.shape, 4, "wild")
        if not dst:
            return False
        dst.keep = not self.stack
        back = ", reverse=True" if self.chance(0.4) else ""
        self.emit(f"T.{op}({src.name}, {dst.name}, dim={d}{back})")
        self.work(self.product(src.shape) * 4)
        return True
