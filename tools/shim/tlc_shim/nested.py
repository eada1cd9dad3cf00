"""Functions defined inside others: tlc knows a file's own names only, so such a one is given to it in a copy of the
file, with the variables it uses of the functions around it written in front."""
# SPDX-License-Identifier: MIT
import inspect
import os
import textwrap
import types

from . import settings
from .dtypes import name_of
from .values import Policy, Unsayable, plain

PRELUDE = "\n\nimport tilelang as __tilelang\nimport tilelang.language as __T\n"


def literal(v):
    """Python text for a value, in the copy's terms."""
    if isinstance(v, Policy):
        return f"__T.GemmWarpPolicy.{v.name}"
    if name_of(v) and not isinstance(v, (str, type)) or type(v).__name__ == "dtype":
        return f"__T.{name_of(v)}"
    if isinstance(v, tuple):
        return "(" + "".join(literal(x) + ", " for x in v) + ")"
    if isinstance(v, list):
        return "[" + ", ".join(literal(x) for x in v) + "]"
    return repr(plain(v))


def unwrapped(v):
    """The function under a decorator of the stand-in."""
    for name in ("impl", "fn"):
        while not isinstance(v, types.FunctionType) and name in getattr(v, "__dict__", {}):
            v = v.__dict__[name]
    return v


def lines(fn, done):
    """The text of a function at module level, after what it uses."""
    out = []
    for name, value in inspect.getclosurevars(fn).nonlocals.items():
        if name in done or name == fn.__name__:
            continue
        done.add(name)
        inner = unwrapped(value)
        if isinstance(inner, types.FunctionType):
            out += lines(inner, done) if "<locals>" in inner.__qualname__ else []
            continue
        try:
            out.append(f"{name} = {literal(value)}\n")
        except Unsayable:
            pass
    return [*out, textwrap.dedent(inspect.getsource(fn)) + "\n"]


def source(origin):
    """(file, entry) for tlc."""
    if not origin.nested:
        return origin.file, origin.entry
    with open(origin.file, encoding="utf-8") as f:
        whole = f.read()
    text = whole + PRELUDE + "".join(lines(origin.fn, set()))
    from .build import digest
    stem = os.path.splitext(os.path.basename(origin.file))[0]
    folder = os.path.join(settings.work(), digest(text, origin.file))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{stem}.py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path, origin.fn.__name__
