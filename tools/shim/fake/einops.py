"""einops over the fake torch: rearrange, repeat, reduce, einsum."""
# SPDX-License-Identifier: MIT
import math
import re

import torch


def _groups(side):
    """'b (h d) 1' as [['b'], ['h', 'd'], ['1']]."""
    return [g.strip("()").split() if g.startswith("(") else [g] for g in re.findall(r"\([^)]*\)|\S+", side)]


def _spread(left, shape, sizes):
    """'...' on a side stands for so many axes."""
    if not any(g == ["..."] for g in left):
        return left
    extra = len(shape) - (len(left) - 1)
    return [x for g in left for x in ([[f"_{i}"] for i in range(extra)] if g == ["..."] else [g])]


def _parts(pattern, x, sizes):
    left, right = (_groups(s) for s in pattern.split("->"))
    ellipsis = [[f"_{i}"] for i in range(len(x.shape) - (len(left) - 1))] if ["..."] in left else []
    left = _spread(left, x.shape, sizes)
    right = [y for g in right for y in (ellipsis if g == ["..."] else [g])]
    known = dict(sizes)
    for g, n in zip(left, x.shape):
        have = math.prod(known[a] if a in known else 1 for a in g if not a.isdigit())
        for a in g:
            if a not in known and not a.isdigit():
                known[a] = n // max(have, 1)
    return left, right, known


def _names(groups):
    return [a for g in groups for a in g if not a.isdigit()]


def rearrange(x, pattern, **sizes):
    if isinstance(x, (list, tuple)):
        x = torch.stack(list(x))
    left, right, known = _parts(pattern, x, sizes)
    flat = x.reshape(*[known[a] for a in _names(left)]) if _names(left) else x
    order = [_names(left).index(a) for a in _names(right)]
    return flat.permute(*order).reshape(*[math.prod(1 if a.isdigit() else known[a] for a in g) for g in right])


def repeat(x, pattern, **sizes):
    left, right, known = _parts(pattern, x, sizes)
    flat = x.reshape(*[known[a] for a in _names(left)]) if _names(left) else x
    new = [a for a in _names(right) if a not in _names(left)]
    for _ in new:
        flat = flat.unsqueeze(0)
    flat = flat.expand(*[known[a] for a in new + _names(left)])
    order = [(new + _names(left)).index(a) for a in _names(right)]
    counts = [math.prod(int(a) if a.isdigit() else known[a] for a in g) for g in right]
    return flat.permute(*order).reshape(*counts)


def reduce(x, pattern, how, **sizes):
    left, right, known = _parts(pattern, x, sizes)
    flat = x.reshape(*[known[a] for a in _names(left)])
    gone = [i for i, a in enumerate(_names(left)) if a not in _names(right)]
    out = getattr(flat, {"max": "amax", "min": "amin"}.get(how, how))(gone)
    kept = [a for a in _names(left) if a in _names(right)]
    return rearrange(out, " ".join(kept) + " -> " + pattern.split("->")[1], **{a: known[a] for a in kept})


def einsum(*args):
    """Axes have names of any length: each becomes a letter."""
    xs, pattern = args[:-1], args[-1]
    letters = {}
    text = re.sub(r"[A-Za-z_]\w*", lambda m: letters.setdefault(m.group(), chr(97 + len(letters))), pattern)
    return torch.einsum(text.replace(" ", ""), *xs)
