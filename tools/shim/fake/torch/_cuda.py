"""torch.cuda of the fake torch: one device that is always there (its capability follows TLC_ARCH)."""
# SPDX-License-Identifier: MIT
import os
import re

from tlc_shim.opaque import Opaque

from ._nn import Module


def capability(_=None):
    m = re.match(r"sm_(\d+)(\d)", os.environ.get("TLC_ARCH", "sm_90a"))
    return (int(m.group(1)), int(m.group(2))) if m else (9, 0)


class Properties:
    name = "fake"
    multi_processor_count = 132
    total_memory = 1 << 37
    max_threads_per_multi_processor = 2048
    warp_size = 32
    shared_memory_per_block = 49152
    shared_memory_per_block_optin = 232448
    shared_memory_per_multiprocessor = 233472
    L2_cache_size = 50 << 20
    regs_per_multiprocessor = 65536

    @property
    def major(self):
        return capability()[0]

    @property
    def minor(self):
        return capability()[1]


class Event:
    def __init__(self, *_, **__):
        pass

    def record(self, *_):
        pass

    wait = synchronize = record

    def query(self):
        return True

    def elapsed_time(self, _):
        return 1.0


class Stream:
    cuda_stream = 0

    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def synchronize(self):
        pass

    wait_stream = wait_event = record_event = lambda self, *_: None


def nothing(*_, **__):
    return None


cuda = Module(
    "torch.cuda", is_available=lambda: True, device_count=lambda: 1, current_device=lambda: 0,
    get_device_capability=capability, get_device_properties=lambda *_: Properties(),
    get_device_name=lambda *_: "NVIDIA H200", synchronize=nothing, empty_cache=nothing, manual_seed=nothing,
    manual_seed_all=nothing, set_device=nothing, init=nothing, reset_peak_memory_stats=nothing,
    memory_allocated=lambda *_: 0, max_memory_allocated=lambda *_: 0, Event=Event, Stream=Stream,
    current_stream=lambda *_: Stream(), default_stream=lambda *_: Stream(), stream=lambda s: s or Stream(),
    device=lambda *_: Stream(), CUDAGraph=Opaque("torch.cuda.CUDAGraph"), is_bf16_supported=lambda *_: True,
    FloatTensor=None, HalfTensor=None, profiler=Module("torch.cuda.profiler"), nvtx=Module("torch.cuda.nvtx"),
    amp=Module("torch.cuda.amp"))
