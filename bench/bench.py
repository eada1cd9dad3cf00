#!/usr/bin/env python3
"""make bench: the programs of bench/table.txt on this GPU, beside cuBLAS, a copy, PyTorch and TileLang.

Usage: bench/bench.py [OPTION...] [PATTERN [OPTION of tlc...]]   rows that match a regular expression; more options
for tlc, say --arch sm_80. Needs a GPU and nvcc; without one exits with tlc's status 3. docs/performance.md says more.
"""
# SPDX-License-Identifier: MIT
import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import ahead  # noqa: E402
import book  # noqa: E402
import chart  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402

TOP = os.path.dirname(rows.HERE)
TLC = os.environ.get("TLC") or os.path.join(os.environ.get("BUILD", "build"), "tlc")
MISSING = 3  # tlc's exit status where the machine lacks something
NPY = {"int32": ("<i4", "<i"), "int64": ("<i8", "<q")}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", default="bench/results", help="folder of the results (default bench/results)")
    p.add_argument("--table", default="bench/table.txt", help="the rows")
    p.add_argument("--missing", action="store_true", help="only rows of which this card has no result yet")
    p.add_argument("--limit", type=float, metavar="S", help="begin no row after S seconds")
    p.add_argument("--no-peers", action="store_true", help="cuBLAS and the copy alone")
    p.add_argument("--print", action="store_true", dest="only_print", help="measure nothing: print what is there")
    p.add_argument("--docs", action="store_true", help="measure nothing: put the table into docs/performance.md")
    p.add_argument("--tune", action="store_true", help="tlc --tune for each row, into bench/tuned/STEM.json")
    p.add_argument("pattern", nargs="?", default=".")
    p.add_argument("rest", nargs=argparse.REMAINDER, metavar="OPTION of tlc")
    return p.parse_args()


def card_here():
    """This machine's GPU, or None where nvidia-smi cannot say."""
    if not shutil.which("nvidia-smi"):
        return None
    done = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "--id=0"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None


def write_constant(path, dtype, count, value):
    """A one-dimensional .npy file without NumPy."""
    descr, pack = NPY[dtype]
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack(pack, value) * count)


def command(row, folder):
    """The arguments after `tlc --bench` and its like."""
    out = ["-p", row.bindings, *row.options]
    if row.tuned:
        out += ["--tuned", row.tuned]
    for name, dtype, count, value in row.given():
        path = os.path.join(folder, f"{name}.npy")
        write_constant(path, dtype, count, value)
        out += ["--in", f"{name}={path}"]
    return [*out, row.file]


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"


def first_trouble(text):
    """The first line that is no warning."""
    lines = [s for s in text.strip().splitlines() if "warning:" not in s and not s.startswith(" ")]
    return lines[0] if lines else last_line(text)


def result(row, said, more):
    """A row of the book from a line of tlc --bench --json; more: the options that the command line added."""
    out = {"row": row.key, "group": row.group, "title": row.title, "source": row.file, "bindings": row.bindings,
           "options": " ".join(row.options), "more": " ".join(more), "tuned": row.tuned, "arch": said.get("arch"),
           "config": said.get("bindings"), "date": time.strftime("%Y-%m-%d", time.gmtime()),
           "us": said["time"]["us"], "us_interval": said["time"]["us_interval"], "rounds": said["time"]["rounds"],
           "launches": said["time"]["launches"], "tflops": said.get("tflops"), "gbytes": said.get("gbytes"),
           "l2": said.get("l2"), "goal": row.keys.get("goal"), "goal_of": row.keys.get("of"), "peers": [],
           "missing": []}
    if row.flops():
        out["tflops"] = row.flops() / said["time"]["us"] * 1e-6
    if "reference" in said and not row.flops():
        ref = said["reference"]
        out["peers"].append({"name": ref["name"], "us": ref["us"], "us_interval": ref["us_interval"],
                             "ratio": said["ratio"], "ratio_interval": said["ratio_interval"]})
    return out


def question(row, o):
    """For bench/peers.py."""
    return {"file": row.file, "bindings": row.bindings, "options": row.options, "tuned": row.tuned,
            "peer": row.keys["peer"], "given": row.given(), "ranks": os.path.join(o.out, "tilelang.json")}


def add_peers(row, out, o, peers):
    peers.say(question(row, o))
    said = peers.answer(row.keys["peer"])
    out["peers"] += said.get("peers", [])
    out["missing"] += said.get("missing", [])


def get_ready(todo, o, peers, folder):
    """Builds all rows' programs, and lets the peers build theirs meanwhile."""
    start = time.monotonic()
    questions = [question(row, o) for row in todo if "peer" in row.keys and not o.no_peers]
    if questions:
        peers.say({"prepare": questions})
    ahead.build([[TLC, "--bench", "--no-run", "--arch", "native", *command(row, folder)] for row in todo])
    if questions:
        peers.answer("peers")
    print(f"{len(todo)} rows were built in {time.monotonic() - start:.1f} s", flush=True)


