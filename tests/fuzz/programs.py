"""Random tile programs through tlc: the emulator against the oracle, under several schedules; with
--reference small programs against reference.py, which shares nothing with tlc; with --text the text
emitted for them, compiled by g++, against the oracle (slow).

    programs.py [--first N] [--count N] [--seconds N] [--jobs N] [--out DIR] [--show SEED] [--arch ARCH]

Prints each finding once per signature with its seed and a reduced program; status 1 if any.
SPDX-License-Identifier: MIT
"""
import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import numpy as np  # noqa: E402
from reference import convert, execute  # noqa: E402
import tilechains  # noqa: E402
import tileops  # noqa: E402
import tileproducts  # noqa: E402
import tileroles  # noqa: E402
import tilestreams  # noqa: E402

TLC = os.environ.get("TLC", "build/tlc")
TEXT_RUN = os.path.join(os.path.dirname(TLC), "tests/text_run")
# Refusals that say a program asks for more than there is, for an exchange among some threads only, or
# for more warps than a product has tiles.
REFUSED = ("E520", "E518", "E521", "E515")
ARCH = []


KINDS = {"ops": tileops.make, "products": tileproducts.make, "roles": tileroles.make, "streams": tilestreams.make,
         "chains": tilechains.make}
ONLY = []
# Decisions that may be forced either way, wherever they apply; results never depend on them.
SWITCHES = ("rotate", "warp-specialize", "wgmma", "wgmma-ahead", "tma-store", "slabs", "persistent", "ping-pong", "overlap",
            "take-turns", "prefetch", "split-masks", "carry-sums", "pdl", "stream-stores")


def kind(seed):
    if ONLY:
        return ONLY[0]
    if ARCH == ["--arch=sm_90a"]:
        return ("ops", "streams", "roles", "products", "chains")[seed % 5]
    return ("ops", "streams", "chains", "ops", "streams", "products")[seed % 6]


def flags(seed):
    """Options of tlc for a program: mostly none."""
    r = random.Random(seed * 3 + 1)
    out = [f"-f{r.choice(('', 'no-'))}{s}" for s in SWITCHES if r.random() < 0.12]
    out += [f"-fstages={r.randint(1, 5)}"] * (r.random() < 0.1)
    return out + [f"-fcluster={r.choice((2, 4))}"] * (r.random() < 0.08)


def make(seed, small=False):
    if small:
        return tileops.make(seed, small)
    text, args = KINDS[kind(seed)](seed)
    return text, args + flags(seed)



def run(path, args, emu_seed=1, timeout=20, extra=()):
    """None when all is well, else the signature of what went wrong and the output."""
    command = [TLC, "--run", "--device=emu", "--integers", f"--emu-seed={emu_seed}", *ARCH, path, *args,
               *extra]
    return outcome(command, timeout)


def outcome(command, timeout):
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout)
    except subprocess.TimeoutExpired:
        return "timeout", " ".join(command)
    if done.returncode == 0:
        return None
    text = done.stderr + done.stdout
    ids = sorted(set(re.findall(r"\b[EW]\d\d\d\b", text)))
    if done.returncode < 0:
        return f"signal {-done.returncode}", text
    if done.returncode == 70:
        return "bug " + re.sub(r"\d+", "N", done.stderr.strip().split("\n")[0])[:90], text
    if ids:
        return " ".join(ids), text
    return ("mismatch" if "oracle" in text else f"status {done.returncode}"), text


def check(text, args, seeds, folder=None):
    with tempfile.NamedTemporaryFile("w", suffix=".tl", dir=folder, delete=False) as f:
        f.write(text)
    try:
        for s in seeds:
            bad = run(f.name, args, s)
            if bad:
                return bad
    finally:
        os.unlink(f.name)
    return None


# ------------------------------------------------------------------------------------ reference


