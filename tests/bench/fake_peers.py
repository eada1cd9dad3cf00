#!/usr/bin/env python3
"""bench/peers.py without a GPU, for tests/suite_cli.sh: a figure for each peer asked for, and one left out.
It ends with the first peer that dies."""
# SPDX-License-Identifier: MIT
import json
import sys

for line in sys.stdin:
    ask = json.loads(line)
    if "prepare" in ask:
        print(f"talk\n{json.dumps({})}", flush=True)
        continue
    assert set(ask) == {"file", "bindings", "options", "tuned", "peer", "given", "ranks"}, ask
    if ask["peer"] == "gemv":
        sys.exit("dies\nof a fault")
    peer = {"us": 2.0, "us_interval": [1.0, 3.0], "ratio": 1.25, "ratio_interval": [1.2, 1.5]}
    name = {"tilelang": "TileLang 0", "attention": "cuDNN (PyTorch)"}.get(ask["peer"], "PyTorch")
    print("{talk} before the answer")
    print(json.dumps({"peers": [{"name": name, **peer}], "missing": ["Triton: made up"]}), flush=True)
