"""What one does with fake tensors: tables of functions that are methods and torch.* alike."""
# SPDX-License-Identifier: MIT
import builtins
import math

import numpy as np

from tlc_shim.settings import recording

from ._tensor import (Tensor, as_tensor, convert, elementwise, index_of, make, raw, tie, unknown, unknown_index, view)
from ._types import ALL, Size, device as Device, dtype as DType, promote

F32, BOOL, I64 = ALL["float32"], ALL["bool"], ALL["int64"]
OPS = {}   # name -> function(tensor, ...): a method of Tensor and a function of torch


def op(fn):
    OPS[fn.__name__.rstrip("_") if fn.__name__.endswith("__") else fn.__name__] = fn
    return fn


# -- element-wise

def _gelu(x):
    return x * 0.5 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))


FLOAT_UNARY = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "erf": np.vectorize(math.erf),
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "reciprocal": lambda x: 1 / x,
    "silu": lambda x: x / (1 + np.exp(-x)), "gelu": _gelu, "softplus": lambda x: np.log1p(np.exp(x)),
    "logsigmoid": lambda x: -np.log1p(np.exp(-x)), "expm1": np.expm1,
}
UNARY = {
    "neg": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "round": np.round, "trunc": np.trunc,
    "relu": lambda x: np.maximum(x, 0), "sign": np.sign, "square": np.square, "nan_to_num": np.nan_to_num,
    "bitwise_not": np.invert, "positive": lambda x: x,
}
PREDICATE = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "isneginf": np.isneginf,
             "isposinf": np.isposinf, "logical_not": np.logical_not}
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "remainder": np.mod, "fmod": np.fmod, "pow": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor, "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
    "floor_divide": np.floor_divide,
}
COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "mod": "remainder", "pow": "pow", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    "floordiv": "floor_divide", "truediv": "div",
}


def _floats(t):
    return t.dtype if t.dtype.is_floating_point else F32


def _def_unary(name, fn, result):
    def run(x, *_, **__):
        x = as_tensor(x)
        return elementwise(fn, x, dtype=result(x))
    OPS[name] = run


def _def_binary(name, fn, dtype):
    def run(x, y, *_, alpha=1, **__):
        x = x if isinstance(x, Tensor) else as_tensor(x) if not isinstance(y, Tensor) else x
        return elementwise(fn, x, y if alpha == 1 else y * alpha, dtype=dtype)
    OPS[name] = run


for _n, _f in FLOAT_UNARY.items():
    _def_unary(_n, _f, _floats)
for _n, _f in UNARY.items():
    _def_unary(_n, _f, lambda t: t.dtype)
for _n, _f in PREDICATE.items():
    _def_unary(_n, _f, lambda t: BOOL)
for _n, _f in BINARY.items():
    _def_binary(_n, _f, None)
for _n, _f in COMPARE.items():
    _def_binary(_n, _f, BOOL)


@op
def div(x, y, rounding_mode=None, **_):
    x = x if isinstance(x, Tensor) or isinstance(y, Tensor) else as_tensor(x)
    if rounding_mode:
        return elementwise(np.floor_divide, x, y)
    out = elementwise(np.true_divide, x, y, dtype=F32) if not _any_float(x, y) else elementwise(np.true_divide, x, y)
    return out


def _any_float(*xs):
    return any(isinstance(x, float) or (isinstance(x, Tensor) and x.dtype.is_floating_point) for x in xs)


@op
def clamp(x, min=None, max=None):
    low = -np.inf if min is None else min
    high = np.inf if max is None else max
    extra = [b for b in (low, high) if isinstance(b, Tensor)]
    if builtins.any(not b.known for b in extra):
        return unknown(x.shape, x.dtype, x.device)
    return elementwise(lambda a: np.clip(a, raw(low), raw(high)), x, dtype=x.dtype)


@op
def where(cond, x=None, y=None):
    if x is None:
        return OPS["nonzero"](cond, as_tuple=True)
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x = as_tensor(x)
    t = elementwise(lambda a, b: a + b, x, y).dtype if isinstance(x, Tensor) or isinstance(y, Tensor) else F32
    return elementwise(np.where, cond, x, y, dtype=t)


@op
def masked_fill(x, mask, value):
    return elementwise(lambda m, a, v: np.where(m, v, a), mask, x, value, dtype=x.dtype)


@op
def lerp(x, y, w):
    return x + (y - x) * w


