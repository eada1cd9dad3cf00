"""Three comparisons that hold and three that do not, and what a program gives do_bench and iket."""
# SPDX-License-Identifier: MIT
import torch
from torch.testing import assert_close

import tilelang.testing
from tilelang.profiler import do_bench
from tilelang.tools.cuda import iket


def refused(check, *args):
    try:
        check(*args)
    except AssertionError:
        return True
    return False


a = torch.zeros(4)
seen = []
assert torch.allclose(a, a) and not torch.allclose(a, a + 1)
assert not refused(assert_close, a, a) and refused(assert_close, a, a + 1)
assert not refused(tilelang.testing.torch_assert_close, a, a)
assert refused(tilelang.testing.torch_assert_close, a, a + 1)

do_bench(lambda x, y: seen.append((x, y)), 1, y=2, warmup=3, rep=4)
assert set(seen) == {(1, 2)}, seen
with iket.session(output_dir="."):
    assert not iket.trace_files(directory=".")
