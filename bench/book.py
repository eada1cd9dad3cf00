"""What was measured on one card, as JSON: read, merged, written. docs/performance.md describes the format."""
# SPDX-License-Identifier: MIT
import json
import math
import os
import re
import sys

FORMAT = "tlc bench 1"
METHOD = ("N(0,1) inputs, integers of 8 bits any bits; results checked first; bursts of at least 10 launches or 10 ms after 2 warm-up launches, "
          "0.3 s idle before each; contenders interleaved in one process on the same buffers; medians of 15 rounds; "
          "ratios are medians of the rounds' ratios, with 95 % intervals. cublasLt: the best of its first 8 heuristics "
          "with a 64 MiB workspace. copy: a copy within device memory that reads and writes as many bytes.")


def slug(card):
    return re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")


class Book:
    def __init__(self, folder, card):
        self.card, self.path = card, os.path.join(folder, slug(card) + ".json")
        self.rows = {}
        if not os.path.exists(self.path):
            return
        try:
            with open(self.path, encoding="utf-8") as f:
                data = json.load(f)
        except ValueError as e:
            raise SystemExit(f"{self.path}: {e}: move it away") from None
        if data.get("format") != FORMAT:
            raise SystemExit(f"{self.path}: the format is {data.get('format')!r}, not {FORMAT!r}: move it away")
        self.rows = {r["row"]: r for r in data["rows"]}

    def put(self, row):
        self.rows[row["row"]] = row

    def in_order(self, table):
        """Results in the order of the table, those with more options behind their row, the others last."""
        def place(r):
            like = [(len(t.key), i) for i, t in enumerate(table) if f"{r['row']} ".startswith(t.key + " ")]
            return max(like)[1] if like else len(table), r["row"]

        return sorted(self.rows.values(), key=place)

    def text(self, table):
        rows = self.in_order(table)
        head = {"format": FORMAT, "card": self.card, "method": METHOD}
        lines = [f"  {json.dumps(k)}: {json.dumps(v)}," for k, v in head.items()]
        body = ",\n".join("    " + json.dumps(r) for r in rows)
        return "{\n" + "\n".join(lines) + f'\n  "rows": [\n{body}\n  ]\n' + "}\n"

    def save(self, table):
        write(self.path, self.text(table))


def write(path, text):
    """A whole file or none: a run may be stopped at any time."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(temporary, path)


def means(rows):
    """(group, peer, geometric mean, least, count) where two rows or more have the peer. Rows that the command line gave
    more options are apart."""
    out = {}
    for r in rows:
        for p in r.get("peers", ()):
            group = f"{r['group']}, {r['more']}" if r.get("more") else r["group"]
            out.setdefault((group, p["name"]), []).append(p["ratio"])
    return [(g, p, math.exp(sum(map(math.log, v)) / len(v)), min(v), len(v)) for (g, p), v in out.items() if len(v) > 1]


def dates(rows):
    days = sorted({r["date"] for r in rows if "date" in r})
    return "" if not days else days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def warn(text):
    print(f"bench: {text}", file=sys.stderr)
