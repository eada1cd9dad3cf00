"""The fake tensor: a shape, a dtype, a device, and its values where they are small enough and known.

An array `a` always stands behind it, so that views, strides and shapes are NumPy's. Where `known` is false its
elements mean nothing (one untouched byte each); whatever is computed from it has only a shape."""
# SPDX-License-Identifier: MIT
import os

import numpy as np

from tlc_shim.opaque import Opaque, Unknown

from ._types import ALL, Size, device as Device, dtype as DType, of_value, promote, promote_scalar

LIMIT = int(os.environ.get("TLC_SHIM_FAKE_LIMIT", 1 << 20))


class Tensor:
    __array_priority__ = 1000

    def __init__(self, a, dtype, device=None, known=True):
        self.a, self.dtype, self.known = a, dtype, known
        self.device = device if isinstance(device, Device) else Device(device or "cpu")
        self.requires_grad, self.grad, self.grad_fn, self.leaves = False, None, None, ()

    # -- what is known of it

    @property
    def shape(self):
        return Size(self.a.shape)

    @property
    def data(self):
        return self

    @data.setter
    def data(self, other):
        self.a, self.known, self.dtype = other.a, other.known, other.dtype

    ndim = property(lambda self: self.a.ndim)
    is_cuda = property(lambda self: self.device.type == "cuda")
    layout = property(lambda self: "strided")
    is_leaf = property(lambda self: not self.leaves)
    nbytes = property(lambda self: self.numel() * self.dtype.itemsize)
    itemsize = property(lambda self: self.dtype.itemsize)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim=None):
        width = self.a.itemsize
        strides = tuple(s // width for s in self.a.strides)
        return strides if dim is None else strides[dim]

    def dim(self):
        return self.a.ndim

    def numel(self):
        return int(np.prod(self.a.shape, dtype=np.int64))

    nelement = numel

    def element_size(self):
        return self.dtype.itemsize

    def is_contiguous(self, *_, **__):
        return self.a.flags["C_CONTIGUOUS"]

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def data_ptr(self):
        return self.a.ctypes.data

    def get_device(self):
        return 0

    def storage_offset(self):
        return 0

    def __len__(self):
        return self.a.shape[0]

    def __hash__(self):
        return id(self)

    def __repr__(self):
        what = np.array2string(self.a, threshold=20) if self.known else "..."
        return f"tensor({what}, shape={tuple(self.shape)}, dtype={self.dtype})"

    def __format__(self, spec):
        return format(self.item(), spec) if spec and self.numel() == 1 else repr(self)

    # -- as Python values

    def item(self):
        return self.a.reshape(-1)[0].item() if self.known else Unknown()

    def tolist(self):
        return self.a.tolist() if self.known else np.zeros(self.shape).tolist()

    def numpy(self, *_, **__):
        return self.a if self.known else np.zeros(self.shape, self.dtype.holder)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype=dtype)

    def __bool__(self):
        return bool(self.a) if self.known else True

    def __int__(self):
        return int(self.item())

    __index__ = __int__

    def __float__(self):
        return float(self.item())

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __contains__(self, x):
        return bool(np.any(self.a == raw(x))) if self.known else True

    # -- gradients: what has them is remembered, their values are not computed

    def requires_grad_(self, on=True):
        self.requires_grad = on
        return self

    def retain_grad(self):
        pass

    def detach(self):
        return Tensor(self.a, self.dtype, self.device, self.known)

    def detach_(self):
        self.leaves, self.grad_fn = (), None
        return self

    def backward(self, gradient=None, **_):
        if self.grad_fn:
            self.grad_fn.run(gradient if gradient is not None else unknown(self.shape, self.dtype, self.device))
        for leaf in self.leaves or ((self,) if self.requires_grad else ()):
            leaf.grad = unknown(leaf.shape, leaf.dtype, leaf.device)

    def register_hook(self, _):
        pass

    # -- indexing

    def __getitem__(self, key):
        return view(self, self.a[index_of(key)])

    def __setitem__(self, key, value):
        source = value.a if isinstance(value, Tensor) else value
        if self.known and (not isinstance(value, Tensor) or value.known) and not unknown_index(key):
            self.a[index_of(key)] = source
        else:
            self.forget()
        if isinstance(value, Tensor) and value.requires_grad:
            tie(self, self, value)

    def forget(self):
        if self.known:
            self.a, self.known = np.empty(self.shape, np.bool_), False
        return self

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Opaque(f"tensor.{name}")


def raw(x):
    return x.a if isinstance(x, Tensor) else x


def unknown_index(key):
    keys = key if isinstance(key, tuple) else (key,)
    return any(isinstance(k, Tensor) and not k.known for k in keys)


