#!/usr/bin/env python3
"""compat.py CHECKOUT [--params FILE] [--lower] [--assemble] [-o FILE]: what of a TileLang checkout tlc takes, as
docs/compatibility.md.

The examples are those with a kernel (T.Kernel, T.prim_func or T.macro in their text) that are for no other GPU than
tlc's targets. tlc --survey says of each kernel whether it reaches tile IR, with the parameters that were recorded
(docs/survey.md), or what keeps it. With --lower those that do are compiled for sm_80 and sm_90a too, with the first set
of parameters; with --assemble nvcc assembles the texts, each once (--cache), --jobs at a time, and those that spill
registers again with all of a multiprocessor's for one block (-fmin-blocks=1). What was run on a GPU (compat_runs.py) follows,
then TileLang's tests of its language and those that ask for a given outcome (tests/compat/frontend.txt).
SPDX-License-Identifier: MIT
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import compat_runs

OTHER_GPUS = re.compile(r"^aws/|(^|/|_)amd(/|_|\.)|sm100|sm120|cdna4|gemm_tcgen5mma|fp8_fp4_gemm_1d1d")
KERNEL = re.compile(r"T\.(Kernel|prim_func|macro)\b|T\.ClusterKernel")
LINE = re.compile(r"(.*?):(\d+) (\S+): (.*)$")
ARCHES = ("sm_80", "sm_90a")


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


def own_values(tlc, path, name):
    """Options that give a kernel without recorded parameters those of the file's own call, or of its tuning space."""
    command = [tlc, path, "--entry", name, "--name", "kernel"]
    said = subprocess.run([*command, "--emit", "tile", "-o", os.devnull], capture_output=True, text=True)
    call = re.search(r"the file's own code calls it with -p (.*)", said.stderr)
    if said.returncode == 0 or call:
        return ["-p", call.group(1)] if call else []
    listed = subprocess.run([*command, "--list-configs"], capture_output=True, text=True).stdout.split("\n")[0]
    return ["-p", listed] if listed else []


class Compiled:
    """What becomes of kernels that reach tile IR."""

    def __init__(self, tlc, params, cache):
        self.tlc, self.params, self.cache = tlc, params, cache
        self.reports, self.lock = {}, threading.Lock()
        if cache and os.path.exists(cache):
            with open(cache, encoding="utf-8") as f:
                self.reports = json.load(f)

    def assemble(self, text, arch):
        """nvcc's exit status and the bytes that ptxas spills."""
        key = arch + hashlib.sha256(re.sub(r"(?m)^//.*\n", "", text).encode()).hexdigest()
        if key not in self.reports:
            with tempfile.TemporaryDirectory() as scratch:
                source = os.path.join(scratch, "kernel.cu")
                with open(source, "w", encoding="utf-8") as f:
                    f.write(text)
                command = ["nvcc", "-std=c++17", "-arch=" + arch, "-cubin", "-Xptxas", "-v", "-o", os.devnull, source]
                done = subprocess.run(command, capture_output=True, text=True)
            spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", done.stdout + done.stderr)
            with self.lock:
                self.reports[key] = [done.returncode, sum(map(int, spills))]
                with open(self.cache, "w", encoding="utf-8") as f:
                    json.dump(self.reports, f)
        return self.reports[key]

    def kernel(self, path, name):
        """arch -> (lowers, assembles, spilled bytes, the same with one block's registers, the first error)"""
        command = [self.tlc, path, "--entry", name, "--name", "kernel", "-o", "-"]
        command += ["--params", self.params] if self.params else []
        result = {}
        for arch in ARCHES:
            made = [*command, "--arch", arch]
            done = subprocess.run(made, capture_output=True, text=True)
            if done.returncode and "[E339]" in done.stderr:
                made += own_values(self.tlc, path, name)
                done = subprocess.run(made, capture_output=True, text=True)
            error = re.search(r"error: (.*) \[E\d+\]", done.stderr)
            lowers, status, spilled, still = done.returncode == 0, 1, 0, 0
            if lowers and self.cache:
                status, spilled = self.assemble(done.stdout, arch)
            if spilled:
                text = subprocess.run([*made, "-fmin-blocks=1"], capture_output=True, text=True).stdout
                still = self.assemble(text, arch)[1]
            result[arch] = (lowers, status == 0, spilled, still, error.group(1) if error else "")
        return result


