"""What a tile program means, in Python: executes the text of a .tl file block by block with NumPy,
knowing nothing of tlc. For programs without statements of single threads.
SPDX-License-Identifier: MIT
"""
import ast
import itertools
import sys
import types

import numpy as np

FLOAT = {"float16": np.float16, "float32": np.float32, "float64": np.float64, "bfloat16": np.float32}
INT = {"int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8}
WIDTH = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8, "float16": 16, "bfloat16": 16,
         "float32": 32, "float64": 64}


def round_bf16(x):
    """To nearest even, in one step from float64."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        m, e = np.frexp(x)
        tiny = np.maximum(e, -125)  # subnormals keep a fixed last place
        y = np.ldexp(np.rint(np.ldexp(m, 8 + e - tiny)), tiny - 8)
        y = np.where(np.isfinite(x), y, x)
        y = np.where(np.abs(y) > 3.3895313892515355e38, np.copysign(np.inf, x), y)
    return y.astype(np.float32)


def convert(x, to):
    """Values of any type as elements of type `to`: arrays in, arrays out."""
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        if to == "bfloat16":
            return round_bf16(x)
        if to in FLOAT:
            return x.astype(FLOAT[to])
        if x.dtype.kind == "f":
            info = np.iinfo(INT[to])
            y = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30))
            low, high = y <= float(info.min), y >= float(info.max)
            y = np.where(low | high, 0, y).astype(np.int64)
            return np.where(low, info.min, np.where(high, info.max, y)).astype(INT[to])
        return x.astype(np.int64).astype(INT[to])


def promote(a, b):
    if a == b:
        return a
    fa, fb = a in FLOAT, b in FLOAT
    if fa and fb:
        return (a if WIDTH[a] > WIDTH[b] else b) if WIDTH[a] != WIDTH[b] else "float32"
    if fa or fb:
        return a if fa else b
    bits = max(WIDTH[a], WIDTH[b])
    if (a[0] == "u") == (b[0] == "u"):
        return a if WIDTH[a] == bits else b
    return f"int{bits}"


class Num:
    """A run-time number. Indices and literals are Python's own ints."""
    buf = None

    def __init__(self, dtype, value):
        self.dtype, self.value = dtype, value  # a Python int or float, a value of the type

    def __index__(self):
        return int(self.value)

    def __bool__(self):
        return bool(self.value)


def num(dtype, value):
    v = convert(value, dtype)
    return Num(dtype, int(v) if dtype in INT else float(v))


def pair(a, b):
    """Both as numbers of one type; None where both are plain."""
    if isinstance(a, Num) and isinstance(b, Num):
        t = promote(a.dtype, b.dtype)
    elif isinstance(a, Num):
        t = a.dtype if a.dtype in FLOAT or isinstance(b, bool) else promote(a.dtype, "int32")
    elif isinstance(b, Num):
        t = b.dtype if b.dtype in FLOAT or isinstance(a, bool) else promote(b.dtype, "int32")
    else:
        return None
    return t, num(t, getattr(a, "value", a)).value, num(t, getattr(b, "value", b)).value


def operator(f, swap=False):
    def run(x, y):
        if swap:
            x, y = y, x
        t, a, b = pair(x, y)
        with np.errstate(all="ignore"):
            return num(t, f(np.float64(a), np.float64(b)) if t in FLOAT else f(a, b) if t != "int64" else
                       ((f(a, b) + (1 << 63)) % (1 << 64)) - (1 << 63))
    return run


def comparison(f):
    return lambda x, y: bool(f(*pair(x, y)[1:]))


