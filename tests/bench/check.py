#!/usr/bin/env python3
"""bench/bench.py on a made-up tlc and made-up peers: check.py FOLDER. Expected values are those of the fakes."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
D = os.path.abspath(sys.argv[1])
CARD = "Made-up <GPU> & co"
STEM = os.path.join(D, "out", "made-up-gpu-co")
TABLE = """
== Products | goal=1.00 of=cublasLt peer=tilelang
samples/gemm_symbolic_m.tl M=1,N=2,K=400
samples/gemm_symbolic_m.tl M=1,N=2,K=800 -fraster=8
== Others & <more> | goal=0.9 of=copy
bench/gemm_forms.tl M=3,dtype=int8 --l2=cold
samples/flash_decoding.tl batch=3,capacity=70000 | given=length:int32:3:70000 flops=4*batch*capacity**2
samples/gemv.tl N=8,K=40 | peer=gemv
samples/gemv.tl N=8,K=80 | peer=add
"""


def bench(*words, status=0, **env):
    open(os.path.join(D, "log"), "w", encoding="utf-8").close()
    done = subprocess.run([os.path.join(TOP, "bench", "bench.py"), "--out", os.path.join(D, "out"), "--table",
                           os.path.join(D, "table.txt"), *words], capture_output=True, text=True, check=False,
                          env={**os.environ, "TLC": os.path.join(HERE, "fake_tlc.py"), "FAKE_LOG": os.path.join(D, "log"),
                               "TLC_BENCH_PEERS": os.path.join(HERE, "fake_peers.py"), **env})
    assert done.returncode == status, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def asked():
    with open(os.path.join(D, "log"), encoding="utf-8") as f:
        return f.read().splitlines()


def rows():
    with open(STEM + ".json", encoding="utf-8") as f:
        data = json.load(f)
    assert data["format"] == "tlc bench 1" and data["card"] == CARD and "heuristics" in data["method"]
    return {r["row"]: r for r in data["rows"]}, [r["row"] for r in data["rows"]]


def has(text, *patterns):
    for p in patterns:
        assert re.search(p, text, re.M), f"no '{p}' in\n{text}"


def in_pieces():
    """A pattern measures some rows; the results meet in one file, in the table's order."""
    said = bench("K=80$")
    has(said, r"^samples/gemv.tl N=8,K=80 +20\.00 +- +1234 +0\.900 of copy \(0\.880 to 0\.930\)$",
        r"^ +1\.250 of PyTorch \(1\.200 to 1\.500\)$", "left out: Triton: made up")
    assert len(asked()) == 1 and len(rows()[1]) == 1
    with open(os.path.join(D, "log.built"), encoding="utf-8") as f:
        assert f.read() == "--bench --no-run --arch native -p N=8,K=80 samples/gemv.tl\n"
    said = bench("Products|int8")
    has(said, r"^Products \(aim: 1\.00 of cublasLt\)$", r"K=400 +100\.00 +700\.2 +1234 +0\.900 of cublasLt",
        r"^Products: geometric mean of 2: 0\.900 of cublasLt, least 0\.900$",
        r"^Products: geometric mean of 2: 1\.250 of TileLang 0, least 1\.250$",
        "^left out: cublasLt: made up$")
    assert rows()[1] == ["samples/gemm_symbolic_m.tl M=1,N=2,K=400", "samples/gemm_symbolic_m.tl M=1,N=2,K=800 -fraster=8",
                         "bench/gemm_forms.tl M=3,dtype=int8 --l2=cold", "samples/gemv.tl N=8,K=80"]
    tuned = "bench/tuned/gemm_forms.json"
    assert asked()[2].endswith(f"-p M=3,dtype=int8 --l2=cold --tuned {tuned} bench/gemm_forms.tl"), asked()
    assert rows()[0]["bench/gemm_forms.tl M=3,dtype=int8 --l2=cold"]["tuned"] == tuned
    bench("int8", FAKE_UNTUNED="int8")
    assert rows()[0]["bench/gemm_forms.tl M=3,dtype=int8 --l2=cold"]["tuned"] is None


