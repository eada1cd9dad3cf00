"""tilelang.layout: layouts are tlc's to compute, so each is opaque here."""
# SPDX-License-Identifier: MIT
from tlc_shim.opaque import Opaque

__path__ = []


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    return Opaque(f"tilelang.layout.{name}")
