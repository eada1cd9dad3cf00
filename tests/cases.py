"""Programs under tests/cases: run by tlc, compared with the NumPy statement in their head.

    #! numpy: C = A @ B          outputs from the inputs and the -p values (np is NumPy)
    #! run: -p K={0,64}          arguments; {a,b} gives every combination

`list` prints "FILE ARGS" for every run, `run "FILE ARGS"` runs one: tlc also compares with its
oracle, under two warp schedules. Inputs are small integers, so that results compare exactly.
SPDX-License-Identifier: MIT
"""
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

TLC = os.environ.get("TLC", "build/tlc")
DEVICE = os.environ.get("TLC_DEVICE", "emu")
TYPES = {"float16": np.float16, "float32": np.float32, "float64": np.float64, "bool": np.bool_}
TYPES.update({f"{u}int{b}": getattr(np, f"{u}int{b}") for u in ("", "u") for b in (8, 16, 32, 64)})


def expand(text):
    """Bash's brace expansion, for one line."""
    parts = re.split(r"\{([^}]*)\}", text)
    choices = [p.split(",") if i % 2 else [p] for i, p in enumerate(parts)]
    return ["".join(words) for words in itertools.product(*choices)]


def heads(path, key):
    with open(path) as f:
        return [line.split(":", 1)[1].strip() for line in f if line.startswith(f"#! {key}:")]


def list_cases():
    for name in sorted(os.listdir("tests/cases")):
        path = f"tests/cases/{name}"
        for line in heads(path, "run"):
            for args in expand(line):
                print(f"{path} {args}".strip())


def bindings(args):
    values = {}
    for word in re.findall(r"([A-Za-z_]\w*)=([^,\s]+)", args):
        try:
            values[word[0]] = int(word[1])
        except ValueError:
            values[word[0]] = word[1]
    return values


def manifest(path, args):
    done = subprocess.run([TLC, path, *args, "--emit=manifest", "-o", "-"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return json.loads(done.stdout)["kernels"][0]


def shape_of(param, values):
    return [s if isinstance(s, int) else int(eval(str(s), {}, dict(values))) for s in param["shape"]]


def run(case):
    path, _, text = case.partition(" ")
    args = text.split()
    facts = manifest(path, args)
    values = bindings(text)
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        files, names = [], {"np": np, **values}
        for p in facts["params"]:
            if p["kind"] != "tensor":
                continue
            shape, dtype = shape_of(p, values), TYPES[p["dtype"]]
            file = f"{p['name']}={folder}/{p['name']}.npy"
            if p["role"] == "in":
                data = rng.integers(0 if dtype == np.bool_ else -4, 5, shape).astype(dtype)
                np.save(f"{folder}/{p['name']}.npy", data)
                names[p["name"]] = data
                files += ["--in", file]
            else:
                files += ["--out", file]
        for line in heads(path, "numpy"):
            exec(line, names)
        for seed in ("1", "9"):
            command = [TLC, "--run", f"--device={DEVICE}", f"--emu-seed={seed}", path, *args, *files]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(" ".join(command), done.stdout, done.stderr, sep="\n")
                return 1
            for p in facts["params"]:
                if p["kind"] != "tensor" or p["role"] == "in":
                    continue
                got, want = np.load(f"{folder}/{p['name']}.npy"), names[p["name"]]
                if got.shape != want.shape or not np.array_equal(got, want.astype(got.dtype)):
                    wrong = np.argwhere(got != want) if got.shape == want.shape else "shapes"
                    print(f"{p['name']}: differs from NumPy at {wrong[:4]} of {got.shape}")
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(list_cases() if sys.argv[1] == "list" else run(sys.argv[2]))