@op
def addcmul(x, a, b, value=1):
    return x + a * b * value


@op
def isclose(x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    return elementwise(lambda a, b: np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan), x, y, dtype=BOOL)


def comparable(x, y):
    """Record mode checks nothing: what a kernel wrote in place is not known to be unknown."""
    return x.known and y.known and not recording()


@op
def allclose(x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    return bool(np.allclose(x.a, y.a, rtol, atol, equal_nan)) if comparable(x, y) else True


@op
def equal(x, y):
    return bool(np.array_equal(x.a, y.a)) if comparable(x, y) else True


# -- reductions

def _dims(x, dim):
    if dim is None:
        return tuple(range(x.a.ndim))
    return tuple(d % builtins.max(x.a.ndim, 1) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))


def _reduced(x, dim, keepdim):
    dims = _dims(x, dim)
    if keepdim:
        return tuple(1 if i in dims else n for i, n in enumerate(x.shape))
    return tuple(n for i, n in enumerate(x.shape) if i not in dims)


def reduce(x, fn, dim, keepdim, dtype):
    if not x.known:
        return tie(unknown(_reduced(x, dim, keepdim), dtype, x.device), x)
    with np.errstate(all="ignore"):
        a = x.a.astype(np.float32) if x.dtype.name == "float16" else x.a
        return tie(make(fn(a, axis=_dims(x, dim), keepdims=keepdim), dtype, x.device), x)


def _logsumexp(a, axis, keepdims):
    top = np.max(a, axis=axis, keepdims=True)
    out = np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True)) + top
    return out if keepdims else np.squeeze(out, axis)


REDUCE = {"sum": (np.sum, "sum"), "mean": (np.mean, "float"), "amax": (np.max, ""), "amin": (np.min, ""),
          "prod": (np.prod, "sum"), "all": (np.all, "bool"), "any": (np.any, "bool"), "std": (np.std, "float"),
          "var": (np.var, "float"), "logsumexp": (_logsumexp, "float"),
          "norm": (lambda a, axis, keepdims: np.sqrt(np.sum(a * a, axis=axis, keepdims=keepdims)), "float")}


def _def_reduce(name, fn, kind):
    def run(x, dim=None, keepdim=False, dtype=None, **kw):
        t = x.dtype
        if kind == "bool":
            t = BOOL
        elif kind == "float":
            t = _floats(x)
        elif kind == "sum" and not t.is_floating_point:
            t = I64
        if name == "norm":
            dim = kw.get("dim", dim if isinstance(dim, (tuple, list)) else None)
        return reduce(x, fn, dim, keepdim, dtype or t)
    OPS[name] = run


for _n, (_f, _k) in REDUCE.items():
    _def_reduce(_n, _f, _k)


class Pair(tuple):
    values = property(lambda self: self[0])
    indices = property(lambda self: self[1])


def _extreme(name, fn, arg):
    def run(x, dim=None, keepdim=False, **_):
        if isinstance(dim, Tensor):
            return elementwise(np.maximum if name == "max" else np.minimum, x, dim)
        if dim is None:
            return reduce(x, fn, None, False, x.dtype)
        return Pair((reduce(x, fn, dim, keepdim, x.dtype), OPS["arg" + name](x, dim, keepdim)))

    def index(x, dim=None, keepdim=False):
        def of(a, axis, keepdims):
            return arg(a, axis=axis[0], keepdims=keepdims) if dim is not None else arg(a)
        return reduce(x, of, dim, keepdim, I64)
    OPS[name], OPS["arg" + name] = run, index


_extreme("max", np.max, np.argmax)
_extreme("min", np.min, np.argmin)


@op
def cumsum(x, dim=0, dtype=None, **_):
    t = dtype or (x.dtype if x.dtype.is_floating_point else I64)
    return elementwise(lambda a: np.cumsum(a, axis=dim), x, dtype=t)


@op
def softmax(x, dim=-1, dtype=None, **_):
    def run(a):
        e = np.exp(a - np.max(a, axis=dim, keepdims=True))
        return e / np.sum(e, axis=dim, keepdims=True)
    return elementwise(run, x, dtype=dtype or _floats(x))


@op
def log_softmax(x, dim=-1, dtype=None, **_):
    return elementwise(lambda a: a - _logsumexp(a, dim, True), x, dtype=dtype or _floats(x))


