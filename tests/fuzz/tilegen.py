"""Random valid tile programs. make(seed) gives the text of a .tl file and its -p arguments.

A program is valid by construction: indices of tiles stay in bounds, iterations of a Parallel loop
are independent, blocks write apart, and what reaches a gemm or an atomic is small integers, so that
every order of additions gives the same bits. A line that ends in "#!" first writes a buffer: the
reducer keeps it while the buffer is used.
SPDX-License-Identifier: MIT
"""
import random

FLOATS = ("float16", "bfloat16", "float32", "float32", "float16", "float64")
INTS = ("int8", "int32", "int8", "int32", "int16", "uint8", "int64")
BITS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64, "int8": 8, "int32": 32,
        "int16": 16, "uint8": 8, "int64": 64}
EXACT = {"float16": 2048, "bfloat16": 256, "float32": 1 << 24, "float64": 1 << 50, "int32": 1 << 31,
         "int64": 1 << 60}
EXTENTS = (1, 2, 3, 5, 7, 8, 16, 16, 17, 24, 31, 32, 32, 33, 48, 63, 64, 64, 80, 96, 128, 229)
SMEM = 44 << 10
WORK = 1 << 19  # element visits of one block


class Buf:
    def __init__(self, name, scope, dtype, shape, limit, kind="tame"):
        self.name, self.scope, self.dtype, self.shape = name, scope, dtype, shape
        self.limit = limit  # greatest magnitude of an element, where kind is tame
        self.kind = kind    # tame: small integers; acc: exact sums; wild: any value; sum: atomics only
        self.lead = []      # outputs: leading indices that belong to this block
        self.base = None    # ragged outputs: where this block's part starts
        self.own = self.shape
        self.keep = True    # outlives the block of statements it was made in
        self.sum = 0        # acc, sum: greatest magnitude so far


class Var:
    def __init__(self, name, lo, hi):
        self.name, self.lo, self.hi = name, lo, hi


