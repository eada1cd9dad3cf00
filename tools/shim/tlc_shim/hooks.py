"""The import hook: what is not installed is stood in for, and only then."""
# SPDX-License-Identifier: MIT
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

from .dtypes import dtype as DType
from .opaque import Opaque, OpaqueModule

FAKES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fake")

# Packages that TileLang's programs import for references and reports, never for a kernel's parameters.
ON_TORCH = {
    "einops", "triton", "fla", "flash_attn", "flash_mla", "flashinfer", "mamba_ssm", "bitblas", "deep_gemm",
    "fast_hadamard_transform", "xformers", "einx", "vllm", "transformers", "accelerate",
}
PACKAGES = ON_TORCH | {
    "scipy", "matplotlib", "tqdm", "pytest", "packaging", "cuda", "PIL", "pandas", "tabulate", "tvm", "tvm_ffi", "z3",
    "cutlass", "ml_dtypes", "cloudpickle", "rich", "sympy", "networkx", "iket",
}


def mode():
    value = os.environ.get("TLC_SHIM", "compile")
    if value not in ("record", "build", "compile"):
        raise SystemExit(f"TLC_SHIM is '{value}'; it takes record, build or compile")
    return value


def fakes_forced():
    return os.environ.get("TLC_SHIM_FAKE_TORCH") == "1"


class _OpaqueLoader(importlib.abc.Loader):
    def create_module(self, spec):
        return OpaqueModule(spec.name)

    def exec_module(self, module):
        if module.__name__ == "tvm":
            module.DataType = DType
        if module.__name__ == "tilelang.tools.cuda":   # its traces come from an instrumented kernel: there are none
            module.iket = Opaque("tilelang.tools.cuda.iket")
            module.iket.trace_files = lambda **_: []


def _opaque_spec(name):
    return importlib.machinery.ModuleSpec(name, _OpaqueLoader(), is_package=True)


def _package_spec(name, folder):
    return importlib.util.spec_from_file_location(name, os.path.join(folder, "__init__.py"),
                                                  submodule_search_locations=[folder])


def _fake_spec(name):
    """A package or module of the folder fake/, else None."""
    top = os.path.join(FAKES, name)
    if os.path.isdir(top):
        return _package_spec(name, top)
    if os.path.isfile(top + ".py"):
        return importlib.util.spec_from_file_location(name, top + ".py")
    return None


class Fallback(importlib.abc.MetaPathFinder):
    """Asked last: an absent torch (record mode), an absent package of PACKAGES (record mode), and what
    the stand-in for tilelang or the fake torch does not spell out."""

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if name != top and top in ("tilelang", "tvm"):
            return _opaque_spec(name)
        if top == "tvm":
            return _opaque_spec(name)
        if mode() == "compile" and not fakes_forced():
            return None
        if top == "torch":
            return _fake_spec(name) if name == top else _opaque_spec(name)
        if top in PACKAGES:
            return (_fake_spec(name) if name == top else None) or _opaque_spec(name)
        return None


class First(importlib.abc.MetaPathFinder):
    """Asked first: tilelang is this folder's, though pytest puts a checkout of the real one before it on the path;
    with TLC_SHIM_FAKE_TORCH=1 torch is the fake one, and packages that want a real one are stood in for too."""

    def find_spec(self, name, path=None, target=None):
        if name == "tilelang":
            return _package_spec(name, os.path.join(os.path.dirname(FAKES), name))
        top = name.partition(".")[0]
        if not fakes_forced() or top not in ON_TORCH | {"torch"}:
            return None
        return (_fake_spec(name) if name == top else None) or (_opaque_spec(name) if top != "torch" else None)


def install():
    if any(isinstance(f, Fallback) for f in sys.meta_path):
        return
    sys.meta_path.append(Fallback())
    sys.meta_path.insert(0, First())
