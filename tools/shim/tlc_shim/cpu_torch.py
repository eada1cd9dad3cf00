"""TLC_SHIM_DEVICE=cpu with a real torch: what a file puts on "cuda" lands on the CPU."""
# SPDX-License-Identifier: MIT


def _is_cuda(x):
    return isinstance(x, str) and x.partition(":")[0] == "cuda"


def install():
    import torch
    from torch.overrides import TorchFunctionMode

    from . import settings
    if getattr(torch, "_tlc_cpu_mode", None) or not hasattr(torch, "_C"):
        return
    cpu = torch.device("cpu")

    def place(x):
        return cpu if _is_cuda(x) or (isinstance(x, torch.device) and x.type == "cuda") else x

    class OnCpu(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = {k: place(v) for k, v in (kwargs or {}).items()}
            if func is torch.Tensor.cuda:
                return args[0]
            return func(*(place(a) for a in args), **kwargs)

    torch._tlc_cpu_mode = OnCpu()
    torch._tlc_cpu_mode.__enter__()
    torch.set_default_device(None)

    generator = torch.Generator

    class Generator:   # a class still: it is named in annotations
        def __new__(cls, device="cpu"):
            return generator(place(device))

    torch.Generator = Generator

    class Event:
        def __init__(self, *_, **__):
            pass

        def record(self, *_):
            pass

        synchronize = record

        def elapsed_time(self, _):
            return 1.0

    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.get_device_capability = lambda *_: settings.capability()
    for name in ("synchronize", "empty_cache", "init", "set_device"):   # one each: torch.compile knows them by identity
        setattr(cuda, name, lambda *_, **__: None)
    cuda.get_device_name = lambda *_: "cpu"
    cuda.Event = Event