class Gen:
    def __init__(self, seed, small=False):
        self.r = random.Random(seed)
        self.brief = small
        self.budget_left, self.largest = (WORK >> 6, 512) if small else (WORK, 8192)
        self.lines, self.allocs, self.params, self.args = [], [], [], {}
        self.indent, self.count, self.smem, self.regs = 0, 0, 0, 0
        self.bufs, self.vars, self.times, self.rounds = [], [], 1, 1
        self.safe, self.pitches = [], {}

    # -------------------------------------------------------------------------------- small tools
    def chance(self, p):
        return self.r.random() < p

    def pick(self, items):
        return self.r.choice(list(items))

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def emit(self, text):
        self.lines.append("    " * self.indent + text)

    def product(self, shape):
        n = 1
        for e in shape:
            n *= e
        return n

    def visible(self, *scopes):
        return [b for b in self.bufs if b.scope in scopes]

    # -------------------------------------------------------------------------------- declarations
    def tensor(self, dtype, shape, kind="tame", stem="A"):
        b = Buf(self.name(stem), "global", dtype, tuple(shape), 4, kind)
        self.params.append((b, [str(e) for e in shape]))
        return b

    def source(self, dims, dtype=None, limit=8):
        """An input tensor of at least `dims` dimensions; a new one or one seen before."""
        old = [b for b in self.bufs if b.scope == "global" and b.kind == "tame" and len(b.shape) >= dims
               and not b.lead and not b.base]
        if old and self.chance(0.5):
            return self.pick(old)
        n = max(dims, self.pick((1, 2, 2, 3)))
        shape = [self.pick(EXTENTS) for _ in range(n)]
        if n < 3 and self.chance(0.15):
            shape.insert(self.r.randint(0, n), 1)
            n += 1
        b = self.tensor(dtype or self.pick(FLOATS + INTS), shape)
        if self.chance(0.2):
            d = self.r.randrange(n)
            size = self.name("n")
            self.args[size] = self.pick((0, 1, 5, 16, 17, 33, 64, 100))
            extra, times = self.pick((0, 0, 0, 3)), self.pick((1, 1, 1, 2, 8))
            self.params[-1][1][d] = size if (extra, times) == (0, 1) else f"{size} * {times} + {extra}"
            extent = self.args[size] * times + extra
            b.shape = tuple(extent if i == d else e for i, e in enumerate(b.shape))
        elif not self.brief and self.chance(0.1):
            self.strides(b)
        if self.chance(0.1):
            self.safe.append(f"{b.name}: {self.r.randint(-4, 4)}" if b.dtype != "uint8" else f"{b.name}: 3")
        self.bufs.append(b)
        return b

    def strides(self, b):
        """A row pitch wider than the row."""
        pitch, out = 1, []
        for e in reversed(b.shape):
            out.append(pitch)
            pitch = pitch * e + self.pick((0, 1, 3, 8, 16))
        self.pitches[b.name] = out[::-1]

    def output(self, dtype, shape, kind="wild", exact=False):
        """A tensor of which this block owns [bx, by, ...] or the part that starts at a multiple."""
        ragged = len(shape) >= len(self.grid) and self.chance(0.3) and kind == "wild" and not exact
        if ragged:
            full, base = [], []
            for d, e in enumerate(shape):
                if d < len(self.grid):
                    full.append(max(1, self.grid[d][1] * e - self.pick((0, 0, 1, 3, e // 2))))
                    base.append(f"{self.grid[d][0]} * {e}")
                else:
                    full.append(e)
                    base.append("0")
            b = self.tensor(dtype, full, kind, "O")
            b.base, b.own = base, tuple(shape)
        else:
            own = [e if exact or kind == "thread" else max(1, e - self.pick((0, 0, 0, 0, 1, 3))) for e in shape]
            b = self.tensor(dtype, [g[1] for g in self.grid] + own, kind, "O")
            b.lead = [g[0] for g in self.grid]
            b.own = tuple(shape)
        return b

    def tile(self, scope, dtype=None, shape=None, limit=None, kind=None, init=True):
        dtype = dtype or self.pick(FLOATS + FLOATS + INTS)
        if shape is None:
            shape = [self.pick(EXTENTS) for _ in range(self.pick((1, 2, 2, 2, 3)))]
            while self.product(shape) > self.largest:
                shape[self.r.randrange(len(shape))] = self.pick((2, 4, 8, 16))
        kind = kind or self.pick(("tame", "tame", "wild"))
        size = self.product(shape) * BITS[dtype] // 8
        if scope == "shared" and self.smem + size > SMEM:
            return None
        if scope == "local":
            shape = [self.pick((1, 2, 4, 5, 8))]
        self.smem += size if scope == "shared" else 0
        b = Buf(self.name({"shared": "S", "frag": "F", "local": "L"}[scope]), scope, dtype, tuple(shape),
                limit or self.pick((4, 8)), kind)
        word = {"shared": "shared", "frag": "fragment", "local": "local"}[scope]
        text = ", ".join(map(str, b.shape)) + ("," if len(b.shape) == 1 else "")
        self.allocs.append(f'{b.name} = T.alloc_{word}(({text}), "{dtype}")')
        if init:
            self.first_write(b)
        self.bufs.append(b)
        return b

    def first_write(self, b):
        if b.kind == "acc" or self.chance(0.4):
            return self.emit(f"T.clear({b.name})  #!")
        if b.scope != "local" and b.kind != "wild" and self.chance(0.5) or b.scope == "local":
            return self.emit(f"T.fill({b.name}, {self.r.randint(-b.limit, b.limit)})  #!")
        src = self.source(len([e for e in b.shape if e > 1]))
        self.copy(src, b, whole=True, tag="  #!")

    # -------------------------------------------------------------------------------- indices
    def inside(self, size, extent, const=False):
        """An expression m with 0 <= m <= size - extent, by the ranges of the variables."""
        room = size - extent
        if room <= 0:
            return "0"
        choices = [str(self.pick((0, room, self.r.randint(0, room))))]
        if not const:
            for v in self.vars[-4:]:
                if v.lo == 0 and v.hi <= room:
                    choices.append(v.name)
                    step = room // v.hi if v.hi > 0 else 1
                    if v.hi * extent <= room:
                        choices.append(f"{v.name} * {extent}")
                    choices.append(f"{v.name} * {self.r.randint(1, step)}" if step else v.name)
                k = room // extent + 1
                if k > 1:
                    choices.append(f"({v.name} + {self.r.randint(0, 3)}) % {k} * {extent}")
                choices.append(f"({v.name} * {self.r.randint(1, 5)}) % {room + 1}")
        return self.pick(choices[-4:] if self.chance(0.7) else choices)

    def anywhere(self, size, extent):
        """An index into a dimension of a tensor: mostly inside, at times past an edge."""
        if self.chance(0.6):
            return self.inside(size, extent)
        choices = [str(self.r.randint(0, max(0, size - 1)))]
        if self.args and self.chance(0.1):
            return f"{self.pick(self.args)} - {self.r.randint(1, 40)}"
        for v in self.vars[-3:]:
            choices += [f"{v.name} * {extent}", f"{v.name} * {self.pick((1, 7, 8, 16))} + {self.r.randint(0, 9)}",
                        f"{v.name} * {extent} - {self.r.randint(1, 8)}"]
        return self.pick(choices)

    def box(self, b, extents=None):
        """Minima and extents of a box of b whose extents above 1 are `extents`, or None."""
        lead = len(b.lead)
        own = b.own if b.lead or b.base else b.shape
        n = len(own)
        if extents is None:
            ext = [e if self.chance(0.7) else self.r.randint(1, e) for e in own]
        else:
            if len(extents) > n:
                return None
            dims = sorted(self.r.sample(range(n), len(extents))) if self.chance(0.5) else \
                list(range(n - len(extents), n))
            ext = [1] * n
            for d, e in zip(dims, extents):
                ext[d] = e
        if b.scope != "global" or b.lead or b.base:
            if any(e > own[d] for d, e in enumerate(ext)):
                return None
        mins = []
        for d, e in enumerate(ext):
            free = b.scope == "global" and not b.lead and not b.base
            m = self.anywhere(b.shape[d], e) if free else self.inside(own[d], e, b.scope == "frag")
            if b.base:
                m = b.base[d] if m == "0" else f"{b.base[d]} + {m}"
            mins.append(m)
        return list(b.lead) + mins, [1] * lead + ext

    def spell(self, b, mins, ext, other=None, whole=True):
        """One way of writing a box; `other`: the extents of the other side, if it has some."""
        if whole and all(m == "0" for m in mins) and tuple(ext) == b.shape and self.chance(0.7):
            if self.params_static(b):
                return b.name
        if other is not None and self.chance(0.6) and any(e > 1 for e in ext):
            n, k = len(ext), len(other)
            grown = [other[k - n + i] if k - n + i >= 0 else 1 for i in range(n)]
            if grown == ext and all(e == 1 for e in other[:max(0, k - n)]):
                return f"{b.name}[{', '.join(mins)}]"
        parts = []
        for d, (m, e) in enumerate(zip(mins, ext)):
            if e == 1 and self.chance(0.8):
                parts.append(m)
            elif m == "0" and e == b.shape[d] and self.chance(0.6) and self.params_static(b):
                parts.append(":")
            elif m == "0" and self.chance(0.5):
                parts.append(f":{e}")
            elif m.isdigit():
                parts.append(f"{m}:{int(m) + e}")
            else:
                parts.append(f"{m}:{m} + {e}")
        if not any(":" in p for p in parts):
            d = self.r.randrange(len(parts))
            parts[d] = f"{mins[d]}:{mins[d]} + {ext[d]}"
        return f"{b.name}[{', '.join(parts)}]"

    def sides(self, a, abox, b, bbox):
        """Both sides of a copy: at most one by its address; both whole only where shapes are equal."""
        same = a.shape == b.shape
        text = self.spell(a, *abox)
        if self.chance(0.5):
            return text, self.spell(b, *bbox, abox[1], whole=same or text != a.name)
        other = self.spell(b, *bbox)
        return self.spell(a, *abox, bbox[1], whole=same or other != b.name), other

    def params_static(self, b):
        return all(s.isdigit() for p, shape in self.params if p is b for s in shape)

    # -------------------------------------------------------------------------------- statements
    def fits(self, src, dst):
        if dst.kind == "wild":
            return True
        return dst.kind == "tame" and src.kind == "tame" and src.limit <= dst.limit

    def copy(self, src, dst, whole=False, tag=""):
        if "frag" in (src.scope, dst.scope) and "local" in (src.scope, dst.scope):
            return False
        if whole:
            db = ["0"] * len(dst.shape), list(dst.shape)
        else:
            db = self.box(dst)
        if db is None:
            return False
        sb = self.box(src, [e for e in db[1] if e > 1])
        if sb is None:
            return False
        if src is dst:
            return False
        forms = self.sides(dst, db, src, sb)
        self.work(self.product(db[1]))
        self.emit(f"T.copy({forms[1]}, {forms[0]}){tag}")
        return True

    def work(self, n):
        self.done += n * self.times

    def s_copy(self):
        for _ in range(8):
            dst = self.pick(self.visible("shared", "frag") or [None])
            if dst is None:
                return False
            srcs = [b for b in self.visible("shared", "frag", "global") if b.kind != "sum" and self.fits(b, dst)]
            if self.chance(0.4) or not srcs:
                srcs = [self.source(len([e for e in dst.shape if e > 1]))]
                if not self.fits(srcs[0], dst):
                    continue
            if self.copy(self.pick(srcs), dst):
                return True
        return False

    def s_store_out(self):
        """Parts of tiles to this block's part of an output."""
        src = self.pick(self.visible("shared", "frag") or [None])
        if src is None:
            return False
        outs = [b for b in self.outs if b.kind == "wild" and len(b.own) >= len(src.shape)]
        if outs and self.chance(0.5):
            return self.copy_out(src, self.pick(outs))
        out = self.output(self.pick((src.dtype, self.pick(FLOATS + INTS))), src.shape)
        if not self.copy_out(src, out):
            return False
        self.outs.append(out)
        return True

    def copy_out(self, src, out, whole=False):
        sb = (["0"] * len(src.shape), list(src.shape)) if whole else self.box(src)
        ob = self.box(out, [e for e in sb[1] if e > 1])
        if ob is None:
            return False
        s, o = self.sides(src, sb, out, ob)
        self.work(self.product(sb[1]))
        self.emit(f"T.copy({s}, {o})")
        return True

    def s_across(self):
        """Straight from a tensor to this block's part of an output."""
        src = self.source(1)
        if src.kind != "tame" or not all(src.shape) or self.product(src.shape) > 20000:
            return False
        ext = [e if e < 40 else self.r.randint(1, 40) for e in src.shape]
        out = self.output(self.pick((src.dtype, self.pick(FLOATS + INTS))), ext)
        sb = [self.anywhere(n, e) for n, e in zip(src.shape, ext)], ext
        ob = self.box(out, [e for e in ext if e > 1])
        if ob is None:
            return False
        s, o = self.sides(src, sb, out, ob)
        self.work(self.product(ext))
        self.emit(f"T.copy({s}, {o})")
        self.outs.append(out)
        return True

    def s_reload(self):
        """What this block wrote to its part of an output, read again."""
        outs = [b for b in self.outs if b.kind == "wild" and b.lead]
        dsts = [b for b in self.visible("shared", "frag") if b.kind == "wild"]
        return bool(outs and dsts) and self.copy(self.pick(outs), self.pick(dsts))

    def s_fill(self):
        b = self.pick(self.visible("shared", "frag") or [None])
        if b is None:
            return False
        text = b.name if self.chance(0.5) else self.spell(b, *self.box(b))
        if self.chance(0.4):
            self.emit(f"T.clear({text})")
        else:
            value = str(self.r.randint(-b.limit, b.limit))
            if self.vars and self.chance(0.3):
                value = f"{self.pick(self.vars).name} % 4"
            self.emit(f"T.fill({text}, {value})")
        return True

    def s_sync(self):
        self.emit("T.sync_threads()")
        return True

    def s_for(self, depth):
        trips = self.pick((0, 1, 2, 2, 3, 4, 5))
        v = self.name("k")
        extent, most = str(trips), trips
        style = self.r.random()
        if style < 0.2:
            size = self.name("n")
            self.args[size] = trips
            extent, self.sizes, most = size, self.sizes + [size], 6
        elif style < 0.3:
            size, tile = self.name("n"), self.pick((3, 8, 16))
            self.args[size] = trips * tile - (self.r.randint(0, tile - 1) if trips else 0)
            extent, self.sizes, most = f"T.ceildiv({size}, {tile})", self.sizes + [size], 6
        elif style < 0.4 and self.vars and self.vars[-1].hi < 4 and self.vars[-1].lo >= 0:
            extent, most = f"{self.vars[-1].name} + {self.pick((0, 0, 1))}", self.vars[-1].hi + 1
        elif style < 0.5 and self.vars and self.vars[-1].hi < 5 and self.vars[-1].lo >= 0:
            extent, most = f"{self.pick((1, 3))} - {self.vars[-1].name}", 3
        if self.times * max(1, trips) > 40:
            return False
        kind = self.pick(("serial", "unroll", "range", "Pipelined", "Pipelined", "Pipelined"))
        if kind == "unroll" and not extent.isdigit():
            kind = "serial"
        lo = 0
        first = ""
        if kind != "range" and self.chance(0.15):
            lo = self.pick((1, 2))
            first = f"{lo}, "
            extent = f"{extent} + {lo}"
        head = f"range({extent})" if kind == "range" else f"T.{kind}({first}{extent}"
        if kind == "Pipelined":
            head += f", num_stages={self.r.randint(0, 4)}"
        self.emit(f"for {v} in {head}{'' if kind == 'range' else ')'}:")
        self.open(Var(v, lo, lo + max(most - 1, 0)), max(1, trips, most if style >= 0.3 else 0))
        if kind == "Pipelined" and self.chance(0.35):
            self.main_loop()
        elif kind == "Pipelined" or self.chance(0.2):
            self.idiom()
        self.body(depth + 1)
        self.close()
        return True

    def open(self, var, times):
        self.stack.append((len(self.vars), len(self.bufs), self.times))
        self.indent += 1
        if var:
            self.vars.append(var)
        self.times *= times

    def close(self):
        nvars, nbufs, self.times = self.stack.pop()
        del self.vars[nvars:]
        self.scalars = [s for s in self.scalars if s[2] < self.indent]
        self.bufs = [b for i, b in enumerate(self.bufs) if i < nbufs or b.scope == "global" or b.keep]
        self.indent -= 1

    def idiom(self):
        """Tiles that each iteration loads first."""
        for _ in range(self.pick((1, 1, 2))):
            t = self.tile(self.pick(("shared", "shared", "shared", "frag")), init=False)
            if t is None:
                return
            t.keep = False
            src = self.source(len([e for e in t.shape if e > 1]))
            if not self.fits(src, t) or not self.copy(src, t, whole=True):
                self.emit(f"T.clear({t.name})")

    def flag(self):
        """A condition on memory, the same for all threads."""
        b = self.pick([b for b in self.bufs if b.scope in ("global", "shared") and b.kind == "tame"] or [None])
        if b is None or not all(b.shape):
            return None
        idx = ", ".join(self.inside(e, 1) for e in b.shape)
        return f"{b.name}[{idx}] {self.pick(('>', '<', '!=', '=='))} {self.r.randint(0, 2)}"

    def condition(self):
        v = self.pick(self.vars) if self.vars else None
        if v is None:
            return "True"
        flag = self.flag() if self.chance(0.2) else None
        if flag:
            return flag
        c = self.pick((f"{v.name} % 2 == {self.r.randint(0, 1)}", f"{v.name} > {self.r.randint(v.lo - 1, v.hi)}",
                       f"{v.name} < {self.r.randint(v.lo, v.hi + 1)}", f"{v.name} == {self.r.randint(v.lo, v.hi)}",
                       f"({v.name} + {self.r.randint(0, 4)}) % 3 != 0"))
        if self.chance(0.15):
            c = f"{self.pick(('not ', ''))}({c} {self.pick(('and', 'or'))} {self.condition()})"
        return c

    def s_if(self, depth):
        if not self.vars:
            return False
        self.emit(f"if {self.condition()}:")
        self.open(None, 1)
        self.body(depth + 1)
        self.close()
        if self.chance(0.4):
            self.emit("else:")
            self.open(None, 1)
            self.body(depth + 1)
            self.close()
        return True

    def s_scalar(self):
        """A name for an element as it is now."""
        b = self.pick([b for b in self.bufs if b.scope in ("global", "shared") and b.kind == "tame"] or [None])
        if b is None or not all(b.shape):
            return False
        y = self.name("y")
        self.emit(f"{y} = {b.name}[{', '.join(self.inside(e, 1) for e in b.shape)}]")
        self.scalars.append((y, b.limit, self.indent))
        return True

    def s_let(self):
        if not self.vars or self.stack and self.chance(0.3):
            return False
        v, x = self.pick(self.vars), self.name("x")
        m, c = self.r.randint(2, 5), self.r.randint(0, 3)
        text, hi = self.pick(((f"({v.name} + {c}) % {m}", m - 1), (f"T.min({v.name} + {c}, {m})", m)))
        if v.lo < 0:
            return False
        self.emit(f"{x} = {text}")
        self.vars.append(Var(x, 0, hi))
        return True
