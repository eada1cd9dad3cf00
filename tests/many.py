"""Runs cases one after the other in this process, for suites whose start costs more than a case.

SPDX-License-Identifier: MIT
"""
import contextlib
import io
import traceback


def status_of(run, case):
    try:
        return run(case)
    except SystemExit as end:  # a number, or what to say
        if isinstance(end.code, str):
            print(end.code)
            return 1
        return end.code or 0
    except Exception:
        print(traceback.format_exc())
        return 1


def many(suite, run, cases):
    """The lines that tests/run.sh counts: `pass SUITE CASE`, or `FAIL SUITE CASE` and its story."""
    for case in cases:
        story = io.StringIO()
        with contextlib.redirect_stdout(story), contextlib.redirect_stderr(story):
            status = status_of(run, case)
        lines = story.getvalue().splitlines()[:40] if status else []
        told = [f"{'FAIL' if status else 'pass'} {suite} {case}", *(f"    {line}" for line in lines), ""]
        print("\n".join(told), end="", flush=True)  # in one piece: others write to the same file
