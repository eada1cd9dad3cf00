"""The profiler: inputs by declared shape, a run against a reference, a rough time."""
# SPDX-License-Identifier: MIT
import enum
import time

from . import settings
from .checks import counting


class TensorSupplyType(enum.Enum):
    Integer, Uniform, Normal, Randn, Zero, One, Auto = range(1, 8)


def supply(param, kind, known=None):
    """A tensor for a parameter, distributed as its type and the supply type ask."""
    import torch
    shape, dtype = param.sizes(known or {}), param.dtype
    if any(n is None for n in shape):
        raise ValueError(f"{param.name} has a symbolic size: pass input_tensors")
    place = {"device": "cuda" if settings.device() == "cuda" else "cpu"}
    real, floating = dtype.as_torch(), "float" in dtype
    if kind is TensorSupplyType.Zero:
        return torch.zeros(shape, dtype=real, **place)
    if kind is TensorSupplyType.One:
        return torch.ones(shape, dtype=real, **place)
    if floating and not dtype.is_float4() and kind is not TensorSupplyType.Integer:
        if kind is TensorSupplyType.Normal:
            return (torch.randn(shape, **place) - 1).to(real)
        if kind is TensorSupplyType.Randn:
            return torch.randn(shape, **place).to(real)
        if not dtype.is_float8():
            return (torch.rand(shape, **place) * 2 - 1).to(real)
    low, high = (0, 3) if dtype.is_unsigned() else (0, 2) if dtype.is_boolean() else (-2, 3)
    return torch.randint(low, high, tuple(shape), **place).to(real)


def synchronize():
    import torch
    if settings.device() == "cuda" and torch.cuda.is_available():
        torch.cuda.synchronize()


HOW = {"warmup", "rep", "_n_warmup", "_n_repeat", "fast_flush", "backend", "return_mode", "device", "cache_size",
       "early_stop_baseline"}   # what TileLang's do_bench takes beside fn and quantiles


def do_bench(fn, *args, quantiles=None, **named):
    """Milliseconds a call, of a few: a figure to print, not a measurement. Tensors that follow are fn's arguments,
    and so is what has a name that says nothing about measuring."""
    named = {k: v for k, v in named.items() if k not in HOW}
    if named or args and hasattr(args[0], "shape"):
        return do_bench(lambda: fn(*args, **named), quantiles=quantiles)
    if settings.recording():
        fn()
        return [1.0] * len(quantiles) if quantiles else 1.0
    fn()
    synchronize()
    start, n = time.perf_counter(), 3
    for _i in range(n):
        fn()
    synchronize()
    t = (time.perf_counter() - start) / n * 1e3
    return [t] * len(quantiles) if quantiles else t


def listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [] if x is None else [x]


class Profiler:
    def __init__(self, kernel, supply_type):
        self.kernel, self.supply_type = kernel, supply_type
        self.func = kernel

    def _get_inputs(self, with_output=False, dynamic_symbolic_constraints=None):
        return [supply(p, self.supply_type, dynamic_symbolic_constraints) for i, p in enumerate(self.kernel.params)
                if with_output or i not in self.kernel.out_idx]

    def with_default_adapter(self, _):
        return self

    def run_once(self, func=None):
        return (func or self.kernel)(*self._get_inputs())

    def assert_allclose(self, reference_program, input_tensors=None, atol=1e-2, rtol=1e-2, max_mismatched_ratio=0.01):
        ins = input_tensors if input_tensors is not None else self._get_inputs()
        want, got = listed(reference_program(*ins)), listed(self.kernel(*ins))
        synchronize()
        assert len(want) == len(got), f"the kernel gives {len(got)} results, the reference {len(want)}"
        for a, b in zip(got, want):
            if a is not None and b is not None:
                assert_close(a, b, rtol=rtol, atol=atol, max_mismatched_ratio=max_mismatched_ratio)

    def manual_assert_close(self, reference_program, input_tensors=None, manual_check_prog=None):
        ins = input_tensors if input_tensors is not None else self._get_inputs()
        want, got = listed(reference_program(*ins)), listed(self.kernel(*ins))
        manual_check_prog(got, want)

    def assert_consistent(self, repeat=10):
        import torch
        ins = self._get_inputs()
        first = listed(self.kernel(*ins))
        for _ in range(repeat):
            for a, b in zip(first, listed(self.kernel(*ins))):
                assert torch.equal(a, b), "results differ from run to run"

    def do_bench(self, func=None, *_, input_tensors=None, quantiles=None, **__):
        ins = input_tensors if input_tensors is not None else self._get_inputs()
        fn = func or self.kernel
        return do_bench(lambda: fn(*ins), quantiles=quantiles)

    def __call__(self, *args, **kwargs):
        return self.kernel(*args, **kwargs)


@counting
def assert_close(a, b, rtol=1e-2, atol=1e-3, max_mismatched_ratio=0.001, **_):
    """That all but a share of the elements agree."""
    import torch
    if getattr(a, "shape", None) != getattr(b, "shape", None):
        raise AssertionError(f"shapes differ: {tuple(a.shape)} and {tuple(b.shape)}")
    close = torch.isclose(a.float(), b.float(), rtol=rtol, atol=atol, equal_nan=True)
    wrong = int((~close).sum().item()) if getattr(close, "known", True) else 0
    if wrong > int(close.numel() * max_mismatched_ratio):
        worst = (a.float() - b.float()).abs().max().item()
        raise AssertionError(f"{wrong} of {close.numel()} elements differ (rtol {rtol}, atol {atol}); worst by {worst}")