def raw(b):
    """As tlc's .npy files hold it: bfloat16 as its bits."""
    return (b.data.view(np.uint32) >> 16).astype(np.uint16) if b.dtype == "bfloat16" else b.data


def check_reference(text, args, seeds, folder=None):
    sizes = dict(a.split("=") for a in args[1].split(",")) if args else {}
    rng = np.random.default_rng(len(text))

    def arrays(name, shape, dtype):
        if name[0] not in "AY":
            return None
        return convert(rng.integers(0 if dtype[0] == "u" else -4, 5, shape), dtype)

    try:
        bufs = execute(text, {k: int(v) for k, v in sizes.items()}, arrays)
    except Exception as e:  # what is wrong is then the generator or the reference
        return f"reference {type(e).__name__}", repr(e)
    with tempfile.TemporaryDirectory(dir=folder) as tmp:
        extra = []
        for name, b in bufs.items():
            if name[0] in "AY":
                np.save(f"{tmp}/{name}.npy", raw(b))
            extra += ["--in" if name[0] in "AY" else "--out", f"{name}={tmp}/{name}.npy"]
        path = f"{tmp}/program.tl"
        with open(path, "w") as f:
            f.write(text)
        bad = run(path, args, seeds[0], extra=extra)
        if bad:
            return bad
        for name, b in bufs.items():
            if name[0] in "AY":
                continue
            got, want = np.load(f"{tmp}/{name}.npy"), raw(b)
            nan = (b.data != b.data) & (got != got if b.dtype != "bfloat16" else (got & 0x7fff) > 0x7f80)
            wrong = np.argwhere((got != want) & b.written & ~nan)
            if len(wrong):
                at = tuple(wrong[0])
                return "reference", f"{name}{list(map(int, at))}: {got[at]} for {want[at]}; {len(wrong)} differ"
    return None


def check_text(text, args, seeds, folder=None):
    with tempfile.TemporaryDirectory(dir=folder) as tmp:
        path = f"{tmp}/program.tl"
        with open(path, "w") as f:
            f.write(text)
        return outcome([TEXT_RUN, "--integers", path, *args], 120)


# ------------------------------------------------------------------------------------ reduction


def spans(lines):
    """Each line with the lines nested under it, largest first; an else goes alone or with its if."""
    out = []
    for i, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        j = i + 1
        while j < len(lines) and len(lines[j]) - len(lines[j].lstrip()) > depth:
            j += 1
        out.append((i, j))
        if j < len(lines) and lines[j].strip() == "else:":
            k = j + 1
            while k < len(lines) and len(lines[k]) - len(lines[k].lstrip()) > depth:
                k += 1
            out.append((i, k))
    return sorted(out, key=lambda s: s[0] - s[1])


def removable(lines, i, j):
    for line in lines[i:j]:
        if " = T.alloc_var" in line or " = " in line and "alloc_" not in line and re.match(r"\s*[vw]\d+ =", line):
            var = line.split("=")[0].strip()
            if any(re.search(rf"\b{var}\b", x) for x in lines[:i] + lines[j:]):
                return False
        if line.rstrip().endswith("#!"):
            name = re.search(r"(\w+)(\)|, -?\d+\)|) +#!$", line) or re.match(r"\s*(\w+) =", line)
            word = re.match(r"\s*(\w+) =", line) or name
            if not word:
                return False
            rest = lines[:i] + lines[j:]
            uses = [x for x in rest if re.search(rf"\b{word.group(1)}\b", x) and "alloc_" not in x]
            if uses:
                return False
    return True


def flatten(lines, i, j):
    """Without the head of an if or of a loop whose variable is not used."""
    head = lines[i].strip()
    if not head.endswith(":") or head.startswith(("def", "with", "else")) or j - i < 2:
        return None
    if j < len(lines) and lines[j].strip() == "else:":
        return None
    var = re.match(r"for (\w+) in", head)
    body = lines[i + 1:j]
    if var and any(re.search(rf"\b{var.group(1)}\b", x) for x in body):
        body = [re.sub(rf"\b{var.group(1)}\b", "0", x) for x in body]
    return lines[:i] + [x[4:] for x in body] + lines[j:]


