"""Programs under tests/cases: run by tlc, compared with the NumPy statement in their head.

    #! numpy: C = A @ B          outputs from the inputs and the -p values (np is NumPy)
    #! run: -p K={0,64}          arguments; {a,b} gives every combination
    #! in: A = np.arange(9)      an input of its own (floats of 8 bits and bfloat16: raw bits)
    #! device: oracle            what no pass lowers yet: the tile program as written, and its text
    #! expect: numpy           what the oracle cannot run: no comparison with it
    #! tolerance: 1e-6           relative and absolute, for functions that NumPy rounds otherwise

`list` prints "FILE ARGS" for every run, `run "FILE ARGS"` runs one, `many CASE...` some: tlc also compares with
its oracle, under two warp schedules. Inputs are small integers, so that results compare exactly.
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

from many import many

TLC = os.environ.get("TLC", "build/tlc")
DEVICE = os.environ.get("TLC_DEVICE", "emu")
TYPES = {"float16": np.float16, "float32": np.float32, "float64": np.float64, "bool": np.bool_}
TYPES.update({"tfloat32": np.float32, "bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e5m2": np.uint8})
HALVES = ("int4", "uint4", "float4_e2m1fn")  # two to a byte, the even index in the low bits
TYPES.update({name: np.uint8 for name in HALVES})
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


def tile_facts(path, args):
    """The parameters by the text of the tile program, which has to read back as it is."""
    with tempfile.TemporaryDirectory() as folder:
        text = tile_text(path, args)
        with open(f"{folder}/a.tir", "w") as f:
            f.write(text)
        if tile_text(f"{folder}/a.tir", []) != text:
            sys.exit("the tile program's text reads back as another")
    params = []
    for name, dtype, shape, role in re.findall(r"^param (\w+) : tensor (\w+) \[(.*?)\].* role (\w+)", text, re.M):
        shape = [int(s) if s.isdigit() else s for s in shape.split(", ")]
        params.append({"name": name, "kind": "tensor", "dtype": dtype, "shape": shape, "role": role})
    return {"params": params}


def tile_text(path, args):
    done = subprocess.run([TLC, path, *args, "--emit=tile", "-o", "-"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def equal(got, want, tolerance, dtype):
    if dtype == "bfloat16":  # raw bits: which NaN is the machine's business
        got, want = ((x.astype(np.uint32) << 16).view(np.float32) for x in (got, want))
    if got.dtype.kind != "f":
        return np.array_equal(got, want)
    if tolerance:
        return np.allclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)
    return np.array_equal(got, want, equal_nan=True)


def make_inputs(path, facts, values, folder, names):
    """Arrays by parameter into names; the --in and --out options."""
    rng, files = np.random.default_rng(5), []
    own = dict(line.split("=", 1) for line in heads(path, "in"))
    own = {name.strip(): text for name, text in own.items()}
    for p in facts["params"]:
        if p["kind"] != "tensor":
            continue
        shape, dtype = shape_of(p, values), TYPES[p["dtype"]]
        file, result = (f"{p['name']}={folder}/{p['name']}.{end}" for end in ("npy", "out.npy"))
        if p["name"] not in own and p["role"] != "in":
            files += ["--out", result]
            continue
        data = rng.integers(0 if dtype == np.bool_ else -4, 5, shape).astype(dtype)
        if p["dtype"] in HALVES:
            data = rng.integers(0, 256, shape).astype(dtype)
        if p["name"] in own:
            data = np.array(eval(own[p["name"]], names)).astype(dtype).reshape(shape)
        np.save(f"{folder}/{p['name']}.npy", data)
        names[p["name"]] = data.copy()
        files += ["--in", file] + (["--out", result] if p["role"] != "in" else [])
    return files


def shape_of(param, values):
    shape = [s if isinstance(s, int) else int(eval(str(s), {}, dict(values))) for s in param["shape"]]
    if param["dtype"] in HALVES:
        shape[-1] //= 2
    return shape


def expectations(facts, names, folder):
    files = []
    for p in facts["params"]:
        if p["kind"] == "tensor" and p["role"] != "in":
            file = f"{folder}/{p['name']}.want.npy"
            np.save(file, np.asarray(names[p["name"]]).astype(TYPES[p["dtype"]]))
            files += ["--expect", f"{p['name']}={file}"]
    return files


def run(case):
    path, _, text = case.partition(" ")
    args = text.split()
    device = (heads(path, "device") or [DEVICE])[0]
    facts = tile_facts(path, args) if device == "oracle" else manifest(path, args)
    values = bindings(text)
    tolerance = float((heads(path, "tolerance") or [0])[0])
    with tempfile.TemporaryDirectory() as folder:
        names = {"np": np, **values}
        files = make_inputs(path, facts, values, folder, names)
        for line in heads(path, "numpy"):
            exec(line, names)
        if heads(path, "expect"):
            files += expectations(facts, names, folder)
        seeds = "1,9" if device == "emu" else "1"
        command = [TLC, "--run", f"--device={device}", f"--emu-seed={seeds}", path, *args, *files]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(" ".join(command), done.stdout, done.stderr, sep="\n")
            return 1
        for p in facts["params"]:
            if p["kind"] != "tensor" or p["role"] == "in":
                continue
            got, want = np.load(f"{folder}/{p['name']}.out.npy"), np.asarray(names[p["name"]])
            if got.shape != want.shape or not equal(got, want.astype(got.dtype), tolerance, p["dtype"]):
                wrong = np.argwhere(got != want) if got.shape == want.shape else "shapes"
                print(f"{p['name']}: differs from NumPy at {wrong[:4]} of {got.shape}")
                return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "many":
        many("cases", run, sys.argv[2:])
    else:
        sys.exit(list_cases() if sys.argv[1] == "list" else run(sys.argv[2]))
