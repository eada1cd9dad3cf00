"""Random statements of single threads.
SPDX-License-Identifier: MIT
"""
from tilegen import FLOATS, INTS, Gen


class Threads(Gen):
    def lanes(self):
        return [b for b in self.visible("shared") if len(b.shape) == 1 and b.kind != "acc"]

    def thread_value(self):
        """An expression of each thread's own."""
        r = self.r.random()
        if r < 0.3:
            return f"(tx + {self.r.randint(0, 9)}) % {self.r.randint(2, 7)}"
        if r < 0.5:
            return f"{self.tvar}"
        lanes = self.lanes()
        if lanes and r < 0.8:
            b = self.pick(lanes)
            n = b.shape[0]
            return f"{b.name}[{self.pick((f'tx % {n}', f'(tx + {self.r.randint(1, 40)}) % {n}', f'(tx * 3) % {n}'))}]"
        if self.local and r < 0.9:
            return f"{self.local.name}[{self.inside(self.local.shape[0], 1)}]"
        return str(self.r.randint(-3, 3))

    def s_thread(self, alone=False):
        """A statement that each thread does alone; alone: under a condition that not all fulfil."""
        r = self.r.random()
        clamp = "T.max(T.min({}, {}), -{})"
        if r < 0.3:
            value = f"{self.thread_value()} {self.pick('+-')} {self.thread_value()}"
            self.emit(f"{self.tvar} = {clamp.format(value, 7, 7)}")
        elif r < 0.35 and self.local and self.lanes():
            b, n = self.pick(self.lanes()), self.local.shape[0]
            if b.limit > self.local.limit or b.kind != "tame" or b.shape[0] < n:
                return False
            m = self.inside(b.shape[0], n)
            self.emit(f"T.copy({b.name}[{m}:{m} + {n}], {self.local.name})")
        elif r < 0.37 and self.local:
            n = self.local.shape[0]
            out = self.output(self.local.dtype, (self.threads, n), kind="thread")
            self.emit(f"T.copy({self.local.name}, {out.name}[{', '.join(list(out.lead) + ['tx', '0'])}])")
        elif r < 0.4 and self.local:
            value = clamp.format(self.thread_value(), self.local.limit, self.local.limit)
            self.emit(f"{self.local.name}[{self.inside(self.local.shape[0], 1)}] = {value}")
        elif r < 0.6 and self.lanes():
            b = self.pick(self.lanes())
            n, c = b.shape[0], self.r.randint(0, 4)
            own = self.thread_value().replace(f"{b.name}[", "#")
            if "#" in own:
                own = "tx % 3"
            value = clamp.format(own, b.limit, b.limit)
            if n >= self.threads and self.chance(0.5):
                self.emit(f"{b.name}[(tx + {c}) % {n}] = {value}")
            else:
                guard = f"tx < {min(n, self.threads)}" + self.pick(("", " and tx % 2 == 0", f" and tx >= {c}"))
                self.emit(f"if {guard}:")
                self.emit(f"    {b.name}[tx] = {value}")
        elif r < 0.7:
            guard = self.pick(("tx % 2 == 0", f"tx < {self.r.randint(1, self.threads)}", "(tx // 32) % 2 == 0", "tx == 0"))
            self.emit(f"if {guard}:")
            self.emit(f"    {self.tvar} = {clamp.format(self.thread_value(), 7, 7)}")
            if self.chance(0.4):
                self.emit("else:")
                self.emit(f"    {self.tvar} = {clamp.format(self.thread_value(), 7, 7)}")
        elif r < 0.8:
            k = self.name("r")
            self.emit(f"for {k} in T.serial({self.pick(('tx % 3', '2', '3'))}):")
            self.emit(f"    {self.tvar} = {clamp.format(f'{self.tvar} + {k} + {self.thread_value()}', 7, 7)}")
        elif r < 0.9:
            if alone or not self.lanes():
                return False
            b = self.pick(self.lanes())  # done once
            value = self.r.randint(-b.limit, b.limit)
            self.emit(f"{b.name}[{self.inside(b.shape[0], 1)}] = {value}")
        else:
            out = self.pick(self.touts) if self.touts and self.chance(0.5) else self.output(
                self.pick(FLOATS + INTS), (self.threads,), kind="thread")
            if out not in self.touts:
                self.touts.append(out)
            self.emit(f"{out.name}[{', '.join(list(out.lead) + ['tx'])}] = {self.thread_value()}")
        return True

    def some_threads(self):
        return self.pick(("tx % 2 == 0", f"tx < {self.r.randint(1, self.threads)}", "(tx // 32) % 2 == 0", "tx == 0",
                          f"(tx + {self.r.randint(0, 9)}) % 3 != 0", f"{self.tvar} > 0"))

    def s_diverge(self, depth=0):
        """Several statements of some threads, which may exchange elements among themselves."""
        self.emit(f"if {self.some_threads()}:")
        for k in range(2 if self.chance(0.4) else 1):
            if k:
                self.emit("else:")
            self.indent += 1
            for _ in range(self.r.randint(1, 4)):
                if depth < 1 and self.chance(0.15):
                    self.s_diverge(depth + 1)
                elif not self.s_thread(True):
                    self.emit(f"{self.tvar} = {self.tvar} + 0")
            self.indent -= 1
        return True
