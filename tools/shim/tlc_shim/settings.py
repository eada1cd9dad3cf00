"""What the environment says (docs/shim.md lists the variables)."""
# SPDX-License-Identifier: MIT
import os
import shutil
import tempfile

from .hooks import mode

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


class Missing(RuntimeError):
    """This machine lacks something: tlc, nvcc, a GPU."""


def recording():
    """Whether no kernel runs: TLC_SHIM=record, and TLC_SHIM=build, which compiles them as well."""
    return mode() != "compile"


def building():
    return mode() == "build"


def tlc():
    path = os.environ.get("TLC") or shutil.which("tlc") or os.path.join(TREE, "build", "tlc")
    if not os.access(path, os.X_OK):
        raise Missing(f"no tlc at {path}: set TLC to the binary")
    return os.path.abspath(path)


def device():
    """Where kernels run: cuda, or cpu (the emitted text through the host prelude)."""
    value = os.environ.get("TLC_SHIM_DEVICE", "cuda")
    if value not in ("cuda", "cpu"):
        raise SystemExit(f"TLC_SHIM_DEVICE is '{value}'; it takes cuda or cpu")
    return value


def capability():
    """Of the GPU, (major, minor); (9, 0) or what TLC_ARCH names where there is none."""
    arch = os.environ.get("TLC_ARCH", "")
    try:
        import torch
        if not recording() and device() == "cuda" and torch.cuda.is_available():
            return tuple(torch.cuda.get_device_capability())
    except ImportError:
        pass
    digits = arch.removeprefix("sm_").rstrip("a")
    return (int(digits[:-1]), int(digits[-1])) if digits.isdigit() else (9, 0)


def arch():
    """The --arch for tlc: TLC_ARCH, else the newest that the GPU runs; on the CPU sm_80, which the host prelude covers."""
    if os.environ.get("TLC_ARCH"):
        return os.environ["TLC_ARCH"]
    if device() == "cpu":
        return "sm_80"
    cc = capability()
    if cc == (9, 0):
        return "sm_90a"
    return {(8, 0): "sm_80", (8, 6): "sm_86", (8, 7): "sm_87", (8, 9): "sm_89"}.get(cc, "sm_80")


def arches():
    """What to try in turn: on an sm_90a GPU sm_80's text too, which it runs, unless TLC_ARCH says which."""
    first = arch()
    return [first, "sm_80"] if first == "sm_90a" and not os.environ.get("TLC_ARCH") else [first]


def work():
    """The folder of everything built."""
    path = os.path.abspath(os.environ.get("TLC_SHIM_CACHE", "")) if os.environ.get("TLC_SHIM_CACHE") else os.path.join(tempfile.gettempdir(), f"tlc-shim-{os.getuid()}")
    os.makedirs(path, exist_ok=True)
    return path


def root():
    """Paths in the record are relative to this folder."""
    return os.path.abspath(os.environ.get("TLC_SHIM_ROOT") or os.getcwd())
