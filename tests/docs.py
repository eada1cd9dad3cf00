"""The examples of docs/*.md, compiled and run as a reader would.

A fenced block says behind its language what is done with it:

    ```python program ARGS   a whole file: `tlc FILE ARGS` must succeed
    ```python body           lines for the frame's kernel; must compile
    ```python oracle         the same of what only --device=oracle runs yet: each word that no other block
                             uses stands in a line refused with E590, unless named in with=WORD,...
    ```python fails          a whole file that must be refused; `body fails`: lines of the frame
    ```python frame          the frame: its line `...` gives way to such lines
    ```LANGUAGE file=NAME    a file for the commands that follow
    ```sh run [nvcc]         commands, run one block after the other in one folder; `nvcc`: where it is there
    ```tir                   a program of the IR, which must read, verify and compile
    ```text                  what the block before it prints, times aside

Files are called example.tl. Python blocks without a mark are an error in the documents below.
`list` prints the cases, `run CASE` runs one; `words` prints each T.* word with its status; `update`
writes what blocks print today into the text blocks, and makes body of oracle blocks that compile by now
(`make golden` does both: review the diff).
SPDX-License-Identifier: MIT
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TLC = os.path.abspath(os.environ.get("TLC", "build/tlc"))
DOCS = ["language", "from-tilelang", "tutorial", "ir"]


class Block:
    def __init__(self, line, info, text):
        self.line, self.text = line, text
        self.language, *self.marks = info.split() or [""]

    def has(self, mark):
        return mark in self.marks

    def file(self):
        return next((m[5:] for m in self.marks if m.startswith("file=")), None)


def blocks(path):
    """The fenced blocks of a document, in order."""
    found, open_at, info, lines = [], 0, "", []
    for number, line in enumerate(open(path), 1):
        if line.startswith("```"):
            if open_at:
                found.append(Block(open_at, info, "".join(lines)))
            open_at, info, lines = (0 if open_at else number), line[3:].strip(), []
        elif open_at:
            lines.append(line)
    return found


def rows(path, macro):
    """The first two arguments of each row of a table."""
    return re.findall(rf'^{macro}\(("?[^",]*"?), *("?[\w]*"?)', open(path).read(), re.M)


def unquote(text):
    return text.strip('"')


def shown(text):
    """What is printed, without what no two runs share."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    text = re.sub(r"\b[0-9.]+ s\b", "N s", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