def index_of(key):
    """An index in NumPy's terms; of an unknown mask everything is taken, an unknown index is 0."""
    if isinstance(key, tuple):
        return tuple(index_of(k) for k in key)
    if isinstance(key, list):
        return [int(k) if isinstance(k, Tensor) else k for k in key]
    if isinstance(key, slice):
        return slice(*(int(x) if isinstance(x, (Tensor, Unknown)) else x for x in (key.start, key.stop, key.step)))
    if not isinstance(key, Tensor):
        return key
    if key.known:
        return key.a if key.dtype.name == "bool" or key.a.ndim else int(key.a)
    return np.ones(key.shape, np.bool_) if key.dtype.name == "bool" else np.zeros(key.shape, np.int64)


def view(t, a, dtype=None):
    out = Tensor(np.asarray(a), dtype or t.dtype, t.device, t.known)
    return tie(out, t)


def tie(out, *sources):
    """The result depends on its sources' leaves."""
    leaves = {}
    for s in sources:
        if isinstance(s, Tensor):
            for leaf in s.leaves or ((s,) if s.requires_grad else ()):
                leaves[id(leaf)] = leaf
            out.grad_fn = out.grad_fn or s.grad_fn
    out.leaves = tuple(leaves.values())
    out.requires_grad = bool(leaves) or out.grad_fn is not None
    return out


def make(a, dtype, device=None):
    """A known tensor of these values, converted to what holds the dtype."""
    with np.errstate(all="ignore"):
        return Tensor(np.asarray(a).astype(dtype.holder, copy=False), dtype, device)


def unknown(shape, dtype, device=None):
    return Tensor(np.empty(tuple(int(x) for x in shape), np.bool_), dtype, device, False)


def small(shape):
    return int(np.prod([int(x) for x in shape], dtype=np.int64)) <= LIMIT


def common(*xs):
    """The dtype and device of an element-wise result."""
    tensors = [x for x in xs if isinstance(x, Tensor)] or [as_tensor(xs[0])]
    t = tensors[0].dtype
    for x in tensors[1:]:
        if x.a.ndim or not tensors[0].a.ndim:
            t = promote(t, x.dtype) if tensors[0].a.ndim else x.dtype
    for x in xs:
        if not isinstance(x, Tensor) and isinstance(x, (bool, int, float)):
            t = promote_scalar(t, x)
    dev = next((x.device for x in tensors if x.device.type == "cuda"), tensors[0].device)
    return t, dev


def elementwise(fn, *xs, dtype=None):
    """fn over arrays and scalars, where every value is known; else the shape they broadcast to."""
    xs = [unknown((), ALL["float32"]) if isinstance(x, Opaque) else x for x in xs]
    t, dev = common(*xs)
    t = dtype or t
    if all(not isinstance(x, Tensor) or x.known for x in xs):
        with np.errstate(all="ignore"):
            wide = [x.a.astype(np.float32) if isinstance(x, Tensor) and x.dtype.name == "float16" else raw(x)
                    for x in xs]
            return tie(make(fn(*wide), t, dev), *xs)
    shape = np.broadcast_shapes(*(x.a.shape for x in xs if isinstance(x, Tensor)))
    return tie(unknown(shape, t, dev), *xs)


def as_tensor(x, dtype=None, device=None):
    if isinstance(x, Tensor):
        out = x if dtype is None or dtype is x.dtype else convert(x, dtype)
        return out if device is None else Tensor(out.a, out.dtype, device, out.known)
    if isinstance(x, Unknown):
        return unknown((), dtype or ALL["float32"], device)
    if isinstance(x, (list, tuple)) and any(isinstance(v, Tensor) for v in flat(x)):
        x = np.array(listed(x))
    a = np.asarray(x)
    known = dtype if isinstance(dtype, DType) else None
    if known is None:
        known = of_value(x) if isinstance(x, (bool, int, float, np.ndarray)) else \
            ALL["float32"] if a.dtype == np.float64 else of_value(a)
    return make(a, known, device)


def flat(x):
    return [z for y in x for z in flat(y)] if isinstance(x, (list, tuple)) else [x]


def listed(x):
    if isinstance(x, (list, tuple)):
        return [listed(y) for y in x]
    return x.item() if isinstance(x, Tensor) and x.numel() == 1 else x.tolist() if isinstance(x, Tensor) else x


def convert(t, dtype):
    if not t.known:
        return view(t, t.a, dtype)
    with np.errstate(all="ignore"):
        return tie(Tensor(t.a.astype(dtype.holder, copy=dtype is not t.dtype), dtype, t.device), t)
