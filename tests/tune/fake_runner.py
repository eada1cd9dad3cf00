#!/usr/bin/env python3
"""A runner process for tests of the tuner without a GPU (tuner/wire.h's protocol).

FAKE_RUNNER: what candidates do, "VERB:NAME=VALUE[,NAME=VALUE][;...]", VERB one of hang (never
answers), hung, fault, die, garbage, nan, inf, failed, wrong, slow, dirty and sick (wrong and fault, unless first in its
process), late (wrong in the final round alone), flood and babble (bytes, and lines, without end), paint (words that
would spoil a terminal); "shared=1" is a build that sizes share.
FAKE_GPU=none: there is none; =late: it is found, and cannot be used; =silent: no greeting; =deaf: none, ever. FAKE_LOG: a line for each trial.
FAKE_SLEEP, FAKE_FINAL: seconds that a trial and a final round take; FAKE_REST: more of it, rests; FAKE_KERNEL: the share of it that kernels ran.
"""
import math, os, signal, subprocess, sys, time


def parse(line):
    verb, *fields = line.rstrip("\n").split("\t")
    pairs = [f.split("=", 1) for f in fields]
    return verb, {k: v for k, v in pairs}


def say(verb, **fields):
    text = "\t".join([verb] + [f"{k}={v}" for k, v in fields.items()])
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def log(line):
    if os.environ.get("FAKE_LOG"):
        with open(os.environ["FAKE_LOG"], "a") as f:
            f.write(line + "\n")


def behaviour(given):
    for rule in filter(None, os.environ.get("FAKE_RUNNER", "").split(";")):
        verb, _, names = rule.partition(":")
        pairs = [p.split("=", 1) for p in filter(None, names.split(","))]
        if all(given.get(k) == v for k, v in pairs):
            return verb
    return "good"


def latency(given):  # microseconds; least at block_M=128, block_N=128, num_stages=3, ...
    best = {"block_M": 128, "block_N": 128, "block_K": 64, "num_stages": 3, "K": 0}
    us = 100.0
    for name, value in given.items():
        try:
            number = float(value)
        except ValueError:
            continue
        if name == "K":
            us += number / 10
        elif name in best:
            us += 7 * abs(math.log2(max(number, 0.5) / best[name]))
    return us


def spend(name):  # the fields of an answer that say where its time went
    seconds = float(os.environ.get(name, "0"))
    time.sleep(seconds)
    return {"kernel_s": seconds * float(os.environ.get("FAKE_KERNEL", "1")), "timed_s": seconds}


kept = {}
trials = 0
for line in sys.stdin:
    verb, m = parse(line)
    given = {k[2:]: v for k, v in m.items() if k[:2] in ("s.", "b.", "f.")}
    if verb == "hello":
        if os.environ.get("FAKE_GPU") == "none":
            say("missing", text="no GPU: the driver sees none")
        elif os.environ.get("FAKE_GPU") == "deaf":
            log("deaf")
            time.sleep(1000)
        elif os.environ.get("FAKE_GPU") == "late":
            say("found", name="Fake GPU", arch="sm_90a", sm=90, driver=13000)
            say("missing", text="opening the GPU: CUDA_ERROR_DEVICE_UNAVAILABLE")
        elif os.environ.get("FAKE_GPU") == "silent":
            sys.exit(1)
        elif os.environ.get("FAKE_GPU") == "busy":
            say("gpu", name="Fake GPU", arch="sm_90a", sm=90, driver=13000, busy="processes 42")
        else:
            say("gpu", name="Fake GPU", arch="sm_90a", sm=90, driver=13000)
    elif verb.startswith("prepare"):
        log(f"{verb} K={given.get('K')}")
    elif verb == "ahead":
        log("ahead " + ",".join(f"{k}={v}" for k, v in sorted(given.items())))
    elif verb in ("try", "keep"):
        trials += 1
        text = ",".join(f"{k}={v}" for k, v in sorted(given.items()))
        log(f"{verb} {text}")
        if not os.path.exists(m["lib"]):
            say("failed", text="cannot load it")
            continue
        say("started")
        spent = spend("FAKE_SLEEP") if verb == "try" else {}
        what = behaviour(dict(given, shared="1" if "numbers" in m else "0"))
        if what == "sick":
            what = "fault" if trials > 1 else "good"
        us = latency(given) * (3 if what == "slow" else 1)
        if what == "hang":
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            time.sleep(1000)
        elif what == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif what == "garbage":
            say("gibberish", x=1)
        elif what in ("flood", "babble"):
            os.execv("/bin/bash", ["bash", "-c", "exec cat /dev/zero" if what == "flood" else "exec yes"])
        elif what == "paint":
            sys.stdout.buffer.write(b"wrong\ttext=C:\x1b[2J\xff" + b"x" * 5000 + b"\n")
            sys.stdout.flush()
        elif what in ("hung", "fault"):
            say(what, text="CUDA_ERROR_ILLEGAL_ADDRESS" if what == "fault" else "it hangs")
            sys.exit(0)
        elif what == "nan":
            say("wrong", text="C: 4096 of 4096 elements differ; got nan")
        elif what == "inf":
            say("measured", median="inf")
        elif what in ("wrong", "failed") or (what == "dirty" and trials > 1) or (what == "late" and verb == "keep"):
            say("failed" if what == "failed" else "wrong", text="C: 1 of 4096 elements differs")
        elif verb == "keep":
            kept[m["id"]] = us
            say("kept")
        else:
            stop = float(m.get("stop", "0"))
            early = int(stop > 0 and us > stop)
            say("measured", median=us, mean=us + 1, min=us - 1, max=us + 2, launches=20, early=early, **spent)
            log(f"measured {text}")
    elif verb == "final":
        log("final")
        rest = float(os.environ.get("FAKE_REST", "0"))
        time.sleep(rest)
        spent = dict(spend("FAKE_FINAL"), rest_s=rest)
        for id, us in kept.items():
            say("time", id=id, median=us, lo=us - 0.5, hi=us + 0.5)
        say("time", id=-1, median=95.0, lo=94.0, hi=96.0)
        say("end", **spent)
        kept = {}
