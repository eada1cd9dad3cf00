"""What annotations say at Python level: symbolic sizes and the shapes and dtypes of tensors."""
# SPDX-License-Identifier: MIT
import operator

from .dtypes import dtype as DType, name_of
from .opaque import Opaque

OPS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
       "truediv": operator.floordiv, "mod": operator.mod}


class Sym:
    """A size by name, or arithmetic over such."""

    def __init__(self, name, op=None, args=()):
        self.name, self.op, self.args = name, op, args

    def __repr__(self):
        return self.name if self.op is None else f"({self.args[0]!r} {self.op} {self.args[1]!r})"

    __hash__ = object.__hash__

    def value(self, known):
        """Its value, given a dict of the names' values; None where one is missing."""
        if self.op is None:
            return known.get(self.name)
        a, b = (x.value(known) if isinstance(x, Sym) else x for x in self.args)
        if not isinstance(a, int) or not isinstance(b, int):
            return None
        return OPS[self.op](a, b)

    def solve(self, value, known):
        """Notes in `known` what its one unknown name must be for it to have this value."""
        if self.op is None:
            known.setdefault(self.name, value)
            return
        a, b = self.args
        if isinstance(a, Sym) and isinstance(b, int):
            inverse = {"add": value - b, "sub": value + b, "mul": value // max(b, 1), "floordiv": value * b,
                       "truediv": value * b}
            if self.op in inverse:
                a.solve(inverse[self.op], known)
        elif isinstance(b, Sym) and isinstance(a, int) and self.op in ("add", "mul"):
            b.solve(value - a if self.op == "add" else value // max(a, 1), known)


def _operator(name, swap):
    def run(self, other):
        return Sym(None, name, (other, self) if swap else (self, other))
    return run


for _name in OPS:
    setattr(Sym, f"__{_name}__", _operator(_name, False))
    setattr(Sym, f"__r{_name}__", _operator(_name, True))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Sym, f"__{_name}__", lambda self, other: True)
Sym.__neg__ = lambda self: 0 - self


def dim_value(d, known):
    return d.value(known) if isinstance(d, Sym) else int(d) if not isinstance(d, Opaque) else None


class TensorSpec:
    """T.Tensor((M, N), dtype): a declared tensor. Anything else asked of it is opaque."""

    def __init__(self, shape=(), dtype="float32", *_, strides=(), **__):
        self.strides = tuple(strides)
        if isinstance(shape, (int, Sym)) or not isinstance(shape, (tuple, list)):
            shape = (shape,)
        self.shape, self.dtype = tuple(shape), DType(name_of(dtype) or dtype)

    def __repr__(self):
        return f"T.Tensor({self.shape}, {str(self.dtype)})"

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Opaque(f"tensor.{name}")

    def __getitem__(self, key):
        return Opaque("tensor[...]")

    def bind(self, tensor, known):
        """Notes what the sizes must be for this tensor."""
        pairs = list(zip(self.shape, tensor.shape))
        if self.strides and callable(getattr(tensor, "stride", None)):
            pairs += zip(self.strides, tensor.stride())
        for d, n in pairs:
            if isinstance(d, Sym) and isinstance(n, int):
                d.solve(n, known)

    def sizes(self, known):
        out = [dim_value(d, known) for d in self.shape]
        return None if any(n is None for n in out) else out


class TensorType:
    """T.Tensor itself, called or subscripted."""

    def __call__(self, *args, **kwargs):
        return TensorSpec(*args, **kwargs)

    def __getitem__(self, key):
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], (list, tuple)):
            return TensorSpec(*key)
        if isinstance(key, tuple) and key and name_of(key[-1]):
            return TensorSpec(key[:-1], key[-1])
        return TensorSpec(key)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Opaque(f"T.Tensor.{name}")


class StridedType(TensorType):
    """T.StridedTensor: shape, strides, dtype."""

    def __call__(self, shape, strides, dtype="float32"):
        return TensorSpec(shape, dtype, strides=strides)

    def __getitem__(self, key):
        return self(*key)


class ScalarSpec:
    """A parameter with a dtype for annotation: a scalar passed at run time."""

    def __init__(self, dtype):
        self.dtype = DType(dtype)


def spec_of(annotation):
    if isinstance(annotation, TensorSpec):
        return annotation
    if isinstance(annotation, DType):
        return ScalarSpec(annotation)
    return None


def names_of(text):
    return text.replace(",", " ").split()


def symbols(text, *_, **__):
    names = names_of(text)
    out = tuple(Sym(n) for n in names)
    return out[0] if len(out) == 1 else out