def goes_on():
    """--missing takes what is not there or failed; a failure of one row stops nothing, and its reason is kept."""
    with open(os.path.join(D, "nvidia-smi"), "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\necho '{CARD}'\n")
    os.chmod(os.path.join(D, "nvidia-smi"), 0o755)
    path = {"PATH": D + ":" + os.environ["PATH"]}
    said = bench("--missing", status=1, FAKE_FAIL="K=40 |batch", **path)
    has(said, r"failed: gemm.tl:3:1: error: C: 3 of 9 elements differ")
    assert len(asked()) == 2, asked()
    assert len(rows()[1]) == 6 and "failed" in rows()[0]["samples/gemv.tl N=8,K=40"]
    has(bench("--missing", "--limit", "1e-9", **path), "2 rows were not begun")
    said = bench("--missing", **path)
    has(said, "left out: gemv: of a fault")
    assert len(asked()) == 2 and not [r for r in rows()[0].values() if "failed" in r]
    assert bench("--missing", **path).strip().startswith(STEM) and not asked()
    row = rows()[0]["samples/flash_decoding.tl batch=3,capacity=70000"]  # 4 * 3 * 70000**2 operations in 25 us
    assert abs(row["tflops"] - 2352) < 1e-6 and row["peers"] == [], row
    bench("K=400", "--arch", "sm_80")
    assert asked() == ["--bench --json --arch native -p M=1,N=2,K=400 --arch sm_80 samples/gemm_symbolic_m.tl"], asked()
    assert rows()[1][1] == "samples/gemm_symbolic_m.tl M=1,N=2,K=400 --arch sm_80", rows()[1]


def pictures():
    """The chart is a picture by itself: well-formed, a bar for each ratio, its length by its value."""
    tree = ET.parse(STEM + ".svg").getroot()
    svg = "{http://www.w3.org/2000/svg}"
    bars = [(r.find(svg + "title").text, float(r.get("width"))) for r in tree.iter(svg + "rect")
            if r.find(svg + "title") is not None and " of " in r.find(svg + "title").text]
    ratios = [p["ratio"] for r in rows()[0].values() for p in r["peers"]]
    assert len(bars) == len(ratios), (len(bars), len(ratios))
    lengths = {title.split(": ")[1].split(" ")[0]: width for title, width in bars}
    assert abs(lengths["0.900"] / lengths["1.250"] - 0.9 / 1.25) < 1e-3, lengths
    texts = " ".join(t.text for t in tree.iter(svg + "text"))
    has(texts, re.escape(CARD), "ratio of speeds", "Others & <more>", r"Measured 2\d\d\d-", "heuristics", "aim")
    with open(STEM + ".svg", encoding="utf-8") as f:
        assert "href" not in f.read().replace("xmlns", ""), "something else is needed to show it"


def documents():
    doc = os.path.join(D, "doc.md")
    with open(doc, "w", encoding="utf-8") as f:
        f.write("before\n<!-- make bench: begin -->\nstale\n<!-- make bench: end -->\nafter\n")
    for _ in range(2):  # the second time replaces what the first one wrote
        bench("--docs", TLC_BENCH_DOC=doc)
        with open(doc, encoding="utf-8") as f:
            text = f.read()
        has(text, r"\Abefore\n<!-- make bench: begin -->\n\nOne Made-up", r"\| \*\*Products \(aim: 1.00 of cublasLt\)\*\* \|",
            r"\| samples/gemm_symbolic_m.tl M=1,N=2,K=400<br>sm_90a: block_M=128 \| 100.0 \| 700 \| 1234 \| 0.900 of",
            r"- left out: cublasLt: made up\.", r"- Products: geometric mean of 2: 0", r"<!-- make bench: end -->\nafter\n\Z")
        assert "stale" not in text and text.count("K=800 -fraster=8<br>") == 1, text
    has(bench("--print"), r"0\.900 of copy", "geometric mean")


def refused():
    has(bench("nothing like it", status=1), "no row of .* matches")
    has(bench("(", status=1), "is no regular expression")
    has(bench("K=80$", status=3, FAKE_MISSING="gemv"), "^SKIPPED bench: tlc: no GPU: made up$")
    with open(STEM + ".json", "w", encoding="utf-8") as f:
        f.write('{"format": "tlc bench 0"}')
    has(bench("K=80$", status=1), "format is 'tlc bench 0'")


