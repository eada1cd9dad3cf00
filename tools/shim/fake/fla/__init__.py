"""fla: the helpers that prepare a kernel's operands; its kernels are opaque."""
# SPDX-License-Identifier: MIT
import sys

import torch
from tlc_shim.opaque import OpaqueModule

__version__ = "0.2.1"
__path__ = []


def same(*args, **kwargs):
    """Its first tensor's likeness."""
    return next(a for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor)) + 0


def l2norm_fwd(x, *_, **__):
    return x + 0, x.float().sum(-1)


def prepare_lens(cu_seqlens):
    return cu_seqlens[1:] - cu_seqlens[:-1]


def prepare_token_indices(cu_seqlens):
    """(sequence, position in it) of every token."""
    lens = [int(n) for n in prepare_lens(cu_seqlens).tolist()]
    pairs = [(i, t) for i, n in enumerate(lens) for t in range(n)]
    return torch.tensor(pairs, device=cu_seqlens.device, dtype=cu_seqlens.dtype)


def prepare_chunk_indices(cu_seqlens, chunk_size):
    lens = [-(-int(n) // chunk_size) for n in prepare_lens(cu_seqlens).tolist()]
    pairs = [(i, t) for i, n in enumerate(lens) for t in range(n)]
    return torch.tensor(pairs, device=cu_seqlens.device, dtype=cu_seqlens.dtype)


def _module(name, **names):
    m = OpaqueModule(name)
    m.__dict__.update(names)
    sys.modules[name] = m


_indices = {"prepare_lens": prepare_lens, "prepare_token_indices": prepare_token_indices,
            "prepare_chunk_indices": prepare_chunk_indices}
_module("fla.modules.l2norm", l2norm_fwd=l2norm_fwd)
_module("fla.ops.utils", **_indices)
_module("fla.ops.common.utils", **_indices)
_module("fla.ops.utils.cumsum", chunk_local_cumsum=same, chunk_local_cumsum_scalar=same)
