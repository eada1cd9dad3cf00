"""What an eager kernel's declarations say: the sizes T.const stands for, given its tensors, and its results' shapes.

The body's `with` blocks are left out, so that nothing of the device half runs; what cannot be evaluated at Python
level is skipped."""
# SPDX-License-Identifier: MIT
import ast
import contextlib
import inspect
import textwrap

from . import specs
from .specs import Sym, TensorSpec


class _Host(ast.NodeTransformer):
    """Drops device blocks; turns `A: T.Tensor(...)` into a call that notes it."""

    def visit_With(self, node):
        return ast.copy_location(ast.Pass(), node)

    def visit_FunctionDef(self, node):
        return node

    def visit_AnnAssign(self, node):
        if node.value is None and isinstance(node.target, ast.Name):
            call = ast.Call(ast.Name("__declare__", ast.Load()), [ast.Constant(node.target.id), node.annotation], [])
            return ast.copy_location(ast.Expr(call), node)
        return node


def _function(fn):
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(fn))))
    return next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == fn.__name__)


def is_eager(fn):
    """Whether the function is a kernel itself: a `with T.Kernel` of its own, or tensors declared for a macro that has one.
    What is in functions inside it does not count; with a prim_func inside, it is a factory."""
    def own(nodes):
        for n in nodes:
            if isinstance(n, ast.FunctionDef):
                yield from n.decorator_list
            elif not isinstance(n, (ast.Lambda, ast.ClassDef)):
                yield n
                yield from own(ast.iter_child_nodes(n))
    try:
        nodes = list(own(_function(fn).body))
    except (OSError, SyntaxError, StopIteration):
        return False
    if any(isinstance(n, ast.With) and any("Kernel" in ast.unparse(i.context_expr) for i in n.items) for n in nodes):
        return True
    if any("prim_func" in ast.unparse(n) for n in nodes if isinstance(n, ast.expr)):
        return False
    declared = any(isinstance(n, ast.AnnAssign) and n.value is None for n in nodes)
    return declared or any(isinstance(a, TensorSpec) for a in fn.__annotations__.values())


class Tracing:
    """While a trace runs, T.const asks it for values."""

    current = None

    def __init__(self, known):
        self.known, self.order, self.declared = known, [], {}

    def const(self, text):
        names = specs.names_of(text)
        self.order += [n for n in names if n not in self.order]
        out = tuple(self.known.get(n, Sym(n)) for n in names)
        return out[0] if len(out) == 1 else out


def _run(fn, node, args, tracing):
    """The value the host half returns; declarations are bound to the tensors among args on the way."""
    def declare(name, spec):
        value = args.get(name)
        if isinstance(spec, TensorSpec):
            tracing.declared[name] = spec
        if isinstance(spec, TensorSpec) and hasattr(value, "shape"):
            spec.bind(value, tracing.known)
    scope = {**fn.__globals__, **inspect.getclosurevars(fn).nonlocals, "__declare__": declare}
    module = ast.Module([node], [])
    exec(compile(ast.fix_missing_locations(module), inspect.getsourcefile(fn), "exec"), scope)
    Tracing.current = tracing
    try:
        return scope[fn.__name__](**args)
    finally:
        Tracing.current = None


def trace(fn, args, given):
    """({size name: value}, result, known, declared tensors) of an eager kernel called with these arguments, some sizes given; the result
    is made of TensorSpecs, or None where it cannot be told."""
    node = _function(fn)
    node.decorator_list, node.returns = [], None
    for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        a.annotation = None
    node.body = [_Host().visit(s) for s in node.body]
    tracing, result = Tracing(dict(given)), None
    args = {p: args.get(p) for p in inspect.signature(fn).parameters}
    for name, spec in getattr(fn, "__annotations__", {}).items():
        if isinstance(spec, TensorSpec) and hasattr(args.get(name), "shape"):
            spec.bind(args[name], tracing.known)
    for _ in range(2):   # once to learn the sizes, once with them
        with contextlib.suppress(Exception):
            result = _run(fn, node, args, tracing)
    sizes = {n: tracing.known[n] for n in tracing.order if n in tracing.known}
    return sizes, result, tracing.known, tracing.declared
