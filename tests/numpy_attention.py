"""NumPy's own results of the attention samples; tests/numpy_cases.py runs them.

SPDX-License-Identifier: MIT
"""
import numpy as np

rng = np.random.default_rng(21)


def f16(*shape):
    return rng.standard_normal(shape).astype(np.float16)


def attend(q, k, v, visible):
    """O and the logarithm of the sum of exponentials of one head: [i, d], [j, d], [j, d], [i, j]."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = np.where(visible, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    top = np.where(visible.any(1), s.max(1, initial=-np.inf), 0)[:, None]
    e = np.exp(s - top)
    total = e.sum(1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[:, 0]
    return (e / np.where(total == 0, 1, total)) @ v, lse


def visible(rows, keys, causal):
    """Which keys a row sees: all, or with the last row seeing the last key those up to its own."""
    return np.tri(rows, keys, keys - rows, dtype=bool) if causal else np.ones((rows, keys), bool)


def heads_of(b, h, s, d, groups):
    return f16(b, s, h, d), f16(b, s, h // groups, d), f16(b, s, h // groups, d)


def forward(b, h, s, d, causal=False, groups=1, **sizes):
    q, k, v = heads_of(b, h, s, d, groups)
    o, lse = np.zeros(q.shape), np.zeros((b, h, s))
    for z, y in np.ndindex(b, h):
        part = q[z, :, y], k[z, :, y // groups], v[z, :, y // groups]
        o[z, :, y], lse[z, y] = attend(*part, visible(s, s, causal))
    sizes.update(batch=b, heads=h, groups=groups, seq_len=s, dim=d, causal=causal)
    return {"Q": q, "K": k, "V": v}, {"O": o, "LSE": lse}, sizes


def varlen(h, d, queries, keys, causal=False, groups=1, **sizes):
    cu_q, cu_k = (np.cumsum([0] + x).astype(np.int32) for x in (queries, keys))
    q, k, v = f16(cu_q[-1], h, d), f16(cu_k[-1], h // groups, d), f16(cu_k[-1], h // groups, d)
    o, lse = np.zeros(q.shape), np.zeros((h, cu_q[-1]))
    for z, y in np.ndindex(len(queries), h):
        rows, cols = slice(cu_q[z], cu_q[z + 1]), slice(cu_k[z], cu_k[z + 1])
        part = q[rows, y], k[cols, y // groups], v[cols, y // groups]
        o[rows, y], lse[y, rows] = attend(*part, visible(queries[z], keys[z], causal))
    sizes.update(heads=h, groups=groups, dim=d, causal=causal)
    sizes.update(batch=len(queries), longest=max(queries))
    return {"Q": q, "K": k, "V": v, "cu_q": cu_q, "cu_k": cu_k}, {"O": o, "LSE": lse}, sizes


def backward(b, h, s, d, causal=False, groups=1, **sizes):
    inputs, outputs, sizes = forward(b, h, s, d, causal, groups, **sizes)
    q, k, v = (inputs[n].astype(np.float64) for n in "QKV")
    inputs["O"], inputs["LSE"] = outputs["O"].astype(np.float16), outputs["LSE"].astype(np.float32)
    inputs["dO"] = f16(b, s, h, d)
    do, grads = inputs["dO"].astype(np.float64), [np.zeros(x.shape) for x in (q, k, v)]
    for z, y in np.ndindex(b, h):
        kv, t = y // groups, 1 / np.sqrt(d)
        p = np.where(visible(s, s, causal), q[z, :, y] @ k[z, :, kv].T * t, -np.inf)
        p = np.exp(p - outputs["LSE"][z, y][:, None])
        dp = do[z, :, y] @ v[z, :, kv].T
        ds = p * (dp - (p * dp).sum(1, keepdims=True)) * t  # the derivative of softmax itself
        grads[0][z, :, y] += ds @ k[z, :, kv]
        grads[1][z, :, kv] += ds.T @ q[z, :, y]
        grads[2][z, :, kv] += p.T @ do[z, :, y]
    return inputs, dict(zip(("dQ", "dK", "dV"), grads)), sizes


def block_sparse(b, h, s, d, causal, rows, keys, **sizes):
    q, k, v = heads_of(b, h, s, d, 1)
    mask = rng.integers(0, 2, (b, h, -(-s // rows), -(-s // keys))).astype(np.int8)
    o = np.zeros(q.shape)
    for z, y in np.ndindex(b, h):
        tiles = np.repeat(np.repeat(mask[z, y], rows, 0), keys, 1)[:s, :s] != 0
        o[z, :, y], _ = attend(q[z, :, y], k[z, :, y], v[z, :, y], tiles & visible(s, s, causal))
    sizes.update(batch=b, heads=h, seq_len=s, dim=d, causal=causal, block_M=rows, block_N=keys)
    return {"Q": q, "K": k, "V": v, "Mask": mask}, {"O": o}, sizes


def linear(b, h, s, dk, dv, **sizes):
    q, k, v = f16(b, s, h, dk), f16(b, s, h, dk), f16(b, s, h, dv)
    g = -rng.random(h).astype(np.float32) / 8
    o, state = np.zeros(v.shape), np.zeros((b, h, dk, dv))
    for i in range(s):  # one row after the other: no chunks
        outer = np.einsum("bhk,bhv->bhkv", k[:, i].astype(np.float64), v[:, i].astype(np.float64))
        state = state * np.exp2(g.astype(np.float64))[None, :, None, None] + outer
        o[:, i] = np.einsum("bhk,bhkv->bhv", q[:, i].astype(np.float64), state) / np.sqrt(dk)
    sizes.update(batch=b, heads=h, seq_len=s, dim_k=dk, dim_v=dv)
    return {"Q": q, "K": k, "V": v, "decay": g}, {"O": o, "State": state}, sizes


def programs():
    """(sample, name, reference), each for both targets."""
    few = {"block_M": 64, "block_N": 32, "threads": 128}
    yield "flash_attention", "2x2x128x64", lambda: forward(2, 2, 128, 64)
    yield "flash_attention", "1x2x200x128", lambda: forward(1, 2, 200, 128)
    yield "flash_attention", "causal 1x2x200x64", lambda: forward(1, 2, 200, 64, True)
    yield "flash_attention", "causal 1x1x77x40", lambda: forward(1, 1, 77, 40, True, **few)
    yield "flash_attention", "groups 2x4x130x80", lambda: forward(2, 4, 130, 80, True, 2)
    yield "flash_attention", "groups 1x6x65x96", lambda: forward(1, 6, 65, 96, False, 3, **few)
    yield "flash_attention", "causal 1x1x150x192", lambda: forward(1, 1, 150, 192, True, num_stages=1)
    yield "flash_attention", "1x1x100x256", lambda: forward(1, 1, 100, 256, block_N=32)
    yield "flash_attention", "1x1x1x64", lambda: forward(1, 1, 1, 64, True)
    a, b = [70, 1, 0, 130], [50, 33, 7, 130]
    yield "flash_attention_varlen", "2x64", lambda: varlen(2, 64, a, b)
    yield "flash_attention_varlen", "causal 2x80", lambda: varlen(2, 80, a, b, True, **few)
    yield "flash_attention_varlen", "groups 4x128", lambda: varlen(4, 128, b, a, True, 2)
    yield "flash_attention_varlen", "no keys 1x40", lambda: varlen(1, 40, [5, 3], [0, 9], True, **few)
    tiny = {"block_M": 32, "block_N": 64, "threads": 128}
    yield "flash_attention_bwd", "1x2x128x64", lambda: backward(1, 2, 128, 64)
    yield "flash_attention_bwd", "causal 1x2x150x80", lambda: backward(1, 2, 150, 80, True, **tiny)
    yield "flash_attention_bwd", "groups 2x4x77x48", lambda: backward(2, 4, 77, 48, True, 2, **tiny)
    yield "flash_attention_bwd", "1x1x130x128", lambda: backward(1, 1, 130, 128)
    yield "block_sparse_attention", "1x2x300x64", lambda: block_sparse(1, 2, 300, 64, True, 64, 32)
    yield "block_sparse_attention", "2x1x260x80", lambda: block_sparse(2, 1, 260, 80, False, 128, 64)
    yield "linear_attention", "1x2x200x64x64", lambda: linear(1, 2, 200, 64, 64)
    yield "linear_attention", "2x1x77x48x24", lambda: linear(2, 1, 77, 48, 24, chunk=32, block_V=32)
    yield "linear_attention", "1x1x130x128x100", lambda: linear(1, 1, 130, 128, 100)
