"""NumPy's own results of samples beside GEMM, rows and attention; tests/numpy_cases.py runs them.

SPDX-License-Identifier: MIT
"""
import numpy as np

rng = np.random.default_rng(22)


def f16(*shape):
    return rng.standard_normal(shape).astype(np.float16)


def to_bf16(x):
    """Cut off, which is as good for an input."""
    return (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def from_bf16(u):
    return (u.astype(np.uint32) << 16).view(np.float32)


def to_e4m3(x):
    """float to float8_e4m3fn bits: the nearest of its 253 finite values, of two the one with an even code."""
    codes = np.arange(127)  # rising, so that the code is the place
    values, x = from_e4m3(codes), np.asarray(x, np.float64)
    at = np.clip(np.searchsorted(values, np.abs(x)), 1, 126)
    low, high = np.abs(x) - values[at - 1], values[at] - np.abs(x)
    code = np.where((low < high) | ((low == high) & (at % 2 == 1)), at - 1, at)
    return (code | np.signbit(x) * 128).astype(np.uint8)


def from_e4m3(u):
    u = np.asarray(u).astype(np.int64)
    exponent, mantissa = u >> 3 & 15, u & 7
    size = np.where(exponent > 0, (1 + mantissa / 8) * 2.0 ** (exponent - 7), mantissa / 8 * 2.0**-6)
    return np.where(u >> 7 & 1, -size, size)


def decoding(batch, kv_heads, group, capacity, dim, lengths, **sizes):
    q, o = f16(batch, kv_heads, group, dim), np.zeros((batch, kv_heads, group, dim))
    k, v = f16(batch, capacity, kv_heads, dim), f16(batch, capacity, kv_heads, dim)
    for b in range(batch):  # what lies behind the end is no number
        k[b, lengths[b] :] = v[b, lengths[b] :] = np.nan
    for b, h, g in np.ndindex(batch, kv_heads, group):
        keys, values = (x[b, : lengths[b], h].astype(np.float64) for x in (k, v))
        p = np.exp(keys @ q[b, h, g].astype(np.float64) / np.sqrt(dim))
        o[b, h, g] = p @ values / p.sum() if lengths[b] else 0
    sizes.update(batch=batch, kv_heads=kv_heads, group=group, capacity=capacity, dim=dim)
    return {"Q": q, "K": k, "V": v, "length": np.array(lengths, np.int32)}, {"O": o}, sizes


def gemv(n, k, **sizes):
    a, x = f16(n, k), f16(k)
    return {"A": a, "x": x}, {"y": a.astype(np.float64) @ x.astype(np.float64)}, {"N": n, "K": k, **sizes}


def conv2d(batch, size, channels, filters, kernel, stride, pad, dilation):
    """The sum over the filter's places of shifted images times matrices."""
    x, w = f16(batch, *size, channels), f16(kernel, kernel, channels, filters)
    wide = np.pad(x.astype(np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    rows, cols = ((n + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1 for n in size)
    y = np.zeros((batch, rows, cols, filters))
    for r, s in np.ndindex(kernel, kernel):
        part = wide[:, r * dilation :, s * dilation :][:, ::stride, ::stride][:, :rows, :cols]
        y += part @ w[r, s].astype(np.float64)
    sizes = {"batch": batch, "height": size[0], "width": size[1], "channels": channels, "filters": filters}
    sizes.update(kernel=kernel, stride=stride, pad=pad, dilation=dilation)
    return {"X": x, "W": w}, {"Y": y}, sizes


def grouped_gemm(rows, n, k, **sizes):
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int32)
    a, b = f16(starts[-1], k), f16(len(rows), k, n)
    parts = [a[starts[g] : starts[g + 1]].astype(np.float64) @ b[g].astype(np.float64) for g in range(len(rows))]
    sizes.update(groups=len(rows), M=sum(rows), N=n, K=k)
    return {"A": a, "B": b, "starts": starts}, {"C": np.concatenate(parts)}, sizes


def moe(tokens, dim, hidden, experts, top, **sizes):
    """Tokens choose among all experts but the last, which stays idle."""
    x = f16(tokens, dim)
    w1, w3, w2 = (f16(experts, *s) / np.float16(np.sqrt(s[0])) for s in ((dim, hidden), (dim, hidden), (hidden, dim)))
    choice = np.argsort(rng.random((tokens, max(experts - 1, top))), axis=1)[:, :top]
    weights = rng.uniform(0, 1, (tokens, top)).astype(np.float32)
    order = np.argsort(choice.reshape(-1), kind="stable")
    starts = np.searchsorted(choice.reshape(-1)[order], np.arange(experts + 1)).astype(np.int32)
    slot_of = np.argsort(order).reshape(tokens, top).astype(np.int32)
    y, wide = np.zeros((tokens, dim)), x.astype(np.float64)
    for t, s in np.ndindex(tokens, top):
        a, b, c = (w[choice[t, s]].astype(np.float64) for w in (w1, w3, w2))
        gate = wide[t] @ a
        y[t] += weights[t, s] * ((gate / (1 + np.exp(-gate)) * (wide[t] @ b)) @ c)
    inputs = {"X": x, "W1": w1, "W3": w3, "W2": w2, "starts": starts, "slot_of": slot_of}
    inputs.update(token_of=(order // top).astype(np.int32), weights=weights)
    sizes.update(tokens=tokens, dim=dim, hidden=hidden, experts=experts, top=top)
    return inputs, {"Y": y}, sizes


def topk(m, n, k, equal=False):
    x = (rng.integers(0, 3, (m, n)) if equal else rng.standard_normal((m, n))).astype(np.float32)
    x[0, : n // 2] = -np.inf
    at = np.argsort(-x, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(x, at, 1)
    return {"X": x}, {"values": best, "places": at.astype(np.int32)}, {"M": m, "N": n, "k": k}


def per_token_cast(m, n):
    x = to_bf16(rng.standard_normal((m, n)) * 100)
    x[0, :] = 0
    groups = np.pad(from_bf16(x), ((0, 0), (0, -n % 128))).reshape(m, -1, 128)
    most, top = np.maximum(np.abs(groups).max(2), np.float32(1e-4)), np.float32(448)
    scales, scaled = most / top, groups * (top / most)[:, :, None]
    y = to_e4m3(np.clip(scaled, -top, top)).reshape(m, -1)[:, :n]
    return {"X": x}, {"Y": y, "scales": scales}, {"M": m, "N": n}


def gemm_fp8(m, n, k):
    a, b = to_e4m3(rng.standard_normal((m, k))), to_e4m3(rng.standard_normal((n, k)))
    groups = -(-k // 128)
    scales_a = rng.uniform(0.5, 2, (m, groups)).astype(np.float32)
    scales_b = rng.uniform(0.5, 2, (-(-n // 128), groups)).astype(np.float32)
    wide_a = from_e4m3(a) * np.repeat(scales_a, 128, 1)[:, :k]
    wide_b = from_e4m3(b) * np.repeat(np.repeat(scales_b, 128, 0)[:n], 128, 1)[:, :k]
    inputs = {"A": a, "B": b, "scales_A": scales_a, "scales_B": scales_b}
    return inputs, {"C": wide_a @ wide_b.T}, {"M": m, "N": n, "K": k}


def programs():
    """(sample, name, reference), each for both targets."""
    yield "flash_decoding", "2x2x4 dim 64", lambda: decoding(2, 2, 4, 256, 64, [256, 130], splits=4)
    yield "flash_decoding", "3x1x7 dim 40", lambda: decoding(3, 1, 7, 201, 40, [201, 0, 1], splits=5, block_N=32)
    yield "flash_decoding", "1x1x16 dim 128", lambda: decoding(1, 1, 16, 77, 128, [77], splits=1)
    yield "gemv", "16x4096", lambda: gemv(16, 4096)
    yield "gemv", "5x1001", lambda: gemv(5, 1001, block_K=512, threads=96)
    yield "gemv", "3x0", lambda: gemv(3, 0)
    yield "gemv_splitk", "16x4096", lambda: gemv(16, 4096)
    yield "gemv_splitk", "5x1001", lambda: gemv(5, 1001, rows=3, ways=64)
    yield "conv2d", "2x8x8x32x64", lambda: conv2d(2, (8, 8), 32, 64, 3, 1, 1, 1)
    yield "conv2d", "2x9x7x5x24 stride", lambda: conv2d(2, (9, 7), 5, 24, 3, 2, 1, 1)
    yield "conv2d", "1x12x11x8x10 dilation", lambda: conv2d(1, (12, 11), 8, 10, 3, 1, 2, 2)
    yield "conv2d", "3x5x5x16x9 pointwise", lambda: conv2d(3, (5, 5), 16, 9, 1, 1, 0, 1)
    yield "conv2d", "1x17x17x3x16 large", lambda: conv2d(1, (17, 17), 3, 16, 7, 2, 3, 1)
    yield "grouped_gemm", "128+200+0+56", lambda: grouped_gemm([128, 200, 0, 56], 128, 64)
    yield "grouped_gemm", "0+1+77", lambda: grouped_gemm([0, 1, 77, 0], 72, 50, block_M=32, block_N=64)
    yield "moe", "100x64x96 4 experts", lambda: moe(100, 64, 96, 4, 2)
    yield "moe", "7x50x36 3 experts", lambda: moe(7, 50, 36, 3, 2, block_N=32)
    yield "moe", "130x32x64 1 expert", lambda: moe(130, 32, 64, 1, 1, num_stages=2)
    yield "topk", "8x256", lambda: topk(8, 256, 8)
    yield "topk", "5x77 equal", lambda: topk(5, 77, 6, True)
    yield "topk", "3x1", lambda: topk(3, 1, 1)
    yield "per_token_cast", "32x256", lambda: per_token_cast(32, 256)
    yield "per_token_cast", "5x300", lambda: per_token_cast(5, 300)
    yield "gemm_fp8", "128x256x256", lambda: gemm_fp8(128, 256, 256)
    yield "gemm_fp8", "70x130x200", lambda: gemm_fp8(70, 130, 200)
