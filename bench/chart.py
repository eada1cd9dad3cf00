"""The ratios of a book as one SVG picture that needs nothing else: a bar for each peer of each row."""
# SPDX-License-Identifier: MIT
from xml.sax.saxutils import escape

import book

# Colours that people with any colour vision can tell apart (Okabe and Ito).
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#666666"]
AIM = "#b00020"
LEFT, PLOT, RIGHT, BAR, GAP, HEAD = 470, 560, 80, 13, 9, 118
WIDTH = LEFT + PLOT + RIGHT
LABEL = 68  # characters of a row's name
LEAST_SCALE = 1.25  # the axis reaches at least so far


def wrapped(text, width):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + len(word) >= width:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
    return lines + [line]


class Picture:
    def __init__(self):
        self.parts = []

    def text(self, x, y, said, size=11, anchor="start", weight="normal", fill="#222"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
                          f'font-weight="{weight}" fill="{fill}">{escape(said)}</text>')

    def line(self, x1, y1, x2, y2, stroke, width=1.0, dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
                          f'stroke-width="{width}"{dashes}/>')

    def bar(self, x, y, width, height, fill, title):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" fill="{fill}">'
                          f"<title>{escape(title)}</title></rect>")

    def svg(self, height):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
                f'height="{height:.0f}" font-family="sans-serif">\n'
                f'<rect width="{WIDTH}" height="{height:.0f}" fill="#fff"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def one_bar(p, y, peer, scale, colour, r):
    """A peer's bar with its interval and its value."""
    x = LEFT + min(peer["ratio"] / scale, 1) * PLOT
    low, high = (LEFT + min(v / scale, 1) * PLOT for v in peer["ratio_interval"])
    rate = f", {r['tflops']:.0f} TFLOP/s" if r.get("tflops") else f", {r['gbytes']:.0f} GB/s" if r.get("gbytes") else ""
    title = f"{r['title']}: {peer['ratio']:.3f} of {peer['name']}{rate}"
    p.bar(LEFT, y, max(x - LEFT, 0.5), BAR, colour, title)
    middle = y + BAR / 2
    p.line(low, middle, high, middle, "#000", 1.2)
    for end in (low, high):
        p.line(end, middle - 3, end, middle + 3, "#000", 1.2)
    if r.get("goal") and peer["name"].startswith(r["goal_of"]):
        aim = LEFT + min(float(r["goal"]) / scale, 1) * PLOT
        p.line(aim, y - 2, aim, y + BAR + 2, AIM, 3)
    p.text(LEFT + PLOT + 12, y + BAR - 2.5, f"{peer['ratio']:.3f}", 10.5)


def head(p, card, rows, colours):
    p.text(16, 28, f"tlc beside other implementations: {card}", 18, weight="bold")
    p.text(16, 48, f"Measured {book.dates(rows)}. Speed relative to the peer: 1.00 is as fast, more is faster.", 12)
    x = 16
    for name, colour in colours.items():
        p.bar(x, 60, 12, 12, colour, name)
        p.text(x + 17, 70.5, name, 12)
        x += 34 + 7 * len(name)
    p.line(x + 6, 59, x + 6, 73, AIM, 3)
    p.text(x + 17, 70.5, "aim", 12)


def tick(most):
    return 0.25 if most <= 2.5 else 1.0


def axis(p, top, bottom, scale):
    step = tick(scale)
    n = 0
    while n * step <= scale + 1e-9:
        x = LEFT + n * step / scale * PLOT
        if n * step == 1.0:
            p.line(x, top - 6, x, bottom, "#000", 1.2, "5 3")
        else:
            p.line(x, top - 6, x, bottom, "#ddd")
        for y in (top - 11, bottom + 15):
            p.text(x, y, f"{n * step:.2f}", 11, "middle")
        n += 1
    p.text(LEFT + PLOT / 2, bottom + 33, "ratio of speeds: time of the peer / time of tlc's kernel", 12, "middle")


def draw(card, rows):
    """The SVG's text; rows that failed or have no peer are left out."""
    rows = [r for r in rows if r.get("peers")]
    names = list(dict.fromkeys(p["name"] for r in rows for p in r["peers"]))
    colours = {n: COLOURS[i % len(COLOURS)] for i, n in enumerate(names)}
    most = max([p["ratio_interval"][1] for r in rows for p in r["peers"]] + [LEAST_SCALE])
    step = tick(most)
    scale = min(-(-most // step) * step, 6.0)
    bars, group, y = Picture(), None, HEAD
    for r in rows:
        if r["group"] != group:
            group = r["group"]
            y += 26
            bars.text(16, y - 6, group, 12, weight="bold")
        for peer in r["peers"]:
            one_bar(bars, y, peer, scale, colours[peer["name"]], r)
            y += BAR + 2
        label = r["title"] if len(r["title"]) <= LABEL else r["title"][:LABEL - 1] + "\u2026"
        middle = y - len(r["peers"]) * (BAR + 2) / 2
        bars.parts.append(f"<g><title>{escape(r['row'])}: {escape(str(r.get('config', '')))}</title>")
        bars.text(LEFT - 8, middle + 3, label, 10.5, "end")
        bars.parts.append("</g>")
        y += GAP
    page = Picture()
    head(page, card, rows, colours)
    axis(page, HEAD, y, scale)
    page.parts += bars.parts
    y += 54
    for line in wrapped(book.METHOD, 190):
        page.text(16, y, line, 10.5, fill="#555")
        y += 14
    return page.svg(y + 6)
