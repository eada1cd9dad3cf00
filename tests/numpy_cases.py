"""Runs samples on inputs made by NumPy and compares with NumPy's own result.

`list` prints the cases, `run CASE` runs one, `many CASE...` some. The device is the emulator unless TLC_DEVICE is set.
SPDX-License-Identifier: MIT
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

import numpy_attention
import numpy_fourbit
import numpy_more
from many import many

TLC = os.environ.get("TLC", "build/tlc")
DEVICE = os.environ.get("TLC_DEVICE", "emu")
rng = np.random.default_rng(20)
STARTS = [(g, g.bit_generator.state) for g in (rng, numpy_attention.rng, numpy_fourbit.rng, numpy_more.rng)]


def to_bf16(x):
    """float32 to bfloat16 bits, round to nearest even."""
    u = x.astype(np.float32).view(np.uint32)
    return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(u):
    return (u.astype(np.uint32) << 16).view(np.float32)


def f16(*shape):
    return rng.standard_normal(shape).astype(np.float16)


def gemm(m, n, k, transpose_b):
    a, b = f16(m, k), f16(n, k) if transpose_b else f16(k, n)
    c = a.astype(np.float64) @ (b.T if transpose_b else b).astype(np.float64)
    return {"A": a, "B": b}, {"C": c}, {"M": m, "N": n, "K": k}


def gemm_bf16(m, n, k):
    a = to_bf16(rng.standard_normal((m, k)))
    b = to_bf16(rng.standard_normal((n, k)))
    c = from_bf16(a).astype(np.float64) @ from_bf16(b).T.astype(np.float64)
    return {"A": a, "B": b}, {"C": c}, {"M": m, "N": n, "K": k}


def gemm_int8(m, n, k):
    a = rng.integers(-128, 128, (m, k)).astype(np.int8)
    b = rng.integers(-128, 128, (n, k)).astype(np.int8)
    c = a.astype(np.int64) @ b.T.astype(np.int64)
    return {"A": a, "B": b}, {"C": c}, {"M": m, "N": n, "K": k}


def gemm_tf32(m, n, k):
    a = rng.standard_normal((m, k)).astype(np.float32)
    b = rng.standard_normal((k, n)).astype(np.float32)
    cut = np.uint32(0xFFFFE000)
    at, bt = ((x.view(np.uint32) & cut).view(np.float32) for x in (a, b))
    return {"A": a, "B": b}, {"C": at.astype(np.float64) @ bt}, {"M": m, "N": n, "K": k}


def vector_add(n):
    a = rng.standard_normal(n).astype(np.float32)
    b = rng.standard_normal(n).astype(np.float32)
    return {"A": a, "B": b}, {"C": a + b}, {"N": n}


def bias_relu(m, n, k):
    inputs, outputs, sizes = gemm(m, n, k, False)
    inputs["bias"] = f16(n)
    outputs["C"] = np.maximum(outputs["C"] + inputs["bias"].astype(np.float64), 0)
    return inputs, outputs, sizes


def softmax(m, n):
    x = f16(m, n)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return {"X": x}, {"Y": e / e.sum(1, keepdims=True)}, {"M": m, "N": n}


def rms_norm(m, n):
    x, w = f16(m, n), f16(n)
    d = x.astype(np.float64)
    y = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w
    return {"X": x, "W": w}, {"Y": y}, {"M": m, "N": n}


def layer_norm(m, n):
    x, w, b = f16(m, n), f16(n), f16(n)
    d = x.astype(np.float64)
    y = (d - d.mean(1, keepdims=True)) / np.sqrt(d.var(1, keepdims=True) + 1e-5) * w + b
    return {"X": x, "W": w, "B": b}, {"Y": y}, {"M": m, "N": n}


CASES = {
    "vector_add 1000": ("vector_add", lambda: vector_add(1000)),
    "gemm 128x192x160": ("gemm", lambda: gemm(128, 192, 160, False)),
    "gemm 100x72x50": ("gemm", lambda: gemm(100, 72, 50, False)),
    "gemm_nt 65x129x33": ("gemm_nt", lambda: gemm(65, 129, 33, True)),
    "gemm_nt 256x128x64": ("gemm_nt", lambda: gemm(256, 128, 64, True)),
    "splitk 64x64x512": ("splitk", lambda: gemm(64, 64, 512, False)),
    "splitk_tile 64x64x512": ("splitk_tile", lambda: gemm(64, 64, 512, False)),
    "splitk_workspace 100x72x512": ("splitk_workspace", lambda: gemm(100, 72, 512, False)),
    "gemm_bias_relu 100x72x64": ("gemm_bias_relu", lambda: bias_relu(100, 72, 64)),
    "gemm_symbolic_m 77x128x64": ("gemm_symbolic_m", lambda: gemm(77, 128, 64, False)),
    "gemm_bf16 96x64x64": ("gemm_bf16", lambda: gemm_bf16(96, 64, 64)),
    "gemm_int8 96x64x128": ("gemm_int8", lambda: gemm_int8(96, 64, 128)),
    "gemm_tf32 96x64x64": ("gemm_tf32", lambda: gemm_tf32(96, 64, 64)),
    "softmax 3x1000": ("softmax", lambda: softmax(3, 1000)),
    "rms_norm 3x1000": ("rms_norm", lambda: rms_norm(3, 1000)),
    "layer_norm 3x1000": ("layer_norm", lambda: layer_norm(3, 1000)),
}
for sample, name, make in [*numpy_attention.programs(), *numpy_more.programs(), *numpy_fourbit.programs()]:
    CASES[f"{sample} {name}"] = CASES[f"{sample} {name} sm_90a"] = (sample, make)


def value(array):
    return array if array.dtype != np.uint16 else from_bf16(array)


def run(case):
    sample, make = CASES[case]
    for generator, start in STARTS:  # a case's inputs do not depend on what ran before it
        generator.bit_generator.state = start
    inputs, outputs, sizes = make()
    with tempfile.TemporaryDirectory() as folder:
        args = [TLC, "--run", f"--device={DEVICE}", f"samples/{sample}.tl"]
        args += ["-p", ",".join(f"{k}={v}" for k, v in sizes.items())]
        args += ["--arch", "sm_90a"] if case.endswith("sm_90a") else []
        for name, array in inputs.items():
            np.save(f"{folder}/{name}.npy", array)
            args += ["--in", f"{name}={folder}/{name}.npy"]
        for name in outputs:
            args += ["--out", f"{name}={folder}/{name}.npy"]
        done = subprocess.run(args, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout + done.stderr)
            return 1
        for name, want in outputs.items():
            got = value(np.load(f"{folder}/{name}.npy"))
            if want.dtype.kind in "iu":
                ok = np.array_equal(got, want)
            else:
                ok = np.allclose(got, want, rtol=1e-2, atol=1e-2)
            if got.shape != want.shape or not ok:
                print(f"{name}: largest difference {np.abs(got.astype(np.float64) - want).max()}")
                return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "list":
        print("\n".join(CASES))
    elif sys.argv[1] == "many":
        many("numpy", run, sys.argv[2:])
    else:
        sys.exit(run(sys.argv[2]))
