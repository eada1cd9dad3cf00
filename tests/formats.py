"""Number formats by their bits, for tests: what a pattern means, and the pattern nearest to a number.

Nothing here is tlc's: a float is (-1)^s 2^(e - bias) 1.m, or 2^(1 - bias) 0.m where e is 0, and rounding
looks for the nearer of the two neighbours in a table of all values, the even pattern on a tie.
SPDX-License-Identifier: MIT
"""
import numpy as np

# name: bits of the exponent, of the fraction; what the top exponent means
FLOATS = {
    "float16": (5, 10, "ieee"),
    "bfloat16": (8, 7, "ieee"),
    "float8_e5m2": (5, 2, "ieee"),
    "float8_e4m3fn": (4, 3, "one nan"),
    "float4_e2m1fn": (2, 1, "finite"),
}


def width(name):
    return sum(FLOATS[name][:2]) + 1


def decode(name, bits):
    """The number that each pattern is, as float64."""
    exponent, fraction, top = FLOATS[name]
    bits = np.asarray(bits).astype(np.int64)
    bias = 2 ** (exponent - 1) - 1
    e, m = bits >> fraction & (2**exponent - 1), bits & (2**fraction - 1)
    size = np.where(e > 0, 2.0 ** (e - bias) * (1 + m / 2**fraction), 2.0 ** (1 - bias) * (m / 2**fraction))
    if top == "ieee":
        size = np.where(e == 2**exponent - 1, np.where(m > 0, np.nan, np.inf), size)
    if top == "one nan":
        size = np.where(bits & (2 ** (exponent + fraction) - 1) == 2 ** (exponent + fraction) - 1, np.nan, size)
    return np.where(bits >> (exponent + fraction) & 1, -size, size)


def encode(name, x, saturate=True):
    """The pattern nearest to each number, ties to the even one. 8- and 4-bit formats saturate; NaN is all ones
    after the sign (fp4, which has none: the largest)."""
    _, _, top = FLOATS[name]
    n = width(name) - 1
    x = np.asarray(x, dtype=np.float64)
    patterns = np.arange(2**n)
    values = decode(name, patterns)
    finite = np.isfinite(values)
    count = int(finite.sum())  # the finite magnitudes are patterns 0 .. count - 1, in order
    values = values[:count]
    size = np.where(np.isnan(x), 0, np.abs(x))
    above = np.searchsorted(values, size).clip(1, count - 1)
    low, high = values[above - 1], values[above]
    with np.errstate(invalid="ignore"):
        down, up = size - low, high - size
        pick = np.where((down < up) | ((down == up) & (above % 2 == 1)), above - 1, above)
    # past the largest: as far as a next value would be, a tie away from the odd pattern
    last, step = values[-1], values[-1] - values[-2]
    over = (size > last + step / 2) | ((size == last + step / 2) & (count % 2 == 0))
    pick = np.where(size >= last, count - 1, pick)
    if top == "ieee" and not (saturate and n < 8):
        pick = np.where(over, count, pick)
    pick = np.where(np.isnan(x), 2**n - 1, pick)
    sign = np.where(np.isnan(x), 0, np.signbit(x)).astype(np.int64)
    return pick | sign << n


def edges(name):
    """Every finite value of a format, the midpoints between neighbours, and the float64 next to those."""
    values = decode(name, np.arange(2 ** (width(name) - 1)))
    values = values[np.isfinite(values)]
    mid = (values[:-1] + values[1:]) / 2
    beyond = values[-1] + (values[-1] - values[-2]) * np.array([0.25, 0.5, 0.75, 1, 4])
    points = np.concatenate([values, mid, np.nextafter(mid, 0), np.nextafter(mid, np.inf), beyond])
    return np.concatenate([points, -points, [np.nan, np.inf, -np.inf]])


def to_int(name, x):
    """Towards zero, saturating; NaN is 0."""
    info = np.iinfo(name)
    x = np.trunc(np.where(np.isnan(x), 0, x))
    return np.array([max(info.min, min(info.max, int(v) if np.isfinite(v) else int(np.sign(v)) * 2**70)) for v in x])


def all_values(name):
    """Every value of an 8- or 16-bit type as float64, in the order of its bits."""
    if name in FLOATS:
        return decode(name, np.arange(2 ** width(name)))
    return np.arange(2 ** np.iinfo(name).bits).astype("u" + name.lstrip("u")).view(name).astype(np.float64)


def raw(name, x):
    """What a tensor of this type holds for numbers x: NumPy's type where there is one, else bits."""
    if name in ("float32", "float64"):
        return np.asarray(x).astype(name)
    if name == "float16":
        return encode(name, x).astype(np.uint16).view(np.float16)
    if name in FLOATS:
        return encode(name, x)
    return to_int(name, x)


def raw4(name, x, src):
    """The low halves of bytes for numbers x of type src; integers wrap, and come from floats as `to_int` has it."""
    if name in FLOATS:
        return encode(name, x)
    if src in FLOATS:
        x = np.trunc(np.where(np.isnan(x), 0, x)).clip(*((-8, 7) if name == "int4" else (0, 15)))
    return x.astype(np.int64) & 15


def every(name):
    """A tensor of every value of a type, as its file holds it."""
    if name == "float16":
        return np.arange(2**16).astype(np.uint16).view(np.float16)
    if name in FLOATS:
        return np.arange(2 ** width(name))
    return np.arange(2 ** np.iinfo(name).bits).astype("u" + name.lstrip("u")).view(name)
