"""Random programs of the shape that a target with TMA and wgmma specialises: pipelined loops that load
tiles and multiply, with what may stand around and between them. make(seed) as tilegen's.
SPDX-License-Identifier: MIT
"""
import random

HALVES = ("int4", "uint4", "float4_e2m1fn")
HEAD = """import tilelang
import tilelang.language as T

@tilelang.jit
def f({args}):
    @T.prim_func
    def main({params}):
        with T.Kernel({grid}, threads={threads}) as ({blocks}):
"""


class Roles:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines, self.allocs, self.params, self.args, self.count, self.indent = [], [], [], {}, 0, 3

    def chance(self, p):
        return self.r.random() < p

    def pick(self, items):
        return self.r.choice(list(items))

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def emit(self, text, tag=""):
        self.lines.append("    " * self.indent + text + tag)

    def alloc(self, word, shape, dtype, stem):
        name = self.name(stem)
        self.allocs.append(f'{"    " * 3}{name} = T.alloc_{word}({tuple(shape)}, "{dtype}")')
        return name

    def param(self, shape, dtype, stem):
        name = self.name(stem)
        shape = ", ".join(map(str, shape))
        if self.chance(0.06) and stem == "A" and shape.count(",") in (1, 2) and dtype not in HALVES:
            pitch = " ".join(shape.split(", ")[-1:])
            first = "".join(f"({pitch} + {self.pick((0, 8, 16))}) * {shape.split(', ')[1]}, " * (shape.count(",") > 1))
            self.params.append(f'{name}: T.StridedTensor(({shape}), ({first}{pitch} + {self.pick((0, 8, 16, 3))}, 1), '
                               f'"{dtype}")')
            return name
        self.params.append(f'{name}: T.Tensor(({shape}), "{dtype}")')
        return name

    # ---------------------------------------------------------------------------- the parts
    def types(self):
        return self.pick((("float16", "float32"), ("float16", "float32"), ("bfloat16", "float32"),
                          ("float32", "float32"), ("int8", "int32"), ("float16", "float16"),
                          ("float8_e4m3", "float32")))

    def size(self, name, values):
        self.args[name] = self.pick(values)

    def setup(self):
        self.threads = self.pick((128, 128, 256, 256, 384, 64, 96, 512))
        self.a, self.c = self.types()
        if self.threads > 256 and self.chance(0.7):
            self.threads = 128
        self.bm = self.pick((16, 32, 64, 64, 128, 128, 192, 256))
        self.bn = self.pick((8, 16, 32, 64, 64, 128, 96))
        self.bk = self.pick((16, 32, 32, 64, 64, 128))
        if self.bm * self.bn > 16384:
            self.bn = 64
        self.size("M", (1, 16, 64, 100, 128, 264))
        self.size("N", (16, 64, 72, 128, 200))
        self.size("K", (0, 16, 64, 72, 96, 128, 192, 250))
        self.acc = self.alloc("fragment", (self.bm, self.bn), self.c, "F")

    def operand(self, rows, step, first, second, k):
        """A tile of the loop and the gemm's operand made of it: (tile, copy lines)."""
        r, s = (first, second), (rows, step)
        flip = self.chance(0.4)
        shape = (s[1], s[0]) if flip else s
        batched = self.chance(0.1)
        tensor = self.param((["2"] if batched else []) + list((r[1], r[0]) if flip else r), self.a, "A")
        kind = "shared" if self.chance(0.9) else "fragment"
        tile = self.alloc(kind, shape, self.a, "S")
        block = f"{'by' if first == 'M' else 'bx'} * {rows}"
        at = f"({k}) * {step}" if not k.isidentifier() else f"{k} * {step}"
        if self.chance(0.08):
            block += f" - {self.pick((1, 8, 16))}"
        if self.chance(0.08):
            at += f" + {self.pick((1, 8, 16))}"
        idx = [at, block] if flip else [block, at]
        if batched:
            idx = [self.pick(("0", "1", f"{k} % 2"))] + idx
        if self.chance(0.3):
            ext = shape
            sl = [f"{i}:{i} + {e}" for i, e in zip(idx[-2:], ext)]
            src = f"{tensor}[{', '.join(idx[:-2] + sl)}]"
        else:
            src = f"{tensor}[{', '.join(idx)}]"
        return tile, shape, flip, src

    def touch(self, tile, shape):
        """The consumers change a tile they were given."""
        what = self.pick(("scale", "fill", "part", "row"))
        if what == "scale":
            self.emit(f"for i, j in T.Parallel({shape[0]}, {shape[1]}):")
            self.emit(f"    {tile}[i, j] = {tile}[i, j] * 2")
        elif what == "fill":
            self.emit(f"T.fill({tile}[0:{self.r.randint(1, shape[0])}, 0:{shape[1]}], 1)")
        elif what == "part":
            self.emit(f"for j in T.Parallel({shape[1]}):")
            self.emit(f"    {tile}[{self.r.randrange(shape[0])}, j] = 1")
        else:
            self.emit(f"for i in T.Parallel({shape[0]}):")
            self.emit(f"    {tile}[i, 0] = {tile}[i, {shape[1] - 1}]")

    def condition(self, k):
        return self.pick((f"{k} % 2 == 0", f"{k} > 0", "bx == 0", "by == 0", f"{k} < 2", f"({k} + bx) % 3 != 1",
                          "M > 64", f"{k} == 1"))

    def guarded(self, k, p, lines):
        if self.chance(p):
            if lines[0].startswith("T.copy"):
                self.head.append(f"T.clear({lines[0].split(', ')[-1][:-1]})")
            self.emit(f"if {self.condition(k)}:")
            for x in lines:
                self.emit("    " + x)
        else:
            for x in lines:
                self.emit(x)

    def loop(self):
        k = self.name("k")
        outer = None
        if self.chance(0.15):
            outer = self.name("o")
            self.emit(f"for {outer} in T.{self.pick(('serial', 'serial', 'unroll'))}({self.pick((0, 1, 2, 3))}):")
            self.indent += 1
        elif self.chance(0.1):
            self.emit(f"if {self.pick(('bx == 0', 'by > 0', 'K > 64', 'M > 100', '(bx + by) % 2 == 0'))}:")
            self.indent += 1
            outer = "if"
        trips = self.pick((f"T.ceildiv(K, {self.bk})",) * 4 + (f"T.ceildiv(K, {self.bk}) - 1", "by + 1", "3",
                                                               f"K // {self.bk}", "T.min(bx, 2)"))
        start = self.pick(("", "", "", "", "", "1, ", "bx, "))
        self.emit(f"for {k} in T.Pipelined({start}{trips}, num_stages={self.pick((0, 1, 2, 2, 3, 3, 4))}):")
        self.indent += 1
        at = k if outer in (None, "if") or self.chance(0.5) else f"{k} + {outer}"
        if self.chance(0.1):
            x = self.name("x")
            self.emit(f"{x} = {self.pick((f'({k} * 3) % 4', f'{k} + 1', f'T.max({k} - 1, 0)'))}")
            at = x
        self.iteration(k, at)
        self.indent -= 1
        if outer:
            self.indent -= 1

    def iteration(self, k, at):
        a, ashape, aflip, asrc = self.operand(self.bm, self.bk, "M", "K", at)
        same = self.bm == self.bn and self.chance(0.1)
        if same:
            b, bshape, bflip = a, ashape, aflip
        else:
            b, bshape, bflip, bsrc = self.operand(self.bn, self.bk, "N", "K", at)
        order = [lambda: self.guarded(k, 0.08, [f"T.copy({asrc}, {a})"])]
        if not same:
            order.append(lambda: self.guarded(k, 0.08, [f"T.copy({bsrc}, {b})"]))
        self.r.shuffle(order)
        for o in order:
            o()
        if self.chance(0.2):
            self.touch(a, ashape)
        if self.chance(0.1):
            self.touch(b, bshape)
        # a is (M, K) unless flipped; b is (N, K) unless flipped
        flags = (", transpose_A=True" if aflip else "") + ("" if bflip else ", transpose_B=True")
        policy = self.pick(("", "", ", policy=T.GemmWarpPolicy.FullRow", ", policy=T.GemmWarpPolicy.FullCol"))
        clear = f", clear_accum={k} == 0" if self.chance(0.1) else ""
        gemm = [f"T.gemm({a}, {b}, {self.acc}{flags}{policy}{clear})"]
        self.guarded(k, 0.12, gemm)
        if self.chance(0.15):
            self.guarded(k, 0.3, gemm)
        if self.chance(0.15):
            self.touch(b, bshape)
            if self.chance(0.4):
                self.emit(gemm[0])
        if self.chance(0.15):
            self.row_sum(a, ashape)
        if self.chance(0.08):
            self.emit(f"for i, j in T.Parallel({self.bm}, {self.bn}):")
            self.emit(f"    {self.acc}[i, j] = T.min({self.acc}[i, j], 100)")
        if self.chance(0.08):
            self.last = a, ashape

    def row_sum(self, tile, shape):
        if "shared" not in next(x for x in self.allocs if f" {tile} = " in x):
            return
        s = self.alloc("fragment", (shape[0],), "float32", "R")
        self.head.append(f"T.clear({s})")
        self.emit(f"for i in T.Parallel({shape[0]}):")
        self.emit(f"    {s}[i] = {s}[i] + T.cast({tile}[i, {self.r.randrange(shape[1])}], \"float32\")")
        self.sums.append((s, shape[0]))

    def stores(self):
        out = self.pick((self.c, self.a, self.c)) if self.a != "float8_e4m3" else self.c
        kind = self.r.random()
        c = self.param(("M", "N"), out, "O")
        at = f"{c}[by * {self.bm}, bx * {self.bn}]"
        if kind < 0.4:
            self.emit(f"T.copy({self.acc}, {at})")
        elif kind < 0.85:
            s = self.alloc("shared", (self.bm, self.bn), out, "S")
            self.emit(f"T.copy({self.acc}, {s})")
            self.emit(f"T.copy({s}, {at})")
            if self.chance(0.3):
                d = self.param(("M", "N"), out, "O")
                self.emit(f"T.copy({s}, {d}[by * {self.bm}, bx * {self.bn}])")
        else:
            self.emit(f"for i, j in T.Parallel({self.bm}, {self.bn}):")
            self.emit(f"    if by * {self.bm} + i < M and bx * {self.bn} + j < N:")
            self.emit(f"        {c}[by * {self.bm} + i, bx * {self.bn} + j] = {self.acc}[i, j] + 1")
        for s, n in self.sums:
            o = self.param((f"T.ceildiv(M, {self.bm})", f"T.ceildiv(N, {self.bn})", n), "float32", "O")
            self.emit(f"T.copy({s}, {o}[by, bx, 0:{n}])")

    def make(self):
        self.head, self.sums, self.last = [], [], None
        self.setup()
        if self.chance(0.15):
            self.emit(f"T.use_swizzle({self.pick((1, 2, 3, 10))})")
        self.emit(f"T.clear({self.acc})  #!")
        at = len(self.lines)
        for _ in range(self.pick((1, 1, 1, 2, 2, 3))):
            self.loop()
            if self.chance(0.15):
                self.emit(f"for i, j in T.Parallel({self.bm}, {self.bn}):")
                self.emit(f"    {self.acc}[i, j] = T.min({self.acc}[i, j], 50)")
            if self.chance(0.1):
                self.stores()
                self.sums = []
        self.stores()
        self.lines[at:at] = ["            " + x + "  #!" for x in self.head]
        sizes = self.args
        split = self.chance(0.3)  # some sizes at run time
        dynamic = [s for s in sizes if split and self.chance(0.5)]
        text = HEAD.format(args=", ".join(s for s in sizes if s not in dynamic), params=", ".join(self.params),
                           grid=f"T.ceildiv(N, {self.bn}), T.ceildiv(M, {self.bm})", threads=self.threads,
                           blocks="bx, by")
        names = "".join(f'{s} = T.dynamic("{s}")\n' for s in dynamic)
        text = text.replace("@tilelang.jit", names + "@tilelang.jit", 1)
        text += "\n".join(self.allocs + self.lines) + "\n    return main\n"
        return text, ["-p", ",".join(f"{k}={v}" for k, v in sizes.items())]


def make(seed):
    return Roles(seed).make()
