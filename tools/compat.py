#!/usr/bin/env python3
"""compat.py CHECKOUT [--params FILE] [-o FILE]: what of a TileLang checkout tlc takes, as docs/compatibility.md.

The examples are those with a kernel (T.Kernel, T.prim_func or T.macro in their text) that are for no other GPU than
tlc's targets. tlc --survey says of each kernel whether it reaches tile IR, with the parameters that were recorded
(docs/survey.md), or what keeps it. TileLang's tests of its language follow, then those that ask for a given outcome
(tests/compat/frontend.txt).
SPDX-License-Identifier: MIT
"""
import argparse
import os
import re
import subprocess
import sys

OTHER_GPUS = re.compile(r"^aws/|(^|/|_)amd(/|_|\.)|sm100|sm120|cdna4|gemm_tcgen5mma|fp8_fp4_gemm_1d1d")
KERNEL = re.compile(r"T\.(Kernel|prim_func|macro)\b|T\.ClusterKernel")
LINE = re.compile(r"(.*?):(\d+) (\S+): (.*)$")


def survey(tlc, folder, params):
    """path -> [(line, kernel, status)], paths relative to the folder."""
    command = [tlc, "--survey", folder] + (["--params", params] if params else [])
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    kernels = {}
    for line in out.splitlines():
        path, number, name, status = LINE.match(line).groups()
        kernels.setdefault(os.path.relpath(path, folder), []).append((int(number), name, status))
    return kernels


def reason(status, folder):
    """A status without its place's folder, for a table."""
    status = status.replace(folder.rstrip("/") + "/", "")
    status = re.sub(r" \((\S+?):(\d+):\d+\)$", r" (line \2)", status)
    return status.replace("|", "\\|")


def files_with_kernels(folder):
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            short = os.path.relpath(path, folder)
            if name.endswith(".py") and not OTHER_GPUS.search(short):
                with open(path, encoding="utf-8") as f:
                    if KERNEL.search(f.read()):
                        yield short


def parses(tlc, path):
    return subprocess.run([tlc, "--emit", "ast", "-o", os.devnull, path], capture_output=True).returncode == 0


def table(tlc, folder, names, kernels):
    rows, counts = [], {"files": len(names), "parse": 0, "whole": 0, "kernels": 0, "ok": 0}
    for name in names:
        found = kernels.get(name, [])
        good = [k for k in found if k[2] == "OK"]
        ok = parses(tlc, os.path.join(folder, name))
        counts["parse"] += ok
        counts["kernels"] += len(found)
        counts["ok"] += len(good)
        counts["whole"] += bool(found) and len(good) == len(found)
        lines, seen = [], set()
        for _, kernel, status in found:
            if status != "OK" and reason(status, folder) not in seen:
                seen.add(reason(status, folder))
                lines.append(f"{kernel}: {reason(status, folder)}")
        if not found:
            lines = ["no kernel is found"]
        rows.append(f"| {name} | {'yes' if ok else 'no'} | {len(good)} of {len(found)} | {'; '.join(lines)} |")
    return rows, counts


def expected(tlc, checkout, spec):
    """Rows for the tests that ask for an outcome, and how many have it."""
    rows, right = [], 0
    with open(spec, encoding="utf-8") as f:
        lines = [line.strip() for line in f if line.strip() and not line.startswith("#")]
    for line in lines:
        file, what, want, note = (part.strip() for part in line.split("|"))
        entry, *options = what.split()
        path = os.path.join(checkout, "testing/python", file)
        if entry == "*":
            found = survey(tlc, path, None).get(".", [])
            bad = [f"{k}: {reason(s, path)}" for _, k, s in found if s != "OK"]
            got = "OK" if found and not bad else "; ".join(bad) or "no kernel is found"
        else:
            command = [tlc, path, "--entry", entry, "--name", "kernel", "--emit", "tile", *options, "-o", os.devnull]
            done = subprocess.run(command, capture_output=True, text=True)
            codes = re.findall(r"error: (.*) \[(E\d+)\]", done.stderr)
            got = "OK" if done.returncode == 0 else codes[0][1] if codes else done.stderr.strip()[:80]
            if got != want and codes:
                got = f"{codes[0][1]}: {codes[0][0]}"
        right += got == want
        said = "as documented" if got == want else got.replace("|", "\\|")
        rows.append(f"| {file} | {entry} | {'accepted' if want == 'OK' else 'refused'}: {note} | {said} |")
    return rows, right, len(lines)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("checkout")
    arguments.add_argument("--params", default=os.path.join(here, "../tests/compat/params.json"))
    arguments.add_argument("--tlc", default="build/tlc")
    arguments.add_argument("-o", "--output")
    a = arguments.parse_args()
    checkout = a.checkout.rstrip("/")
    version = open(os.path.join(checkout, "VERSION"), encoding="utf-8").read().strip()
    head = ["| file | parses | kernels that reach tile IR | what keeps the others |", "|---|---|---|---|"]
    text = ["# Compatibility", "", f"Made by `tools/compat.py` from a checkout of TileLang {version}. Parameters are those "
            "recorded from the files' own runs, else as docs/survey.md says. The reasons are tlc's own messages: a word of "
            "`T` that is not supported yet, a value that nothing gives, or what is wrong with the program itself.", ""]
    folder = os.path.join(checkout, "examples")
    rows, n = table(a.tlc, folder, sorted(files_with_kernels(folder)), survey(a.tlc, folder, a.params))
    text += ["## Examples", "", f"{n['files']} files: {n['parse']} parse, {n['whole']} reach tile IR with every kernel; "
             f"{n['ok']} of {n['kernels']} kernels do.", "", *head, *rows, ""]
    for part in ("issue", "language"):
        folder = os.path.join(checkout, "testing/python", part)
        rows, n = table(a.tlc, folder, sorted(files_with_kernels(folder)), survey(a.tlc, folder, a.params))
        text += [f"## TileLang's tests: {part}", "", f"{n['files']} files: {n['parse']} parse, {n['whole']} reach tile IR "
                 f"with every kernel; {n['ok']} of {n['kernels']} kernels do.", "", *head, *rows, ""]
    rows, right, total = expected(a.tlc, checkout, os.path.join(here, "../tests/compat/frontend.txt"))
    text += ["## Tests that ask for an outcome of the front end", "", f"{right} of {total} have it.", "",
             "| file | kernel | what is asked | outcome |", "|---|---|---|---|", *rows, ""]
    out = open(a.output, "w", encoding="utf-8") if a.output else sys.stdout
    out.write("\n".join(text))


if __name__ == "__main__":
    main()
