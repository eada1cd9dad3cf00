"""tilelang.jit, tilelang.compile, T.prim_func: what decorates a kernel, and what calling it does."""
# SPDX-License-Identifier: MIT
import functools
import inspect

from . import origin as origins
from . import record
from .kernel import Kernel, PrimFunc
from .opaque import Opaque
from .origin import Origin
from .specs import ScalarSpec, TensorSpec, spec_of
from .trace import is_eager, trace


class Lazy:
    """While a jitted factory runs: its origin, for the prim_func it defines."""

    stack = []


def prim_func(fn=None, **_):
    if fn is None:
        return prim_func
    if isinstance(fn, PrimFunc):
        return fn
    inside = Lazy.stack and fn.__qualname__.startswith(Lazy.stack[-1].fn.__qualname__ + ".")
    origin = Lazy.stack[-1] if inside else origins.caller(fn, 1)
    return PrimFunc(fn, origins.params_of(fn), origin or Origin(fn, {}, kernel=True))


def macro(fn=None, **_):
    """Macros are inlined by tlc; at Python level they are plain functions that nobody calls."""
    return fn if fn is not None else macro


def compile(func=None, out_idx=None, pass_configs=None, target=None, compile_flags=None, **_):
    if isinstance(func, Jit):
        func = func.get_tir()
    if not isinstance(func, PrimFunc):
        raise TypeError(f"tilelang.compile wants a prim_func, got a {type(func).__name__}")
    options = {"pass_configs": pass_configs or {}}
    if func.sizes is not None:
        return Kernel(func.origin, None, sizes=func.sizes, eager=func.fn, options=options)
    return Kernel(func.origin, func, out_idx, options=options)


def par_compile(funcs, out_idx=None, ignore_error=False, **kwargs):
    out = []
    for f in funcs:
        try:
            out.append(compile(f, out_idx=out_idx, **kwargs))
        except Exception:
            if not ignore_error:
                raise
            out.append(None)
    return out


def lower(func, *_, **__):
    """tilelang.lower: noted; what it gives is opaque."""
    if isinstance(func, PrimFunc):
        record.note(func.origin)
    return Opaque("tilelang.lower(...)")


def is_tensor(x):
    import torch
    return isinstance(x, torch.Tensor)


class Jit:
    """A decorated function: a lazy factory (its call gives a kernel) or an eager kernel (its call runs it)."""

    def __init__(self, fn, out_idx=None, pass_configs=None, **_):
        self.out_idx, self.pass_configs = out_idx, pass_configs
        self.prim = fn if isinstance(fn, PrimFunc) else None
        self.fn = fn.fn if self.prim else fn
        self.func = self.fn
        origins.note_outer(self.fn)
        self.signature = inspect.signature(self.fn)
        self.mode = "eager" if not self.prim and is_eager(self.fn) else "lazy"
        self.cache = {}
        functools.update_wrapper(self, self.fn)

    def get_tir(self, *args, **kwargs):
        if self.prim:
            return self.prim
        if self.mode == "eager":
            origin, sizes, _ = self.eager_parts(args, kwargs)
            record.note(origin, sizes)
            return PrimFunc(self.fn, [], origin, sizes)
        origin = Origin(self.fn, origins.bind(self.fn, args, kwargs), kernel=True)
        Lazy.stack.append(origin)
        try:
            out = self.fn(*args, **kwargs)
        finally:
            Lazy.stack.pop()
        if isinstance(out, PrimFunc):
            out.origin = origin
            record.note(origin)
        return out

    def options(self):
        return {"pass_configs": self.pass_configs or {}}

    def compile(self, *args, **kwargs):
        if self.mode == "eager":
            return self.eager_kernel(args, kwargs)[0]
        out = self.get_tir(*args, **kwargs)
        if isinstance(out, (Kernel, Jit)):
            return out
        if not isinstance(out, PrimFunc):
            raise TypeError(f"{self.fn.__name__} returned a {type(out).__name__}, not a prim_func")
        return Kernel(out.origin, out, self.out_idx, options=self.options())

    def par_compile(self, configs, ignore_error=False, **_):
        funcs = [self.get_tir(*c) if isinstance(c, tuple) else self.get_tir(**c) for c in configs]
        return par_compile(funcs, self.out_idx, ignore_error)

    def eager_parts(self, args, kwargs):
        """(origin, sizes, run-time arguments) of one call."""
        names = self.signature.parameters
        given = {k: v for k, v in kwargs.items() if k not in names}   # sizes, where it is compiled without tensors
        bound = origins.bind(self.fn, args, {k: v for k, v in kwargs.items() if k in names}, partial=True)
        notes = getattr(self.fn, "__annotations__", {})
        tensors = {k: v for k, v in bound.items() if is_tensor(v) or isinstance(v, TensorSpec) or
                   isinstance(spec_of(notes.get(k)), (ScalarSpec, TensorSpec))}
        sizes = trace(self.fn, bound, given)[0]
        sizes = {**sizes, **{k: v for k, v in given.items() if isinstance(v, int)}}
        origin = Origin(self.fn, {k: v for k, v in bound.items() if k not in tensors}, kernel=True)
        return origin, sizes, tensors

    def eager_kernel(self, args, kwargs):
        origin, sizes, tensors = self.eager_parts(args, kwargs)
        said, _ = origin.plain_args()
        key = repr((sorted(said.items()), sorted(sizes.items())))
        if key not in self.cache:
            self.cache[key] = Kernel(origin, None, sizes=sizes, eager=self.fn, options=self.options())
        return self.cache[key], tensors

    def __call__(self, *args, **kwargs):
        kwargs.update(kwargs.pop("__tune_params", {}))
        if self.mode == "lazy":
            return self.lazy_kernel(args, kwargs)
        kernel, tensors = self.eager_kernel(args, kwargs)
        return kernel(**tensors)

    def lazy_kernel(self, args, kwargs):
        try:
            key = (args, tuple(sorted(kwargs.items())))
            hash(key)
        except TypeError:
            key = repr((args, sorted(kwargs.items())))
        if key not in self.cache:
            self.cache[key] = self.compile(*args, **kwargs)
        return self.cache[key]

    def get_kernel_source(self, *args, **kwargs):
        return self.compile(*args, **kwargs).get_kernel_source()


def jit(func=None, **options):
    if func is None:
        return lambda f: Jit(f, **options)
    return Jit(func, **options)
