"""Random programs of loops that bring tiles by every way there is (copies, gathers, columns of a
convolution, under conditions, filled or changed afterwards, four bits an element) and of what uses them:
sums, products, reductions, scans, views, atomics, stores by single threads. make(seed) as tilegen's.
SPDX-License-Identifier: MIT
"""
from tileroles import HALVES, Roles

TYPES = ("float16", "float16", "float16", "bfloat16", "float32", "float32", "int8", "int32", "uint8", "int16")
THREADS = (32, 64, 96, 128, 128, 128, 256, 256, 33, 48, 100, 192)


class Streams(Roles):
    # -------------------------------------------------------------------------------- declarations
    def place(self, size, name):
        """A size as a parameter, known at run time or not; its text."""
        n = self.name(name)
        self.args[n] = size
        return n

    def tensor(self, shape, dtype, stem="A"):
        return self.param([str(e) for e in shape], dtype, stem)

    def fragment(self, shape, dtype="float32", clear=True):
        f = self.alloc("fragment", shape, dtype, "F")
        if clear:
            self.head.append(f"T.clear({f})  #!")
        return f

    def shared(self, shape, dtype, clear=False):
        s = self.alloc("shared", shape, dtype, "S")
        if clear:
            self.head.append(f"T.clear({s})  #!")
        return s

    def grid_output(self, shape, dtype, lead=()):
        """An output of which each block owns a part, and its leading indices."""
        o = self.tensor([g[1] for g in self.grid] + list(lead) + list(shape), dtype, "O")
        return o, ", ".join(g[0] for g in self.grid)

    def block(self):
        return self.pick([g[0] for g in self.grid])

    def loop(self, names, extents):
        self.emit(f"for {names} in T.Parallel({', '.join(map(str, extents))}):")

    # -------------------------------------------------------------------------------- conditions
    def uniform(self, k):
        """A condition that is the same for all threads of the block."""
        b = self.block()
        return self.pick((f"{k} % 2 == {self.r.randint(0, 1)}", f"{k} > 0", f"{b} == {self.r.randint(0, 1)}",
                          f"({k} + {b}) % 3 != 1", f"{k} < {self.r.randint(0, 3)}", f"{self.index}[{k}] > 0",
                          f"{self.index}[{k} + {b}] % 2 == 0", f"{self.rows_text} > {k} * {self.m}",
                          f"{k} == {self.r.randint(0, 3)}", f"{b} > 0 and {k} != 1", f"not ({k} + {b}) % 2 == 0"))

    def mask(self, k, rows="i", cols="j"):
        return self.pick((f"{self.start(k)} + {rows} < {self.rows_text}", f"{cols} < {self.r.randint(0, self.n)}",
                          f"({rows} + {cols}) % {self.r.randint(2, 3)} == 0", f"{rows} >= {cols}",
                          f"{k} * {self.n} + {cols} >= {self.r.randint(0, 40)}", f"{k} * {self.m} + {rows} != 3",
                          f"{rows} < {self.index}[{k}]", f"{self.start(k)} + {rows} < {self.rows_text} and {cols} != 1",
                          f"{self.block()} * 8 + {rows} >= {k} * 4 + {cols}"))

    def start(self, k):
        return f"{k} * {self.m}"

    # -------------------------------------------------------------------------------- ways in
    def bring(self, k, at):
        """A tile of m x n elements filled in this iteration: (tile, its type)."""
        dtype = self.pick(TYPES)
        if self.chance(0.12):
            return self.bring_halves(k, at)
        way = self.pick((self.way_copy, self.way_copy, self.way_copy, self.way_gather, self.way_gather,
                         self.way_columns, self.way_parts, self.way_address))
        tile = self.shared((self.m, self.n), dtype)
        self.under(k, tile, way(tile, dtype, k, at))
        if self.chance(0.2):
            self.change(tile, k)
        return tile, dtype

    def under(self, k, tile, lines):
        """Lines that fill a tile, at times under a condition, with something else where it fails."""
        r = self.r.random()
        if r > 0.3:
            for x in lines:
                self.emit(x)
            return
        self.emit(f"if {self.uniform(k)}:")
        for x in lines:
            self.emit("    " + x)
        if r < 0.15:
            self.emit("else:")
            self.emit(f"    T.fill({tile}, {self.r.randint(0, 3)})")
        else:
            self.head.append(f"T.clear({tile})  #!")

    def source(self, dtype):
        rows = self.rows_text if self.chance(0.7) else str(self.pick((1, self.m, 40, 100)))
        cols = self.pick((self.n, self.n, self.n * 2, self.n * 2, self.n + 8, max(1, self.n - 3), self.n * 3 + 1))
        return self.tensor((rows, cols), dtype)

    def way_copy(self, tile, dtype, k, at):
        a = self.source(dtype if self.chance(0.9) else self.pick(TYPES))
        row = self.pick((f"({at}) * {self.m}", f"{self.block()} * {self.m}", f"({at} + {self.block()}) * {self.m}",
                         f"({at}) * {self.m} - 3", f"{self.block()} * {self.m} + ({at}) % 3"))
        col = self.pick(("0", "0", "0", f"({at}) * {self.n}", "8", "1", f"({at}) % 2 * 8"))
        if self.chance(0.3):
            return [f"T.copy({a}[{row}:{row} + {self.m}, {col}:{col} + {self.n}], {tile})"]
        return [f"T.copy({a}[{row}, {col}], {tile})"]

    def way_gather(self, tile, dtype, k, at):
        a = self.source(dtype if self.chance(0.9) else self.pick(TYPES))
        row = self.pick((f"{self.index}[({at}) * {self.m} + i]", f"{self.index}[({at}) + i]", f"({at}) * {self.m} + i",
                         f"(({at}) * {self.m} + i) * 2", f"({at}) * {self.m} + i - 1", f"{self.m - 1} - i",
                         f"({at}) + i // 2"))
        col = self.pick(("j", "j", "j", f"j + ({at})", f"{self.n - 1} - j", f"{self.index}[j]", f"(j + 1) % {self.n}",
                         "j // 2", f"j + ({at}) * {self.n}"))
        value = f"{a}[{col}, {row}]" if self.chance(0.15) else f"{a}[{row}, {col}]"
        r = self.r.random()
        head = f"for i, j in T.Parallel({self.m}, {self.n}):"
        if r < 0.45:
            other = self.pick(("0", "0", "0", "0", "1", f"T.cast(0, \"{dtype}\")"))
            return [head, f"    {tile}[i, j] = T.if_then_else({self.mask(at)}, {value}, {other})"]
        if r < 0.55:
            return [head, f"    if {self.mask(at)}:", f"        {tile}[i, j] = {value}", "    else:",
                    f"        {tile}[i, j] = 0"]
        if r < 0.65:
            return [head, f"    {tile}[i, j] = {value} + {self.pick((1, f'{value}', 'i % 2'))}"]
        return [head, f"    {tile}[i, j] = {value}"]

    def way_columns(self, tile, dtype, k, at):
        channels = self.pick((self.n, self.n * 2, 8, 4, 3, self.n + 1))
        h = self.pick((1, 3, 5, 8))
        image = self.tensor((self.pick((1, 2)), h, self.pick((h, h + 2)), channels), dtype)
        kernel, stride, dilation, pad = self.pick((1, 2, 3)), self.pick((1, 1, 2)), self.pick((1, 1, 2)), self.pick((0, 1, 2))
        while h + 2 * pad < (kernel - 1) * dilation + 1:
            pad += 1
        step = self.pick((self.block(), f"({at})", f"{self.block()} + ({at})"))
        return [f"T.im2col({image}, {tile}, {step}, {self.pick((f'({at})', '0', '1'))}, {kernel}, {stride}, {dilation}, {pad})"]

    def way_parts(self, tile, dtype, k, at):
        """Two copies that share a tile, or a copy beside a fill, in either order."""
        a, b = self.source(dtype), self.source(dtype)
        h = self.r.randint(1, self.m)
        lines = [f"T.copy({a}[({at}) * {self.m}:({at}) * {self.m} + {h}, 0:{self.n}], {tile}[0:{h}, 0:{self.n}])"]
        if h < self.m and self.chance(0.5):
            lines.append(f"T.copy({b}[({at}), 0], {tile}[{h}:{self.m}, 0:{self.n}])")
            self.r.shuffle(lines)
            return lines
        if self.chance(0.5):
            return [f"T.{self.pick(('clear(', 'clear('))}{tile})"] + lines
        first = self.way_copy(tile, dtype, k, at)
        low = self.r.randrange(self.m)
        return first + [f"T.fill({tile}[{low}:{self.m}, 0:{self.n}], {self.r.randint(0, 3)})"]

    def way_address(self, tile, dtype, k, at):
        a = self.tensor((3, self.rows_text, self.n), dtype)
        x = self.name("x")
        value = self.pick((f"{self.index}[{at}]", f"{self.index}[({at}) + {self.block()}] % 3", f"T.max({self.index}[{at}], 0)"))
        return [f"{x} = {value}", f"T.copy({a}[{x}, ({at}) * {self.pick((1, self.m))}, 0], {tile})"]

    def bring_halves(self, k, at):
        dtype, n = self.pick(HALVES), self.n + self.n % 2
        a = self.tensor((self.rows_text, n * self.pick((1, 2))), dtype)
        low = self.shared((self.m, n), dtype)
        lines = [f"T.copy({a}[({at}) * {self.m}, {self.pick(('0', '0', f'({at}) * {n}'))}], {low})"]
        if self.chance(0.2):
            lines = [f"for i, j in T.Parallel({self.m}, {n}):", f"    {low}[i, j] = {a}[({at}) * {self.m} + i, j]"]
        self.under(k, low, lines)
        if self.chance(0.25):
            o = self.grid_output((self.m, n), dtype, (8,))
            self.emit(f"T.copy({low}, {o[0]}[{o[1]}, {k}, 0, 0])")
        wide = self.pick(("float16", "float32", "bfloat16") if dtype[0] == "f" else ("float16", "int8", "float32"))
        tile = self.shared((self.m, self.n), wide) if self.chance(0.7) else self.fragment((self.m, self.n), wide, False)
        self.loop("i, j", (self.m, self.n))
        self.emit(f"    {tile}[i, j] = T.cast({low}[i, j], \"{wide}\"){self.pick(('', ' * 2', ' + 1', ' + i % 2'))}")
        return tile, wide

    def change(self, tile, k):
        form = self.pick(("scale", "fill", "part", "mask", "row", "line"))
        if form == "fill":
            self.emit(f"T.fill({tile}[0:{self.r.randint(1, self.m)}, 0:{self.n}], 1)")
        elif form == "part":
            self.loop("j", (self.n,))
            self.emit(f"    {tile}[{self.r.randrange(self.m)}, j] = {self.pick(('1', 'j % 3', f'{self.index}[j] % 3'))}")
        elif form == "row":
            self.loop("i", (self.m,))
            self.emit(f"    {tile}[i, 0] = {tile}[i, {self.n - 1}]")
        elif form == "line":
            self.emit(f"T.fill({tile}[{self.r.randrange(self.m)}, 0:{self.n}], 2)")
        else:
            self.loop("i, j", (self.m, self.n))
            if form == "mask":
                self.emit(f"    if {self.mask(k)}:")
                self.emit(f"        {tile}[i, j] = {tile}[i, j] + 1")
            else:
                self.emit(f"    {tile}[i, j] = {tile}[i, j] * 2")

    # -------------------------------------------------------------------------------- uses
    def use(self, k, tile, dtype):
        uses = [self.use_sum] * 4 + [self.use_gemm] * 3 + [self.use_rows, self.use_scan, self.use_fragment,
                                                          self.use_fragment, self.use_view, self.use_atomic,
                                                          self.use_store, self.use_flag, self.use_reducer]
        f = self.pick(uses)
        if self.chance(0.12):
            self.emit(f"if {self.uniform(k)}:")
            self.indent += 1
            f(k, tile, dtype)
            self.indent -= 1
        else:
            f(k, tile, dtype)

    def total(self):
        """The fragment of sums of elements."""
        if not self.acc:
            self.acc = self.fragment((self.m, self.n))
        return self.acc

    def use_sum(self, k, tile, dtype):
        m, n = self.m, self.n
        row = self.pick(("i", "i", "i", f"{m - 1} - i", f"(i + 1) % {m}", "i // 2", f"T.min(i, {m // 2})"))
        col = self.pick(("j", "j", "j", f"{n - 1} - j", f"(j + {self.r.randint(1, n)}) % {n}", "j // 2", f"({k} + j) % {n}"))
        if tile[0] == "F":
            row = "i"
            col = "j" if self.chance(0.6) else col
        total = self.total()
        self.loop("i, j", (m, n))
        if self.chance(0.2):
            self.emit(f"    if {self.mask(k)}:")
            self.emit(f"        {total}[i, j] += T.cast({tile}[{row}, {col}], \"float32\")")
        else:
            self.emit(f"    {total}[i, j] += T.cast({tile}[{row}, {col}], \"float32\"){self.pick(('', ' * 2', f' + {k}'))}")

    def use_gemm(self, k, tile, dtype):
        """The tile as either operand, the other one brought in as well or constant."""
        if self.threads % 32 or dtype not in ("float16", "bfloat16", "float32", "int8") or self.m % 16 or self.n % 16:
            return self.use_sum(k, tile, dtype)
        acc_type = "int32" if dtype == "int8" else "float32"
        p = self.pick((16, 32, 64, 64, 128))
        b, flip = self.shared((p, self.n), dtype), True
        if self.chance(0.5):
            self.allocs.pop()
            b, flip = self.shared((self.n, p), dtype), False
        if self.chance(0.6):
            src = self.tensor((self.pick((p, 2 * p)), self.n * 3) if flip else (self.n * 3, self.pick((p, 2 * p))), dtype)
            at = f"0, {k} * {self.n}" if flip else f"{k} * {self.n}, 0"
            self.emit(f"T.copy({src}[{at}], {b})")
        else:
            i, j = (p, self.n) if flip else (self.n, p)
            self.emit(f"for i, j in T.Parallel({i}, {j}):")
            self.emit(f"    {b}[i, j] = (i + j + {k}) % 3 - 1")
        key = (p, acc_type)
        if key not in self.products:
            self.products[key] = self.fragment((self.m, p), acc_type)
        flags = ", transpose_B=True" if flip else ""
        flags += self.pick(("", "", "", f", clear_accum={k} == 0", ", policy=T.GemmWarpPolicy.FullRow",
                            ", policy=T.GemmWarpPolicy.FullCol"))
        self.emit(f"T.gemm({tile}, {b}, {self.products[key]}{flags})")

    def use_rows(self, k, tile, dtype):
        f = self.fragment((self.m, self.n), "float32", False)
        d = self.r.randint(0, 1)
        row = self.fragment((self.n if d == 0 else self.m,), "float32")
        self.emit(f"T.copy({tile}, {f})")
        op = self.pick(("sum", "sum", "max", "min", "absmax"))
        keep = self.pick((", clear=False", ", clear=False", ""))
        self.emit(f"T.reduce_{op}({f}, {row}, dim={d}{keep})")
        if self.chance(0.5):
            total = self.total()
            self.loop("i, j", (self.m, self.n))
            self.emit(f"    {total}[i, j] = {total}[i, j] + T.min({row}[{'j' if d == 0 else 'i'}], 16)")
        self.small.append((row, self.n if d == 0 else self.m))

    def use_reducer(self, k, tile, dtype):
        r = self.name("R")
        self.allocs.append(f'{"    " * 3}{r} = T.alloc_reducer(({self.m},), "float32", op="{self.pick(("sum", "max"))}")')
        out = self.fragment((self.m,), "float32", False)
        self.emit(f"T.reducer_init({r})")
        self.loop("i, j", (self.m, self.n))
        self.emit(f"    T.reducer_update({r}[i], T.cast({tile}[i, j], \"float32\"))")
        self.emit(f"T.finalize_reducer({r}, {out})")
        total = self.total()
        self.loop("i, j", (self.m, self.n))
        self.emit(f"    {total}[i, j] += {out}[i]")

    def use_scan(self, k, tile, dtype):
        f = self.fragment((self.m, self.n), "float32", False) if self.chance(0.6) else self.shared((self.m, self.n), "float32")
        self.emit(f"T.copy({tile}, {f})")
        self.emit(f"T.{self.pick(('cumsum', 'cummax'))}({f}, dim={self.r.randint(0, 1)}{self.pick(('', ', reverse=True'))})")
        self.use_sum(k, f, "float32")

    def use_fragment(self, k, tile, dtype):
        """A fragment read where its elements are not: shifted, permuted, in parts, by a counter."""
        f = self.fragment((self.m, self.n), self.pick(("float32", "float16")), False)
        self.emit(f"T.copy({tile}, {f})")
        total, m, n = self.total(), self.m, self.n
        form = self.pick(("shift", "rows", "part", "counter", "bound", "self", "column"))
        if form == "part":
            h, w = self.r.randint(1, m), self.r.randint(1, n)
            self.loop("i, j", (h, w))
            self.emit(f"    {total}[i, j] += {f}[i + {m - h}, j + {self.r.randint(0, n - w)}]")
        elif form == "counter":
            w = self.pick([d for d in (1, 2, 3, 4, 8, 16) if n % d == 0])
            c = self.name("c")
            self.emit(f"for {c} in T.{self.pick(('serial', 'unroll'))}({n // w if n // w < 5 else 2}):")
            self.loop_in("i, j", (m, w))
            self.emit(f"        {total}[i, {c} * {w} + j] += {f}[i, {c} * {w} + j] * ({c} + 1)")
        elif form == "self":
            self.loop("i, j", (m, n))
            self.emit(f"    {f}[i, j] = {f}[i, j] * 2 + j % 2")
            self.loop("i, j", (m, n))
            self.emit(f"    {total}[i, j] += {f}[i, j]")
        elif form == "column":
            self.loop("i, j", (m, n))
            self.emit(f"    {total}[i, j] += {f}[i, {self.r.randrange(n)}] + {f}[{self.r.randrange(m)}, j]")
        else:
            text = {"shift": f"{f}[i, (j + {self.r.randint(0, n)}) % {n}]", "rows": f"{f}[{m - 1} - i, j]",
                    "bound": f"{f}[i, T.min(j + {k}, {n - 1})]"}[form]
            self.loop("i, j", (m, n))
            self.emit(f"    {total}[i, j] += {text}")

    def loop_in(self, names, extents):
        self.indent += 1
        self.loop(names, extents)
        self.indent -= 1

    def use_view(self, k, tile, dtype):
        if tile[0] != "S":
            return self.use_sum(k, tile, dtype)
        v, m, n = self.name("V"), self.m, self.n
        form = self.pick(("turn", "flat", "bytes"))
        total = self.total()
        if form == "bytes" and dtype in ("float16", "bfloat16", "int16"):
            self.emit(f"{v} = T.view({tile}, ({m}, {n}), \"{self.pick(('int16', 'uint16'))}\")")
            text = f"T.cast({v}[i, j] % 8, \"float32\")"
        elif form == "flat":
            self.emit(f"{v} = T.reshape({tile}, ({m * n},))")
            text = f"T.cast({v}[i * {n} + j], \"float32\")"
        else:
            self.emit(f"{v} = T.reshape({tile}, ({n}, {m}))")
            text = f"T.cast({v}[j, i], \"float32\")"
        self.loop("i, j", (m, n))
        self.emit(f"    {total}[i, j] += {text}")

    def use_atomic(self, k, tile, dtype):
        form = self.pick(("tile", "histogram", "element", "max"))
        if form == "tile" or form == "max":
            z = self.tensor((self.rows_text, self.n), "float32", "Z")
            f = self.fragment((self.m, self.n), "float32", False)
            self.emit(f"T.copy({tile}, {f})")
            op = "add" if form == "tile" else self.pick(("max", "min"))
            self.emit(f"T.atomic_{op}({z}[{self.block()} * {self.pick((0, 1, self.m))}, 0], {f})")
        elif form == "histogram":
            h = self.shared((8,), "int32", True)
            self.loop("i, j", (self.m, self.n))
            self.emit(f"    T.atomic_add({h}[T.cast({tile}[i, j], \"int32\") % 8], 1)")
            self.tiny.append((h, 8, "int32"))
        else:
            z = self.tensor((self.n,), self.pick(("int32", "float32")), "Z")
            self.loop("i, j", (self.m, self.n))
            self.emit(f"    T.atomic_add({z}[j], T.cast({tile}[i, j], \"int32\"))")

    def use_store(self, k, tile, dtype):
        o, lead = self.grid_output((self.m, self.n), self.pick((dtype, dtype, "float32")), (8,))
        if self.chance(0.6):
            self.emit(f"T.copy({tile}, {o}[{lead}, {k}, 0, 0])")
        else:
            self.loop("i, j", (self.m, self.n))
            self.emit(f"    {o}[{lead}, {k}, i, j] = {tile}[i, j]")

    def use_flag(self, k, tile, dtype):
        """Threads that see something store the same, and all read it."""
        if tile[0] != "S":
            return self.use_sum(k, tile, dtype)
        s = self.shared((4,), self.pick(("int32", "float32", "float16", "uint8")), True)
        self.threads_bound = True
        at = self.pick(("0", "1", f"{k} % 4"))
        what = self.pick(("1", "3", f"{k} + 1"))
        seen = self.pick((f"{tile}[{self.r.randrange(self.m)}, tx % {self.n}] > 0", f"tx % {self.r.randint(2, 5)} == 1",
                          f"{self.index}[tx] > 0"))
        if self.chance(0.3):
            self.emit(f"T.clear({s})")
        self.emit(f"if {seen}:")
        self.emit(f"    {s}[{at}] = {what}")
        total = self.total()
        self.loop("i, j", (self.m, self.n))
        self.emit(f"    {total}[i, j] += T.cast({s}[{self.pick(('0', '1', 'j % 4'))}], \"float32\")")
        self.tiny.append((s, 4, None))

    # -------------------------------------------------------------------------------- the kernel
    def stream(self):
        outer = None
        if self.chance(0.2):
            outer = self.name("o")
            self.emit(f"for {outer} in T.{self.pick(('serial', 'serial', 'unroll'))}({self.pick((0, 1, 2, 3))}):")
            self.indent += 1
        elif self.chance(0.12):
            self.emit(f"if {self.uniform('1')}:")
            self.indent += 1
            outer = "if"
        k = self.name("k")
        trips = self.pick(("0", "1", "2", "3", "3", "4", f"{self.block()}", f"{self.block()} + 1", self.trips, self.trips,
                           f"T.ceildiv({self.rows_text}, {self.m})", f"T.min({self.index}[{self.block()}], 3)"))
        start = self.pick(("", "", "", "", "1, ", f"{self.block()}, "))
        kind = self.pick(("Pipelined",) * 5 + ("serial",))
        stages = f", num_stages={self.pick((0, 1, 2, 2, 3, 3, 4))}" if kind == "Pipelined" else ""
        if "ceildiv" in trips:
            trips = f"T.min({trips}, 7)"
        self.emit(f"for {k} in T.{kind}({start}{trips}{stages}):")
        self.indent += 1
        at = f"{k} + {outer}" if outer and outer != "if" and self.chance(0.5) else k
        tiles = [self.bring(k, at) for _ in range(self.pick((1, 1, 1, 2, 2, 3)))]
        for t in tiles:
            for _ in range(self.pick((1, 1, 2))):
                self.use(k, *t)
                if self.chance(0.1):
                    self.change(t[0], k)
        self.indent -= 2 if outer else 1

    def stores(self):
        for f, shape, dtype in [(self.acc, (self.m, self.n), "float32")] * bool(self.acc) + \
                [(f, (self.m, p), t) for (p, t), f in self.products.items()]:
            for _ in range(self.pick((1, 1, 2))):
                self.store_tile(f, shape, dtype)
        for f, n in self.small:
            o, lead = self.grid_output((n,), "float32")
            self.emit(f"T.copy({f}, {o}[{lead}, 0])")
        for s, n, dtype in self.tiny:
            o, lead = self.grid_output((n,), dtype or "float32")
            self.loop("i", (n,))
            self.emit(f"    {o}[{lead}, i] = {s}[i]")

    def store_tile(self, f, shape, dtype):
        out = self.pick((dtype, "float16" if dtype == "float32" else dtype))
        last = self.grid[0]
        ragged = self.pick((0, 0, 0, 1, 3, shape[0] // 2))
        rows = max(1, last[1] * shape[0] - ragged)
        o = self.tensor([g[1] for g in self.grid[1:]] + [rows, shape[1]], out, "O")
        lead = "".join(f"{g[0]}, " for g in self.grid[1:])
        form = self.pick(("copy", "copy", "shared", "shared", "shared", "loop", "turn", "shift"))
        place = f"{o}[{lead}{last[0]} * {shape[0]}, 0]"
        if form == "copy":
            self.emit(f"T.copy({f}, {place})")
        elif form == "shared":
            s = self.alloc("shared", shape, out, "S")
            self.emit(f"T.copy({f}, {s})")
            if self.chance(0.2):
                self.emit(f"T.fill({s}[0:{self.r.randint(1, shape[0])}, 0:{shape[1]}], 1)")
            self.emit(f"T.copy({s}, {place})")
        else:
            read = {"loop": f"{f}[i, j] + 1", "turn": f"{f}[{shape[0] - 1} - i, j]",
                    "shift": f"{f}[i, (j + {self.r.randint(0, 9)}) % {shape[1]}]"}[form]
            self.loop("i, j", shape)
            self.emit(f"    {o}[{lead}{last[0]} * {shape[0]} + i, j] = {read}")

    def kernel(self):
        """The text of one launch."""
        self.lines, self.allocs, self.head, self.indent = [], [], [], 3
        self.acc, self.products, self.small, self.tiny, self.threads_bound = None, {}, [], [], False
        self.threads = self.pick(THREADS)
        self.grid = [(n, self.pick((1, 2, 3, 5))) for n in ("bx", "by")[:self.pick((1, 1, 2))]]
        if self.chance(0.5):
            self.m, self.n = self.pick((16, 32, 64, 64, 128)), self.pick((16, 32, 32, 64, 64, 128))
        else:
            self.m, self.n = self.pick((1, 2, 3, 8, 16, 17, 33, 48, 96)), self.pick((1, 2, 7, 8, 16, 24, 33, 48, 96))
        if self.m * self.n > 4096:
            self.n = 32
        for _ in range(self.pick((1, 1, 1, 2, 2))):
            self.stream()
            if self.acc and self.chance(0.15):
                self.loop("i, j", (self.m, self.n))
                self.emit(f"    {self.acc}[i, j] = T.min({self.acc}[i, j], 60)")
            if self.chance(0.15):
                self.stores()
                self.small, self.tiny = [], []
        self.stores()
        names = ", ".join(g[0] for g in self.grid)
        names = names if len(self.grid) == 1 else f"({names})"
        out = [f"        with T.Kernel({', '.join(str(g[1]) for g in self.grid)}, threads={self.threads}) as {names}:"]
        out += self.allocs
        if self.threads_bound:
            out.append("            tx = T.get_thread_binding(0)  #!")
        out += ["            " + x for x in dict.fromkeys(self.head)]
        return out + self.lines

    def make(self):
        self.rows_text = self.place(self.pick((1, 5, 16, 33, 64, 64, 128, 130)), "M")
        self.trips = self.place(self.pick((0, 1, 2, 3, 3)), "K")
        self.index = self.param((self.pick(("64", "8", "200")),), "int32", "I")
        lines = []
        for _ in range(self.pick((1, 1, 1, 1, 2))):
            lines += self.kernel()
        dynamic = [s for s in self.args if self.chance(0.4)]
        text = "import tilelang\nimport tilelang.language as T\n\n"
        text += "".join(f'{s} = T.dynamic("{s}")\n' for s in dynamic)
        text += f"@tilelang.jit\ndef f({', '.join(s for s in self.args if s not in dynamic)}):\n    @T.prim_func\n"
        text += f"    def main({', '.join(self.params)}):\n" + "\n".join(lines) + "\n    return main\n"
        return text, ["-p", ",".join(f"{k}={v}" for k, v in self.args.items())]


def make(seed):
    return Streams(seed).make()
