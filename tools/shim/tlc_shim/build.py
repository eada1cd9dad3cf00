"""From a kernel's origin to a library: tlc, then nvcc (or g++ and the host prelude), each result kept by its content."""
# SPDX-License-Identifier: MIT
import ctypes
import hashlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys

from . import launch, nested, settings
from .values import Unsayable, text

HOST = ("host_types.h", "host.h", "host_ops.h", "host_warp.h")


class Refused(RuntimeError):
    """tlc said no; the text is its diagnostics."""


class CudaError(RuntimeError):
    """nvcc said no to what tlc emitted."""


def bindings(origin, sizes):
    """The -p arguments of a kernel."""
    said, unsaid = origin.plain_args()
    params = inspect.signature(origin.fn).parameters
    for name in unsaid:   # nothing to say where it is the default anyway
        if name in origin.args and (name not in params or origin.args[name] is not params[name].default):
            raise Refused(f"{origin.entry}: parameter {name} is a {type(origin.args[name]).__name__}, which -p cannot say")
    if origin.nested:
        said = {k: v for k, v in said.items() if k in origin.args}
    said.update(sizes)
    out = []
    for name, value in said.items():
        try:
            out += ["-p", f"{name}={text(value)}"]
        except Unsayable as e:
            raise Refused(f"{origin.entry}: parameter {name} is {e}, which -p cannot say") from None
    return out


def run(command, error):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise error(f"{done.stderr.strip()}\n(exit {done.returncode} of: {' '.join(command)})")
    return done.stdout


def digest(*parts):
    h = hashlib.sha256()
    for p in parts:
        h.update(p if isinstance(p, bytes) else str(p).encode())
        h.update(b"\0")
    return h.hexdigest()[:20]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def publish(temporary, path):
    os.replace(temporary, path)
    return path


def find_nvcc():
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.access(nvcc, os.X_OK):
        raise settings.Missing("no nvcc: set NVCC to it")
    return nvcc


def compile_cuda(cu, arch):
    major, minor = settings.capability()
    code = "90a" if arch == "sm_90a" else f"{major}{minor}"
    options = ["-std=c++17", "-O3", "-gencode", f"arch=compute_{code},code=sm_{code}", "-shared", "-cudart", "shared",
               "-Xcompiler", "-fPIC"]   # torch has loaded the runtime: a static copy costs 1 MB a kernel
    so = os.path.join(settings.work(), digest(read(cu), *options) + ".so")
    if not os.path.exists(so):
        nvcc = find_nvcc()
        libraries = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "lib64")
        temporary = f"{so}.{os.getpid()}"
        run([nvcc, *options, "-Xlinker", f"-rpath={libraries}", "-o", temporary, cu], CudaError)
        publish(temporary, so)
    return so


def compile_host(cu):
    """The text itself on the CPU, as the test suite `text` builds it."""
    folder = os.path.join(settings.TREE, "codegen", "prelude")
    prelude = b"".join(re.sub(rb'(?m)^#include "host_.*\n', b"", read(os.path.join(folder, f))) for f in HOST)
    header = os.path.join(settings.work(), f"host_{digest(prelude)}.h")
    if not os.path.exists(header):
        temporary = f"{header}.{os.getpid()}"
        with open(temporary, "wb") as f:
            f.write(prelude)
        publish(temporary, header)
    so = os.path.join(settings.work(), digest(read(cu), prelude) + ".host.so")
    if not os.path.exists(so):
        temporary = f"{so}.{os.getpid()}"
        run(["g++", "-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-ffp-contract=off", "-shared", "-fPIC", "-x",
             "c++", f"-DTLC_HOST=\"{header}\"", "-o", temporary, cu], RuntimeError)
        publish(temporary, so)
    return so


def translate(args, source, stem, arch):
    """tlc's two files for this target: the CUDA text and the manifest."""
    args = [source, *args, "--arch", arch]
    folder = os.path.join(settings.work(), digest(read(source), *args, os.getpid()))
    os.makedirs(folder, exist_ok=True)
    cu, manifest = os.path.join(folder, f"{stem}.cu"), os.path.join(folder, f"{stem}.json")
    run([settings.tlc(), *args, "-o", cu, "--manifest", manifest], Refused)
    return cu, manifest


class Built:
    """One compiled kernel: its manifest and its functions."""

    def __init__(self, origin, sizes, options):
        self.origin, self.options, self.library = origin, options, None
        source, entry = nested.source(origin)
        # A name of its own: a function may be called double, or main.
        args = ["--entry", entry, "--name", f"shim_{entry}", *bindings(origin, sizes), "-I", os.path.dirname(origin.file)]
        error = None
        for self.arch in settings.arches():
            try:
                self.cu, manifest = translate(args, source, entry, self.arch)
                break
            except Refused as e:
                error = error or e
        else:
            raise error
        if error:
            print(f"shim: {entry}: {settings.arches()[0]} refuses it, so {self.arch}: {error}", file=sys.stderr)
        with open(manifest, encoding="utf-8") as f:
            self.manifest = json.load(f)["kernels"][0]
        self.params = self.manifest["params"]

    def source(self):
        return read(self.cu).decode()

    def compile(self):
        return compile_host(self.cu) if settings.device() == "cpu" else compile_cuda(self.cu, self.arch)

    def load(self):
        if self.library is None:
            self.library = ctypes.CDLL(self.compile())
        return self.library

    def launch(self, values):
        """Runs it on these values, one for each parameter; None for a result to be made. Gives the values back."""
        return launch.call(self.load(), self.manifest, values)
