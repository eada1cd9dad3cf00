"""What tests/suite_wrong.sh asks of the corpus of wrong programs as a whole.

  wrong.py corpus FILE...           from the expected messages: at least 150 programs, one error a mistake, no
                                    diagnostic in more than three of them, no word of tlc's insides
  wrong.py json TLC FOLDER FILE...  --diagnostics=json of each: every line has the form of docs/diagnostics.md, its
                                    places lie in the file, and it says what the text form says
"""
# SPDX-License-Identifier: MIT
import collections, json, re, shlex, subprocess, sys

MOST, LEAST = 3, 150
INSIDE = re.compile(r"\b(AST|IR|internal|intrinsic|opcode|nullptr|NULL|V_[A-Z]+|EX_[A-Z]+|ST_[A-Z]+|SC_[A-Z]+|DT_[A-Z]+"
                    r"|[a-z_]+\.c:\d+|passes?/|eval/|verifier|lowering|assertion `)\b")
HEAD = re.compile(r"^(?:[^:]+:\d+:\d+|tlc): (error|warning): .* \[([EW]\d+)\]$")


def expected(path):
    lines = open(path, encoding="utf-8").read().split("\n")
    heads = dict(re.match(r"#! (\w+): (.*)", l).groups() for l in lines if l.startswith("#! "))
    return heads, [l[3:] for l in lines if l.startswith("#>")]


def corpus(paths):
    bad, seen = [], collections.defaultdict(list)
    for path in paths:
        heads, text = expected(path)
        found = [m.groups() for m in map(HEAD.match, text) if m]
        usage = any(l.startswith("[exit status 2]") for l in text)
        if len(found) != int(heads.get("errors", 1)) and not usage:
            bad.append(f"{path}: {len(found)} messages, {heads.get('errors', 1)} expected")
        for code in {code for _, code in found}:
            seen[code].append(path)
        for line in text:
            if not re.match(r" *\d* \| ", line) and INSIDE.search(line):
                bad.append(f"{path}: names an inside: {line}")
    bad += [f"{code} in {len(files)} programs (at most {MOST}): {' '.join(files)}"
            for code, files in seen.items() if len(files) > MOST]
    if len(paths) < LEAST:
        bad.append(f"{len(paths)} programs, at least {LEAST} wanted")
    return bad


def place(d, lines, path):
    """Why "file" and "range" of an object are not a place in the program; None when they are, or are absent."""
    if "file" not in d and "range" not in d:
        return None
    r = d.get("range")
    if d.get("file") != path or set(r) != {"start", "end"}:
        return f"place {d}"
    ends = [(r[k]["line"], r[k]["column"]) for k in ("start", "end")]
    for line, column in ends:
        if not 1 <= line <= len(lines) or not 1 <= column <= len(lines[line - 1].encode()) + 2:
            return f"{line}:{column} is outside the file"
    return None if ends[0] <= ends[1] else f"range {r} ends before it starts"


def shape(d, lines, path):
    keys = {"severity": str, "id": str, "message": str, "notes": list, "fixes": list}
    for key, kind in keys.items():
        if not isinstance(d.get(key), kind):
            return f"{key} of {d}"
    if set(d) - set(keys) - {"file", "range"} or d["severity"] not in ("error", "warning"):
        return f"members of {d}"
    for note in d["notes"]:
        if not isinstance(note.get("message"), str) or set(note) - {"message", "file", "range"}:
            return f"note {note}"
    for fix in d["fixes"]:
        if not isinstance(fix.get("replacement"), str) or set(fix) != {"replacement", "file", "range"}:
            return f"fix {fix}"
    return next(filter(None, (place(x, lines, path) for x in [d] + d["notes"] + d["fixes"])), None)


def check_json(tlc, folder, paths):
    bad, fixes = [], 0
    for path in paths:
        heads, text = expected(path)
        name = path.rsplit("/", 1)[-1]
        if any(l.startswith("[exit status 2]") for l in text):
            continue
        args = [tlc, name, *shlex.split(heads.get("args", "")), "-o", "out.cu", "--diagnostics=json"]
        out = subprocess.run(args, cwd=folder, stderr=subprocess.PIPE, timeout=20).stderr.decode()
        lines = open(f"{folder}/{name}", encoding="utf-8").read().split("\n")
        said = [json.loads(l) for l in out.splitlines()]
        bad += [f"{path}: {why}" for why in (shape(d, lines, name) for d in said) if why]
        fixes += sum(len(d["fixes"]) for d in said)
        codes = [m.group(2) for m in map(HEAD.match, text) if m]
        if [d["id"] for d in said] != codes:
            bad.append(f"{path}: {[d['id'] for d in said]} in JSON, {codes} in text")
    if fixes < 20:
        bad.append(f"only {fixes} fixes")
    return bad


wrong = corpus(sys.argv[2:]) if sys.argv[1] == "corpus" else check_json(sys.argv[2], sys.argv[3], sys.argv[4:])
print("\n".join(wrong))
sys.exit(bool(wrong))
