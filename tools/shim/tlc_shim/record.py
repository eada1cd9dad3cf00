"""The record: which parameters each kernel was called with, written to TLC_SHIM_RECORD after every new call."""
# SPDX-License-Identifier: MIT
import json
import os
import sys

from . import settings

MOST = int(os.environ.get("TLC_SHIM_RECORD_MOST", 16))   # of each kernel


def _load(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return {}


def dump(record):
    """One line for each call, files and kernels in order of name."""
    lines = ["{"]
    files = sorted(record)
    for i, path in enumerate(files):
        lines.append(f"  {json.dumps(path)}: {{")
        names = list(record[path])
        for j, name in enumerate(names):
            calls = ",\n".join("      " + json.dumps(c) for c in record[path][name])
            body = f"[\n{calls}\n    ]" if calls else "[]"
            lines.append(f"    {json.dumps(name)}: {body}" + ("," if j + 1 < len(names) else ""))
        lines.append("  }" + ("," if i + 1 < len(files) else ""))
    return "\n".join(lines + ["}", ""])


def note(origin, extra=None):
    """Adds a kernel's call to the record, once."""
    path = os.environ.get("TLC_SHIM_RECORD")
    if not path:
        return
    said, unsaid = origin.plain_args()
    said.update(extra or {})
    if unsaid:
        print(f"shim: {origin.entry}: no text for {', '.join(unsaid)}", file=sys.stderr)
    record = _load(path)
    file = os.path.relpath(origin.file, settings.root())
    calls = record.setdefault(file, {}).setdefault(origin.entry, [])
    if said in calls or len(calls) >= MOST:
        return
    calls.append(said)
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as f:
        f.write(dump(record))
    os.replace(temporary, path)