for _name, _f in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul", lambda a, b: a * b),
                  ("floordiv", lambda a, b: a // b), ("mod", lambda a, b: a % b)):
    setattr(Num, f"__{_name}__", operator(_f))
    setattr(Num, f"__r{_name}__", operator(_f, True))
for _name, _f in (("lt", lambda a, b: a < b), ("le", lambda a, b: a <= b), ("gt", lambda a, b: a > b),
                  ("ge", lambda a, b: a >= b), ("eq", lambda a, b: a == b), ("ne", lambda a, b: a != b)):
    setattr(Num, f"__{_name}__", comparison(_f))
Num.__neg__ = lambda x: num(x.dtype, -x.value)


class Buf:
    def __init__(self, dtype, shape, scope):
        self.dtype, self.shape, self.scope, self.safe = dtype, tuple(shape), scope, 0
        self.data = np.zeros(shape, FLOAT.get(dtype) or INT[dtype])
        self.written = np.zeros(shape, bool)

    def __getitem__(self, idx):
        idx = idx if isinstance(idx, tuple) else (idx,)
        assert len(idx) == len(self.shape)
        if any(isinstance(i, slice) for i in idx):
            return Region(self, idx)
        at = tuple(int(i) for i in idx)
        inside = all(0 <= i < n for i, n in zip(at, self.shape))
        assert inside or self.scope == "global", "a tile is left"
        x = Num(self.dtype, 0)
        x.value = (int if self.dtype in INT else float)(self.data[at]) if inside else num(self.dtype, self.safe).value
        x.buf, x.at = self, at
        return x

    def __setitem__(self, idx, value):
        at = tuple(int(i) for i in (idx if isinstance(idx, tuple) else (idx,)))
        inside = all(0 <= i < n for i, n in zip(at, self.shape))
        assert inside or self.scope == "global", "a tile is left"
        if inside:
            self.data[at] = convert(getattr(value, "value", value), self.dtype)
            self.written[at] = True


class Region:
    def __init__(self, buf, idx):
        self.buf, self.min, self.extent = buf, [], []
        for i, n in zip(idx, buf.shape):
            if isinstance(i, slice):
                lo = 0 if i.start is None else int(i.start)
                hi = n if i.stop is None else int(i.stop)
                self.min.append(lo)
                self.extent.append(hi - lo)
            else:
                self.min.append(int(i))
                self.extent.append(1)


def side(x):
    """Buffer, minima and extents (None: an address)."""
    if isinstance(x, Buf):
        return x, [0] * len(x.shape), list(x.shape)
    if isinstance(x, Region):
        return x.buf, x.min, x.extent
    return x.buf, list(x.at), None


def boxes(src, dst):
    """The box of each side: an address takes the other's extents along its last dimensions."""
    sides = [side(src), side(dst)]
    for k in (0, 1):
        buf, low, extent = sides[k]
        if extent is None:
            other = sides[1 - k][2]
            grown = [1] * max(0, len(low) - len(other)) + list(other)
            assert all(e == 1 for e in grown[:len(grown) - len(low)])
            sides[k] = buf, low, grown[len(grown) - len(low):]
    return sides


def places(low, extent):
    grids = np.meshgrid(*[m + np.arange(e) for m, e in zip(low, extent)], indexing="ij")
    return [g.reshape(-1) for g in grids]


def inside_of(buf, at):
    ok = np.ones(at[0].shape, bool)
    for a, n in zip(at, buf.shape):
        ok &= (a >= 0) & (a < n)
    assert ok.all() or buf.scope == "global", "a tile is left"
    return ok


def read_box(buf, low, extent):
    at = places(low, extent)
    ok = inside_of(buf, at)
    out = np.full(at[0].shape, convert(buf.safe, buf.dtype))
    out[ok] = buf.data[tuple(a[ok] for a in at)]
    return out


def write_box(buf, low, extent, values, add=False):
    at = places(low, extent)
    ok = inside_of(buf, at)
    where = tuple(a[ok] for a in at)
    new = convert(values, buf.dtype)[ok]
    if add:
        new = convert(buf.data[where].astype(np.float64) + new.astype(np.float64), buf.dtype) \
            if buf.dtype in FLOAT else buf.data[where] + new
    buf.data[where] = new
    buf.written[where] = True


def copy(src, dst):
    (sb, sl, se), (db, dl, de) = boxes(src, dst)
    assert [e for e in se if e != 1] == [e for e in de if e != 1]
    write_box(db, dl, de, read_box(sb, sl, se))


def fill(dst, value):
    buf, low, extent = side(dst)
    write_box(buf, low, extent, np.full(int(np.prod(extent)), convert(getattr(value, "value", value), buf.dtype)))


def atomic_add(dst, value):
    if isinstance(value, (Buf, Region)) or (isinstance(dst, (Buf, Region)) and getattr(value, "buf", None)):
        (sb, sl, se), (db, dl, de) = boxes(value, dst)
        write_box(db, dl, de, read_box(sb, sl, se), add=True)
        return
    buf, low, extent = side(dst)
    new = convert(getattr(value, "value", value), buf.dtype)
    if extent is None:
        for _ in range(1 if Launch.elements else Launch.threads):  # a scalar statement: every thread's
            write_box(buf, low, [1] * len(low), np.full(1, new), add=True)
        return
    write_box(buf, low, extent, np.full(int(np.prod(extent)), new), add=True)


def matrix(x):
    buf, low, extent = side(x)
    return read_box(buf, low, extent).reshape(extent[-2:]).astype(np.float64)


def gemm(a, b, c, transpose_A=False, transpose_B=False, policy=None, clear_accum=False):
    x, y = matrix(a), matrix(b)
    product = (x.T if transpose_A else x) @ (y.T if transpose_B else y)
    old = np.zeros(c.shape) if clear_accum else c.data.astype(np.float64)
    c.data[...] = convert((old + product).astype(np.int64) if c.dtype in INT else old + product, c.dtype)


def extreme(f):
    def run(a, b):
        p = pair(a, b)
        if not p:
            return f(a, b)
        t, x, y = p
        return num(t, x if y != y else y if x != x else f(x, y))  # a number wins over a NaN
    return run


def parallel(*extents):
    Launch.elements += 1
    try:
        for at in itertools.product(*map(range, map(int, extents))):
            yield at if len(at) > 1 else at[0]
    finally:
        Launch.elements -= 1


class Vars(ast.NodeTransformer):
    """Assignments to names from T.alloc_var convert to the variable's type."""

    def visit_FunctionDef(self, node):
        self.types = {}
        for x in ast.walk(node):
            if isinstance(x, ast.Assign) and ast.unparse(x.value).startswith("T.alloc_var("):
                self.types[x.targets[0].id] = x.value.args[0].value
        return self.generic_visit(node)

    def visit_Assign(self, node):
        name = getattr(node.targets[0], "id", None)
        if name in self.types and not ast.unparse(node.value).startswith("T.alloc_var("):
            node.value = ast.parse(f"T.cast({ast.unparse(node.value)}, {self.types[name]!r})", mode="eval").body
        return node


class Launch:
    def __init__(self, *grid, threads=128):
        Launch.grid, Launch.threads = grid, threads

    def __enter__(self):
        at = Launch.block or (0,) * len(Launch.grid)
        return at if len(at) > 1 else at[0]

    def __exit__(self, *_):
        return False


def language(sizes):
    t = types.SimpleNamespace()
    plain = getattr
    t.prim_func = lambda f: f
    t.dynamic = lambda name: sizes[name]
    t.Tensor = lambda shape, dtype: (tuple(shape), dtype)
    t.Kernel = Launch
    t.alloc_shared = lambda shape, dtype: Buf(dtype, shape, "shared")
    t.alloc_fragment = lambda shape, dtype: Buf(dtype, shape, "fragment")
    t.alloc_var = lambda dtype, init=0: num(dtype, init)
    t.copy, t.gemm, t.atomic_add, t.fill = copy, gemm, atomic_add, fill
    t.clear = lambda b: fill(b, 0)
    t.Parallel = parallel
    t.serial = t.unroll = t.vectorized = lambda a, b=None: range(int(a)) if b is None else range(int(a), int(b))
    t.Pipelined = lambda a, b=None, num_stages=0: t.serial(a, b)
    t.min, t.max = extreme(min), extreme(max)
    t.abs = lambda x: num(x.dtype, abs(x.value)) if isinstance(x, Num) else abs(x)
    t.cast = lambda x, dtype: num(dtype, plain(x, "value", x))
    t.if_then_else = lambda c, a, b: select(c, a, b)
    t.ceildiv = lambda a, b: -(-a // b)
    t.sync_threads = lambda: None
    t.use_swizzle = lambda *a, **k: None
    t.annotate_layout = lambda maps: None
    t.annotate_safe_value = lambda values: [setattr(b, "safe", v) for b, v in values.items()]
    t.GemmWarpPolicy = types.SimpleNamespace(Square=0, FullRow=1, FullCol=2)
    return t


def select(c, a, b):
    p = pair(a, b)
    return (a if c else b) if not p else num(p[0], p[1] if c else p[2])


class Choices(ast.NodeTransformer):
    def visit_IfExp(self, node):
        self.generic_visit(node)
        return ast.Call(ast.Name("select", ast.Load()), [node.test, node.body, node.orelse], [])


def execute(text, sizes, arrays):
    """Runs the program. arrays(name, shape, dtype) gives an input's contents, or None for outputs;
    returns the buffers by name."""
    tree = ast.fix_missing_locations(Choices().visit(Vars().visit(ast.parse(text))))
    t = language(sizes)
    lib = types.ModuleType("tilelang")
    lib.layout = types.SimpleNamespace(make_swizzled_layout=lambda b: None)
    lib.language = t
    sys.modules.update({"tilelang": lib, "tilelang.language": t})
    names = {"select": select}
    exec(compile(tree, "program", "exec"), names)
    main = names["prog"]()
    bufs = {}
    for name, (shape, dtype) in main.__annotations__.items():
        bufs[name] = Buf(dtype, shape, "global")
        data = arrays(name, shape, dtype)
        if data is not None:
            bufs[name].data[...] = data
    Launch.block, Launch.elements = None, 0
    for block in blocks_of(text):
        Launch.block = block
        main(**bufs)
    return bufs


def blocks_of(text):
    """The grid, read off the text: it holds numbers only."""
    for x in ast.walk(ast.parse(text)):
        if isinstance(x, ast.Call) and ast.unparse(x.func) == "T.Kernel":
            return itertools.product(*[range(a.value) for a in x.args])
    return []