class Runner:
    def __init__(self, path):
        self.path, self.folder, self.problems = path, tempfile.TemporaryDirectory(), []
        self.frame, self.last, self.fresh, self.lowered = None, None, [], []
        kept = {k: v for k, v in os.environ.items() if k not in ("TLC", "BUILD", "MAKEFLAGS", "MAKELEVEL")}
        self.env = dict(kept, PATH=f"{os.path.dirname(TLC)}:{os.environ['PATH']}:/usr/local/cuda/bin", NO_COLOR="1")

    def say(self, block, text):
        self.problems.append(f"{self.path}:{block.line}: {text}")

    def call(self, command):
        done = subprocess.run(command, cwd=self.folder.name, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def tlc(self, block, text, args):
        with open(f"{self.folder.name}/example.tl", "w") as f:
            f.write(text)
        output = [] if any(a.startswith("--run") or a == "-o" for a in args) else ["-o", "example.cu"]
        return self.call([TLC, "--color=never", "--max-errors=100", "example.tl", *args, *output])

    def framed(self, block):
        if not self.frame:
            self.say(block, "there is no frame yet")
            return block.text
        pad = re.search(r"^( *)\.\.\.$", self.frame, re.M)
        lines = [pad.group(1) + s if s.strip() else s for s in block.text.splitlines()]
        return self.frame.replace(pad.group(0), "\n".join(lines))

    def python(self, block):
        words = ("program", "body", "oracle", "fails", "run")
        args = [m for m in block.marks if m not in words and not m.startswith("with=")]
        text = self.framed(block) if block.has("body") or block.has("oracle") else block.text
        status, said = self.tlc(block, text, args)
        self.last = said
        if block.has("oracle"):
            self.refused(block, text, said)
            if status == 0:
                self.lowered.append(block)
            if status != 1 or "[E590]" not in said or said.count("error:") != said.count("[E590]"):
                self.say(block, f"is marked oracle, and gives status {status}:\n{said}")
            status, said = self.tlc(block, text, ["--run", "--device=oracle", "-p", "n=3,x=1.5"])
            if status:
                self.say(block, f"the oracle gives status {status}:\n{said}")
            return
        want = 1 if block.has("fails") else 0
        if status != want:
            self.say(block, f"status {status}, not {want}:\n{said}")

    def refused(self, block, text, said):
        """Is each word of an oracle block refused that only such blocks use?"""
        lines = {int(n) for n in re.findall(r"^example\.tl:(\d+):.*\[E590\]$", said, re.M)}
        refused = "\n".join(line for n, line in enumerate(text.splitlines(), 1) if n in lines)
        spared = ",".join(m[5:] for m in block.marks if m.startswith("with=")).split(",")
        for word, status in statuses():
            if status == "oracle only" and word not in spared and re.search(rf"\bT\.{word}\b", block.text) \
                    and not re.search(rf"\bT\.{word}\b", refused):
                self.say(block, f"T.{word} compiles today: its example is no oracle one any more")

    def shell(self, block):
        if block.has("nvcc") and not shutil.which("nvcc", path=self.env["PATH"]) and "TLC_CI" not in os.environ:
            return
        status, self.last = self.call(["bash", "-euc", block.text])
        if status:
            self.say(block, f"status {status}:\n{self.last}")

    def compare(self, block):
        if self.last is None:
            return
        want, got = shown(block.text), shown(self.last)
        if want != got:
            self.say(block, f"prints otherwise today:\n{got}")
            self.fresh.append((block, got))
        self.last = None

    def one(self, block):
        if block.language == "text":
            self.compare(block)
            return
        self.last = None
        if block.file():
            with open(f"{self.folder.name}/{block.file()}", "w") as f:
                f.write(block.text)
        elif block.language == "tir":
            with open(f"{self.folder.name}/example.tir", "w") as f:
                f.write(block.text)
            status, said = self.call([TLC, "--color=never", "example.tir", "-o", "example.cu"])
            if status:
                self.say(block, f"status {status}:\n{said}")
        elif block.language == "sh" and block.has("run"):
            self.shell(block)
        elif block.has("frame"):
            self.frame = block.text
        elif block.language == "python" and block.marks:
            self.python(block)
        elif block.language == "python":
            self.say(block, "a python block without a mark")


def run_document(name, update=False):
    runner = Runner(f"docs/{name}.md")
    for block in blocks(runner.path):
        runner.one(block)
    if update and (runner.fresh or runner.lowered):
        lines = open(runner.path).read().splitlines(keepends=True)
        for block in runner.lowered:
            lines[block.line - 1] = "```python body\n"
        for block, text in reversed(runner.fresh):
            lines[block.line:block.line + block.text.count("\n")] = [text + "\n"]
        with open(runner.path, "w") as f:
            f.write("".join(lines))
    return runner.problems


def statuses():
    """Every T.* word: its name, its status, a line of an example."""
    examples = [b for b in blocks("docs/language.md") if b.language == "python" and b.marks]
    for macro in ("VOCAB", "NOT_YET"):
        for name, _ in rows("eval/vocab.def", macro):
            name = unquote(name)
            if macro == "NOT_YET":
                yield name, "refused by name"
                continue
            uses = [b for b in examples if re.search(rf"\bT\.{name}\b", b.text) and not b.has("fails")]
            if not uses and any(re.search(rf"\bT\.{name}\b", b.text) for b in examples):
                yield name, "no target has code for it"
            elif not uses:
                yield name, "no example"
            else:
                yield name, "oracle only" if all(b.has("oracle") for b in uses) else "compiles"


def check_words():
    return [f"docs/language.md: no example of T.{name}" for name, status in statuses() if status == "no example"]


def check_builtins():
    """Python's own functions in the page on the language, all others at least in the generated table."""
    code = " ".join(re.findall(r"`([^`]+)`", open("docs/language.md").read().replace("```", "")))
    table = open("docs/builtins.md").read()
    problems = []
    for module, name in rows("eval/lib.def", "LIB") + rows("eval/methods.def", "METHOD"):
        name = unquote(name)
        if module == '""' and not re.search(rf"(?<!\w){name}\b", code):
            problems.append(f"docs/language.md does not name {name}")
        if not re.search(rf"`\.?{name}\(", table):
            problems.append(f"docs/builtins.md does not name {module}.{name}: run tools/gen-docs.sh")
    return problems


def check_messages():
    """Codes that documents mention are codes of messages."""
    known = set(re.findall(r'"([EW]\d{3})"', open("base/diags.def").read()))
    return [f"docs/{name}.md: there is no message {code}" for name in DOCS
            for code in re.findall(r"\b([EW]\d{3})\b", open(f"docs/{name}.md").read()) if code not in known]


def check_links():
    problems = []
    for path in ["README.md"] + [f"docs/{f}" for f in os.listdir("docs") if f.endswith(".md")]:
        for target in re.findall(r"\]\(([^)\s]+)\)", open(path).read()):
            file, _, anchor = target.partition("#")
            if "://" in target:
                continue
            there = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(there):
                problems.append(f"{path}: there is no {target}")
            elif anchor and anchor not in anchors(there):
                problems.append(f"{path}: {there} has no heading #{anchor}")
    return problems


def anchors(path):
    heads = re.findall(r"^#+ (.*)$", open(path).read(), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


CHECKS = {"words": check_words, "builtins": check_builtins, "messages": check_messages, "links": check_links}

if __name__ == "__main__":
    if sys.argv[1] == "list":
        print("\n".join(DOCS + list(CHECKS)))
    elif sys.argv[1] == "update":
        for name in DOCS:
            run_document(name, update=True)
    elif sys.argv[1] == "words":
        for word in statuses():
            print(*word, sep="\t")
    else:
        found = CHECKS[sys.argv[2]]() if sys.argv[2] in CHECKS else run_document(sys.argv[2])
        print("\n".join(found))
        sys.exit(bool(found))
