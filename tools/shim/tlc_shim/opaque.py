"""Values that accept anything: they stand for whatever the stand-in does not model."""
# SPDX-License-Identifier: MIT
import dis
import sys
import types


class Opaque:
    """Any attribute, call, index or arithmetic of it is another one; it is true, and equal to itself only."""

    def __init__(self, name="opaque"):
        self.__dict__["_name"] = name

    def __repr__(self):
        return f"<{self._name}>"

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Opaque(f"{self._name}.{name}")

    def __setattr__(self, name, value):
        self.__dict__[name] = value

    def __call__(self, *args, **kwargs):
        # As a decorator it leaves the function as it is; a Triton kernel is not one to call.
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return Opaque(args[0].__name__) if self._name.startswith("triton") else args[0]
        return Opaque(f"{self._name}(...)")

    def __getitem__(self, key):
        return Opaque(f"{self._name}[...]")

    def __setitem__(self, key, value):
        pass

    def __iter__(self):
        """As many items as the caller unpacks into (`a, b = x`), none to a loop."""
        frame = sys._getframe(1)
        for i in dis.get_instructions(frame.f_code):
            if i.offset == frame.f_lasti and i.opname == "UNPACK_SEQUENCE":
                return iter([Opaque(f"{self._name}[{k}]") for k in range(i.arg)])
        return iter(())

    def __len__(self):
        return 0

    def __contains__(self, item):
        return False

    def __bool__(self):
        return True

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

    def __mro_entries__(self, bases):
        return (OpaqueBase,)

    def __instancecheck__(self, other):
        return False

    def __int__(self):
        return 1

    def __index__(self):
        return 1

    def __float__(self):
        return 1.0

    def __format__(self, spec):
        return repr(self)

    __hash__ = object.__hash__


class OpaqueBase:
    """The base that a class gets where it derives from an opaque value."""

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Opaque(f"{type(self).__name__}.{name}")


def _binary(name):
    def op(self, other):
        if type(other).__module__.startswith("torch"):   # the tensor's shape is known
            return NotImplemented
        return Opaque(f"{self._name}.{name}")
    return op


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
              "lshift", "rshift"):
    setattr(Opaque, f"__{_name}__", _binary(_name))
    setattr(Opaque, f"__r{_name}__", _binary(_name))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Opaque, f"__{_name}__", lambda self, other: True)
for _name in ("neg", "pos", "invert", "abs"):
    setattr(Opaque, f"__{_name}__", lambda self: self)


class Unknown(float):
    """A number nobody knows: it computes as itself and satisfies every comparison."""

    def __new__(cls, value=0.0):
        return super().__new__(cls, value)

    def __bool__(self):
        return True

    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


def _unknown(*_):
    return Unknown()


for _name in ("lt", "le", "gt", "ge", "ne"):
    setattr(Unknown, f"__{_name}__", lambda self, other: True)
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "radd", "rsub", "rmul", "rtruediv",
              "rfloordiv", "rmod", "rpow", "neg", "abs", "round"):
    setattr(Unknown, f"__{_name}__", _unknown)


class OpaqueModule(types.ModuleType):
    """A module of which every name is opaque and every submodule importable."""

    def __init__(self, name):
        super().__init__(name, f"Stands for {name}, which is not installed.")
        self.__path__ = []
        self.__all__ = []
        self.__version__ = "0.0.0"
        self.__file__ = f"{name}.py"

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = Opaque(f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value

    def __call__(self, *args, **kwargs):
        return Opaque(self.__name__)(*args, **kwargs)
