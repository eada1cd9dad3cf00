"""TileLang as a peer: a row's own source, run by TileLang itself. The declared space is searched once at each of two
sizes, and the ten best of both compete at every size: the fastest of them is the peer.

A search takes minutes of nvcc: what is known of it is kept in a file of the results, after each part.
"""
# SPDX-License-Identifier: MIT
import importlib.machinery
import importlib.util
import json
import os
import time

SEARCHED, BEST, PART, WARM_UPS, LAUNCHES = (256, 8192), 10, 32, 3, 20
MOST_S = 400  # of a search in one run: the rest is left to the next


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


def times(jit, configs):
    """ms of each configuration by TileLang's own profiler; None where it does not compile or run."""
    out = []
    for kernel in jit.par_compile(configs, ignore_error=True):
        try:
            out.append(kernel.get_profiler().do_bench(warmup=WARM_UPS, rep=LAUNCHES) if kernel else None)
        except Exception:  # a candidate that fails is no candidate
            out.append(None)
    return out


def search(jit, configs, sizes, known, save):
    """Fills known, ms by the configuration's number; True when all are there."""
    start = time.monotonic()
    left = [i for i in range(len(configs)) if str(i) not in known]
    while left and time.monotonic() - start < MOST_S:
        part, left = left[:PART], left[PART:]
        known.update(zip(map(str, part), times(jit, [{**configs[i], **sizes} for i in part])))
        save()
    return not left


def best(known):
    ranked = sorted((ms, int(i)) for i, ms in known.items() if ms)
    return [i for _, i in ranked[:BEST]]


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
    sizes = {k: int(v) for k, v in (b.split("=", 1) for b in ask["bindings"].split(","))}
    book = {}
    if os.path.exists(ask["ranks"]):
        with open(ask["ranks"], encoding="utf-8") as f:
            book = json.load(f)

    def save():
        os.makedirs(os.path.dirname(ask["ranks"]) or ".", exist_ok=True)
        with open(ask["ranks"] + ".new", "w", encoding="utf-8") as f:
            json.dump(book, f)
        os.replace(ask["ranks"] + ".new", ask["ranks"])

    few = []
    for k in SEARCHED:
        at = {**sizes, "K": k}
        known = book.setdefault(f"{name} {ask['file']} " + ",".join(f"{n}={v}" for n, v in at.items()), {})
        if not search(jit, configs, at, known, save):
            return None, [(name, None, f"its search at K={k} is at {len(known)} of {len(configs)}: run again")]
        few += [i for i in best(known) if i not in few]
    ranked = [(ms, i) for ms, i in zip(times(jit, [{**configs[i], **sizes} for i in few]), few) if ms]
    if not ranked:
        return None, [(name, None, "none of its configurations ran")]
    kernel = make(ask)
    rival = jit.par_compile([{**configs[min(ranked)[1]], **sizes}])[0]
    a, b = kernel.tensors["A"], kernel.tensors["B"]
    return kernel, [(name, lambda: rival(a, b), lambda: rival(a, b))]
