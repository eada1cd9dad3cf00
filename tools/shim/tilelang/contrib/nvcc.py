"""tilelang.contrib.nvcc: the compute capability, as text and as numbers."""
# SPDX-License-Identifier: MIT
from tlc_shim import settings


def get_target_compute_version(_=None):
    return ".".join(str(n) for n in settings.capability())


def parse_compute_version(text):
    return tuple(int(n) for n in text.split("."))


def have_fp16(_):
    return True


def have_tensorcore(*_, **__):
    return True


def get_cuda_version(*_):
    return (12, 4)
