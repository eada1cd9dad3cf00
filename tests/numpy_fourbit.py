"""References of the samples with elements of four bits: two to a byte, the even index in the low half.

SPDX-License-Identifier: MIT
"""
import formats
import numpy as np

rng = np.random.default_rng(4)


def dequant(m, n, k, weight, group, zero=0):
    """A times the weights that scales and a table of 16 values give, summed in float64."""
    n4 = rng.integers(0, 16, (n, k))
    signed = np.where(n4 > 7, n4 - 16, n4)
    w = {"int4": signed, "uint4": n4 - zero, "float4_e2m1fn": formats.decode("float4_e2m1fn", n4)}[weight]
    s = rng.choice([0.25, 0.5, 1, 2], (n, -(-k // group))).astype(np.float16)
    a = rng.standard_normal((m, k)).astype(np.float16)
    c = a.astype(np.float64) @ (w * np.repeat(s.astype(np.float64), group, axis=1)[:, :k]).T
    sizes = {"M": m, "N": n, "K": k, "group": group, "weight": weight, "zero": zero}
    return {"A": a, "B": (n4[:, 0::2] | n4[:, 1::2] << 4).astype(np.uint8), "S": s}, {"C": c}, sizes


def programs():
    for args in [(96, 160, 256, "int4", 128), (33, 72, 136, "int4", 32), (64, 128, 192, "uint4", 64, 8),
                 (50, 130, 130, "float4_e2m1fn", 32), (1, 64, 62, "uint4", 16, 3)]:
        name = " ".join(map(str, args))
        yield "gemm_dequant_w4a16", name, lambda args=args: dequant(*args)
