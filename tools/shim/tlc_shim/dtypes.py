"""TileLang's dtypes at Python level: strings that know their width and their torch dtype."""
# SPDX-License-Identifier: MIT
import re

ALIASES = {"float": "float32", "half": "float16", "double": "float64", "short": "int16", "int": "int32",
           "long": "int64", "uint": "uint32", "float8_e4m3": "float8_e4m3", "boolean": "bool"}
PYTHON = {bool: "bool", int: "int32", float: "float32"}
NAME = re.compile(r"(custom\[)?(bool|handle|void|ptr|tfloat32|bfloat16|u?int\d+|float\d+(_e\d+m\d+)?(fn|fnuz|fnu)?"
                  r"(_unpacked)?)(\])?(_?x(\d+))?$")
TORCH = {"float8_e4m3": "float8_e4m3fn", "tfloat32": "float32", "int4": "int8", "uint4": "uint8",
         "float4_e2m1fn": "float4_e2m1fn_x2", "float4_e2m1fnx2": "float4_e2m1fn_x2"}


class dtype(str):
    def __new__(cls, value="float32"):
        return super().__new__(cls, name_of(value) or str(value))

    @property
    def lanes(self):
        m = NAME.match(self)
        return int(m.group(8)) if m and m.group(8) else 1

    @property
    def bits(self):
        if self in ("bool", "float4_e2m1_unpacked"):
            return 8
        if self in ("handle", "ptr"):
            return 64
        m = re.search(r"\d+", self)
        return int(m.group()) * self.lanes if m else 0

    @property
    def bytes(self):
        return (self.bits + 7) // 8

    itemsize = bytes

    def as_torch(self):
        import torch
        plain = TORCH.get(str(self), str(self))
        return getattr(torch, plain, None) or getattr(torch, "int8")

    def is_float4(self):
        return self.startswith("float4")

    def is_float8(self):
        return self.startswith("float8")

    def is_unsigned(self):
        return self.startswith("uint")

    def is_boolean(self):
        return self == "bool"

    def __call__(self, value=0, *_, **__):
        if isinstance(value, (int, float)):
            return float(value) if "float" in self else int(value)
        return value

    def __repr__(self):
        return f"dtype('{self}')"

    def __reduce__(self):
        return (dtype, (str(self),))


def name_of(value):
    """The name of anything that means a dtype (T.float16, torch.float16, numpy.float16, "half"), else None."""
    if isinstance(value, dtype):
        return str(value)
    if isinstance(value, str):
        value = ALIASES.get(value, value)
        return value if NAME.match(value) else None
    if isinstance(value, type) and value in PYTHON:
        return PYTHON[value]
    if type(value).__module__.partition(".")[0] == "torch" and type(value).__name__ == "dtype":
        return str(value).partition(".")[2]
    name = getattr(value, "__name__", None) if isinstance(value, type) else getattr(value, "name", None)
    module = getattr(value if isinstance(value, type) else type(value), "__module__", "")
    if module.partition(".")[0] == "numpy" and isinstance(name, str) and NAME.match(name):
        return name
    return None
