"""dtypes, devices, sizes of the fake torch, and the NumPy types that hold them."""
# SPDX-License-Identifier: MIT
import numpy as np


class dtype:
    """A torch dtype. Types NumPy lacks are held as float32 (values rounded only when asked for)."""

    def __init__(self, name, holder, itemsize, rank):
        self.name, self.holder, self.itemsize, self.rank = name, np.dtype(holder), itemsize, rank

    def __repr__(self):
        return f"torch.{self.name}"

    @property
    def is_floating_point(self):
        return self.rank >= 10

    @property
    def is_signed(self):
        return self.rank >= 10 or self.name.startswith("int")

    @property
    def is_complex(self):
        return False

    @property
    def native(self):
        """Whether the held array has the very bytes."""
        return self.holder.itemsize == self.itemsize and (self.rank < 10 or self.name in NATIVE_FLOATS)


NATIVE_FLOATS = ("float16", "float32", "float64")
_TABLE = [
    ("bool", "?", 1, 0), ("uint8", "u1", 1, 1), ("int8", "i1", 1, 2), ("uint16", "u2", 2, 3), ("int16", "i2", 2, 4),
    ("uint32", "u4", 4, 5), ("int32", "i4", 4, 6), ("uint64", "u8", 8, 7), ("int64", "i8", 8, 8),
    ("float8_e4m3fn", "f4", 1, 10), ("float8_e5m2", "f4", 1, 11), ("float8_e4m3fnuz", "f4", 1, 12),
    ("float8_e5m2fnuz", "f4", 1, 13), ("float8_e8m0fnu", "f4", 1, 14), ("float4_e2m1fn_x2", "u1", 1, 15),
    ("bfloat16", "f4", 2, 16), ("float16", "f2", 2, 17), ("float32", "f4", 4, 18), ("float64", "f8", 8, 19),
    ("complex64", "c8", 8, 20), ("complex128", "c16", 16, 21),
]
ALL = {row[0]: dtype(*row) for row in _TABLE}
ALIASES = {"half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32",
           "long": "int64"}
BY_HOLDER = {np.dtype(d.holder): d for d in reversed(ALL.values()) if d.native}
BY_HOLDER[np.dtype("f4")] = ALL["float32"]


def of_value(value):
    """The dtype of a Python scalar or a NumPy array."""
    if isinstance(value, bool):
        return ALL["bool"]
    if isinstance(value, int):
        return ALL["int64"]
    if isinstance(value, float):
        return ALL["float32"]
    kind = np.asarray(value).dtype
    return BY_HOLDER.get(kind, ALL["float32"])


def promote(a, b):
    """What an operation of two tensors yields."""
    if a is b:
        return a
    if {a.name, b.name} == {"float16", "bfloat16"}:
        return ALL["float32"]
    return a if a.rank > b.rank else b


def promote_scalar(a, value):
    """A Python scalar widens a tensor only across kinds: bool, integer, float."""
    s = of_value(value)
    if s.rank >= 10 and a.rank < 10:
        return ALL["float32"]
    return s if a.rank == 0 and s.rank > 0 else a


class device:
    def __init__(self, kind="cpu", index=None):
        if isinstance(kind, device):
            kind, index = kind.type, kind.index
        if isinstance(kind, int):
            kind, index = "cuda", kind
        kind = str(kind)
        if ":" in kind:
            kind, number = kind.split(":")
            index = int(number)
        self.type, self.index = kind, index

    def __repr__(self):
        return f"device(type='{self.type}')" if self.index is None else \
            f"device(type='{self.type}', index={self.index})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, (device, str)) and device(other).type == self.type

    def __hash__(self):
        return hash(self.type)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


def as_dtype(t):
    """Python's bool, int and float mean dtypes too."""
    return PYTHON.get(t, t)


PYTHON = {bool: ALL["bool"], int: ALL["int64"], float: ALL["float64"]}


class Size(tuple):
    def __getitem__(self, key):
        out = tuple.__getitem__(self, key)
        return Size(out) if isinstance(key, slice) else out

    def numel(self):
        n = 1
        for x in self:
            n *= x
        return n
