#!/usr/bin/env python3
"""A tlc --bench without a GPU: made-up figures that follow from the command, for tests/suite_cli.sh. What the bench
asked is appended to $FAKE_LOG; FAKE_FAIL is a regular expression of commands that fail, FAKE_MISSING of those that
find no GPU, FAKE_UNTUNED of those to which no entry of the tuning file fits."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import sys

words = sys.argv[1:]
said = " ".join(words)
if "--no-run" in words:  # builds ahead: noted elsewhere
    with open(os.environ["FAKE_LOG"] + ".built", "a", encoding="utf-8") as f:
        f.write(said + "\n")
    sys.exit()
with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as f:
    f.write(said + "\n")
if re.search(os.environ.get("FAKE_MISSING", "$^"), said):
    sys.exit(print("tlc: no GPU: made up", file=sys.stderr) or 3)
if re.search(os.environ.get("FAKE_FAIL", "$^"), said):
    print("tlc: warning: of no interest\ngemm.tl:3:1: error: C: 3 of 9 elements differ", file=sys.stderr)
    sys.exit(1)
assert words[:4] == ["--bench", "--json", "--arch", "native"], words
bindings = words[words.index("-p") + 1]
sizes = dict(b.split("=") for b in bindings.split(","))
if "--in" in words:  # the constant input: int32, all the same
    with open(words[words.index("--in") + 1].split("=")[1], "rb") as f:
        data = f.read()
    assert data[:8] == b"\x93NUMPY\x01\x00" and (10 + data[8]) % 64 == 0, data[:80]
    body = data[10 + data[8]:]
    assert len(body) == 4 * int(sizes["batch"]) and body[:4] == int(sizes["capacity"]).to_bytes(4, "little")
us = float(sizes.get("K", 100)) / 4
out = {"kernel": "k", "gpu": "Made-up <GPU> & co", "sm": 90, "l2": "warm", "arch": "sm_90a",
       "bindings": bindings.replace(",", ", ") + ", block_M=128",
       "time": {"name": "k", "us": us, "us_interval": [us - 1, us + 1], "rounds": 15, "launches": 10}, "gbytes": 1234.5}
reference = {"us": us * 0.9, "us_interval": [us * 0.8, us], "rounds": 15, "launches": 10}
if "gemm" in words[-1]:
    out["tflops"] = 700.25
    reference["name"] = "cublasLt"
else:
    reference["name"] = "copy"
if re.search(os.environ.get("FAKE_UNTUNED", "$^"), said):
    print("tlc: warning: --tuned x.json: no entry for k on sm_90a fits: defaults are used", file=sys.stderr)
if "int8" in said:
    print("tlc: no cuBLAS beside it: made up", file=sys.stderr)
else:
    out.update(reference=reference, ratio=0.9, ratio_interval=[0.88, 0.93])
print(json.dumps(out))
