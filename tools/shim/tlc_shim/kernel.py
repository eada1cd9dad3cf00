"""A kernel as TileLang's programs see it: called with tensors, profiled, printed."""
# SPDX-License-Identifier: MIT
import inspect

from . import build, record, settings
from .opaque import Opaque
from .specs import ScalarSpec, TensorSpec, dim_value
from .trace import trace


class PrimFunc:
    """What @T.prim_func leaves: the declared parameters, and where it was defined."""

    def __init__(self, fn, params, origin, sizes=None):
        self.fn, self.params, self.origin = fn, params, origin
        self.sizes = sizes   # of an eager kernel's T.const; None for what @T.prim_func decorates
        self.__name__, self.__doc__ = fn.__name__, fn.__doc__
        self.attrs = {"global_symbol": fn.__name__}

    def with_attr(self, *_, **__):
        return self

    def script(self, *_, **__):
        return inspect.getsource(self.fn)

    def __call__(self, *_, **__):
        return Opaque(self.__name__)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Opaque(f"{self.__name__}.{name}")


def indices(out_idx, n):
    """out_idx as a list of places from 0."""
    if out_idx is None:
        return []
    return [int(i) % max(n, 1) for i in (out_idx if isinstance(out_idx, (list, tuple)) else [out_idx])]


def several(outs):
    return None if not outs else outs[0] if len(outs) == 1 else list(outs)


class Kernel:
    """A lazy kernel (compiled from a prim_func) or one call form of an eager one."""

    def __init__(self, origin, prim=None, out_idx=None, sizes=None, eager=None, options=None):
        self.origin, self.prim, self.eager = origin, prim, eager
        self.sizes, self.options = sizes or {}, options or {}
        self.declared = prim.params if prim else []
        self.out_idx = indices(out_idx, len(self.declared))
        self.config, self.latency, self.ref_latency = None, None, None
        self._built = None
        if eager is not None:
            declared = trace(eager, origin.args, self.sizes)[3]
            self.declared = [(n, s) for n, s in declared.items() if n in self.run_time_names()]
        record.note(origin, self.sizes)
        if settings.building():
            self.built().compile()
        elif not settings.recording():
            self.built()

    def built(self):
        if self._built is None:
            self._built = build.Built(self.origin, self.sizes, self.options)
        return self._built

    # -- calls

    def __call__(self, *args, **kwargs):
        if kwargs and self.declared:
            names = [n for i, (n, _) in enumerate(self.declared) if i not in self.out_idx]
            args = [*args, *(kwargs[n] for n in names[len(args):] if n in kwargs)]
        if self.prim is not None:
            return self._pretend(args) if settings.recording() else self._lazy(args)
        bound = {**dict(zip(self.run_time_names(), args)), **kwargs}
        return self._pretend_eager(bound) if settings.recording() else self._eager(bound)

    def run_time_names(self):
        """An eager kernel's parameters that are not compile-time values, in order."""
        return [n for n in inspect.signature(self.eager).parameters if n not in self.origin.args]

    def _pretend_eager(self, bound):
        import torch
        _, result, known, _ = trace(self.eager, {**self.origin.args, **bound}, self.sizes)
        like = next((t for t in bound.values() if isinstance(t, torch.Tensor)), None)
        outs = result if isinstance(result, (tuple, list)) else [] if result is None else [result]
        return several([pretend(o, known, like) if isinstance(o, TensorSpec) else o for o in outs])

    def _lazy(self, args):
        built = self.built()
        n = len(built.params)
        outs = self.out_idx or list(range(len(self.declared), n))   # or what the prim_func itself returns
        given = iter(args)
        if len(args) == n:   # outputs may be passed too
            return built.launch(list(args))
        if len(args) != n - len(outs):
            raise TypeError(f"{self.origin.entry} takes {n - len(outs)} tensors, got {len(args)}")
        full = [None if i in outs else next(given) for i in range(n)]
        full = built.launch(full)
        return several([full[i] for i in outs])

    def _eager(self, bound):
        built = self.built()
        full = built.launch([bound.get(p["name"]) for p in built.params])
        return several([t for p, t in zip(built.params, full) if p["name"] not in bound])

    def _pretend(self, args):
        """Record mode: results of the declared shapes."""
        import torch
        given = iter(args)
        outs, known = [], {}
        ins = [(spec, next(given, None)) for i, (_, spec) in enumerate(self.declared) if i not in self.out_idx]
        for spec, value in ins:
            if isinstance(spec, TensorSpec) and hasattr(value, "shape"):
                spec.bind(value, known)
        like = next((v for _, v in ins if isinstance(v, torch.Tensor)), None)
        if len(args) == len(self.declared):
            return None
        for i in self.out_idx:
            outs.append(pretend(self.declared[i][1], known, like))
        return several(outs)

    # -- what programs ask of a kernel besides

    @property
    def params(self):
        return [Param(name, spec) for name, spec in self.declared]

    def get_profiler(self, tensor_supply_type=None, **_):
        from .profiler import Profiler, TensorSupplyType
        return Profiler(self, tensor_supply_type or TensorSupplyType.Auto)

    def get_kernel_source(self, *_, **__):
        return "" if settings.recording() else self.built().source()

    kernel_source = property(get_kernel_source)
    get_host_source = get_kernel_source

    def show_source(self, *_, **__):
        print(self.get_kernel_source())

    print_source_code = show_source

    def run_once(self, func=None):
        return self.get_profiler().run_once(func)

    @property
    def prim_func(self):
        return self.prim or Opaque("prim_func")

    @property
    def torch_function(self):
        return self

    adapter = property(lambda self: Opaque("adapter"))
    artifact = property(lambda self: Opaque("artifact"))

    def update_tuner_result(self, latency, config, ref_latency):
        self.latency, self.config, self.ref_latency = latency, config, ref_latency
        return self

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Opaque(f"kernel.{name}")


class Param:
    """A kernel parameter: name, shape, dtype."""

    def __init__(self, name, spec):
        self.name, self.spec = name, spec
        self.shape = list(getattr(spec, "shape", []))
        self.dtype = getattr(spec, "dtype", None)

    def torch_dtype(self):
        return self.dtype.as_torch()

    def is_scalar(self):
        return isinstance(self.spec, ScalarSpec)

    def sizes(self, known):
        return [dim_value(d, known) for d in self.shape]


def pretend(spec, known, like):
    """A result that has a shape and no value; opaque where the shape is not known."""
    import torch
    sizes = spec.sizes(known) if isinstance(spec, TensorSpec) else None
    if sizes is None:
        return Opaque("result")
    if spec.dtype.bits < 8 and sizes:
        sizes[-1] //= 2   # two to a byte
    out = torch.empty(sizes, dtype=spec.dtype.as_torch(), device=like.device if like is not None else "cuda")
    return out.forget() if hasattr(out, "forget") else out
