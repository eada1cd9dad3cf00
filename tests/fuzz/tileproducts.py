"""Random programs of the shapes of attention, forwards and backwards: pipelined loops of two or three
products, the later ones fed by the first's result, with accumulators that are cleared, filled or masked in
the loop, reductions between, and tiles that are first and last used in different places. make(seed) as
tilegen's.
SPDX-License-Identifier: MIT
"""
import random

HEAD = """import tilelang
import tilelang.language as T

{names}@tilelang.jit
def f({args}):
    @T.prim_func
    def main({params}):
        with T.Kernel({grid}, threads={threads}) as ({blocks}):
"""
STEP = "    "


class Products:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.params, self.allocs, self.lines, self.count, self.indent = [], [], [], 0, 3

    def chance(self, p):
        return self.r.random() < p

    def pick(self, *items):
        return self.r.choice(items)

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def emit(self, *lines):
        self.lines += [STEP * self.indent + x for x in lines]

    def tensor(self, shape, dtype, stem="A"):
        name = self.name(stem)
        self.params.append(f'{name}: T.Tensor(({", ".join(map(str, shape))}), "{dtype}")')
        return name

    def tile(self, scope, shape, dtype, stem):
        name = self.name(stem)
        shape = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        self.allocs.append(f'{STEP * 3}{name} = T.alloc_{scope}(({shape}), "{dtype}")')
        return name

    def output(self, rows, cols, dtype):
        """A tensor of a block's own, with the begin of its index."""
        return self.tensor([2] * self.heads + [rows, cols], dtype, "O") + ("[by, " if self.heads else "[")

    # ------------------------------------------------------------------------- what an iteration does

    def each(self, rows, cols, line):
        return [f"for i, j in T.Parallel({rows}, {cols}):", STEP + line]

    def mask(self, k):
        return self.pick(f"bx * {self.rows} + i >= {k} * {self.step} + j", f"{k} * {self.step} + j < L",
                         f"i + j < {self.r.randint(0, 99)}", f"bx * {self.rows} + i < M",
                         f"T.abs(bx * {self.rows} + i - {k} * {self.step} - j) < {self.r.randint(1, 90)}")

    def begin(self, acc, k):
        """How an accumulator of each iteration begins: lines, and what the gemm says."""
        how = self.r.random()
        if how < 0.5:
            return [f"T.clear({acc})"], ""
        if how < 0.6:
            return [f"T.fill({acc}, {self.pick(0, 1, -3)})"], ""
        if how < 0.75:
            return [], ", clear_accum=True"
        line = f"{acc}[i, j] = T.if_then_else({self.mask(k)}, 0, {self.pick(-9, -2, 5)})"
        if how < 0.9:
            return self.each(self.rows, self.step, line), ""
        lines = self.each(self.rows, self.step, line)
        return [f"if {self.condition(k)}:", *[STEP + x for x in lines], "else:", f"{STEP}T.clear({acc})"], ""

    def condition(self, k):
        return self.pick(f"{k} % 2 == 0", f"{k} > 0", "bx == 0", f"{k} < 2", f"({k} + bx) % 3 != 1", f"{k} == bx", "M > 64")

    def load(self, k):
        """A tile of the loop: name, its first rows in words."""
        source = self.tensor(("L", self.dim), self.a)
        tile = self.tile("shared", (self.step, self.dim), self.a, "S")
        off = self.pick("", "", "", "", "", " - 8", " - 1", " + 3", f" - {self.step}", f" + {self.step}")
        head = ""
        if self.chance(0.1) and self.starts:
            head = f"{self.starts}[bx] * 8 + "
        at = f"{head}{k} * {self.step}{off}"
        src = f"{source}[{at}, 0]" if self.chance(0.7) else f"{source}[{at}:{at} + {self.step}, 0:{self.dim}]"
        lines = [f"T.copy({src}, {tile})"]
        if self.chance(0.07):
            self.before.append(f"T.clear({tile})")
            lines = [f"if {self.condition(k)}:", STEP + lines[0]]
        return tile, lines

    def between(self, s, k):
        """What happens to a product before the next one: some of it reads, some of it changes it."""
        out = []
        rows, step = self.rows, self.step
        for _ in range(self.pick(0, 1, 1, 2, 3)):
            what = self.r.randrange(6)
            if what == 0:
                out += self.each(rows, step, f"{s}[i, j] = T.max({s}[i, j], {self.pick(-5, -1, 0)})")
            elif what == 1:
                out += self.each(rows, step, f"{s}[i, j] = T.if_then_else({self.mask(k)}, {s}[i, j], {self.pick(0, -7)})")
            elif what == 2:
                out += self.each(rows, step, f"{s}[i, j] = T.min({s}[i, j], 9) + {k}")
            elif what == 3:
                m = self.tile("fragment", (rows,), "float32", "R")
                kind = self.pick("max", "sum", "max", "min", "absmax")
                clear = self.pick("", ", clear=False", ", clear=True")
                if clear == ", clear=False":
                    self.before.append(f"T.fill({m}, {self.pick(0, 3)})")
                out += [f"T.reduce_{kind}({s}, {m}, dim=1{clear})"]
                out += self.each(rows, step, f"{s}[i, j] = T.max({s}[i, j] - {m}[i], -6)")
            elif what == 4:
                t, u = (self.tile("fragment", (rows,), "float32", "R") for _ in range(2))
                self.before.append(f"T.clear({u})")
                out += [f"T.reduce_sum({s}, {t}, dim=1)", f"for i in T.Parallel({rows}):",
                        f"{STEP}{u}[i] = {u}[i]{self.pick('', ' * 2', '')} + {t}[i]"]
                self.sums.append(u)
            else:
                v = self.tensor(("L",), "float32")
                out += self.each(rows, step, f"{s}[i, j] = T.min({s}[i, j], 7) * {v}[{k} * {step} + j]")
        return out

    def turn(self, acc):
        """What the loop does to the accumulator that it adds to."""
        line = self.pick(f"{acc}[i, j] = T.min({acc}[i, j], 60)", f"{acc}[i, j] = {acc}[i, j] * 2 - {acc}[i, j]",
                         f"{acc}[i, j] = {acc}[i, j] - 1")
        return self.each(self.rows, self.dim, line)

    def late(self, units, lines, first):
        """Puts lines somewhere from the head to before unit `first`."""
        units.insert(self.r.randint(0, first) if self.chance(0.7) else 0, lines)

    def iteration(self, k):
        """Units of lines, in an order that respects what needs what."""
        q = self.fixed
        s = self.tile("fragment", (self.rows, self.step), "float32", "C")
        begin, clear = self.begin(s, k)
        kt, kcopy = self.load(k)
        first = f"T.gemm({q}, {kt}, {s}, transpose_B=True{clear}{self.policy()})"
        units = [[first]]
        self.late(units, begin, 0)
        self.late(units, kcopy, len(units) - 1)
        if self.chance(0.2):
            self.bias(units, s, k)
        units.append(self.between(s, k))
        if self.chance(0.15):
            self.bias(units, s, k)
        if self.chance(0.3):
            units.append(self.turn(self.acc))
        tiles = [kt]
        for _ in range(self.pick(0, 1, 1, 1, 2)):
            self.further(units, s, k, tiles)
        if self.chance(0.15):
            units.append(self.turn(self.acc))
        if self.chance(0.1):
            o = self.output("M", "L", "float32")
            units.append(self.each(self.rows, self.step, f"if bx * {self.rows} + i < M and {k} * {self.step} + j < L:") +
                         [STEP * 2 + f"{o}bx * {self.rows} + i, {k} * {self.step} + j] = {s}[i, j]"])
        return units

    def further(self, units, s, k, tiles):
        """A product fed by the first one's result, or one of its own that is then added."""
        what = self.r.random()
        if what < 0.13:
            self.scatter(units, s, k)
            return
        if what < 0.65:
            scope = self.pick("fragment", "fragment", "shared")
            p = self.tile(scope, (self.rows, self.step), self.a, "P")
            units.append([f"T.copy({s}, {p})"])
            vt = self.operand(units, k, tiles)
            units.append([f"T.gemm({p}, {vt}, {self.acc}{self.policy()})"])
            return
        vt = self.operand(units, k, tiles)
        u = self.tile("fragment", (self.rows, self.step), "float32", "C")
        begin, clear = self.begin(u, k)
        at = len(units)
        units.append([f"T.gemm({self.fixed}, {vt}, {u}, transpose_B=True{clear}{self.policy()})"])
        self.late(units, begin, at)
        units.append(self.each(self.rows, self.step, f"{s}[i, j] = {s}[i, j] + T.min({u}[i, j], 4)"))
        if what > 0.85:
            x = self.tile("fragment", (self.rows,), "float32", "R")
            self.before.append(f"T.clear({x})")
            units.append([f"T.reduce_sum({u}, {x}, dim=1, clear=False)"])
            self.sums.append(x)

    def bias(self, units, s, k):
        """A tile of the loop that a plain statement uses."""
        dtype = self.pick(self.a, "float32")
        source = self.tensor(("M", "L") if self.chance(0.6) else ("M", 256), dtype)
        t = self.tile("shared", (self.rows, self.step), dtype, "S")
        at = len(units)
        units.append(self.each(self.rows, self.step, f"{s}[i, j] = {s}[i, j] + {t}[i, j]"))
        self.late(units, [f"T.copy({source}[bx * {self.rows}, {k} * {self.step}], {t})"], at)

    def scatter(self, units, s, k):
        """A product whose rows are the loop's, added to a tensor in each iteration."""
        p = self.tile("shared", (self.rows, self.step), self.a, "P")
        d = self.tile("fragment", (self.step, self.dim), "float32", "C")
        b = self.tile("shared", (self.rows, self.dim), self.a, "S")
        source = self.tensor(("M", self.dim), self.a)
        self.before.append(f"T.copy({source}[bx * {self.rows}, 0], {b})")
        o = self.tensor(("L", self.dim), "float32", "Y")
        units.append([f"T.copy({s}, {p})"])
        at = len(units)
        clear = self.pick("", ", clear_accum=True")
        units.append([f"T.gemm({p}, {b}, {d}, transpose_A=True{clear}{self.policy()})"])
        if not clear:
            self.late(units, [f"T.clear({d})"], at)
        units.append([f"for i, j in T.Parallel({self.step}, {self.dim}):",
                      f"{STEP}if {k} * {self.step} + i < L:",
                      f"{STEP * 2}T.atomic_add({o}[{k} * {self.step} + i, j], {d}[i, j])"])

    def operand(self, units, k, tiles):
        if self.chance(0.12):
            return self.pick(*tiles)
        vt, copy = self.load(k)
        self.late(units, copy, len(units))
        tiles.append(vt)
        return vt

    def policy(self):
        return self.pick("", "", "", ", policy=T.GemmWarpPolicy.FullRow")

    # ------------------------------------------------------------------------- the kernel

    def loop(self):
        k = self.name("k")
        trips = self.pick(*[f"T.ceildiv(L, {self.step})"] * 4, "bx + 1", "bx", f"T.min(bx + 1, T.ceildiv(L, {self.step}))",
                          "0", "1", f"L // {self.step} - 1", "2")
        if self.starts and self.chance(0.1):
            trips = f"{self.starts}[bx]"
        start = self.pick("", "", "", "", "", "1, ", "bx, ", "T.max(bx - 1, 0), ")
        at, self.before = len(self.lines), []
        indent = self.indent
        if self.chance(0.1):
            self.emit(f"for {self.name('o')} in T.serial({self.pick(0, 1, 2)}):")
            self.indent += 1
        if self.chance(0.2):
            self.emit(f"T.clear({self.acc})")
        self.emit(f"for {k} in T.Pipelined({start}{trips}, num_stages={self.pick(0, 1, 1, 2, 2, 3)}):")
        self.indent += 1
        if self.chance(0.1):
            self.emit(f"if {self.pick(self.condition(k), f'{self.starts}[{k} % 4] != 0' if self.starts else 'bx > 0')}:")
            self.indent += 1
        for unit in self.iteration(k):
            self.emit(*unit)
        self.indent = indent
        self.lines[at:at] = [STEP * 3 + x + "  #!" for x in self.before]

    def stores(self):
        out = self.pick("float32", self.a)
        o = self.output("M", self.dim, out)
        if self.chance(0.5):
            self.emit(f"T.copy({self.acc}, {o}bx * {self.rows}, 0])")
        else:
            t = self.tile("shared", (self.rows, self.dim), out, "S")
            self.emit(f"T.copy({self.acc}, {t})", f"T.copy({t}, {o}bx * {self.rows}, 0])")
        for s in self.sums:
            o = self.output(f"T.ceildiv(M, {self.rows})", self.rows, "float32")
            self.emit(f"T.copy({s}, {o}bx, 0:{self.rows}])")

    def make(self):
        self.sums, self.before, self.heads = [], [], self.chance(0.2)
        self.threads = self.pick(128, 128, 128, 256, 256, 384)
        self.rows = self.pick(64, self.threads // 2, self.threads // 2)
        self.step, self.dim = self.pick(16, 32, 64, 64, 48), self.pick(16, 32, 64, 64)
        self.a = self.pick("float16", "float16", "bfloat16")
        sizes = {"M": self.pick(1, 64, 100, 192, 200), "L": self.pick(0, 1, 16, 40, 64, 128, 200)}
        self.starts = self.tensor((4,), "int32") if self.chance(0.3) else None
        self.acc = self.tile("fragment", (self.rows, self.dim), "float32", "C")
        source = self.tensor(("M", self.dim), self.a)
        self.fixed = self.tile(self.pick("shared", "shared", "shared", "fragment"), (self.rows, self.dim), self.a, "S")
        self.emit(f"T.copy({source}[bx * {self.rows}, 0], {self.fixed})  #!", f"T.clear({self.acc})  #!")
        for _ in range(self.pick(1, 1, 1, 2)):
            self.loop()
        self.stores()
        dynamic = [s for s in sizes if self.chance(0.3)]
        grid = f"T.ceildiv(M, {self.rows})" + (", 2" if self.heads else "")
        text = HEAD.format(names="".join(f'{s} = T.dynamic("{s}")\n' for s in dynamic),
                           args=", ".join(s for s in sizes if s not in dynamic), params=", ".join(self.params),
                           grid=grid, threads=self.threads, blocks="bx, by" if self.heads else "bx")
        text = text.replace("as (bx)", "as bx")
        return (text + "\n".join(self.allocs + self.lines) + "\n    return main\n",
                ["-p", ",".join(f"{k}={v}" for k, v in sizes.items())])


def make(seed):
    return Products(seed).make()
