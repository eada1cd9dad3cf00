"""The C ABI through ctypes (docs/shim.md): pointers as declared, sizes, workspace, stream."""
# SPDX-License-Identifier: MIT
import ctypes
import re

from . import settings
from .dtypes import dtype as DType, name_of

SCALARS = {"bool": ctypes.c_bool, "int8_t": ctypes.c_int8, "uint8_t": ctypes.c_uint8, "int16_t": ctypes.c_int16,
           "uint16_t": ctypes.c_uint16, "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32,
           "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "float": ctypes.c_float, "double": ctypes.c_double}

# What a tensor of another type may stand for: same bytes, another name.
SAME_BYTES = {"tfloat32": {"float32"}, "int4": {"int8", "uint8"}, "uint4": {"uint8", "int8"}, "bool": {"uint8"},
              "float8_e4m3": {"float8_e4m3fn"}, "float4_e2m1fn": {"float4_e2m1fn_x2", "int8", "uint8"}, "handle": {"int64", "uint64"}, "uint8": {"bool"}}


def is_tensor(v):
    return hasattr(v, "shape") and hasattr(v, "dtype") and not isinstance(v, DType)


def extent(text, sizes):
    """An extent of the manifest: a number, a size's name, or a C expression over sizes; None where unknown."""
    if isinstance(text, int):
        return text
    if text in sizes:
        return sizes[text]
    if any(n not in sizes for n in re.findall(r"[A-Za-z_]\w*", text)):
        return None
    return int(eval(text.replace("/", "//"), {"__builtins__": {}}, dict(sizes)))


def learn(params, values, names):
    """The symbolic sizes, from the shapes and strides of the tensors given."""
    sizes = {}
    for p, v in zip(params, values):
        if p["kind"] != "tensor" or not is_tensor(v):
            continue
        for d, n in zip(p["shape"], v.shape):
            if d in names and d not in sizes:
                sizes[d] = int(n)
        for d, n in zip(p.get("strides", ()), strides(v)):
            if d in names and d not in sizes:
                sizes[d] = int(n)
    return sizes


def strides(v):
    return tuple(v.stride()) if callable(getattr(v, "stride", None)) else tuple(s // v.itemsize for s in v.strides)


def dense(shape):
    out, step = [], 1
    for n in reversed(shape):
        out.insert(0, step)
        step *= n
    return tuple(out)


def check(p, v, sizes):
    """That the tensor is what the kernel was compiled for."""
    name, shape = p["name"], [extent(d, sizes) for d in p["shape"]]
    have = name_of(v.dtype) or str(v.dtype)
    if have != p["dtype"] and have not in SAME_BYTES.get(p["dtype"], ()):
        raise ValueError(f"{name} is {have}, the kernel takes {p['dtype']}")
    packed = DType(p["dtype"]).bits < 8 and p["dtype"] != "bool"
    if packed and shape:
        shape[-1] = shape[-1] // 2
    if tuple(shape) != tuple(v.shape):
        raise ValueError(f"{name} has shape {tuple(v.shape)}, the kernel takes {tuple(shape)}")
    want = [extent(d, sizes) for d in p["strides"]] if "strides" in p else dense(shape)
    if 0 not in shape and any(n > 1 and a != b for n, a, b in zip(shape, want, strides(v))):
        raise ValueError(f"{name} has strides {strides(v)}, the kernel takes {tuple(want)}")


def make(p, sizes, like):
    """A result tensor of the manifest's shape; zeros where the kernel accumulates."""
    import torch
    shape = [extent(d, sizes) for d in p["shape"]]
    if None in shape:
        raise ValueError(f"the size of {p['name']} follows from no tensor given")
    place = {"device": like.device} if hasattr(like, "device") else {"device": settings.device()}
    if DType(p["dtype"]).bits < 8 and shape:
        shape[-1] //= 2
    fill = torch.zeros if p.get("accumulates") else torch.empty
    return fill(shape, dtype=DType(p["dtype"]).as_torch(), **place)


def pointer(p, v):
    native = getattr(v.dtype, "native", True)
    if getattr(v, "known", True) is False or not native:
        raise ValueError(f"{p['name']}: the fake torch has no bytes of a {v.dtype} tensor")
    if settings.device() == "cuda" and not getattr(v, "is_cuda", False):
        raise ValueError(f"{p['name']} is not on the GPU")
    return ctypes.c_void_p(v.data_ptr() if hasattr(v, "data_ptr") else v.ctypes.data)


def scalar(p, v):
    kind = SCALARS[p["ctype"]]
    if is_tensor(v):
        v = v.item()
    if p["ctype"] in ("uint16_t",) and "float" in p["dtype"]:
        import numpy as np
        bits = np.float32(v).view(np.uint32) >> 16 if p["dtype"] == "bfloat16" else np.float16(v).view(np.uint16)
        return ctypes.c_uint16(int(bits))
    return kind(float(v) if p["ctype"] in ("float", "double") else int(v))


def stream():
    if settings.device() == "cpu":
        return ctypes.c_void_p(0)
    import torch
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def workspace(library, symbol, sizes, like):
    """The tensor a kernel with a workspace wants, None for one without."""
    ask = getattr(library, f"{symbol}_workspace", None)
    if ask is None:
        return None
    import torch
    ask.restype = ctypes.c_int64
    n = ask(*sizes)
    place = like.device if hasattr(like, "device") else settings.device()
    return torch.zeros([max(int(n), 1)], dtype=torch.uint8, device=place)


def call(library, manifest, values):
    params, symbol, names = manifest["params"], manifest["symbol"], manifest["sizes"]
    sizes = learn(params, values, names)
    like = next((v for v in values if is_tensor(v)), None)
    args, full = [], []
    for p, v in zip(params, values):
        if v is None and p["kind"] == "tensor":
            v = make(p, sizes, like)
        if p["kind"] == "tensor":
            check(p, v, sizes)
        full.append(v)
        args.append(pointer(p, v) if p["kind"] == "tensor" else scalar(p, v))
    missing = [n for n in names if n not in sizes]
    if missing:
        raise ValueError(f"{symbol}: no tensor given tells {', '.join(missing)}")
    more = [ctypes.c_int64(sizes[n]) for n in names]
    args += more
    space = workspace(library, symbol, more, like)
    if space is not None:
        args.append(ctypes.c_void_p(space.data_ptr()))
    status = getattr(library, symbol)(*args, stream())
    if status:
        said = ctypes.create_string_buffer(512)
        getattr(library, f"{symbol}_check")(*args, said, ctypes.c_size_t(len(said)))
        raise RuntimeError(f"{symbol} returned CUDA error {status}: {said.value.decode()}")
    return full
