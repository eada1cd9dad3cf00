"""tilelang.autotuner."""
# SPDX-License-Identifier: MIT
import itertools  # noqa: F401

from tlc_shim.jit import jit  # noqa: F401
from tlc_shim.tune import AutoTuner, autotune, get_autotune_inputs, set_autotune_inputs

__path__ = []
__all__ = ["AutoTuner", "autotune", "set_autotune_inputs", "get_autotune_inputs"]
