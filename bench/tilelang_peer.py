"""TileLang as a peer: a row's own source, run by TileLang itself. The declared space is searched once at each of two
sizes (bench/tilelang_search.py), and the ten best of both compete at every size: the fastest of them is the peer.

What is known of a search is kept in a file of the results after each candidate, and what TileLang builds in its own
cache (TILELANG_CACHE_DIR): a search goes on where it was stopped, and takes what was built elsewhere.
"""
# SPDX-License-Identifier: MIT
import enum
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys

import contenders

SEARCHED, BEST = (256, 8192), 10
MOST_S = 400  # of a search in one run: the rest is left to the next
# Of those that compete at a row's size: turns, idle seconds before a burst, and how many go on.
TURNS = ((3, 0.05, 4), (7, 0.1, 1))
SEARCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tilelang_search.py")


class Failed(RuntimeError):
    """Why a candidate is none."""


def function(path):
    """The decorated function of the file, and its declared configurations."""
    loader = importlib.machinery.SourceFileLoader("bench_row", path)
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    for value in vars(module).values():
        if hasattr(value, "jit_impl") and hasattr(value, "configs"):
            configs = value.configs() if callable(value.configs) else value.configs
            return value.jit_impl, list(configs)
    raise RuntimeError(f"{path} holds no function with @tilelang.autotune and @tilelang.jit")


def bindings(ask):
    return dict(b.split("=", 1) for b in ask["bindings"].split(","))


def sizes_of(ask, configs):
    """What a row binds but a search chooses."""
    return {k: int(v) if v.isdigit() else v for k, v in bindings(ask).items() if k not in configs[0]}


def said(config):
    return ", ".join(f"{k}={v.name if isinstance(v, enum.Enum) else v}" for k, v in config.items())


class Book:
    """The file of the searches, and in it the record of one: {"of": N, "tried": {NUMBER: {"ms": X} or {"failed": WHY}},
    "ranked": [[MS, NUMBER], ...] once it is done}."""

    def __init__(self, path, name, file, sizes):
        self.path, self.all = path, {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.all = json.load(f)
        self.record = self.all.setdefault(f"{name} {file} " + ",".join(f"{k}={v}" for k, v in sizes.items()), {})

    def save(self):
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            json.dump(self.all, f)
        os.replace(self.path + ".new", self.path)


class Trial:
    """Configurations at one size on the tensors of tlc's kernel, the result of which they have to give."""

    def __init__(self, jit, configs, sizes, kernel):
        self.jit, self.configs, self.kernel = jit, [{**c, **sizes} for c in configs], kernel
        kernel.call()
        kernel.wait()

    def build(self, numbers):
        """TileLang's kernels by number, built on all processors; None where it does not compile."""
        return dict(zip(numbers, self.jit.par_compile([self.configs[i] for i in numbers], ignore_error=True)))

    def call(self, rival):
        inputs = self.kernel.inputs()
        return lambda: rival(*inputs)

    def enter(self, rival):
        """One built as a contender, after a look at its result; raises Failed."""
        if rival is None:
            raise Failed("does not compile")
        call = self.call(rival)
        try:
            self.kernel.spoil()
            got = call()
            self.kernel.wait()
            right = self.kernel.agrees(got)
            del got
            if not right:
                raise Failed("another result than tlc's")
            return contenders.Contender(call, graph=False)
        except Failed:
            raise
        except Exception as e:  # whatever a launch raises
            raise Failed(str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__) from e


def ms(contender):
    return contenders.median(contender.samples)[0]


def progress(record):
    tried = record.get("tried", {})
    return len(tried) + sum("failed" in t for t in tried.values())


def search(ask, name, k, configs):
    """The ten best at a size, from the file or searched now: (numbers, None), or (None, why not).

    The search is a process of its own: a candidate that hangs or faults costs itself only."""
    sizes, before, why = {**sizes_of(ask, configs), "K": k}, -1, ""
    told = {**ask, "bindings": ",".join(f"{n}={v}" for n, v in {**bindings(ask), "K": k}.items()), "sizes": sizes,
            "name": name, "most_s": MOST_S}
    while True:
        record = Book(ask["ranks"], name, ask["file"], sizes).record
        if "ranked" in record:
            return [i for _, i in record["ranked"][:BEST]], None
        if progress(record) <= before:
            return None, f"its search at K={k} ended: {why}"
        before = progress(record)
        done = subprocess.run([sys.executable, SEARCH], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              input=json.dumps(told), check=False, errors="replace")
        record = Book(ask["ranks"], name, ask["file"], sizes).record
        if done.returncode == 0 and "ranked" not in record:
            return None, f"its search at K={k} is at {len(record.get('tried', {}))} of {len(configs)}: run again"
        lines = done.stdout.strip().splitlines()
        print(*lines[-20:], sep="\n", file=sys.stderr)
        why = f"{lines[-1] if lines else 'no message'} (exit {done.returncode})"


def fastest(trial, numbers):
    """(number, TileLang's kernel) of the one that wins in turns."""
    field = []
    for i, rival in trial.build(numbers).items():
        try:
            field.append((trial.enter(rival), i, rival))
        except Failed as e:
            print(f"{said(trial.configs[i])}: {e}", file=sys.stderr)
    for turns, idle, kept in TURNS:
        contenders.rounds([c for c, _, _ in field], turns, idle)
        field = sorted(field, key=lambda f: ms(f[0]))[:kept]
    return field[0][1:] if field else None


def peers(ask, make):
    """(tlc's kernel, the peers as bench/peers.py lists them)."""
    try:
        import tilelang
    except ImportError:
        return None, [("TileLang", None, "not installed")]
    if f"{os.sep}shim{os.sep}" in (tilelang.__file__ or ""):
        return None, [("TileLang", None, "what imports is tlc's stand-in, tools/shim")]
    name = f"TileLang {getattr(tilelang, '__version__', '')}".strip()
    jit, configs = function(ask["file"])
    few = []
    for k in SEARCHED:
        found, why = search(ask, name, k, configs)
        if found is None:
            return None, [(name, None, why)]
        few += [i for i in found if i not in few]
    trial = Trial(jit, configs, sizes_of(ask, configs), make(ask))
    won = fastest(trial, few)
    if won is None:
        return None, [(name, None, "none of its configurations ran")]
    call = trial.call(won[1])
    return trial.kernel, [(name, call, call, said(configs[won[0]]))]
