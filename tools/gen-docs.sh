#!/bin/sh
# Generates the tables of docs/ from those that the compiler itself includes; the status of words from
# the examples of docs/language.md, which the suite docs compiles. `tools/gen-docs.sh check` fails where one is stale.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
out=docs
[ "${1-}" = check ] && out=$(mktemp -d)

python3 - "$out" <<'PY'
import re, subprocess, sys

def rows(path, macro):
    """Argument texts of every MACRO(...) in a table, C strings joined and unquoted."""
    text = open(path).read()
    for m in re.finditer(rf"^{macro}\((.*?)\)\s*$", text, re.M | re.S):
        parts, depth, word, quoted = [], 0, "", False
        for c in m.group(1):
            if c == '"' and not word.endswith("\\"):
                quoted = not quoted
            if c == "," and not quoted:
                parts.append(word)
                word = ""
            else:
                word += c
        parts.append(word)
        yield ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', p)).replace('\\"', '"') if '"' in p else p.strip()
               for p in parts]

def table(path, title, intro, head, body):
    with open(path, "w") as f:
        f.write(f"# {title}\n\n{intro}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}\n")
        for row in body:
            f.write("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |\n")

out = sys.argv[1]
made = "Generated from `%s` by `tools/gen-docs.sh`. "
table(f"{out}/ops.md", "Ops", made % "ir/ops.def" + "Operand kinds: r read, w written, u read then "
      "written, x atomic, a written asynchronously, p only its address, e expression, i integer.",
      ["op", "level", "operands", "meaning"],
      [[r[1], r[2].lower(), r[4], r[5]] for r in rows("ir/ops.def", "OP")])
status = dict(line.split("\t") for line in
              subprocess.run(["python3", "tests/docs.py", "words"], stdout=subprocess.PIPE, text=True, check=True)
              .stdout.splitlines())
words = [[f"`T.{r[0]}({r[3]})`", status[r[0]], r[4]] for r in rows("eval/vocab.def", "VOCAB")]
later = [[f"`T.{r[0]}`", status[r[0]], r[1]] for r in rows("eval/vocab.def", "NOT_YET")]
table(f"{out}/words.md", "The T.* vocabulary", made % "eval/vocab.def" + "`=` marks an optional operand. The "
      "status is that of the examples in [language.md](language.md): they compile, or `--run --device=oracle` runs "
      "them and no target has code for them yet; words that are known and refused by name stand last.",
      ["word", "status", "meaning"], words + later)
kinds = {"V_STR": "str", "V_LIST": "list", "V_TUPLE": "tuple", "V_DICT": "dict", "V_SET": "set", "V_DTYPE": "dtype",
         "V_EXPR": "run-time value", "V_INT": "int", "V_FLOAT": "float", "V_FUNC": "kernel", "V_BUFFER": "buffer",
         "V_TUNER": "AutoTuner", "V_PARSER": "ArgumentParser", "V_REGION": "region"}
library = [[r[0] or "builtins", f"`{r[1]}({r[4]})`", r[5]] for r in rows("eval/lib.def", "LIB")]
library += [[f"{kinds.get(r[0], r[0])} method", f"`.{r[1]}({r[3]})`", r[4]] for r in rows("eval/methods.def", "METHOD")]
table(f"{out}/builtins.md", "What compile-time Python can call", made % "eval/lib.def` and `eval/methods.def" +
      "`=` marks an optional operand, `*rest` any number, `**` keywords of any name. *Opaque*: may be called, and its "
      "result is an error only where a kernel needs it.", ["module", "call", "meaning"], library)
flags = [[f"`-f{r[0]}{'=' + r[1] if r[1] else ''}`", r[2]] for r in rows("passes/flags.def", "FLAG")]
table(f"{out}/flags.md", "-f flags", made % "passes/flags.def" + "`-fNAME`, `-fno-NAME` or "
      "`-fNAME=N` forces or forbids a decision that the compiler otherwise makes itself. Results "
      "never depend on them, speed may.", ["flag", "meaning"], flags)
table(f"{out}/messages.md", "Messages", made.strip() % "base/diags.def", ["code", "kind", "message"],
      [[r[1], r[2].replace("SEV_", "").lower(), r[3].replace("%%", "%")] for r in rows("base/diags.def", "DIAG")])
verdicts = {"HONOURED": "honoured", "IGNORED": "ignored, with a remark",
            "KEPT": "not followed, with a warning", "REFUSED": "refused"}
table(f"{out}/pass-configs.md", "Pass configs", made % "eval/pass_configs.def" + "What tlc makes of "
      "`@tilelang.jit(pass_configs={...})` and `T.annotate_pass_configs`: keys are written as "
      "`tilelang.PassConfigKey.NAME` or as the text it stands for. A key that is none of these is an error. "
      "An option whose value is False, None or empty asks for nothing. `compile_flags` belong into the build: a "
      "remark says so. `out_idx` changes nothing, for every tensor is a parameter of the launcher; it must name "
      "parameters of the kernel, and an eager kernel has none.", ["name", "key", "verdict", "what follows"],
      [[r[0], f"`{r[1]}`", verdicts[r[2]], r[3]] for r in rows("eval/pass_configs.def", "PASS_CONFIG")])

