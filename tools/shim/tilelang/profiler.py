"""tilelang.profiler."""
# SPDX-License-Identifier: MIT
from tlc_shim.profiler import Profiler, TensorSupplyType, do_bench  # noqa: F401

__path__ = []
