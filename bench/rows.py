"""bench/table.txt: what is measured. The format stands at its head."""
# SPDX-License-Identifier: MIT
import ast
import os

HERE = os.path.dirname(os.path.abspath(__file__))
KEYS = {"goal", "of", "flops", "peer", "given"}


class Row:
    def __init__(self, group, file, bindings, options, keys):
        self.group, self.file, self.bindings, self.options, self.keys = group, file, bindings, options, keys

    @property
    def key(self):
        return " ".join([self.file, self.bindings, *self.options])

    @property
    def title(self):
        return " ".join([os.path.splitext(os.path.basename(self.file))[0], self.bindings, *self.options])

    @property
    def tuned(self):
        """The tuning file of the program, or None."""
        stem = os.path.splitext(os.path.basename(self.file))[0]
        path = os.path.join("bench", "tuned", stem + ".json")
        return path if os.path.exists(os.path.join(HERE, "..", path)) else None

    def flops(self):
        """Of one launch, or None."""
        if "flops" not in self.keys:
            return None
        names = dict(b.split("=", 1) for b in self.bindings.split(","))
        return float(evaluate(ast.parse(self.keys["flops"], mode="eval").body, names))

    def given(self):
        """Constant inputs: (tensor, dtype, count, value)."""
        out = []
        for text in self.keys.get("given", "").split(";"):
            if text:
                name, dtype, count, value = text.split(":")
                out.append((name, dtype, int(count), int(value)))
        return out


def evaluate(node, names):
    """Products, sums and powers of numbers and bindings."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return int(names[node.id])
    if isinstance(node, ast.BinOp):
        a, b = evaluate(node.left, names), evaluate(node.right, names)
        by = {ast.Add: lambda: a + b, ast.Sub: lambda: a - b, ast.Mult: lambda: a * b, ast.Pow: lambda: a**b,
              ast.Div: lambda: a / b}
        return by[type(node.op)]()
    raise ValueError(f"flops: {ast.dump(node)}")


def keys_of(text, where):
    out = dict(word.split("=", 1) for word in text.split())
    for key in out:
        if key not in KEYS:
            raise SystemExit(f"{where}: '{key}' is none of {', '.join(sorted(KEYS))}")
    return out


def read(path):
    group, shared, out = "", {}, []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            where = f"{path}:{number}"
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            said, _, keys = line.partition("|")
            if line.startswith("=="):
                group, shared = said.strip("= "), keys_of(keys, where)
                continue
            words = said.split()
            if len(words) < 2:
                raise SystemExit(f"{where}: a row is FILE BINDINGS [OPTION...]")
            both = {**shared, **keys_of(keys, where)}
            if ("goal" in both) != ("of" in both):
                raise SystemExit(f"{where}: goal= and of= go together")
            out.append(Row(group, words[0], words[1], words[2:], both))
    return out
