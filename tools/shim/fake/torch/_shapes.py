"""Operations on shapes and elements' places, as methods of the fake tensor and functions of torch."""
# SPDX-License-Identifier: MIT
import math

import numpy as np

from ._ops import OPS, Pair, assign, op
from ._tensor import Tensor, as_tensor, convert, index_of, make, raw, small, tie, unknown, view
from ._types import ALL, as_dtype, device as Device, dtype as DType

I64 = ALL["int64"]


def sizes(args):
    """(2, 3), ([2, 3]) and (Size) alike, as ints."""
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = args[0]
    return [int(x) for x in args]


@op
def reshape(x, *shape):
    shape = sizes(shape)
    if x.known or x.is_contiguous():
        return view(x, x.a.reshape(shape))
    if -1 in shape:
        shape[shape.index(-1)] = x.numel() // max(-math.prod(shape), 1)
    return tie(unknown(shape, x.dtype, x.device), x)


def view_(x, *args, dtype=None):
    t = args[0] if args and isinstance(args[0], DType) else dtype
    if t is None:
        return reshape(x, *args)
    ratio = x.dtype.itemsize / t.itemsize
    if x.known and x.dtype.native and t.native and x.a.ndim:
        return Tensor(x.a.view(t.holder), t, x.device)
    shape = x.shape if not x.a.ndim else (*x.shape[:-1], int(x.shape[-1] * ratio))
    return unknown(shape, t, x.device)


OPS["view"] = view_


@op
def view_as(x, other):
    return reshape(x, *other.shape)


OPS["reshape_as"] = view_as


@op
def flatten(x, start_dim=0, end_dim=-1):
    end = end_dim % max(x.ndim, 1)
    return reshape(x, *x.shape[:start_dim], -1, *x.shape[end + 1:])


@op
def unflatten(x, dim, shape):
    dim %= x.ndim
    return reshape(x, *x.shape[:dim], *shape, *x.shape[dim + 1:])


@op
def transpose(x, a=0, b=1):
    return view(x, np.swapaxes(x.a, a, b))


OPS["swapaxes"] = transpose


@op
def t(x):
    return view(x, x.a.T)


@op
def permute(x, *dims):
    return view(x, np.transpose(x.a, sizes(dims)))


@op
def unsqueeze(x, dim):
    return view(x, np.expand_dims(x.a, dim))


@op
def squeeze(x, dim=None):
    if dim is None:
        return view(x, np.squeeze(x.a))
    return view(x, np.squeeze(x.a, dim)) if x.shape[dim] == 1 else x


@op
def expand(x, *shape):
    shape = sizes(shape)
    lead = len(shape) - x.ndim
    return view(x, np.broadcast_to(x.a, [x.shape[i - lead] if n == -1 else n for i, n in enumerate(shape)]))


@op
def expand_as(x, other):
    return expand(x, *other.shape)


OPS["broadcast_to"] = expand


@op
def repeat(x, *times):
    times = sizes(times)
    if x.known and small([x.numel(), *times]):
        return view(x, np.tile(x.a, times))
    shape = [1] * (len(times) - x.ndim) + list(x.shape)
    return tie(unknown([n * k for n, k in zip(shape, times)], x.dtype, x.device), x)


OPS["tile"] = repeat


@op
def repeat_interleave(x, n, dim=None, **_):
    if dim is None:
        x, dim = flatten(x), 0
    if x.known:
        return view(x, np.repeat(x.a, raw(n), dim))
    shape = list(x.shape)
    shape[dim] = int(n.a.sum()) if isinstance(n, Tensor) else shape[dim] * n
    return tie(unknown(shape, x.dtype, x.device), x)


@op
def flip(x, *dims):
    return view(x, np.flip(x.a, sizes(dims)))


@op
def roll(x, shifts, dims=None):
    return view(x, np.roll(x.a, shifts, dims)) if x.known else unknown(x.shape, x.dtype, x.device)


