"""tilelang.language at Python level: dtypes, declarations, arithmetic on sizes. What only a kernel's body calls is
opaque, since a body never runs here."""
# SPDX-License-Identifier: MIT
import builtins as py
import math
import sys
import types

from tlc_shim.dtypes import ALIASES, NAME, dtype
from tlc_shim.jit import jit, macro, prim_func  # noqa: F401
from tlc_shim.opaque import Opaque
from tlc_shim.specs import StridedType, Sym, TensorSpec, TensorType, symbols
from tlc_shim.trace import Tracing
from tlc_shim.values import Policy as GemmWarpPolicy  # noqa: F401

Tensor = Buffer = FragmentBuffer = SharedBuffer = LocalBuffer = GlobalBuffer = TensorType()
StridedTensor = StridedType()
dynamic = symbolic = symbols


def const(text, *_, **__):
    return Tracing.current.const(text) if Tracing.current else symbols(text)


def empty(*shape, dtype="float32", **__):
    if len(shape) == 2 and isinstance(shape[0], (list, tuple)):
        return TensorSpec(shape[0], shape[1])
    return TensorSpec(shape[0] if len(shape) == 1 else shape, dtype)


def ceildiv(a, b):
    return -(-a // b) if not isinstance(a, Sym) and not isinstance(b, Sym) else (a + b - 1) // b


def floordiv(a, b):
    return a // b


def floormod(a, b):
    return a % b


truncdiv = floordiv


def align_up(a, b):
    return ceildiv(a, b) * b


def min(a, b):
    return a if a <= b else b


def max(a, b):
    return a if a >= b else b


def infinity(_="float32"):
    return math.inf


def get_tvm_dtype(x):
    return dtype(x)


_module = sys.modules[__name__]
for _name in ("bool", "handle", "ptr", "tfloat32", "bfloat16", *(f"{s}int{n}" for s in ("", "u")
              for n in (4, 8, 16, 32, 64)), "float16", "float32", "float64", "float8_e4m3", "float8_e4m3fn",
              "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn",
              "float4_e2m1_unpacked"):
    setattr(_module, _name, dtype(_name))
for _name, _value in ALIASES.items():
    setattr(_module, _name, dtype(_value))

dtypes = types.ModuleType("tilelang.language.dtypes")
dtypes.dtype, dtypes.get_tvm_dtype = dtype, get_tvm_dtype
dtypes.__getattr__ = lambda name: __getattr__(name)
fp8 = types.ModuleType("tilelang.language.fp8")


def determine_fp8_type(kind="e4m3", **_):
    return "float8_e5m2" if kind == "e5m2" else "float8_e4m3fn"


def determine_torch_fp8_type(kind="e4m3", **_):
    return dtype(determine_fp8_type(kind)).as_torch()


fp8.determine_fp8_type, fp8.determine_torch_fp8_type = determine_fp8_type, determine_torch_fp8_type
sys.modules["tilelang.language.dtypes"], sys.modules["tilelang.language.fp8"] = dtypes, fp8
sys.modules["tilelang.dtypes"] = dtypes
__path__ = []


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    if NAME.match(name):
        return dtype(name)
    if name == "_TORCH_DTYPE_TO_STR":
        import torch
        return {getattr(torch, n): n for n in ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32",
                                               "int64", "uint8", "bool") if hasattr(torch, n)}
    return Opaque(f"T.{name}")


assert py.max(1, 2) == 2   # the module's own min and max shadow Python's