def reduce(text, args, seeds, want, budget=90):
    lines, end = text.split("\n"), time.time() + budget
    changed = True
    while changed and time.time() < end:
        changed = False
        for i, j in spans(lines):
            if j > len(lines) or time.time() > end:
                continue
            tries = [lines[:i] + lines[j:]] if removable(lines, i, j) else []
            tries += [t for t in [flatten(lines, i, j)] if t]
            for t in tries:
                bad = CHECK("\n".join(t), args, seeds)
                if bad and bad[0] == want:
                    lines, changed = t, True
                    break
            if changed:
                break
    return "\n".join(lines)


# ------------------------------------------------------------------------------------ main


SMALL, CHECK, SCHEDULES = False, check, 3


def use(f):
    global SMALL, CHECK
    SMALL, CHECK = f is check_reference, f


def schedules(seed):
    return (1, 7, 1000 + seed)[3 - SCHEDULES:]


def one(seed):
    start = time.time()
    try:
        text, args = make(seed, SMALL)
    except RecursionError:
        return seed, None, 0
    return seed, CHECK(text, args, schedules(seed)), time.time() - start


def report(seed, bad, out):
    text, args = make(seed, SMALL)
    small = reduce(text, args, schedules(seed), bad[0])
    path = f"{out}/{seed}.tl"
    with open(path, "w") as f:
        f.write(f"# seed {seed}: {bad[0]}; {' '.join(args)}\n{small}")
    print(f"--- seed {seed}: {bad[0]}: {path} {' '.join(args)}\n{bad[1].strip()[:1500]}\n{small}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--first", type=int, default=1)
    p.add_argument("--count", type=int, default=1 << 40)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--out", default="build/fuzz/programs")
    p.add_argument("--show", type=int)
    p.add_argument("--all", action="store_true", help="reduce every finding, not one a signature")
    p.add_argument("--reference", action="store_true")
    p.add_argument("--text", action="store_true")
    p.add_argument("--arch", default="sm_80")
    p.add_argument("--kind", choices=KINDS)
    p.add_argument("--schedules", type=int, choices=(1, 2, 3), default=3, help="of the emulator, a program")
    o = p.parse_args()
    ONLY.extend([o.kind] * bool(o.kind))
    globals()["SCHEDULES"] = o.schedules
    ARCH.append(f"--arch={o.arch}")
    if o.reference or o.text:
        use(check_text if o.text else check_reference)
    if o.show is not None:
        text, args = make(o.show, SMALL)
        print("# " + " ".join(args) + "\n" + text)
        return 0
    os.makedirs(o.out, exist_ok=True)
    end, seen, done, refused = time.time() + o.seconds, {}, 0, {}
    with concurrent.futures.ProcessPoolExecutor(o.jobs) as pool:
        seeds = iter(range(o.first, o.first + o.count))
        while time.time() < end:
            batch = [s for _, s in zip(range(64), seeds)]
            if not batch:
                break
            for seed, bad, _ in pool.map(one, batch):
                done += 1
                if not bad:
                    continue
                if any(e in bad[0] for e in REFUSED):
                    refused[bad[0]] = refused.get(bad[0], 0) + 1
                    continue
                seen.setdefault(bad[0], []).append(seed)
                if len(seen[bad[0]]) == 1 or o.all:
                    report(seed, bad, o.out)
    print(f"programs: {done} run from seed {o.first}, refused {refused or 0}, "
          f"{sum(map(len, seen.values()))} findings")
    for what, list_ in sorted(seen.items()):
        print(f"  {what}: seeds {list_[:12]}{' ...' if len(list_) > 12 else ''} ({len(list_)})")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
