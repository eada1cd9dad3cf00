"""tilelang.autotune and AutoTuner: nothing is tuned; the first configuration that compiles is taken."""
# SPDX-License-Identifier: MIT
import contextlib
import functools
import inspect

from . import origin as origins
from . import settings
from .build import Refused
from .jit import Jit, Kernel, Lazy, compile
from .kernel import PrimFunc
from .origin import Origin

RESERVED = {"pass_configs"}
CAPTURED = []   # set_autotune_inputs, innermost last


@contextlib.contextmanager
def set_autotune_inputs(*args):
    CAPTURED.append(list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args))
    try:
        yield
    finally:
        CAPTURED.pop()


def get_autotune_inputs():
    return CAPTURED[-1] if CAPTURED else None


def first_that_compiles(configs, attempt):
    """(config, what attempt gave); the last refusal is raised where every one is refused."""
    error = None
    for config in configs:
        try:
            return config, attempt({k: v for k, v in config.items() if k not in RESERVED})
        except Refused as e:
            error = e
    raise error or ValueError("no configuration to tune over")


class Tuned:
    """A function under @autotune: called without its tunable parameters it takes the first configuration."""

    def __init__(self, impl, configs, options):
        self.impl, self.configs, self.options = impl, configs, options
        self.chosen = {}
        functools.update_wrapper(self, impl)

    def space(self, args, kwargs):
        configs = self.configs
        if callable(configs):
            n = len(inspect.signature(configs).parameters)
            names = list(inspect.signature(configs).parameters)
            configs = configs(args, kwargs) if names[:2] == ["args", "kwargs"] else \
                configs(*args, **kwargs) if n else configs()
        return list(configs)

    def arguments(self, args, kwargs):
        """kwargs completed by a configuration, unless the caller gave tunable ones."""
        space = self.space(args, kwargs)
        names = list(self.impl.signature.parameters)[:len(args)]
        if not space or any(k in kwargs or k in names for k in space[0] if k not in RESERVED):
            return kwargs
        key = repr([(k, v) for k, v in zip(names, args) if isinstance(v, (int, str, float))])
        if key not in self.chosen:
            self.chosen[key] = first_that_compiles(
                space, lambda c: self.impl.compile(*args, **{**kwargs, **c}))[0]
        return {**kwargs, **{k: v for k, v in self.chosen[key].items() if k not in RESERVED}}

    def __call__(self, *args, **kwargs):
        kwargs.pop("__return_kernel", None)
        full = self.arguments(args, kwargs)
        out = self.impl(*args, **full)
        if isinstance(out, Kernel):
            out.update_tuner_result(1.0, {k: v for k, v in full.items() if k not in kwargs}, 1.0)
        return out

    def compile(self, *args, **kwargs):
        full = self.arguments(args, kwargs)
        out = self.impl.compile(*args, **full)
        return out.update_tuner_result(1.0, {k: v for k, v in full.items() if k not in kwargs}, 1.0)

    def get_tir(self, *args, **kwargs):
        return self.impl.get_tir(*args, **self.arguments(args, kwargs))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__dict__["impl"], name)


def autotune(func=None, *, configs=(), **options):
    def decorate(f):
        return Tuned(f if isinstance(f, Jit) else Jit(f), configs, options)
    return decorate(func) if func is not None else decorate


class Result:
    """What AutoTuner.run gives."""

    def __init__(self, kernel, config):
        self.kernel, self.config, self.func = kernel, config, kernel.prim
        self.latency = self.ref_latency = 1.0
        self.libcode = "" if settings.recording() else kernel.get_kernel_source()


class AutoTuner:
    def __init__(self, fn, configs):
        self.fn, self.configs, self.compile_args, self.profile_args = fn, configs, {}, {}
        if inspect.isfunction(fn):
            origins.note_outer(fn)

    @classmethod
    def from_kernel(cls, kernel, configs):
        return cls(kernel, configs)

    def set_compile_args(self, out_idx=None, **args):
        self.compile_args = {"out_idx": out_idx, **args}
        return self

    def set_profile_args(self, **args):
        self.profile_args = args
        return self

    def attempt(self, config):
        fn = self.fn.fn if isinstance(self.fn, Jit) else self.fn
        if isinstance(self.fn, (Jit, Tuned)):
            return self.fn.compile(**config)
        origin = Origin(fn, origins.bind(fn, (), config))
        Lazy.stack.append(origin)
        try:
            prim = fn(**config)
        finally:
            Lazy.stack.pop()
        assert isinstance(prim, PrimFunc)
        if prim.origin.nested:   # else a factory of the file's made it, which tlc finds by itself
            prim.origin = origin
        return compile(prim, out_idx=self.compile_args.get("out_idx"),
                       pass_configs=self.compile_args.get("pass_configs"))

    def run(self, *_, **__):
        configs = self.configs() if callable(self.configs) else self.configs
        config, kernel = first_that_compiles(configs, self.attempt)
        kernel.update_tuner_result(1.0, config, 1.0)
        return Result(kernel, config)

    __call__ = run
