"""tilelang.testing: decorators that skip by compute capability, seeds, comparison."""
# SPDX-License-Identifier: MIT
import functools
import inspect
import operator
import random
import sys
import traceback

from tlc_shim import settings
from tlc_shim.opaque import OpaqueModule
from tlc_shim.profiler import assert_close as torch_assert_close  # noqa: F401

__path__ = []
MODES = {"ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt, "eq": operator.eq}


def _skip_unless(condition, reason):
    def decorate(fn):
        if condition:
            return fn
        try:
            import pytest
            if isinstance(pytest, OpaqueModule):
                raise ImportError
            return pytest.mark.skip(reason=reason)(fn)
        except ImportError:
            return functools.wraps(fn)(lambda *_, **__: print(f"skipped: {reason}"))
    return decorate


def requires_cuda_compute_version(major, minor=0, mode="ge"):
    holds = settings.recording() or MODES[mode](settings.capability(), (major, minor))
    return _skip_unless(holds, f"wants compute capability {mode} {major}.{minor}")


def _requires(mode):
    return lambda major, minor=0: requires_cuda_compute_version(major, minor, mode)


requires_cuda_compute_version_ge, requires_cuda_compute_version_gt = _requires("ge"), _requires("gt")
requires_cuda_compute_version_le, requires_cuda_compute_version_lt = _requires("le"), _requires("lt")
requires_cuda_compute_version_eq = _requires("eq")


def _other_backend(fn):
    return _skip_unless(False, "another backend")(fn)


requires_rocm = requires_cdna = requires_gfx950 = requires_metal = requires_llvm = _other_backend


def requires_cuda(fn):
    return fn


requires_cuda_or_cdna = requires_cuda


def requires_package(*names):
    import importlib.util
    return _skip_unless(all(importlib.util.find_spec(n) for n in names), f"wants {', '.join(names)}")


def set_random_seed(seed=42):
    import numpy as np
    import torch
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _alone(name, fn):
    try:
        fn()
    except Exception:   # record mode wants the other tests' calls too
        if not settings.recording():
            raise
        traceback.print_exc()
        print(f"{name} failed", file=sys.stderr)


def main():
    """Runs the calling file's tests: with pytest, else one after the other."""
    frame = sys._getframe(1)
    try:
        import pytest
        if isinstance(pytest, OpaqueModule):
            raise ImportError
    except ImportError:
        for name, fn in list(frame.f_globals.items()):
            if name.startswith("test_") and callable(fn) and not inspect.signature(fn).parameters:
                _alone(name, fn)
        return
    sys.exit(pytest.main([inspect.getsourcefile(frame), *sys.argv[1:]]))


def process_func(fn, *args, **kwargs):
    return fn(*args, **kwargs)


def regression(*_, **__):
    return None
