"""coverage.py CHECKOUT PARAMS.json LIST: kernels of the listed files that the record has no call of, one a line."""
# SPDX-License-Identifier: MIT
import ast
import json
import sys


def holds_kernel(fn):
    for n in ast.walk(fn):
        if isinstance(n, ast.With) and any("Kernel(" in ast.unparse(i.context_expr) for i in n.items):
            return True
    return False


def kernels(path):
    """Module-level functions (macros left out) with a T.Kernel in them."""
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    out = []
    for n in tree.body:
        if isinstance(n, ast.FunctionDef) and holds_kernel(n):
            if not any("macro" in ast.unparse(d) for d in n.decorator_list):
                out.append(n.name)
    return out


def main(checkout, params, listing):
    with open(params, encoding="utf-8") as f:
        record = json.load(f)
    with open(listing, encoding="utf-8") as f:
        files = f.read().split()
    total = have = full = 0
    for file in files:
        names = kernels(f"{checkout}/{file}")
        missing = [n for n in names if not record.get(file, {}).get(n)]
        total, have, full = total + len(names), have + len(names) - len(missing), full + (not missing)
        for n in missing:
            print(f"{file}: {n}")
    print(f"{full} of {len(files)} files complete; {have} of {total} kernels recorded")


if __name__ == "__main__":
    main(*sys.argv[1:])
