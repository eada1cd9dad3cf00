"""A torch for machines without one: enough of it that a program about kernels runs up to its kernel calls.

Small tensors have values (NumPy's); large ones and what kernels return have only shape, dtype and device.
Nothing here is fast or complete. What is not spelt out is an opaque value (tlc_shim/opaque.py)."""
# SPDX-License-Identifier: MIT
import builtins as py
import sys

import numpy as np

from tlc_shim.opaque import Opaque

from . import _cuda, _nn, _ops, _shapes, _types
from ._shapes import RANDOM, broadcast_tensors, cat, kron, meshgrid, sizes, stack
from ._tensor import Tensor, as_tensor, make, raw, small, unknown
from ._types import ALL, ALIASES, Size, device, dtype

__version__ = "2.5.0"
einsum = _ops.einsum
concat = concatenate = cat
from_numpy = as_tensor
inf, nan, pi = _nn.INF, _nn.NAN, _nn.PI
finfo, iinfo = _nn.finfo, _nn.iinfo
autograd, testing, nn, cuda = _nn.autograd, _nn.testing, _nn.nn, _cuda.cuda
strided = "strided"
long = int64 = ALL["int64"]
_defaults = {"device": "cpu", "dtype": ALL["float32"]}

_ops.install()
_shapes.install_properties()
METHODS = {"cuda", "cpu", "to", "type", "view", "contiguous", "pin_memory", "view_as", "expand", "type_as"}


def _named_input(fn):
    """torch.gather(input=x, ...) is gather(x, ...)."""
    def run(*args, input=None, out=None, **kw):
        return fn(*args, **kw) if input is None else fn(input, *args, **kw)
    return run


globals().update({k: _named_input(v) for k, v in _ops.OPS.items() if not k.endswith("_") and k not in METHODS})
globals().update(ALL)
globals().update({alias: ALL[name] for alias, name in ALIASES.items()})


# -- creation

def _place(kw):
    return kw.get("device") or _defaults["device"]


def _type(kw, fallback=None):
    return _types.as_dtype(kw.get("dtype")) or fallback or _defaults["dtype"]


def _new(fill, args, kw, dtype=None):
    shape = sizes(args if args else (kw.pop("size", ()),))
    t = _type(kw, dtype)
    out = make(fill(shape), t, _place(kw)) if small(shape) else unknown(shape, t, _place(kw))
    return out.requires_grad_(kw.get("requires_grad", False))


def zeros(*shape, **kw):
    return _new(np.zeros, shape, kw)


def ones(*shape, **kw):
    return _new(np.ones, shape, kw)


def empty(*shape, **kw):
    return _new(np.zeros, shape, kw)


def randn(*shape, **kw):
    return _new(RANDOM.standard_normal, shape, kw)


def rand(*shape, **kw):
    return _new(RANDOM.random, shape, kw)


def randint(*args, **kw):
    low, high = kw.pop("low", 0), kw.pop("high", None)
    size = kw.pop("size", None)
    numbers = list(args)
    if size is None:
        size = numbers.pop()
    if high is None:
        high = numbers.pop()
    low = numbers.pop() if numbers else low
    return _new(lambda s: RANDOM.integers(py.int(low), py.max(py.int(high), py.int(low) + 1), s), (size,), kw, ALL["int64"])


def randperm(n, **kw):
    return make(RANDOM.permutation(py.int(n)), _type(kw, ALL["int64"]), _place(kw))


def full(size, value, **kw):
    size = size if isinstance(size, (tuple, list)) else (size,)
    kind = kw.get("dtype") or (_types.of_value(raw(value)) if not isinstance(value, Tensor) else value.dtype)
    return _new(lambda s: np.full(s, raw(value)), (size,), kw, kind)


def arange(*args, **kw):
    kw.pop("out", None)
    a = np.arange(*[py.float(x) if isinstance(x, py.float) else py.int(x) for x in args or (kw.pop("end"),)])
    return make(a, _type(kw, ALL["int64"] if a.dtype.kind == "i" else None), _place(kw))


def linspace(a, b, steps, **kw):
    return make(np.linspace(a, b, steps), _type(kw), _place(kw))


def eye(n, m=None, **kw):
    return make(np.eye(n, m), _type(kw), _place(kw))


def tensor(data, **kw):
    out = as_tensor(data, kw.get("dtype"), _place(kw))
    return out.clone().requires_grad_(kw.get("requires_grad", False))


asarray = tensor


def _like(fn):
    def run(x, *args, **kw):
        kw.setdefault("dtype", x.dtype)
        kw.setdefault("device", x.device)
        kw.pop("memory_format", None)
        return fn(x.shape, *args, **kw)
    return run


zeros_like, ones_like, empty_like = _like(zeros), _like(ones), _like(empty)
randn_like, rand_like, full_like = _like(randn), _like(rand), _like(full)
randint_like = _like(lambda shape, *a, **kw: randint(*a, shape, **kw))


def _new_method(fn):
    def run(x, *args, **kw):
        kw.setdefault("dtype", x.dtype)
        kw.setdefault("device", x.device)
        return fn(*args, **kw)
    return run


for _name, _fn in (("zeros", zeros), ("ones", ones), ("empty", empty), ("full", full), ("tensor", tensor)):
    setattr(Tensor, f"new_{_name}", _new_method(_fn))


def empty_strided(shape, stride, **kw):
    return empty(shape, **kw)


FloatTensor = IntTensor = LongTensor = HalfTensor = BoolTensor = Tensor


def is_tensor(x):
    return isinstance(x, Tensor)


def is_floating_point(x):
    return x.dtype.is_floating_point


def numel(x):
    return x.numel()


def block_diag(*xs):
    return unknown([py.sum(x.shape[0] for x in xs), py.sum(x.shape[1] for x in xs)], xs[0].dtype, xs[0].device)


conv2d = _nn.functional.conv2d


# -- switches and contexts

class _Switch:
    """torch.no_grad and the like: a context, a decorator, a function."""

    def __init__(self, *_, **__):
        pass

    def __call__(self, fn=None, *_, **__):
        return fn if callable(fn) else self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def no_grad(fn=None, *_, **__):
    return fn if callable(fn) else _Switch()


enable_grad = inference_mode = set_grad_enabled = autocast = no_grad


def compile(fn=None, **_):
    return fn if fn is not None else (lambda f: f)


def _nothing(*_, **__):
    return None


manual_seed = seed = set_printoptions = set_num_threads = use_deterministic_algorithms = _nothing
set_float32_matmul_precision = _nothing


def set_default_device(d):
    _defaults["device"] = d


def set_default_dtype(t):
    _defaults["dtype"] = t


def get_default_dtype():
    return _defaults["dtype"]


class Generator:
    def __init__(self, device="cpu"):
        self.device = device

    def manual_seed(self, _):
        return self


version = _nn.Module("torch.version", cuda="12.4", hip=None)
random = _nn.Module("torch.random", manual_seed=_nothing, fork_rng=no_grad)
backends = _nn.Module("torch.backends", cuda=Opaque("torch.backends.cuda"), cudnn=Opaque("torch.backends.cudnn"))
torch = sys.modules[__name__]
utils = _nn.Module("torch.utils")
distributed = _nn.Module("torch.distributed", is_initialized=lambda: False)
library = _nn.Module("torch.library")
for _module in (autograd, testing, nn, _nn.functional, cuda, version, random, backends, utils, distributed, library):
    sys.modules[_module.__name__] = _module


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    return Opaque(f"torch.{name}")
