"""Compile-time values: as JSON for the record, as text for tlc's -p."""
# SPDX-License-Identifier: MIT
import enum
import math
import re
from numbers import Integral, Real

from .dtypes import dtype as DType, name_of
from .opaque import Opaque, Unknown
from .specs import Sym


class Unsayable(Exception):
    """A value that has no text: a function, an object, a tensor."""


class Policy(enum.IntEnum):
    """T.GemmWarpPolicy."""

    Square, FullRow, FullCol = 0, 1, 2

    def is_square(self):
        return self is Policy.Square

    def is_full_row(self):
        return self is Policy.FullRow

    def is_full_col(self):
        return self is Policy.FullCol


def plain(v):
    """The value in JSON's terms; dtypes and policies become words."""
    if isinstance(v, Policy):
        return f"T.GemmWarpPolicy.{v.name}"
    if v is None or isinstance(v, (bool, str)) and not isinstance(v, DType):
        return v
    name = name_of(v)
    if name:
        return name
    if isinstance(v, (Opaque, Unknown, Sym)):
        raise Unsayable(repr(v))
    if isinstance(v, enum.Enum):
        return plain(v.value)
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {str(k): plain(x) for k, x in v.items()}
    if isinstance(v, Integral):
        return int(v)
    if isinstance(v, Real):
        if not math.isfinite(v):
            raise Unsayable(repr(v))
        return float(v)
    if hasattr(v, "item") and getattr(v, "shape", None) == ():
        return plain(v.item())
    raise Unsayable(f"a {type(v).__name__}")


WORD = re.compile(r"[A-Za-z_][\w.]*$")


def text(v):
    """A plain value as tlc's -p reads it."""
    if isinstance(v, str):
        if WORD.match(v) and v not in ("True", "False", "None", "true", "false", "inf", "nan"):
            return v
        return f"'{v}'" if '"' in v else f'"{v}"'
    if isinstance(v, list):
        return "[" + ",".join(text(x) for x in v) + "]"
    if isinstance(v, dict):
        raise Unsayable("a dict")
    return repr(v)