def roff(text):
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")

version = re.search(r'"([0-9.]+)"', open("base/die.c").read()).group(1)
with open(f"{out}/tlc.1", "w") as f:
    f.write('.\\" Generated from driver/options.def and passes/flags.def by tools/gen-docs.sh.\n'
            '.\\" SPDX-License-Identifier: MIT\n'
            f'.TH TLC 1 "" "tlc {version}" "User Commands"\n'
            ".SH NAME\ntlc \\- compile tile programs to CUDA C++\n"
            ".SH SYNOPSIS\n.B tlc\n[\\fIOPTIONS\\fR] \\fIFILE\\fR\n.br\n"
            ".B tlc \\-\\-tune\n[\\fIOPTIONS\\fR] \\fIFILE\\fR\n"
            ".SH DESCRIPTION\n"
            "Compiles a tile program (\\fI.tl\\fR, \\fI.py\\fR, or printed IR \\fI.tir\\fR) ahead of time "
            "into one file of CUDA C++ with a C interface. With \\fB\\-\\-run\\fR the kernel is run and "
            "checked, with or without a GPU; \\fB\\-\\-bench\\fR times it; \\fB\\-\\-tune\\fR searches the "
            "values of its open parameters.\n"
            ".SH OPTIONS\n")
    for r in rows("driver/options.def", "OPTION"):
        if r[4] == "NULL":  # tlc's own, as --help leaves out
            continue
        value = "" if r[3] == "NULL" else f" \\fI{roff(r[3])}\\fR"
        f.write(f".TP\n\\fB{roff(r[0])}\\fR{value}\n{roff(r[4])}\n")
    f.write(".TP\n@\\fIFILE\\fR\nread more arguments from FILE, one a line\n"
            ".TP\n\\fB\\-\\-help\\fR, \\fB\\-\\-version\\fR\nsay so and end\n.SH FLAGS\n"
            "\\fB\\-f\\fINAME\\fR, \\fB\\-fno\\-\\fINAME\\fR and \\fB\\-f\\fINAME\\fB=\\fIN\\fR force or "
            "forbid what the compiler otherwise decides itself.\n")
    for r in rows("passes/flags.def", "FLAG"):
        f.write(f".TP\n\\fB\\-f{roff(r[0])}\\fR{'=' + roff(r[1]) if r[1] else ''}\n{roff(r[2])}\n")
    f.write(".SH EXIT STATUS\n0 done; 1 the program is wrong or a check failed; 2 wrong usage; 3 this machine lacks "
            "something; 70 a bug in tlc; 128 and the signal (130: Ctrl\\-C) a search was interrupted.\n"
            ".SH ENVIRONMENT\n.TP\nCUDACXX, CUDA_HOME\nwhere nvcc is\n"
            ".TP\nXDG_CACHE_HOME\nwhere builds and results of searches are kept (default: ~/.cache)\n"
            ".TP\nTMPDIR\nwhere builds go that the cache cannot take (default: /tmp)\n"
            ".TP\nTLC_JOBS\ncompilers at a time, where \\-j says nothing\n"
            ".TP\nTLC_GPU_LOCK\nthe file that keeps a GPU to one search\n"
            ".SH EXAMPLES\n")
    for does, line in (("The CUDA C++ of a program for a GPU of this instruction set, and its C header:",
                        "tlc --arch sm_90a gemm.tl -o gemm.cu --header gemm.h"),
                       ("What was decided for each line:", "tlc --remarks gemm.tl -o gemm.cu"),
                       ("Run it, without a GPU by the emulator, and check every output:",
                        "tlc --run gemm.tl -p M=256,N=256,K=256"),
                       ("Time it on the GPU:", "tlc --bench --arch native gemm.tl"),
                       ("Rank the candidates of a space by the model, without a GPU:",
                        "tlc --tune --no-run gemm.tl --space block_M=64,128 --space block_N=64,128"),
                       ("Search on the GPU, keep the best, and build with it:",
                        "tlc --tune --arch native gemm.tl --roller --save gemm.json"),
                       (None, "tlc --tuned gemm.json gemm.tl -o gemm.cu")):
        f.write((f".PP\n{roff(does)}\n" if does else "") + f".PP\n.RS\n.nf\n{roff(line)}\n.fi\n.RE\n")
    f.write(".SH SEE ALSO\n.BR nvcc (1),\n.BR make (1)\n.PP\n"
            "docs/tuning.md, docs/flags.md, docs/survey.md and the language in docs/language.md, which "
            "make install puts into share/doc/tlc\n")
PY
[ "${1-}" = check ] || exit 0
status=0
for f in ops.md words.md builtins.md messages.md flags.md pass-configs.md tlc.1; do
  cmp -s "$out/$f" "docs/$f" || { echo "docs/$f is stale: run tools/gen-docs.sh"; status=1; }
done
rm -rf "$out"
exit $status
