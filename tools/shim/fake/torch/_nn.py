"""torch.nn, torch.nn.functional, torch.autograd, torch.testing of the fake torch."""
# SPDX-License-Identifier: MIT
import math
import types

import numpy as np

from tlc_shim.opaque import Opaque
from tlc_shim.settings import recording

from ._ops import OPS
from ._tensor import Tensor, unknown
from ._types import ALL


class Module(types.ModuleType):
    """A submodule of which what is not spelt out is opaque."""

    def __init__(self, name, **names):
        super().__init__(name)
        self.__path__ = []
        self.__dict__.update(names)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = OPS.get(name) or Opaque(f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


# -- autograd

class _Context:
    saved_tensors = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *_):
        pass

    def set_materialize_grads(self, _):
        pass

    def mark_dirty(self, *_):
        pass


class _Node:
    """One call of a Function: its backward runs once, with the gradients of its outputs."""

    def __init__(self, cls, ctx, inputs):
        self.cls, self.ctx, self.inputs, self.outputs, self.done = cls, ctx, inputs, (), False

    def run(self, gradient):
        if self.done:
            return
        self.done = True
        grads = [gradient if o.shape == gradient.shape else unknown(o.shape, o.dtype, o.device)
                 for o in self.outputs]
        out = self.cls.backward(self.ctx, *grads)
        out = out if isinstance(out, tuple) else (out,)
        for x, g in zip(self.inputs, out):
            if isinstance(x, Tensor) and x.requires_grad:
                if x.grad_fn:
                    x.grad_fn.run(g if isinstance(g, Tensor) else unknown(x.shape, x.dtype, x.device))
                x.grad = g


class Function:
    @classmethod
    def apply(cls, *args):
        ctx = _Context()
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        node = _Node(cls, ctx, args)
        out = cls.forward(ctx, *args)
        outs = [o for o in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(o, Tensor)]
        node.outputs = outs
        for o in outs:
            o.grad_fn, o.requires_grad = node, True
            o.leaves = ()
        return out


def _grad(outputs, inputs, grad_outputs=None, **_):
    outs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    for o in outs:
        o.backward(grad_outputs[0] if isinstance(grad_outputs, (tuple, list)) else grad_outputs)
    ins = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    return tuple(i.grad if i.grad is not None else unknown(i.shape, i.dtype, i.device) for i in ins)


autograd = Module("torch.autograd", Function=Function, grad=_grad)

# -- testing


def assert_close(actual, expected, rtol=None, atol=None, equal_nan=False, check_dtype=True, msg=None, **_):
    if isinstance(actual, (tuple, list)):
        for a, e in zip(actual, expected):
            assert_close(a, e, rtol, atol, equal_nan, check_dtype)
        return
    if not isinstance(actual, Tensor) or not isinstance(expected, Tensor):
        return
    if recording():   # what kernels give is not known
        return
    if actual.shape != expected.shape:
        raise AssertionError(f"shapes differ: {tuple(actual.shape)} and {tuple(expected.shape)}")
    if check_dtype and actual.dtype is not expected.dtype:
        raise AssertionError(f"dtypes differ: {actual.dtype} and {expected.dtype}")
    if actual.known and expected.known:
        base = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5)}
        r, a = base.get(actual.dtype.name, (0, 0))
        np.testing.assert_allclose(actual.a.astype(np.float64), expected.a.astype(np.float64),
                                   r if rtol is None else rtol, a if atol is None else atol, equal_nan)


testing = Module("torch.testing", assert_close=assert_close, assert_allclose=assert_close)

# -- functional