@op
def topk(x, k, dim=-1, largest=True, sorted=True):
    k = int(k)
    if not x.known:
        shape = list(x.shape)
        shape[dim] = k
        return Pair((unknown(shape, x.dtype, x.device), unknown(shape, I64, x.device)))
    order = np.argsort(-x.a if largest else x.a, axis=dim, kind="stable")
    index = np.take(order, range(k), axis=dim)
    return Pair((make(np.take_along_axis(x.a, index, dim), x.dtype, x.device), make(index, I64, x.device)))


@op
def sort(x, dim=-1, descending=False, **_):
    return topk(x, x.shape[dim], dim, descending)


@op
def argsort(x, dim=-1, descending=False, **_):
    return sort(x, dim, descending)[1]


# -- products

def _product_shape(a, b):
    if len(a) == 1 and len(b) == 1:
        return ()
    if len(b) == 1:
        return a[:-1]
    if len(a) == 1:
        return b[:-2] + b[-1:]
    return np.broadcast_shapes(a[:-2], b[:-2]) + (a[-2], b[-1])


@op
def matmul(x, y, **_):
    t = promote(x.dtype, y.dtype)
    work = x.numel() * (y.shape[-1] if y.ndim > 1 else 1)
    if x.known and y.known and work < (1 << 30):
        def wide(a):
            return a.astype(np.float32 if t.is_floating_point and t.name != "float64" else t.holder)
        return tie(make(np.matmul(wide(x.a), wide(y.a)), t, x.device), x, y)
    return tie(unknown(_product_shape(tuple(x.shape), tuple(y.shape)), t, x.device), x, y)


OPS["mm"] = OPS["bmm"] = OPS["mv"] = OPS["dot"] = matmul


@op
def outer(x, y):
    return x.unsqueeze(-1) * y.unsqueeze(0)


def einsum(spec, *xs):
    """Shapes by the letters; values only where NumPy is quick about it."""
    xs = xs[0] if len(xs) == 1 and isinstance(xs[0], (list, tuple)) else xs
    spec = spec.replace(" ", "")
    ins, _, out = spec.partition("->")
    if "..." in spec:
        known = all(x.known for x in xs)
        small = [np.broadcast_to(np.float32(0), x.shape) for x in xs]
        shape = np.einsum(spec, *(x.a for x in xs)).shape if known else np.einsum(spec, *small, optimize=True).shape
        return tie(unknown(shape, xs[0].dtype, xs[0].device), *xs)
    size = {}
    for letters, x in zip(ins.split(","), xs):
        size.update(zip(letters, x.shape))
    if not spec.count("->"):
        letters = ins.replace(",", "")
        out = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    work = math.prod(size.values())
    t = xs[0].dtype
    for x in xs[1:]:
        t = promote(t, x.dtype)
    if all(x.known for x in xs) and work < (1 << 26):
        return tie(make(np.einsum(spec, *(x.a.astype(np.float32) for x in xs)), t, xs[0].device), *xs)
    return tie(unknown([size[c] for c in out], t, xs[0].device), *xs)


# -- comparisons as operators, arithmetic as operators, in place

def _install_operators():
    for name, fn in OPERATORS.items():
        run = OPS[fn]
        setattr(Tensor, f"__{name}__", lambda self, other, run=run: run(self, other))
        setattr(Tensor, f"__r{name}__", lambda self, other, run=run: run(other, self))
        setattr(Tensor, f"__i{name}__", lambda self, other, run=run: assign(self, run(self, other)))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Tensor, f"__{name}__", lambda self, other, run=OPS[name]: run(self, other))
    for name, fn in (("neg", "neg"), ("abs", "abs"), ("invert", "bitwise_not")):
        setattr(Tensor, f"__{name}__", lambda self, run=OPS[fn]: run(self))
    Tensor.__matmul__ = lambda self, other: matmul(self, other)


def assign(t, value):
    """t's values become value's, in place."""
    value = as_tensor(value)
    if t.known and value.known:
        t.a[...] = value.a
    else:
        t.forget()
    return tie(t, value) if value.leaves else t


def install():
    _install_operators()
    for name, fn in OPS.items():
        setattr(Tensor, name, fn)
        if not hasattr(Tensor, name + "_"):
            setattr(Tensor, name + "_", lambda self, *a, fn=fn, **k: assign(self, fn(self, *a, **k)))


__all__ = ["OPS", "op", "assign", "einsum", "install", "Pair", "convert", "view", "Device", "DType", "Size",
           "index_of", "unknown_index"]
