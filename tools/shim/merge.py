"""merge.py OUT.json IN.json...: joins records; a call that is there already is not repeated."""
# SPDX-License-Identifier: MIT
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tlc_shim import record  # noqa: E402


def merge(paths):
    out = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for file, kernels in json.load(f).items():
                for name, calls in kernels.items():
                    into = out.setdefault(file, {}).setdefault(name, [])
                    into += [c for c in calls if c not in into]
    return out


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        f.write(record.dump(merge(sys.argv[2:])))