def compiled_cell(kernels, arch):
    """A file's kernels for an architecture, as a table's cell."""
    results = [k[arch] for k in kernels]
    errors = sorted({r[4] for r in results if r[4]})
    text = f"{sum(r[0] for r in results)} of {len(results)}"
    spilled = sum(r[2] > 0 for r in results)
    text += f", {spilled} with spills" if spilled else ""
    return text + "".join("; " + e.replace("|", "\\|") for e in errors)


def compiled_table(tlc, folder, names, kernels, params, cache, jobs):
    """Text lines: what of the files is compiled for which target."""
    pool = ThreadPoolExecutor(jobs)
    maker, rows, files = Compiled(tlc, params, cache), [], 0
    count = {arch: [0] * 4 for arch in ARCHES}
    made = {name: [pool.submit(maker.kernel, os.path.join(folder, name), k[1]) for k in kernels.get(name, [])
                   if k[2] == "OK"] for name in names}
    for name in names:
        found = kernels.get(name, [])
        good = [k.result() for k in made[name]]
        for arch in ARCHES:
            count[arch] = [n + sum(k[arch][i] > 0 for k in good) for i, n in enumerate(count[arch])]
        if good:
            rows.append(f"| {name} | " + " | ".join(compiled_cell(good, arch) for arch in ARCHES) + " |")
        done = 1 if cache else 0  # the last step asked for
        files += bool(good) and len(good) == len(found) and all(any(k[arch][done] for arch in ARCHES) for k in good)
    how = "compile for sm_80 or sm_90a with every kernel" + (", and assemble" if cache else "")
    text = ["## Compiled examples", "", f"{files} of {len(names)} files {how}. Of the kernels that reach tile IR:", "",
            "| target | compile | assemble | spill registers | and do with `-fmin-blocks=1` |", "|---|---|---|---|---|"]
    text += ["| " + " | ".join([arch, str(count[arch][0]), *(str(n) if cache else "-" for n in count[arch][1:])]) + " |"
             for arch in ARCHES]
    return text + ["", "By file, of the kernels that reach tile IR, with what keeps the others:", "",
                   "| file | " + " | ".join(ARCHES) + " |", "|---" * (1 + len(ARCHES)) + "|", *rows, ""]


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
    arguments.add_argument("--lower", action="store_true")
    arguments.add_argument("--assemble", action="store_true")
    arguments.add_argument("--cache", default="build/compat.json")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("-o", "--output")
    a = arguments.parse_args()
    checkout = a.checkout.rstrip("/")
    version = open(os.path.join(checkout, "VERSION"), encoding="utf-8").read().strip()
    head = ["| file | parses | kernels that reach tile IR | what keeps the others |", "|---|---|---|---|"]
    how = " --assemble" if a.assemble else " --lower" if a.lower else ""
    text = ["# Compatibility", "", f"Made by `tools/compat.py{how}` from a checkout of TileLang {version}. Parameters are those "
            "recorded from the files' own runs, else as docs/survey.md says. The reasons are tlc's own messages: a word of "
            "`T` that is not supported yet, a value that nothing gives, or what is wrong with the program itself.", ""]
    folder = os.path.join(checkout, "examples")
    names, kernels = sorted(files_with_kernels(folder)), survey(a.tlc, folder, a.params)
    rows, n = table(a.tlc, folder, names, kernels)
    text += ["## Examples", "", f"{n['files']} files: {n['parse']} parse, {n['whole']} reach tile IR with every kernel; "
             f"{n['ok']} of {n['kernels']} kernels do.", "", *head, *rows, ""]
    if a.lower or a.assemble:
        text += compiled_table(a.tlc, folder, names, kernels, a.params, a.cache if a.assemble else None, a.jobs)
    text += compat_runs.section()
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