def real_table():
    """Every row of bench/table.txt is one that tlc compiles for Hopper, or for the target it names; its tuning file, if
    there is one, has an entry that fits and is of the program as it is (else: bench/bench.py --tune)."""
    sys.path.insert(0, os.path.join(TOP, "bench"))
    sys.dont_write_bytecode = True
    import rows as table
    tlc = os.path.join(TOP, os.environ["TLC"]) if not os.path.isabs(os.environ["TLC"]) else os.environ["TLC"]
    for row in table.read(os.path.join(TOP, "bench", "table.txt")):
        row.flops()
        arch = [] if "--arch" in row.options else ["--arch", "sm_90a"]
        tuned = ["--tuned", row.tuned, "--strict"] if row.tuned else []
        done = subprocess.run([tlc, row.file, "-p", row.bindings, *row.options, *tuned, *arch, "-o", os.path.join(D, "x.cu")],
                              capture_output=True, text=True, check=False, cwd=TOP)
        assert done.returncode == 0, f"{row.key}\n{done.stderr}"


def medians():
    """Of n values, which ones hold the median with 95 % confidence: the rows of tests/unit/test_runtime.c."""
    import contenders
    for n, middle, low, high in ((15, 8, 4, 12), (7, 4, 1, 7), (6, 3.5, 1, 6), (9, 5, 2, 8), (1, 1, 1, 1), (2, 1.5, 1, 2)):
        assert contenders.median(list(range(n, 0, -1))) == (middle, [low, high]), n


def tilelang():
    """Its search: once a size, kept on disk, gone on with; what faults, hangs or is wrong costs itself only; the ten best
    of both sizes compete."""
    import fake_tilelang as fake
    log, ranks = [], os.path.join(D, "ranks.json")
    fake.install(log)
    import tilelang_peer
    tilelang_peer.SEARCH = os.path.join(HERE, "fake_tilelang.py")
    ask = {"file": os.path.join(TOP, "samples", "gemm_nt.tl"), "bindings": "M=8,N=8,K=4096", "ranks": ranks}
    tilelang_peer.MOST_S = -1  # no candidate is begun
    assert tilelang_peer.peers(ask, None) == (None, [("TileLang 0", None, "its search at K=256 is at 0 of 288: run again")])
    tilelang_peer.MOST_S = 100
    got, listed = tilelang_peer.peers(ask, fake.Kernel)
    configs = tilelang_peer.function(ask["file"])[1]
    with open(ranks, encoding="utf-8") as f:
        book = {key.split(",K=")[1]: record for key, record in json.load(f).items()}
    assert list(book) == ["256", "8192"]
    few = []
    for k, record in book.items():
        ended = "hung, or ended the process" if k == "8192" else None
        for i, c in enumerate(configs):
            why = "does not compile" if c["block_M"] == c["block_N"] == 256 else "a fault" if fake.is_(c, 128, 64, 64, 1) \
                else "another result than tlc's" if fake.is_(c, 128, 256, 64, 1) \
                else ended if fake.is_(c, 128, 128, 64, 2) or fake.is_(c, 128, 128, 64, 3) else None
            want = {"failed": why} if why else {"ms": fake.ms({**c, "K": int(k)})}
            assert record["tried"][str(i)] == want, (k, c, record["tried"][str(i)])
        ranked = sorted((t["ms"], int(i)) for i, t in record["tried"].items() if "ms" in t)
        assert record["of"] == 288 and record["ranked"] == [list(r) for r in ranked[:20]], record["ranked"]
        few += [i for _, i in ranked[:10]]
    assert log == [len(set(few))], (log, few)
    name, call, result, config = listed[0]
    assert isinstance(got, fake.Kernel) and name == "TileLang 0" and call()[1:] == ("a", "b") and call() == result()
    # The first of those that tie.
    assert config == "block_M=128, block_N=256, block_K=32, num_stages=0, thread_num=128, policy=0, " \
        "enable_rasteration=True", config
    log.clear()
    before = os.stat(ranks).st_mtime_ns
    tilelang_peer.peers({**ask, "bindings": "M=8,N=8,K=512,block_N=192"}, fake.Kernel)
    assert len(log) == 1 and os.stat(ranks).st_mtime_ns == before, "a second size searches again"


with open(os.path.join(D, "table.txt"), "w", encoding="utf-8") as out:
    out.write(TABLE)
for check in (in_pieces, goes_on, pictures, documents, refused, real_table, medians, tilelang):
    check()
