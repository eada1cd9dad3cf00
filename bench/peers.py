"""Other implementations of a row of the bench on the same tensors: PyTorch, Triton (through torch.compile), TileLang.

Usage: peers.py < QUESTIONS   a line of JSON each, from bench/bench.py; each is answered by a line, {"peers": [...],
"missing": [...]}; {"prepare": QUESTIONS} only builds what these will need. What does not import or does not run here is
left out by name. Results are compared before they are timed; the method is that of tlc --bench.
"""
# SPDX-License-Identifier: MIT
import concurrent.futures
import gc
import importlib.util
import json
import os
import sys
import types

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))


def shim():
    """The parts of tools/shim that build and call: without its stand-ins for tilelang and torch."""
    folder = os.path.join(HERE, "..", "tools", "shim")
    if "tlc_shim" not in sys.modules:
        sys.modules["tlc_shim"] = types.ModuleType("tlc_shim")
        sys.modules["tlc_shim"].__path__ = [os.path.join(folder, "tlc_shim")]
    from tlc_shim import build, launch, settings
    return build, launch, settings


def library(ask):
    """tlc's kernel built: its manifest, and the path of the library, which is kept by its content."""
    build, _, settings = shim()
    folder = os.path.join(settings.work(), build.digest(json.dumps(ask), os.getpid()))
    os.makedirs(folder, exist_ok=True)
    cu, manifest = os.path.join(folder, "kernel.cu"), os.path.join(folder, "kernel.json")
    options = list(ask["options"])
    if "--arch" in options:
        at = options.index("--arch")
        arch = options[at + 1]
        del options[at:at + 2]
    else:
        arch = settings.arch()
    if arch == "native":
        arch = settings.arch()
    options = [w for w in options if not w.startswith("--l2")]
    tuned = ["--tuned", ask["tuned"]] if ask["tuned"] else []
    build.run([settings.tlc(), ask["file"], "-p", ask["bindings"], *options, *tuned, "--arch", arch, "-o", cu,
               "--manifest", manifest], build.Refused)
    with open(manifest, encoding="utf-8") as f:
        said = json.load(f)["kernels"][0]
    return said, build.compile_host(cu) if settings.device() == "cpu" else build.compile_cuda(cu, arch)


class Kernel:
    """tlc's kernel bound to tensors on the GPU."""

    def __init__(self, ask):
        import torch
        build, launch, settings = shim()
        self.manifest, path = library(ask)
        self.device = settings.device()
        code = build.ctypes.CDLL(path)
        torch.manual_seed(1)
        given = {name: value for name, _, _, value in ask["given"]}
        self.tensors = {p["name"]: self.tensor(p, given, launch) for p in self.manifest["params"]}
        self.space = launch.workspace(code, self.manifest["symbol"], [], next(iter(self.tensors.values())))
        args = [launch.pointer(p, self.tensors[p["name"]]) for p in self.manifest["params"]]
        if self.space is not None:
            args.append(build.ctypes.c_void_p(self.space.data_ptr()))
        function = getattr(code, self.manifest["symbol"])
        check = getattr(code, self.manifest["symbol"] + "_check")

        def call():
            status = function(*args, launch.stream())
            if status:
                said = build.ctypes.create_string_buffer(512)
                check(*args, said, build.ctypes.c_size_t(len(said)))
                raise RuntimeError(f"{self.manifest['symbol']} returned CUDA error {status}: {said.value.decode()}")

        self.call = call

    def tensor(self, p, given, launch):
        import torch
        if p["kind"] != "tensor" or any(not isinstance(d, int) for d in p["shape"]):
            raise RuntimeError("peers run beside kernels of tensors with known sizes only")
        t = launch.make(p, {}, types.SimpleNamespace(device=self.device))
        if p["accumulates"]:
            return t
        if p["name"] in given:
            return t.fill_(given[p["name"]])
        if p["role"] == "out":
            return t.fill_(float("nan")) if t.is_floating_point() else t
        if not t.is_floating_point():
            return t.copy_(torch.randint(-128, 128, t.shape, device=self.device))
        return t.normal_() if t.element_size() > 1 else t.copy_(torch.randn(t.shape, device=self.device))

    def outputs(self):
        return [self.tensors[p["name"]] for p in self.manifest["params"] if p["role"] != "in"]

    def inputs(self):
        return [self.tensors[p["name"]] for p in self.manifest["params"] if p["role"] != "out"]

    def agrees(self, got):
        return close(got, self.outputs()[0])

    def wait(self):
        """Until the GPU is done; raises where it faulted."""
        import torch
        torch.cuda.synchronize()

    def spoil(self):
        """What the next tensor of the result's size is allocated in: no result of an earlier call stands there."""
        import torch
        out = self.outputs()[0]
        torch.full_like(out, float("nan") if out.is_floating_point() else 77)


