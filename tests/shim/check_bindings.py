"""Values as the record and -p say them, and the other way round through tlc: expected texts written by hand."""
# SPDX-License-Identifier: MIT
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "shim"))
import torch  # noqa: E402
from tlc_shim import values  # noqa: E402
from tlc_shim.dtypes import dtype  # noqa: E402
from tlc_shim.specs import Sym, TensorSpec  # noqa: E402

CASES = [
    (dtype("half"), "float16", "float16"),
    (torch.bfloat16, "bfloat16", "bfloat16"),
    (float, "float32", "float32"),
    ("row", "row", "row"),
    ("two words", "two words", '"two words"'),
    ("True", "True", '"True"'),
    (True, True, "True"),
    (None, None, "None"),
    (0.125, 0.125, "0.125"),
    ((1, [dtype("int8"), "a,b"]), [1, ["int8", "a,b"]], '[1,[int8,"a,b"]]'),
    (values.Policy.FullCol, "T.GemmWarpPolicy.FullCol", "T.GemmWarpPolicy.FullCol"),
]
PROGRAM = '''import tilelang.language as T
def k(x):
    y = x
    assert {test}, "differs"
    @T.prim_func
    def main(A: T.Tensor((1,), T.float32)):
        with T.Kernel(1, threads=32):
            A[0] = 1
    return main
'''


def same_in_tlc(text, test):
    """Whether tlc reads the text as what the Python test says of x."""
    path = os.path.join(os.environ["WORK"], "shim", f"binding_{os.getpid()}.py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(PROGRAM.format(test=test))
    done = subprocess.run([os.environ["TLC"], path, "--entry", "k", "-p", f"x={text}", "-o", "-"],
                          capture_output=True, text=True, check=False)
    os.remove(path)
    assert done.returncode == 0, f"{text}: {done.stderr}"


def main():
    for value, plain, text in CASES:
        assert values.plain(value) == plain, f"{value!r} is recorded as {values.plain(value)!r}, not {plain!r}"
        assert values.text(plain) == text, f"{plain!r} is written {values.text(plain)}, not {text}"
    for value in (Sym("n"), TensorSpec((1,)), main, float("nan")):
        try:
            values.plain(value)
        except values.Unsayable:
            continue
        raise AssertionError(f"{value!r} has a text")
    same_in_tlc(values.text("two words"), 'x == "two words"')
    same_in_tlc(values.text("True"), 'x == "True"')
    same_in_tlc(values.text([1, ["int8", "a,b"]]), 'x[0] == 1 and x[1][0] == T.int8 and x[1][1] == "a,b"')
    same_in_tlc(values.text(values.plain(values.Policy.FullRow)), "x == T.GemmWarpPolicy.FullRow")
    for known, spec, shape, want in (({}, Sym("K") // 2, 24, 48), ({}, Sym("K") * 4 + 2, 26, 6)):
        spec.solve(shape, known)
        assert known == {"K": want}, known


if __name__ == "__main__":
    main()
