"""Stands in for tilelang in tests: kernels are recorded, or compiled through tlc and run (docs/shim.md)."""
# SPDX-License-Identifier: MIT
import logging
import os
import sys
import types

from tlc_shim import hooks, settings
from tlc_shim.opaque import Opaque

hooks.install()   # for programs started without this folder's sitecustomize
if settings.mode() == "compile" and settings.device() == "cpu":
    from tlc_shim import cpu_torch
    cpu_torch.install()

from tlc_shim.dtypes import dtype as DataType  # noqa: E402
from tlc_shim.jit import Jit as JITImpl, compile, jit, lower, par_compile  # noqa: E402, F401
from tlc_shim.kernel import Kernel as JITKernel  # noqa: E402, F401
from tlc_shim.profiler import Profiler, TensorSupplyType  # noqa: E402, F401
from tlc_shim.tune import autotune  # noqa: E402, F401

__version__ = "0.1.13+tlc"
logger = logging.getLogger(__name__)


class _Keys:
    """PassConfigKey: every name is its TileLang spelling, TL_ENABLE_FAST_MATH is "tl.enable_fast_math"."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = _Key("tl." + name[3:].lower() if name.startswith("TL_") else name.lower().replace("_", ".", 1))
        setattr(self, name, value)
        return value


class _Key(str):
    @property
    def value(self):
        return str(self)


PassConfigKey = _Keys()


def next_power_of_2(x):
    return 1 << max(int(x) - 1, 0).bit_length()


def cdiv(a, b):
    return -(-a // b)


def set_log_level(level):
    logger.setLevel(level.upper() if isinstance(level, str) else level)


def enable_cache():
    pass


def disable_cache():
    pass


def is_cache_enabled():
    return False


def deprecated(*_, **__):
    return lambda f: f


class _Env(Opaque):
    TILELANG_CACHE_DIR = property(lambda self: os.path.join(settings.work(), "tilelang"))
    TILELANG_TMP_DIR = property(lambda self: os.path.join(settings.work(), "tilelang"))


env = _Env("tilelang.env")
math = types.ModuleType("tilelang.math")
math.next_power_of_2, math.cdiv = next_power_of_2, cdiv
sys.modules["tilelang.math"] = math

from . import autotuner, language, layout, profiler, testing, utils  # noqa: E402, F401
from .language import dtypes  # noqa: E402, F401

transform = __import__("tilelang.transform", fromlist=["x"])
transform.PassConfigKey = PassConfigKey
transform.simplify_prim_func = lambda f=None, **_: f
import tvm  # noqa: E402, F401


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    import importlib
    return importlib.import_module(f"tilelang.{name}") if name.islower() else Opaque(f"tilelang.{name}")