def close(got, want, limit=2e-2):
    """Whether two results agree as different orders of summation may: relative to the largest element."""
    a, b = got.float(), want.float().reshape(got.shape)
    return bool(a.isfinite().all()) and float((a - b).abs().max()) <= limit * max(float(b.abs().max()), 1e-6)


# Each gives (name, call, the result of a call[, configuration]) of one peer; a call launches on the current stream.


def compiled(name, eager):
    import torch
    try:
        fast = torch.compile(eager)
        fast()
    except Exception as e:  # whatever inductor raises: the peer is left out
        return (f"Triton (torch.compile of {name})", None, str(e).strip().splitlines()[0])
    return ("Triton (torch.compile)", fast, fast)


def elementwise(name, eager):
    return [("PyTorch", eager, eager), compiled(name, eager)]


def softmax(k):
    import torch
    x = k.tensors["X"]
    return elementwise("softmax", lambda: torch.softmax(x, -1))


def rms_norm(k):
    import torch.nn.functional as F
    x, w = k.tensors["X"], k.tensors["W"]
    return elementwise("rms_norm", lambda: F.rms_norm(x, w.shape, w, 1e-5))


def layer_norm(k):
    import torch.nn.functional as F
    x, w, b = k.tensors["X"], k.tensors["W"], k.tensors["B"]
    return elementwise("layer_norm", lambda: F.layer_norm(x, w.shape, w, b, 1e-5))


def copy(k):
    import torch
    a = k.tensors["A"]
    to = torch.empty_like(a)
    return [("PyTorch", lambda: to.copy_(a), lambda: to.copy_(a))]


def add(k):
    a, b = k.tensors["A"], k.tensors["B"]
    return elementwise("add", lambda: a + b)


def gemv(k):
    import torch
    a, x = k.tensors["A"], k.tensors["x"]
    return elementwise("mv", lambda: torch.mv(a, x))


def sdpa(backend, *args, **options):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def call():
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return torch.nn.functional.scaled_dot_product_attention(*args, **options)

    return call


def attention(k):
    q, key, v = (k.tensors[n].transpose(1, 2) for n in "QKV")
    causal = "causal=True" in k.manifest["bindings"]
    out = []
    for name, backend in (("cuDNN", "CUDNN_ATTENTION"), ("FlashAttention-2", "FLASH_ATTENTION")):
        call = sdpa(backend, q, key, v, is_causal=causal)
        out.append((f"{name} (PyTorch)", call, lambda call=call: call().transpose(1, 2)))
    return out


def decoding(k):
    q, key, v = k.tensors["Q"], k.tensors["K"].transpose(1, 2), k.tensors["V"].transpose(1, 2)
    call = sdpa("FLASH_ATTENTION", q.flatten(1, 2).unsqueeze(2), key, v, enable_gqa=True)
    return [("FlashAttention-2 (PyTorch)", call, call)]


PEERS = {f.__name__: f for f in (softmax, rms_norm, layer_norm, copy, add, gemv, attention, decoding)}


def answer(ask):
    if ask["peer"] != "tilelang" and ask["peer"] not in PEERS:
        return {"missing": [f"{ask['peer']}: bench/peers.py has no such peer"]}
    try:
        import torch
    except ImportError:
        return {"missing": ["PyTorch: not installed"]}
    if not torch.cuda.is_available():
        return {"missing": ["PyTorch: sees no GPU"]}
    import contenders
    found, missing = [], []
    if ask["peer"] == "tilelang":
        import tilelang_peer
        kernel, listed = tilelang_peer.peers(ask, Kernel)
    else:
        kernel = Kernel(ask)
        listed = PEERS[ask["peer"]](kernel)
    if kernel:
        kernel.call()
        torch.cuda.synchronize()
    configs = {}
    for name, call, result, *config in listed:
        if call is None:
            missing.append(f"{name}: {result}")
            continue
        configs[name] = config
        try:
            if close(kernel.outputs()[0], result()):
                found.append((name, call))
            else:
                missing.append(f"{name}: another result than tlc's")
        except Exception as e:  # what a library raises where it does not support the card or the shape
            missing.append(f"{name}: {str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__}")
    compared = contenders.compare(kernel.call, found) if found else []
    for peer in compared:
        if configs[peer["name"]]:
            peer["config"] = configs[peer["name"]][0]
    return {"peers": compared, "missing": missing}


def prepare(questions):
    """Builds ahead, on all processors. What fails is said where it is measured."""
    def one(ask):
        try:
            library(ask)
        except Exception as e:
            print(f"{ask['file']}: {e}", file=sys.stderr)

    try:
        import torch
        torch.cuda.is_available()
    except ImportError:
        return {}
    shim()
    here = [q for q in questions if q["peer"] != "tilelang" or importlib.util.find_spec("tilelang")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(one, here))
    return {}


def forget():
    """The memory and the compiled functions of the row before."""
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()
        torch.compiler.reset()


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    for line in sys.stdin:
        question = json.loads(line)
        print("", json.dumps(prepare(question["prepare"]) if "prepare" in question else answer(question)), sep="\n",
              flush=True)
        forget()
