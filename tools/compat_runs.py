#!/usr/bin/env python3
"""compat_runs.py DOCUMENT [RUN.tsv...]: writes what runs of tools/compat-gpu.sh found into docs/compatibility.md.

The section "Run on a GPU" of the document is replaced (or put before the tests of TileLang's language). The runs are in
order of time: of each target a file's last one counts. Without any they are tests/compat/gpu/*.tsv. A run's lines that
begin with "#" say when, where and with what; more of them are notes.
SPDX-License-Identifier: MIT
"""
import collections
import glob
import os
import re
import sys

TITLE = "## Run on a GPU"
OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "compat", "gpu", "*.tsv")
Row = collections.namedtuple("Row", "outcome seconds kernels held compared detail run")


class Run:
    """A file of compat-gpu.sh: its notes, its target and its rows by example."""

    def __init__(self, path, number):
        self.number, self.notes, self.rows = number, [], {}
        with open(path, encoding="utf-8") as f:
            for line in f.read().splitlines():
                if line.startswith("#"):
                    self.notes.append(line.lstrip("# "))
                    continue
                outcome, file, seconds, kernels, checks, detail = line.split("\t")
                held, compared = map(int, checks.split("/"))
                self.rows[file.removeprefix("examples/")] = Row(outcome, int(seconds), int(kernels), held, compared,
                                                                detail, number)
        found = re.search(r"\bsm_\d+a?\b", self.notes[0] if self.notes else "")
        if not found:
            sys.exit(f"{path}: its first line names no target: '# DATE, GPU, torch VERSION, sm_NN, tlc COMMIT'")
        self.target = found.group()

    def summary(self):
        counts = collections.Counter(r.outcome for r in self.rows.values())
        said = ", ".join(f"{n} {outcome}" for outcome, n in counts.most_common())
        return f"{self.number}. {'; '.join(self.notes)}. {len(self.rows)} files: {said}."


def reason(detail, file):
    """A row's detail, of a diagnostic the line instead of the place."""
    return re.sub(rf"^(?:examples/)?{re.escape(file)}:(\d+):\d+: error: (.*)", r"\2 (line \1)", detail.strip())


def cell(row, several):
    """An outcome, and in which run where there are several of the target."""
    return "" if row is None else row.outcome + (f" ({row.run})" if several else "")


def table(runs, targets):
    several = {t: sum(r.target == t for r in runs) > 1 for t in targets}
    last = {t: {} for t in targets}
    for run in runs:
        last[run.target].update(run.rows)
    yield "| file | " + " | ".join(targets) + " | kernels | comparisons that held | what happened |"
    yield "|---" * (len(targets) + 4) + "|"
    for file in sorted(set().union(*last.values())):
        rows = [last[t].get(file) for t in targets]
        row = next((r for r in rows if r and r.outcome == "passed"), next(r for r in rows if r))
        compared = f"{row.held} of {row.compared}" if row.compared else ""
        why = "; ".join(reason(r.detail, file) for r in rows if r and r.detail.strip()).replace("|", "\\|")
        cells = [file, *(cell(r, several[t]) for r, t in zip(rows, targets)), str(row.kernels), compared, why]
        yield "| " + " | ".join(cells) + " |"


def total(runs, target):
    """A sentence on a target's last runs."""
    last = {}
    for run in runs:
        last.update(run.rows if run.target == target else {})
    passed = [r for r in last.values() if r.outcome == "passed"]
    checked = [r for r in passed if r.compared and r.held == r.compared]
    return (f"{target}: of {len(last)} files {len(passed)} passed in their last run; in {len(checked)} of these all of "
            f"{sum(r.held for r in checked)} comparisons by torch or the profiler held, the others compare with "
            "functions of their own or not at all.")


def section(paths=None):
    """Lines of the document; none without runs."""
    runs = [Run(p, i + 1) for i, p in enumerate(paths or sorted(glob.glob(OURS)))]
    if not runs:
        return []
    targets = sorted({r.target for r in runs}, reverse=True)
    return [TITLE, "", "The files as they are, on a GPU beside PyTorch: `tools/compat-gpu.sh` ([shim.md](shim.md)), put here "
            "by `tools/compat_runs.py`. Passed: exit status 0. The runs:", "", *(r.summary() for r in runs), "",
            *(f"- {total(runs, t)}" for t in targets), "", *table(runs, targets), ""]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.split("\n")[0])
    with open(sys.argv[1], encoding="utf-8") as f:
        parts = re.split(r"(?m)^(?=## )", f.read())
    parts = [p for p in parts if not p.startswith(TITLE + "\n")]
    place = next((i for i, p in enumerate(parts) if p.startswith("## TileLang's tests")), len(parts))
    parts.insert(place, "\n".join([*section(sys.argv[2:]), ""]))
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        f.write("".join(parts))


if __name__ == "__main__":
    main()