def measure(row, o, folder, peers):
    """(card, row of the book), or (None, None) where this machine cannot."""
    done = subprocess.run([TLC, "--bench", "--json", "--arch", "native", *command(row, folder)], capture_output=True,
                          text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == MISSING:
        print(f"SKIPPED bench: {last_line(done.stderr)}")
        return None, None
    if done.returncode:
        return None, {"row": row.key, "group": row.group, "title": row.title, "goal": row.keys.get("goal"),
                      "goal_of": row.keys.get("of"), "failed": first_trouble(done.stderr)}
    said = json.loads(done.stdout.strip().splitlines()[-1])
    out = result(row, said, o.rest)
    if "defaults are used" in done.stderr:  # the file has no entry for this kernel and target
        out["tuned"] = None
    if "no cuBLAS beside it: " in done.stderr:
        out["missing"].append("cublasLt: " + done.stderr.split("no cuBLAS beside it: ")[1].splitlines()[0])
    if "peer" in row.keys and not o.no_peers:
        add_peers(row, out, o, peers)
    return said["gpu"], out


def chosen(table, o):
    out = []
    for row in table:
        row = rows.Row(row.group, row.file, row.bindings, row.options + o.rest, row.keys)
        if re.search(o.pattern, f"{row.group} / {row.title}"):
            out.append(row)
    if not out:
        raise SystemExit(f"bench: no row of {o.table} matches '{o.pattern}'")
    return out


def run(table, o):
    """Measures row after row; each result is on disk before the next one begins."""
    card, start = card_here(), time.monotonic()
    kept = book.Book(o.out, card) if card else None
    todo = chosen(table, o)
    if o.missing and kept:
        todo = [row for row in todo if "us" not in kept.rows.get(row.key, {})]
    peers = ahead.Peers(TLC)
    try:
        if todo:
            with tempfile.TemporaryDirectory(prefix="tlc-bench-") as folder:
                get_ready(todo, o, peers, folder)
        return measure_all(todo, table, o, kept, peers, start)
    finally:
        peers.end()


def measure_all(todo, table, o, kept, peers, start):
    group, failed, done = None, False, []
    for n, row in enumerate(todo):
        if o.limit and time.monotonic() - start > o.limit:
            book.warn(f"{len(todo) - n} rows were not begun in {o.limit:g} s: --missing goes on")
            break
        with tempfile.TemporaryDirectory(prefix="tlc-bench-") as folder:
            here, out = measure(row, o, folder, peers)
        if out is None:
            return MISSING
        if here and (not kept or kept.card != here):
            kept = book.Book(o.out, here)
        if row.group != group:
            group = row.group
            print(report.group_line(report.heading(group, row.keys.get("goal"), row.keys.get("of"))))
        print(report.text_row(out), flush=True)
        failed |= "failed" in out
        done.append(out)
        if kept:
            kept.put(out)
            kept.save(table)
    for line in report.summary(done) + report.left_out(done):
        print(line)
    if kept and kept.rows:
        publish(kept, table)
    return 1 if failed else 0


def publish(kept, table):
    """The table and the chart beside the JSON."""
    ordered, stem = kept.in_order(table), os.path.splitext(kept.path)[0]
    book.write(stem + ".md", report.markdown(kept.card, ordered))
    book.write(stem + ".svg", chart.draw(kept.card, ordered))
    print(f"{kept.path}, {os.path.basename(stem)}.md, {os.path.basename(stem)}.svg")


def books(o):
    found = []
    for name in sorted(os.listdir(o.out)) if os.path.isdir(o.out) else []:
        path = os.path.join(o.out, name)
        if name.endswith(".json") and name != "tilelang.json":
            with open(path, encoding="utf-8") as f:
                found.append(book.Book(o.out, json.load(f).get("card", "")))
    if not found:
        raise SystemExit(f"bench: no results in {o.out}")
    return found


def show(table, o):
    """What is there, on the terminal or into the document."""
    texts = []
    for kept in books(o):
        ordered, group = kept.in_order(table), None
        publish(kept, table)
        texts.append(report.markdown(kept.card, ordered))
        for r in ordered if not o.docs else ():
            if r["group"] != group:
                group = r["group"]
                print(report.group_line(report.heading(group, r.get("goal"), r.get("goal_of"))))
            print(report.text_row(r))
        if not o.docs:
            print("", *report.summary(ordered), *report.left_out(ordered), sep="\n")
    if o.docs:
        report.fill(os.environ.get("TLC_BENCH_DOC", "docs/performance.md"), "\n" + "\n".join(texts) + "\n")
    return 0


def tune(table, o):
    """A search for each row, results of which a later run of the bench takes."""
    os.makedirs("bench/tuned", exist_ok=True)
    status = 0
    for row in chosen(table, o):
        stem = os.path.splitext(os.path.basename(row.file))[0]
        print(f"\n{row.title}", flush=True)
        done = subprocess.run([TLC, "--tune", "-p", row.bindings, *row.options, "--save", f"bench/tuned/{stem}.json",
                               row.file], check=False, stdin=subprocess.DEVNULL)
        if done.returncode in (MISSING, 130):
            return done.returncode
        status = status or done.returncode
    return status


def main():
    os.chdir(TOP)
    o = options()
    table = rows.read(o.table)
    try:
        return show(table, o) if o.only_print or o.docs else tune(table, o) if o.tune else run(table, o)
    except re.error as e:
        raise SystemExit(f"bench: '{o.pattern}' is no regular expression: {e}") from None


if __name__ == "__main__":
    sys.exit(main())
