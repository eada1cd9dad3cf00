"""Random element-wise loops, gemms and atomics, and the whole program.
SPDX-License-Identifier: MIT
"""
from tilegen import EXACT, FLOATS, INTS, WORK, Var
from tilereduce import Reductions

GEMMS = (("float16", "float32"), ("float16", "float32"), ("float16", "float16"), ("bfloat16", "float32"),
         ("float32", "float32"), ("int8", "int32"))


class Value:
    """An expression and bounds of its magnitude."""

    def __init__(self, text, most):
        self.text, self.most = text, most


class Program(Reductions):
    # -------------------------------------------------------------------------------- expressions
    def small(self, v, most):
        if v.most <= most:
            return v
        return Value(f"T.max(T.min({v.text}, {most}), -{most})", most)

    def element(self, b, pv, exact=None):
        """An element of b read in an iteration of the variables pv."""
        own = b.shape
        idx = list(b.lead)
        own = b.own if b.lead else b.shape
        for d, size in enumerate(own):
            if exact is not None:
                idx.append(exact[d])
                continue
            choices = []
            for k, v in enumerate(pv if size else ()):
                n = v.hi + 1
                if n <= size:
                    choices += [v.name] * 3
                    if size > n:
                        choices.append(f"{v.name} + {self.r.randint(0, size - n)}")
                choices.append(f"{v.name} % {size}" if n > size else v.name)
                choices.append(f"({v.name} + {self.r.randint(0, 5)}) % {size}")
                if n <= size:
                    choices.append(f"{size - 1} - {v.name}")
                choices.append(f"T.min({v.name} // {self.r.randint(1, 4)}, {size - 1})")
            if b.scope == "global" and not b.lead and (size == 0 or self.chance(0.3)):
                v = self.pick(pv + self.vars[-2:])
                choices = [f"{v.name} * {self.pick((1, 2, 3))} + {self.r.randint(-4, 4)}"]
                choices.append(f"{choices[0]} + {v.name} % 3")
            idx.append(self.pick(choices) if choices else self.inside(size, 1))
        return f"{b.name}[{', '.join(idx)}]"

    def frag_index(self, b, pv):
        """Indices of a fragment that its layout can follow: variables of its own extents, in order."""
        names, at = [], 0
        for size in b.shape:
            while at < len(pv) and pv[at].hi + 1 != size:
                at += 1
            if at == len(pv):
                return None
            names.append(pv[at].name)
            at += 1
        return names

    def leaf(self, pv, avoid):
        r = self.r.random()
        if r < 0.12:
            return Value(str(self.r.randint(-4, 4)), 4)
        if r < 0.2 and self.scalars:
            y = self.pick(self.scalars)
            return Value(y[0], y[1])
        if r < 0.3 and (pv or self.vars):
            v, m = self.pick(pv + self.vars), self.r.randint(2, 7)
            return Value(f"(({v.name} + {self.r.randint(0, 9)}) % {m})", m)
        bufs = [b for b in self.bufs if b.kind != "sum" and b.name not in avoid and b.scope != "local"]
        if self.chance(0.5):
            bufs = [b for b in bufs if b.scope != "global"]
        for _ in range(4):
            if not bufs:
                break
            b = self.pick(bufs)
            exact = None
            if b.scope == "frag":
                exact = self.frag_index(b, pv)
                if exact is None and not (pv and self.chance(self.odd_fragments)):
                    continue
            text = self.element(b, pv, exact)
            v = Value(text, b.limit if b.kind == "tame" else 1 << 40)
            return v if v.most < 100 or self.raw else self.small(v, 7)
        return Value(f"T.cast({self.r.randint(-3, 3)}, \"{self.pick(FLOATS + INTS)}\")", 3)

    def expr(self, pv, avoid, depth=0, dst=()):
        r = self.r.random()
        if dst and r < 0.3:
            return dst[0]
        if depth > 2 or r < 0.25:
            return self.leaf(pv, avoid)
        sub = [self.expr(pv, avoid, depth + 1, dst) for _ in range(2)]
        op = self.r.randrange(10)
        if op < 4:
            a, b = self.small(sub[0], 50), self.small(sub[1], 50)
            return Value(f"({a.text} {self.pick('+-')} {b.text})", a.most + b.most)
        if op < 5:
            a, b = self.small(sub[0], 9), self.small(sub[1], 9)
            return Value(f"({a.text} * {b.text})", a.most * b.most)
        if op < 7:
            return Value(f"T.{self.pick(('min', 'max'))}({sub[0].text}, {sub[1].text})", max(s.most for s in sub))
        if op < 8:
            c = self.test(pv, avoid)
            form = self.pick(("T.if_then_else({0}, {1}, {2})", "({1} if {0} else {2})"))
            return Value(form.format(c, sub[0].text, sub[1].text), max(s.most for s in sub))
        if op < 9:
            a = self.small(sub[0], 50)
            return Value(f"T.cast({a.text}, \"{self.pick(FLOATS + INTS)}\")", a.most)
        return Value(f"T.abs({self.small(sub[0], 50).text})", 50)

    def test(self, pv, avoid):
        if self.chance(0.6) and (pv or self.vars):
            v = self.pick(pv + self.vars)
            c = self.pick((f"{v.name} % 2 == 0", f"{v.name} < {self.r.randint(v.lo, v.hi + 1)}",
                           f"{v.name} >= {self.r.randint(v.lo, v.hi + 1)}", f"({v.name} + 1) % 3 != 1"))
        else:
            a, b = self.leaf(pv, avoid), self.leaf(pv, avoid)
            c = f"{a.text} {self.pick(('<', '<=', '==', '!='))} {b.text}"
        if self.chance(0.15):
            c = f"({c}) {self.pick(('and', 'or'))} ({self.test(pv, avoid)})"
        return c

    # -------------------------------------------------------------------------------- Parallel
    def s_parallel(self, depth):
        dsts = self.visible("shared", "frag") + [b for b in self.outs if b.kind == "wild"]
        if not dsts:
            return False
        dst = self.pick(dsts)
        own = dst.own if dst.scope == "global" else dst.shape
        ext = list(own)
        if self.product(ext) > 8192 or self.product(ext) * self.times > (4000 if self.brief else 60000):
            return False
        if dst.scope != "frag" and self.chance(0.2):
            ext = [self.r.randint(1, e) for e in ext]
        order = list(range(len(ext)))
        if dst.scope == "shared" and self.chance(0.2):
            self.r.shuffle(order)  # the loop walks the tile's dimensions in another order
        pv = [Var(f"i{self.name('')}", 0, ext[d] - 1) for d in order]
        names = {d: v.name for d, v in zip(order, pv)}
        for d, e in enumerate(ext):
            if dst.scope != "frag" and e < own[d] and self.chance(0.5):
                names[d] += f" + {self.r.randint(0, own[d] - e)}"
        idx = [names[d] for d in range(len(ext))]
        if dst.base:
            idx = [f"{b} + {n}" for b, n in zip(dst.base, idx)]
        target = f"{dst.name}[{', '.join(list(dst.lead) + idx)}]"
        heads = ", ".join(v.name for v in pv)
        if len(pv) > 1 and self.chance(0.2):
            depth0 = self.indent
            inner = self.pick(("Parallel", "Parallel", "vectorized", "serial", "unroll"))
            inner = "Parallel" if pv[-1].hi > 16 or dst.scope == "frag" else inner
            for v in pv:
                self.emit(f"for {v.name} in T.{inner if v is pv[-1] else 'Parallel'}({v.hi + 1}):")
                self.indent += 1
            nest = self.indent - depth0
        else:
            self.emit(f"for {heads} in T.Parallel({', '.join(str(v.hi + 1) for v in pv)}):")
            self.indent += 1
            nest = 1
        self.work(self.product(ext) * 4)
        start = len(self.lines)
        while len(self.lines) == start:
            self.iteration(dst, target, pv)
        self.indent -= nest
        return True

    def assign(self, dst, target, pv, avoid, readable=True):
        """One store to the target, keeping what is promised of dst."""
        self.raw = dst.kind == "wild" and self.chance(0.3)
        top = Value(target, dst.limit if dst.kind == "tame" else 1 << 40)
        if not self.raw:
            top = self.small(top, 7)
        self_read = (top,) if readable and dst.scope != "global" else ()
        v = self.expr(pv, avoid, 0, self_read)
        self.raw = False
        if dst.kind == "acc":
            v = self.small(v, 8)
            if readable and self.chance(0.6):
                dst.sum += 8 * self.times * 4
                self.emit(f"{target} += {v.text}")
            else:
                self.emit(f"{target} = {v.text}")
            return
        if dst.kind == "tame":
            v = self.small(v, dst.limit)
        self.emit(f"{target} = {v.text}")

    def iteration(self, dst, target, pv):
        sums = self.sums + [b for b in self.visible("shared") if b.kind == "acc" and b is not dst]
        self.loop_sum = self.pick(sums) if sums else None
        avoid = {dst.name, self.loop_sum.name if sums else ""}
        for _ in range(self.pick((1, 1, 1, 2, 3))):
            r = self.r.random()
            if r < 0.15:
                self.emit(f"if {self.test(pv, avoid)}:")
                self.indent += 1
                self.assign(dst, target, pv, avoid)
                self.indent -= 1
                if self.chance(0.5):
                    self.emit("else:")
                    self.indent += 1
                    self.assign(dst, target, pv, avoid)
                    self.indent -= 1
            elif r < 0.25:
                x = self.name("t")
                v = self.small(self.expr(pv, avoid), 50)
                self.emit(f"{x} = {v.text}")
                self.emit(f"{target} = {self.small(Value(x, v.most), dst.limit).text}")
            elif r < 0.33:
                n, k = self.r.randint(0, 4), self.name("r")
                self.emit(f"for {k} in T.{self.pick(('serial', 'unroll'))}({n}):")
                self.indent += 1
                self.vars.append(Var(k, 0, max(0, n - 1)))
                self.assign(dst, target, pv, avoid)
                self.vars.pop()
                self.indent -= 1
            elif r < 0.4 and self.scratch:
                w = self.pick(self.scratch)
                v = self.small(self.expr(pv, avoid), 50)
                self.emit(f"{w} = {v.text}")
                self.emit(f"{target} = {self.small(Value(w, 50), dst.limit).text}")
            elif r < 0.5 and self.loop_sum:
                self.one_atomic(pv, avoid)
            else:
                self.assign(dst, target, pv, avoid)

    # -------------------------------------------------------------------------------- atomics
    def budget(self, b, times, most):
        total = b.sum + times * most
        if b.dtype not in ("int32", "int64") and total > EXACT[b.dtype]:
            return False
        b.sum = total
        return True

    def one_atomic(self, pv, avoid):
        b = self.loop_sum
        n = self.product([v.hi + 1 for v in pv]) * self.times * self.blocks * 5
        if not self.budget(b, n, 4):
            return
        idx = self.element(b, pv + self.vars[:3])
        self.emit(f"T.atomic_add({idx}, {self.small(self.expr(pv, avoid), 4).text})")

    def s_atomic(self):
        if not self.sums:
            return False
        b = self.pick(self.sums)
        tiles = [t for t in self.visible("shared", "frag") if t.kind == "tame" and len(t.shape) <= len(b.shape)]
        r = self.r.random()
        if r < 0.6 and tiles:
            t = self.pick(tiles)
            sb = self.box(t)
            db = self.box(b, [e for e in sb[1] if e > 1])
            if db is None or not self.budget(b, self.times * self.blocks, t.limit):
                return False
            dst, src = self.sides(b, db, t, sb)
            self.emit(f"T.atomic_add({dst}, {src})")
            self.work(self.product(sb[1]))
            return True
        if r < 0.8:
            box = self.box(b)
            if not self.budget(b, self.times * self.blocks, 3):
                return False
            self.emit(f"T.atomic_add({self.spell(b, *box)}, {self.r.randint(-3, 3)})")
            return True
        if not self.budget(b, self.times * self.blocks * self.threads, 2):
            return False
        idx = ", ".join(self.inside(e, 1) for e in b.shape)
        self.emit(f"T.atomic_add({b.name}[{idx}], {self.pick((1, 2, 'tx % 3' if self.per_thread else -1))})")
        return True

    # -------------------------------------------------------------------------------- gemm
    def main_loop(self):
        """Operands copied from tensors, then multiplied: what a pipeline is for."""
        if not self.families:
            return self.idiom()
        m, n, k, ab, acc = self.pick(self.families)
        ta, tb = self.chance(0.2), self.chance(0.5)
        most = 16 * k
        if acc.dtype not in ("int32",) and acc.sum + most * self.times > EXACT[acc.dtype]:
            return self.idiom()
        names = []
        for rows, cols, t in ((m, k, ta), (k, n, tb)):
            shape = (cols, rows) if t else (rows, cols)
            b = self.tile("shared" if self.chance(0.85) else "frag", ab, shape, 4, "tame", init=False)
            if b is None:
                return self.emit("T.sync_threads()")
            b.keep = False
            src = self.source(2, ab)
            if src.dtype != ab and self.chance(0.7):
                src = self.tensor(ab, [self.pick((33, 64, 100, 128)), self.pick((40, 64, 96, 128))])
                self.bufs.append(src)
            if not self.copy(src, b, whole=True):
                self.emit(f"T.clear({b.name})")
            names.append(b.name)
        acc.sum += most * self.times
        self.work(m * n * k // 8)
        extra = "".join(f", {o}=True" for o, on in (("transpose_A", ta), ("transpose_B", tb)) if on)
        if self.chance(0.2):
            extra += f", clear_accum={self.vars[-1].name} == 0"
        if self.chance(0.15):
            self.emit(f"if {self.condition()}:")
            self.emit(f"    T.gemm({names[0]}, {names[1]}, {acc.name}{extra})")
        else:
            self.emit(f"T.gemm({names[0]}, {names[1]}, {acc.name}{extra})")

    def legal_split(self, m, n):
        w = self.threads // 32
        return any(w % a == 0 and m % (16 * a) == 0 and n % (8 * (w // a)) == 0 for a in range(1, w + 1))

    def make_family(self):
        if self.threads % 32:
            return
        for _ in range(20):
            m, n = self.pick((16, 32, 48, 64, 64, 80, 96, 128)), self.pick((8, 16, 24, 32, 48, 64, 96, 128))
            if self.legal_split(m, n) and m * n <= (2048 if self.brief else 8192):
                break
        else:
            return
        k = self.pick((16, 32, 32, 64, 64, 8, 20, 24, 40, 48))
        ab, c = self.pick(GEMMS)
        acc = self.tile("frag", c, (m, n), kind="acc")
        if acc:
            self.families.append((m, n, k, ab, acc))

    def operand(self, rows, cols, dtype, transposed, top):
        shape = (cols, rows) if transposed else (rows, cols)
        lead = self.pick(((), (), (), (2,), (3,)))
        big = tuple(e + self.pick((0, 0, 0, 8, 16)) for e in shape)
        old = [b for b in self.visible("shared", "frag") if b.dtype == dtype and b.kind == "tame" and
               len(b.shape) >= 2 and all(x >= y for x, y in zip(b.shape[-2:], shape)) and
               (b.scope == "shared" or b.shape == shape)]
        if old and self.chance(0.6):
            b = self.pick(old)
        else:
            scope = self.pick(("shared", "shared", "shared", "frag"))
            b = self.tile(scope, dtype, shape if scope == "frag" else lead + big, kind="tame",
                          limit=4 if dtype != "float16" else self.pick((2, 4)))
            if b is None:
                return None
            b.keep = top
        if b.scope == "frag":
            return b, b.name
        idx = []
        for d, size in enumerate(b.shape):
            at = d - len(b.shape) + 2
            if at < 0:
                m = self.inside(size, 1)
                idx.append(m if self.chance(0.8) else f"{m}:{m} + 1")
            elif size == shape[at] and self.chance(0.7):
                idx.append(":")
            else:
                m = self.inside(size, shape[at])
                idx.append(f"{m}:{m} + {shape[at]}")
        if all(i == ":" for i in idx) and self.chance(0.7):
            return b, b.name
        return b, f"{b.name}[{', '.join(idx)}]"

    def s_gemm(self):
        if not self.families:
            return False
        m, n, k, ab, acc = self.pick(self.families)
        ta, tb = self.chance(0.3), self.chance(0.5)
        a = self.operand(m, k, ab, ta, not self.stack)
        b = self.operand(k, n, ab, tb, not self.stack)
        if not a or not b:
            return False
        most = a[0].limit * b[0].limit * k
        if acc.dtype != "int32" and acc.sum + most * self.times > EXACT[acc.dtype]:
            return False
        acc.sum += most * self.times
        if self.done + m * n * k // 8 * self.times > WORK * 4:
            return False
        self.work(m * n * k // 8)
        extra = "".join(f", {o}=True" for o, on in (("transpose_A", ta), ("transpose_B", tb)) if on)
        if self.chance(0.4):
            extra += f", policy=T.GemmWarpPolicy.{self.pick(('Square', 'FullRow', 'FullCol'))}"
        if self.chance(0.3):
            extra += f", clear_accum={self.pick(('True', self.condition()))}"
        self.emit(f"T.gemm({a[1]}, {b[1]}, {acc.name}{extra})")
        return True

    # -------------------------------------------------------------------------------- others
    def s_count(self):
        if not self.counter:
            return False
        self.emit(f"{self.counter} = ({self.counter} + {self.r.randint(1, 2)}) % 4")
        return True

    def s_wide(self):
        """A loop over a number of elements known at run time only."""
        sizes = [n for n in self.args if self.args[n] <= 64]
        outs = [b for b in self.outs if b.kind == "wild" and b.lead and len(b.own) == 1]
        if not sizes or self.odd_fragments:
            return False
        n = self.pick(sizes)
        lanes = [b for b in self.visible("shared") if len(b.shape) == 1]
        if not lanes:
            return False
        src = self.pick(lanes)
        out = self.pick(outs) if outs and self.chance(0.5) else \
            self.output(self.pick(FLOATS + INTS), src.shape, exact=True)
        if out not in self.outs:
            self.outs.append(out)
        if self.chance(0.4):
            self.emit(f"T.copy({src.name}[0:T.min({n}, {src.shape[0]})], "
                      f"{out.name}[{', '.join(out.lead)}, 0:T.min({n}, {src.shape[0]})])")
            return True
        i = Var(self.name("i"), 0, 64)
        self.emit(f"for {i.name} in T.Parallel({n}):")
        v = self.small(self.leaf([Var(i.name, 0, 200)], {src.name}), 7)
        self.emit(f"    if {i.name} < {src.shape[0]}:")
        self.emit(f"        {out.name}[{', '.join(list(out.lead) + [i.name])}] = {src.name}[{i.name}] + {v.text}")
        return True

    def s_chain(self):
        """An accumulator, clamped, as the operand of the next gemm."""
        accs = [f for f in self.families if f[4].dtype == "float32"]
        if not accs:
            return False
        m, n, k, ab, acc = self.pick(accs)
        f = self.tile("frag", self.pick(("float16", "bfloat16")), (m, n), 4, "tame", init=False)
        f.keep = False
        i, j = self.name("i"), self.name("i")
        self.emit(f"for {i}, {j} in T.Parallel({m}, {n}):")
        self.emit(f"    {f.name}[{i}, {j}] = T.max(T.min({acc.name}[{i}, {j}], 4), -4)")
        if n % 16 == 0 and self.legal_split(m, n):
            others = [x for x in self.families if x[0] == m and x[1] == n and x[3] == f.dtype]
            b = self.tile("shared", f.dtype, (n, n), 4, "tame") if others else None
            if b is None:
                return True
            b.keep = False
            out = self.pick(others)[4]
            if out.dtype != "float32" or out.sum + 16 * n * self.times > EXACT["float32"]:
                return True
            out.sum += 16 * n * self.times
            self.emit(f"T.gemm({f.name}, {b.name}, {out.name}{self.pick(('', ', transpose_B=True'))})")
        return True

    # -------------------------------------------------------------------------------- programs
    def body(self, depth):
        start = len(self.lines)
        self.depth = depth
        for _ in range(self.pick((1, 2, 2, 3, 4)) if depth else self.pick((3, 5, 8))):
            if self.done > self.budget_left:
                break
            for _ in range(5):
                if self.statement(depth):
                    break
        if len(self.lines) == start:
            self.emit("pass" if not self.vars else f"z{self.name('')} = {self.vars[-1].name}")

    def statement(self, depth):
        self.raw = False
        deep = depth < 3
        kinds = [(6, self.s_copy), (2, self.s_fill), (3, self.s_store_out), (1, self.s_sync), (1, self.s_let),
                 (6, lambda: self.s_parallel(depth)), (5, self.s_gemm), (2, self.s_atomic), (1, self.s_reload),
                 (4, self.s_reduce), (1, self.s_scan),
                 (3 if self.per_thread else 0, self.s_thread), (2 if self.per_thread else 0, self.s_diverge), (1, self.s_count),
                 (2, self.s_across), (1, self.s_scalar), (1, self.s_wide), (1, self.s_chain),
                 (5 if deep else 0, lambda: self.s_for(depth)), (2 if deep else 0, lambda: self.s_if(depth))]
        mark, bufs = len(self.lines), list(self.bufs)
        f = self.r.choices([k[1] for k in kinds], [k[0] for k in kinds])[0]
        if f():
            return True
        del self.lines[mark:]  # and what was made for it
        self.bufs = bufs + [b for b in self.bufs if b.scope == "global" and b not in bufs]
        return False

    def set_up(self):
        r = self.r
        self.threads = self.pick((32, 64, 96, 128, 128, 128, 192, 256, 48, 100, 33, 512, 1))
        axes = self.pick((1, 2, 2, 3))
        self.grid = [(n, self.pick((1, 2) if self.brief else (1, 2, 3))) for n in ("bx", "by", "bz")[:axes]]
        self.blocks = self.product([g[1] for g in self.grid])
        self.done, self.sizes, self.stack, self.outs, self.sums, self.touts = 0, [], [], [], [], []
        self.families, self.scratch, self.raw = [], [], False
        self.odd_fragments = self.pick((0, 0, 0.3))
        self.per_thread = self.chance(0.4) and not self.brief
        self.local, self.counter, self.scalars = None, None, []
        self.vars = [Var(n, 0, e - 1) for n, e in self.grid]
        self.indent = 3

    def declare(self):
        if self.chance(0.3):
            w = self.name("w")
            self.emit(f'{w} = T.alloc_var("{self.pick(("float32", "int32"))}", init=0)')
            self.scratch.append(w)
        if self.chance(0.2):
            self.counter = self.name("c")
            self.emit(f'{self.counter} = T.alloc_var("int32", init=0)')
            self.vars.append(Var(self.counter, 0, 3))
        if self.per_thread:
            self.emit("tx = T.get_thread_binding(0)  #!")
            self.tvar = self.name("v")
            self.emit(f'{self.tvar} = T.alloc_var("{self.pick(("int32", "float32"))}", init=1)')
            if self.chance(0.5):
                self.local = self.tile("local", self.pick(("float32", "int32")), (1,), limit=7, kind="tame")
        for _ in range(self.pick((0, 1, 1, 2))):
            self.make_family()
        for _ in range(self.pick((1, 2, 3, 4))):
            self.tile(self.pick(("shared", "frag")))
        if self.per_thread:
            self.tile("shared", shape=(self.pick((self.threads, 64, 33, 200)),))
        if self.chance(0.3):  # a shared tile of sums
            self.tile("shared", self.pick(("int32", "float32")), (self.pick((1, 5, 33, 64)),), kind="acc")
        for _ in range(self.pick((0, 0, 1, 2))):
            shape = [self.pick((1, 3, 16, 33, 64, 80)) for _ in range(self.pick((1, 2, 3)))]
            b = self.tensor(self.pick(("float32", "float32", "int32", "float16", "bfloat16", "int64", "float64")), shape, "sum", "Z")
            self.sums.append(b)

    def finish(self):
        for b in self.visible("shared", "frag"):
            if b.keep:
                self.copy_out(b, self.output(b.dtype, b.shape, exact=True), whole=True)
        if self.per_thread:
            out = self.output("float32", (self.threads,), kind="thread")
            idx = ", ".join(list(out.lead) + ["tx"])
            self.emit(f"{out.name}[{idx}] = {self.tvar}")

    def staged(self):
        """Inputs that the kernel reads from a workspace, which another kernel fills."""
        if self.brief or not self.chance(0.2):
            return []
        return [b for b, _ in self.params if b.kind == "tame" and b.scope == "global" and not b.lead and not b.base
                and b.name not in self.pitches and self.chance(0.7)]

    def stage(self, staged):
        lines = []
        for b, shape in self.params:
            if b in staged:
                lines.append(f'        {b.name} = T.alloc_global(({", ".join(shape)},), "{b.dtype}")')
        for b, shape in self.params:
            if b in staged:
                names = ", ".join(f"i{d}" for d in range(len(shape)))
                lines += [f'        with T.Kernel(1, threads={self.pick((32, 64, 100))}):',
                          f'            for {names} in T.Parallel({", ".join(shape)}):',
                          f'                {b.name}[{names}] = {b.name}_given[{names}]']
        return lines

    def text(self):
        self.set_up()
        self.declare()
        if len(self.grid) > 1 and self.chance(0.2):
            self.emit(f'T.use_swizzle({self.r.randint(1, 4)}, order="{self.pick(("row", "column"))}")')
        swizzled = [b for b in self.visible("shared") if len(b.shape) == 2 and b.shape[0] % 8 == 0 and self.chance(0.15)]
        if swizzled:
            maps = ", ".join(f"{b.name}: tilelang.layout.make_swizzled_layout({b.name})" for b in swizzled)
            self.emit(f"T.annotate_layout({{{maps}}})")
        self.body(0)
        self.finish()
        names = ", ".join(g[0] for g in self.grid)
        head = ['import tilelang', 'import tilelang.language as T', '', '', 'def prog():']
        head += [f'    {n} = T.dynamic("{n}")' for n in self.args]
        head += ['    @T.prim_func', '    def main(']
        staged = self.staged()
        for b, shape in self.params:
            given = f"{b.name}_given" if b in staged else b.name
            if b.name in self.pitches:
                strides = ", ".join(map(str, self.pitches[b.name]))
                head.append(f'        {b.name}: T.StridedTensor(({", ".join(shape)},), ({strides},), "{b.dtype}"),')
            else:
                head.append(f'        {given}: T.Tensor(({", ".join(shape)},), "{b.dtype}"),')
        for i, n in enumerate(self.sizes):
            head.append(f'        Y{i}: T.Tensor(({n},), "int8"),')
        head += ['    ):'] + self.stage(staged)
        grid = ", ".join(str(g[1]) for g in self.grid)
        head.append(f'        with T.Kernel({grid}, threads={self.threads}) as {names if len(self.grid) == 1 else f"({names})"}:')
        head += ["            " + a for a in self.allocs]
        if self.safe:
            head.append(f"            T.annotate_safe_value({{{', '.join(self.safe)}}})")
        args = ",".join(f"{k}={v}" for k, v in self.args.items())
        return "\n".join(head + self.lines + ['    return main', '']), ["-p", args] if args else []


def make(seed, small=False):
    """small: little work, no statements of single threads, no strides: for reference.py."""
    return Program(seed, small).text()
