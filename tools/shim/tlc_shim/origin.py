"""Which function a kernel comes from and what it was called with: what tlc needs to find it again."""
# SPDX-License-Identifier: MIT
import dis
import gc
import inspect
import os
import sys
import types

from . import specs
from .values import Unsayable, plain


OUTER = {}   # of a function defined inside another: the parameters that one was called with


class Origin:
    """A function of a file and the values of its parameters (tensors left out)."""

    def __init__(self, fn, args, kernel=False):
        self.fn, self.args, self.outer = fn, args, OUTER.get(fn, {})
        self.kernel = kernel   # itself under @tilelang.jit or @T.prim_func

    @property
    def file(self):
        return os.path.abspath(inspect.getsourcefile(self.fn) or self.fn.__code__.co_filename)

    @property
    def nested(self):
        return "<locals>" in self.fn.__qualname__

    @property
    def entry(self):
        """What tlc's --survey calls it: a kernel nested in another function goes by both names."""
        names = self.fn.__qualname__.split(".<locals>.")
        return ".".join(names[-2:]) if self.kernel else names[0]

    def closure(self):
        """The enclosing functions' variables it uses: theirs to say where it is nested."""
        return inspect.getclosurevars(self.fn).nonlocals

    def plain_args(self):
        """(parameters as plain values, names of those that have none); a nested function's include what it
        uses of the functions around it."""
        values = dict(self.args)
        if self.nested:
            used = {k: v for k, v in self.closure().items() if not callable(v)}
            values = {**self.outer, **used, **values}
        said, unsaid = {}, []
        for k, v in values.items():
            try:
                said[k] = plain(v)
            except Unsayable:
                unsaid.append(k)
        return said, unsaid


def bind(fn, args, kwargs, partial=False):
    """Parameters by name, defaults included; *args and **kwargs are left out. A partial call may lack some."""
    sig = inspect.signature(fn)
    bound = (sig.bind_partial if partial else sig.bind)(*args, **kwargs)
    bound.apply_defaults()
    out = {}
    for name, value in bound.arguments.items():
        kind = sig.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            out.update(value)
        elif kind is not inspect.Parameter.VAR_POSITIONAL:
            out[name] = value
    return out


def _function_of(frame):
    code = frame.f_code
    found = [f for f in gc.get_referrers(code) if isinstance(f, types.FunctionType) and f.__code__ is code]
    return found[0] if found else None


def gives_value(fn):
    """Whether it may return something: a factory does, a test does not."""
    before = None
    for i in dis.get_instructions(fn):
        if i.opname == "RETURN_VALUE" and not (before and before.opname == "LOAD_CONST" and before.argval is None):
            return True
        before = i
    return False


def warn_reassigned(fn, names):
    """A parameter that the body assigns may no longer have the value that was passed."""
    changed = sorted({i.argval for i in dis.get_instructions(fn) if i.opname in ("STORE_FAST", "STORE_DEREF")}
                     & set(names))
    if changed:
        print(f"shim: {fn.__name__} assigns its own {', '.join(changed)}: taken as they are where the prim_func is "
              "defined; @tilelang.jit on it takes what was passed", file=sys.stderr)


def note_outer(fn):
    """Remembers the enclosing functions' parameters; to be called while they run, as a decorator is."""
    names = fn.__qualname__.split(".")[:-1:2]
    frame, found = sys._getframe(1), {}
    while frame and names:
        if frame.f_code.co_name == names[-1]:
            code = frame.f_code
            params = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
            found = {**{n: frame.f_locals[n] for n in params if n in frame.f_locals}, **found}
            names.pop()
        frame = frame.f_back
    if found:
        OUTER[fn] = {k: v for k, v in found.items() if not callable(v)}


def caller(fn, depth):
    """The origin of a prim_func defined in a plain function that is running now, from its frame; None at module
    level, and in a function that returns nothing: a test, say, where the prim_func is a kernel of its own."""
    if "<locals>" not in fn.__qualname__:
        return None
    frame = sys._getframe(depth + 1)
    name = fn.__qualname__.split(".")[-3]
    while frame and frame.f_code.co_name != name:
        frame = frame.f_back
    factory = _function_of(frame) if frame else None
    if not factory or not gives_value(factory):
        return None
    names = frame.f_code.co_varnames[:frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
    warn_reassigned(factory, names)
    return Origin(factory, {n: frame.f_locals[n] for n in names if n in frame.f_locals})


def params_of(fn):
    """The declared parameters of a prim_func: (name, TensorSpec, ScalarSpec or None)."""
    notes = dict(fn.__annotations__)
    if any(isinstance(a, str) for a in notes.values()):
        scope = {**fn.__globals__, **inspect.getclosurevars(fn).nonlocals}
        for frame in inspect.stack()[1:]:
            for k, v in frame.frame.f_locals.items():
                scope.setdefault(k, v)
        for name, a in notes.items():
            try:
                notes[name] = eval(a, scope) if isinstance(a, str) else a
            except Exception:
                notes[name] = None
    return [(name, specs.spec_of(notes.get(name))) for name in inspect.signature(fn).parameters]