@op
def contiguous(x, **_):
    if x.is_contiguous():
        return x
    return view(x, np.ascontiguousarray(x.a)) if x.known else tie(unknown(x.shape, x.dtype, x.device), x)


@op
def clone(x, **_):
    return view(x, x.a.copy()) if x.known else tie(unknown(x.shape, x.dtype, x.device), x)


@op
def as_strided(x, size, stride, offset=0):
    return tie(unknown(size, x.dtype, x.device), x)


@op
def narrow(x, dim, start, length):
    return x[(slice(None),) * (dim % x.ndim) + (slice(int(start), int(start) + int(length)),)]


@op
def select(x, dim, index):
    return x[(slice(None),) * (dim % x.ndim) + (int(index),)]


@op
def split(x, size, dim=0):
    n = x.shape[dim]
    parts = list(size) if isinstance(size, (list, tuple)) else [min(size, n - i) for i in range(0, n, size)]
    starts = np.cumsum([0] + [int(p) for p in parts])
    return tuple(narrow(x, dim, s, p) for s, p in zip(starts, parts))


@op
def chunk(x, n, dim=0):
    return split(x, -(-x.shape[dim] // n), dim)


@op
def unbind(x, dim=0):
    return tuple(select(x, dim, i) for i in range(x.shape[dim]))


@op
def tril(x, diagonal=0):
    return view(x, np.tril(x.a, diagonal)) if x.known else unknown(x.shape, x.dtype, x.device)


@op
def triu(x, diagonal=0):
    return view(x, np.triu(x.a, diagonal)) if x.known else unknown(x.shape, x.dtype, x.device)


@op
def diagonal(x, offset=0, dim1=0, dim2=1):
    return view(x, np.diagonal(x.a, offset, dim1, dim2))


@op
def diff(x, n=1, dim=-1, **_):
    return view(x, np.diff(x.a, n, dim))


@op
def gather(x, dim, index, **_):
    if x.known and index.known:
        return view(x, np.take_along_axis(x.a, index.a, dim))
    return tie(unknown(index.shape, x.dtype, x.device), x)


@op
def index_select(x, dim, index):
    return x[(slice(None),) * (dim % x.ndim) + (index,)]


@op
def scatter_(x, dim, index, src, **_):
    if x.known and index.known and (not isinstance(src, Tensor) or src.known):
        np.put_along_axis(x.a, index.a.astype(np.int64), raw(src), dim)
        return x
    return x.forget()


OPS["scatter_"] = OPS.pop("scatter_", scatter_)


@op
def scatter(x, dim, index, src, **_):
    return scatter_(clone(x), dim, index, src)


for _name in ("scatter_add", "scatter_reduce", "index_add", "index_copy", "index_fill", "masked_scatter"):
    OPS[_name] = lambda x, *a, **k: tie(unknown(x.shape, x.dtype, x.device), x)


@op
def masked_select(x, mask):
    return x[mask]


@op
def nonzero(x, as_tuple=False):
    found = np.nonzero(x.a if x.known else np.ones(x.shape, np.bool_))
    parts = tuple(make(i, I64, x.device) for i in found)
    return parts if as_tuple else make(np.stack(found, -1), I64, x.device)


@op
def unique(x, return_counts=False, return_inverse=False, **_):
    out = np.unique(x.numpy(), return_counts=return_counts, return_inverse=return_inverse)
    return tuple(make(o, I64, x.device) for o in out) if isinstance(out, tuple) else make(out, x.dtype, x.device)


@op
def bincount(x, weights=None, minlength=0):
    return make(np.bincount(x.numpy().astype(np.int64), minlength=minlength), I64, x.device)


@op
def searchsorted(x, values, right=False, **_):
    return make(np.searchsorted(x.numpy(), raw(values), "right" if right else "left"), I64, x.device)


# -- conversions

@op
def to(x, *args, dtype=None, device=None, **_):
    for a in map(as_dtype, args):
        if isinstance(a, DType):
            dtype = a
        elif isinstance(a, (str, Device, int)):
            device = a
        elif isinstance(a, Tensor):
            dtype, device = a.dtype, a.device
    dtype = as_dtype(dtype)
    out = x if dtype is None or dtype is x.dtype else convert(x, dtype)
    if device is None or Device(device) == out.device:
        return out
    return tie(Tensor(out.a, out.dtype, device, out.known), x)


@op
def cuda(x, *_, **__):
    return to(x, device="cuda")


@op
def cpu(x, *_, **__):
    return to(x, device="cpu")


OPS["type_as"] = lambda x, y: to(x, y)
OPS["pin_memory"] = OPS["share_memory_"] = lambda x, *_, **__: x
OPS["type"] = lambda x, t=None, **_: to(x, dtype=t) if t is not None else str(x.dtype)
for _name, _type in (("half", "float16"), ("float", "float32"), ("double", "float64"), ("bfloat16", "bfloat16"),
                     ("int", "int32"), ("long", "int64"), ("short", "int16"), ("char", "int8"), ("byte", "uint8"),
                     ("bool", "bool")):
    OPS[_name] = lambda x, *_, dt=ALL[_type], **__: convert(x, dt)


# -- in place

def _filled(fn):
    def run(x, *args, **kw):
        if small(x.shape):
            x.a, x.known = np.asarray(fn(x.shape, *args, **kw)).astype(x.dtype.holder), True
            return x
        return x.forget()
    return run


RANDOM = np.random.default_rng(0)
OPS["uniform_"] = _filled(lambda s, a=0.0, b=1.0, **_: RANDOM.uniform(a, b, s))
OPS["normal_"] = _filled(lambda s, mean=0.0, std=1.0, **_: RANDOM.normal(mean, std, s))
OPS["random_"] = _filled(lambda s, low=0, high=2, **_: RANDOM.integers(low, high, s))
OPS["zero_"] = lambda x: assign(x, make(np.zeros(()), x.dtype)) if x.known else _filled(np.zeros)(x)
OPS["fill_"] = lambda x, v: assign(x, v) if x.known else _filled(lambda s: np.full(s, raw(v)))(x)
OPS["copy_"] = lambda x, y, **_: assign(x, y)


# -- several tensors

def cat(xs, dim=0, **_):
    xs = [x for x in xs if x.shape != (0,)] or list(xs)
    if all(x.known for x in xs):
        return tie(make(np.concatenate([x.a for x in xs], dim), xs[0].dtype, xs[0].device), *xs)
    shape = list(xs[0].shape)
    shape[dim] = sum(x.shape[dim] for x in xs)
    return tie(unknown(shape, xs[0].dtype, xs[0].device), *xs)


def stack(xs, dim=0, **_):
    return cat([unsqueeze(as_tensor(x), dim) for x in xs], dim)


def meshgrid(*xs, indexing="ij"):
    xs = xs[0] if len(xs) == 1 and isinstance(xs[0], (list, tuple)) else xs
    return tuple(make(a, x.dtype, x.device) for a, x in zip(np.meshgrid(*[x.a for x in xs], indexing=indexing), xs))


def broadcast_tensors(*xs):
    shape = np.broadcast_shapes(*(x.shape for x in xs))
    return tuple(expand(x, *shape) for x in xs)


def kron(x, y):
    out = np.kron(x.a, y.a) if x.known and y.known else None
    shape = [a * b for a, b in zip(x.shape, y.shape)]
    return make(out, x.dtype, x.device) if out is not None else unknown(shape, x.dtype, x.device)


def install_properties():
    Tensor.T = property(t)
    Tensor.mT = property(lambda x: transpose(x, -1, -2))


__all__ = ["Pair", "RANDOM", "cat", "index_of", "install_properties", "kron", "meshgrid", "stack", "sizes",
           "broadcast_tensors"]
