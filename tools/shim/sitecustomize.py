"""Run by Python at start where tools/shim is on PYTHONPATH: installs the import hook before any file does `import torch`."""
# SPDX-License-Identifier: MIT
import importlib.machinery
import importlib.util
import os
import sys

from tlc_shim import checks, hooks

hooks.install()
checks.install()


def _chain():
    """Runs the sitecustomize that this one hides, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))
    others = [p for p in sys.path if os.path.abspath(p or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_chain()
