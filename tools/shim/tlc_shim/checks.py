"""TLC_SHIM_CHECKS=FILE: counts a program's comparisons of tensors; each process adds a line "HELD FAILED" at its end."""
# SPDX-License-Identifier: MIT
import atexit
import functools
import os

COUNTS = {"held": 0, "failed": 0}


def counting(check):
    """A function that raises AssertionError or gives False where its arguments differ, counted."""
    @functools.wraps(check)
    def outer(*args, **kwargs):
        held = False
        try:
            result = check(*args, **kwargs)
            held = result is not False
            return result
        finally:
            COUNTS["held" if held else "failed"] += 1
    return outer


def say(path, process):
    if os.getpid() == process and any(COUNTS.values()):
        with open(path, "a", encoding="utf-8") as f:
            f.write(f"{COUNTS['held']} {COUNTS['failed']}\n")


def install():
    """Imports torch, so that no program has its functions under another name before."""
    path = os.environ.get("TLC_SHIM_CHECKS")
    if not path:
        return
    import torch
    import torch.testing
    for module, name in ((torch, "allclose"), (torch, "equal"), (torch.testing, "assert_close")):
        if hasattr(module, name):
            setattr(module, name, counting(getattr(module, name)))
    atexit.register(say, os.path.abspath(path), os.getpid())
