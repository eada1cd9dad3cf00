#!/usr/bin/env python3
"""How well the tuner's model ranks: python3 tools/model-fit.py FILE... [--tlc build/tlc --sample samples/gemm_nt.tl]
[--fit K=256,4096]. FILEs hold what `tlc --tune --json` printed on a GPU, one object after another. With --tlc the
model is asked anew. For each problem size: Spearman's coefficient, what the model's best ten cost against the best,
the largest errors. --fit: sizes that a factor for each bound is taken from; the others are held out.
"""
# SPDX-License-Identifier: MIT
import argparse, json, math, statistics, subprocess


def objects(path):
    text = open(path).read().lstrip()
    while text:
        try:
            one, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            return  # a search that was cut off
        yield one
        text = text[end:].lstrip()


def name(c):
    return tuple(sorted(c["config"].items())) + tuple(sorted(("-f" + k, v) for k, v in c["flags"].items()))


def read(paths):  # {size: {candidate: (us, row)}}
    sizes = {}
    for one in (o for p in paths for o in objects(p)):
        rows = sizes.setdefault(tuple(one["sizes"].items()), {})
        for c in one["candidates"]:
            if c["state"] != "measured" or not c.get("model_us"):
                continue
            us = c.get("final_us") or c["us"]
            if name(c) not in rows or c.get("final_us"):
                rows[name(c)] = (us, c)
    return sizes


def ask(tlc, sample, arch, size, rows):  # the model's times now, of the same candidates
    configs = [dict(k for k in n if k[0][:2] != "-f") for n in rows]
    flags = sorted({k for n in rows for k in n if k[0][:2] == "-f"})
    with open("/tmp/model-fit.json", "w") as f:
        f.write(json.dumps([dict(t) for t in {tuple(sorted(c.items())) for c in configs}]))
    args = [tlc, "--tune", "--no-run", "--json", "--topk", "1", sample, "--arch", arch, "--configs", "/tmp/model-fit.json"]
    args += ["-p", ",".join(f"{k}={v}" for k, v in size)]
    crossed = {}
    for k, v in flags:
        crossed.setdefault(k[2:], []).append(v)
    if crossed:
        args += ["--space-flags", ",".join(f"{k}=" + ":".join(v) for k, v in crossed.items())]
    said = json.loads(subprocess.run(args, check=True, capture_output=True, text=True).stdout)
    now = {name(c): c for c in said["candidates"] if c.get("model_us")}
    return {n: (us, now[n]) for n, (us, _) in rows.items() if n in now}


def ranks(values):
    order, out = sorted(range(len(values)), key=values.__getitem__), [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for i in order[at:end]:
            out[i] = (at + end - 1) / 2
        at = end
    return out


def spearman(x, y):
    a, b = ranks(x), ranks(y)
    ma, mb = statistics.fmean(a), statistics.fmean(b)
    up = sum((p - ma) * (q - mb) for p, q in zip(a, b))
    down = math.sqrt(sum((p - ma) ** 2 for p in a) * sum((q - mb) ** 2 for q in b))
    return up / down if down else float("nan")


def say(size, rows, factor, held):
    us = [r[0] for r in rows.values()]
    model = [r[1]["model_us"] * factor.get(r[1]["bound"], 1) for r in rows.values()]
    top = sorted(range(len(us)), key=model.__getitem__)[:10]
    errors = sorted(((m / u, n, c) for m, u, (n, (_, c)) in zip(model, us, rows.items())), key=lambda e: e[0])
    print(f"{' '.join(f'{k}={v}' for k, v in size)}{' (held out)' if held else ''}: {len(us)} candidates, Spearman "
          f"{spearman(model, us):.3f}; best {min(us):.1f} us, the model's first {us[top[0]] / min(us):.3f} of it, "
          f"best of its ten {min(us[i] for i in top) / min(us):.3f}; model / measured: median "
          f"{statistics.median(e[0] for e in errors):.3f}")
    for e in errors[:3] + errors[-3:]:
        print(f"    {e[0]:6.2f}  {e[2]['bound']:8} {' '.join(f'{k}={v}' for k, v in e[1] if k != 'policy')}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file", nargs="+")
    p.add_argument("--tlc")
    p.add_argument("--sample", default="samples/gemm_nt.tl")
    p.add_argument("--arch", default="sm_90a")
    p.add_argument("--fit", default="")
    o = p.parse_args()
    sizes = {s: r for s, r in read(o.file).items() if len(r) > 2}
    if o.tlc:
        sizes = {s: ask(o.tlc, o.sample, o.arch, s, r) for s, r in sizes.items()}
    key, _, values = o.fit.partition("=")
    fit = [s for s in sizes if values and dict(s).get(key) in values.split(",")]
    ratios = {}
    for s in fit:
        for us, c in sizes[s].values():
            ratios.setdefault(c["bound"], []).append(us / c["model_us"])
    factor = {b: math.exp(statistics.fmean(map(math.log, r))) for b, r in ratios.items()}
    if factor:
        print("factors:", ", ".join(f"{b} {f:.3f} ({len(ratios[b])})" for b, f in factor.items()))
    for s, r in sizes.items():
        say(s, r, factor, bool(fit) and s not in fit)


if __name__ == "__main__":
    main()