def pad(x, amounts, mode="constant", value=0):
    widths = [(0, 0)] * x.ndim
    for i in range(len(amounts) // 2):
        widths[x.ndim - 1 - i] = (amounts[2 * i], amounts[2 * i + 1])
    if x.known:
        out = np.pad(x.a, widths, constant_values=value or 0)
        return Tensor(out, x.dtype, x.device)
    return unknown([n + a + b for n, (a, b) in zip(x.shape, widths)], x.dtype, x.device)


def scaled_dot_product_attention(q, k, v, *_, **__):
    return unknown((*q.shape[:-1], v.shape[-1]), q.dtype, q.device)


def conv2d(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    def pair(v):
        return v if isinstance(v, (tuple, list)) else (v, v)
    out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in
           zip(x.shape[2:], w.shape[2:], pair(stride), pair(padding), pair(dilation))]
    return unknown((x.shape[0], w.shape[0], *out), x.dtype, x.device)


def linear(x, w, bias=None):
    out = OPS["matmul"](x, w.T)
    return out if bias is None else out + bias


def one_hot(x, num_classes=-1):
    n = num_classes if num_classes > 0 else int(x.a.max()) + 1
    return unknown((*x.shape, n), ALL["int64"], x.device)


def same(x, *_, **__):
    return unknown(x.shape, x.dtype, x.device)


functional = Module("torch.nn.functional", pad=pad, scaled_dot_product_attention=scaled_dot_product_attention,
                    conv2d=conv2d, linear=linear, one_hot=one_hot, layer_norm=same, rms_norm=same, dropout=same,
                    normalize=same, group_norm=same)

# -- modules


class NNModule:
    training = True

    def __init__(self, *_, **__):
        pass

    def __call__(self, *args, **kw):
        return self.forward(*args, **kw)

    def to(self, *_, **__):
        return self

    cuda = half = float = eval = train = bfloat16 = to

    def parameters(self):
        return [v for v in self.__dict__.values() if isinstance(v, Tensor)]

    def register_buffer(self, name, value, **_):
        setattr(self, name, value)

    def register_parameter(self, name, value):
        setattr(self, name, value)


class Linear(NNModule):
    def __init__(self, n_in, n_out, bias=True, device=None, dtype=None):
        self.in_features, self.out_features = n_in, n_out
        self.weight = unknown((n_out, n_in), dtype or ALL["float32"], device)
        self.bias = unknown((n_out,), dtype or ALL["float32"], device) if bias else None

    def forward(self, x):
        return linear(x, self.weight, self.bias)


def Parameter(x, requires_grad=True):
    return x.requires_grad_(requires_grad)


class ModuleList(NNModule, list):
    def __init__(self, items=()):
        list.__init__(self, items)


def _activation(name):
    class Activation(NNModule):
        def forward(self, x):
            return OPS[name](x)
    return Activation


nn = Module("torch.nn", SiLU=_activation("silu"), GELU=_activation("gelu"), ReLU=_activation("relu"),
            Sigmoid=_activation("sigmoid"), Softmax=_activation("softmax"), Tanh=_activation("tanh"), Module=NNModule, Linear=Linear, Parameter=Parameter, ModuleList=ModuleList,
            functional=functional)

EPS = {"float16": 2.0 ** -10, "bfloat16": 2.0 ** -7, "float32": 2.0 ** -23, "float64": 2.0 ** -52,
       "float8_e4m3fn": 0.125, "float8_e5m2": 0.25}
MAX = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
       "float64": 1.7976931348623157e308, "float8_e4m3fn": 448.0, "float8_e5m2": 57344.0,
       "float8_e4m3fnuz": 240.0, "float8_e5m2fnuz": 57344.0}


class finfo:
    def __init__(self, t):
        self.max, self.min = MAX[t.name], -MAX[t.name]
        self.eps, self.bits = EPS.get(t.name, 0.0), t.itemsize * 8
        self.tiny = self.smallest_normal = 2.0 ** -126 if t.name != "float16" else 2.0 ** -14


class iinfo:
    def __init__(self, t):
        info = np.iinfo(t.holder)
        self.max, self.min, self.bits = int(info.max), int(info.min), t.itemsize * 8


INF, NAN, PI = math.inf, math.nan, math.pi
