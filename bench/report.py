"""Results as a table: text for the terminal, Markdown for docs/performance.md."""
# SPDX-License-Identifier: MIT
import book

WIDTH = 60
BEGIN, END = "<!-- make bench: begin -->", "<!-- make bench: end -->"


def number(value, form):
    return "-" if value is None else form % value


def beside(p):
    return f"{p['ratio']:.3f} of {p['name']} ({p['ratio_interval'][0]:.3f} to {p['ratio_interval'][1]:.3f})"


def heading(group, goal, of):
    return f"{group} (aim: {goal} of {of})" if goal else group


def line(what, us, tflops, gbytes, rest):
    """A line of the table; a long first column stands on a line of its own."""
    head = f"{what:<{WIDTH}}" if len(what) <= WIDTH else f"{what}\n{'':<{WIDTH}}"
    return f"{head} {us:>10} {tflops:>8} {gbytes:>7}   {rest}".rstrip()


def group_line(title):
    return f"\n{title}\n" + line("program", "us", "TFLOP/s", "GB/s", "speed beside others (95 % interval)")


def text_row(r):
    if "failed" in r:
        return f"{r['row']}\n    failed: {r['failed']}"
    notes = [beside(p) for p in r["peers"]] or [""]
    first = line(r["row"], f"{r['us']:.2f}", number(r.get("tflops"), "%.1f"), number(r.get("gbytes"), "%.0f"), notes[0])
    return "\n".join([first] + [line("", "", "", "", note) for note in notes[1:]])


def left_out(rows):
    return [f"left out: {m}" for m in sorted({m for r in rows for m in r.get("missing", ())})]


def summary(rows):
    return [f"{group}: geometric mean of {n}: {mean:.3f} of {peer}, least {least:.3f}"
            for group, peer, mean, least, n in book.means(rows)]


def markdown(card, rows):
    out = [f"One {card}, {book.dates(rows)}. {book.METHOD}", "",
           "| program (-p, and what the tuning file or the defaults add) | us | TFLOP/s | GB/s | of the peer (95 % interval) |",
           "|---|---|---|---|---|"]
    group = None
    for r in rows:
        if r["group"] != group:
            group = r["group"]
            out.append(f"| **{heading(group, r.get('goal'), r.get('goal_of'))}** | | | | |")
        if "failed" in r:
            out.append(f"| {r['row']} | | | | failed: {r['failed']} |")
            continue
        notes = [beside(p) for p in r["peers"]] or ["-"]
        said = r["bindings"].split(",")
        more = ", ".join(w for w in (r.get("config") or "").split(", ") if w not in said)
        with_ = f"<br>{r['arch']}: {more}" if more else ""
        out.append(f"| {r['row']}{with_} | {r['us']:.1f} | {number(r.get('tflops'), '%.0f')} "
                   f"| {number(r.get('gbytes'), '%.0f')} | {'<br>'.join(notes)} |")
    out += [""] + [f"- {said}." for said in summary(rows) + left_out(rows)]
    return "\n".join(out).rstrip() + "\n"


def fill(path, text):
    """Puts the table between the marks of a document."""
    with open(path, encoding="utf-8") as f:
        doc = f.read()
    before, found, rest = doc.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"{path}: no '{BEGIN}' before '{END}'")
    book.write(path, f"{before}{BEGIN}\n{text}{END}{after}")
