"""Directives and comments that should not reach anything: how many are answered well.

`in-process`: a million texts (`_reader_texts`) through the reader, traced by Python's audit events: it opens
no file, starts nothing, raises nothing but its own error and takes no more than a second of computing, nor
half a gigabyte. `strace`: fewer in a process whose system calls are watched from outside. `pages`: ten
thousand through all pages and operations that read assembly, in the server: no 5xx, and nothing of the file
that the texts name. `pumped`: texts of one word, repeated (`_pumped_texts`), are recognised, parsed and read
in a second each.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from django.test import override_settings

from benchmarks import Result
from benchmarks._pumped_texts import pumped, pumped_texts
from benchmarks._reader_doors import knocked
from benchmarks._reader_worker import BEGIN, END, SECRET, Findings, fuzzed, resident
from benchmarks._temporary_database import PLAIN_STATIC, temporary_database

TEXTS, WATCHED, PAGES = 1_000_000, 20_000, 10_000
QUICK = 200
"""Times fewer of each, to see whether it works."""
SEED = 25


def run(quick: bool) -> Iterator[Result]:
    """All cases; `PMWEB_READER_TEXTS` and `PMWEB_READER_PAGES` are other numbers of texts."""
    less = QUICK if quick else 1
    texts = int(os.environ.get("PMWEB_READER_TEXTS", TEXTS)) // less
    chosen = len(list(pumped_texts())) if less == 1 else 100
    pages = int(os.environ.get("PMWEB_READER_PAGES", PAGES)) // less
    with tempfile.TemporaryDirectory(prefix="pmweb-secret-") as directory:
        secret = Path(directory) / "secret"
        secret.write_bytes(SECRET)
        file = str(secret)
        yield _told("in-process", texts, lambda: fuzzed(SEED, range(texts), file))
        yield _told("pumped", 3 * chosen, lambda: pumped(chosen))
        if shutil.which("strace"):
            yield _told("strace", WATCHED // less, lambda: _watched(WATCHED // less, file))
        else:
            print("reader-fuzz: strace is not installed: nobody watches from outside", file=sys.stderr)
        with temporary_database(), override_settings(STORAGES=PLAIN_STATIC, ALLOWED_HOSTS=["testserver"]):
            yield _told("pages", pages, lambda: knocked(SEED, pages, file))


def _told(case: str, many: int, fuzz: Callable[[], Findings]) -> Result:
    began, before = time.monotonic(), resident()
    found = fuzz()
    seconds = round(time.monotonic() - began, 1)
    more = {"seed": SEED, **found.as_json(), "seconds": seconds, "memory_mb": [before, resident()]}
    return Result(case, max(0, many - found.failed), "answered", many, more)


def _watched(many: int, file: str) -> Findings:
    """Let another process read texts, and look at the files that it names and the programs that it starts."""
    found = Findings()
    with tempfile.TemporaryDirectory(prefix="pmweb-strace-") as directory:
        log = Path(directory) / "calls"
        watch = [
            "strace",
            "-f",
            "-qq",
            "-e",
            "trace=%file,%process,socket",
            "-e",
            "signal=none",
            "-o",
            str(log),
        ]
        worker = [sys.executable, "-m", "benchmarks._reader_worker", str(SEED), str(many), file]
        done = subprocess.run([*watch, *worker], capture_output=True, check=False, text=True)
        calls = log.read_text().splitlines()
    marks = [number for number, call in enumerate(calls) if BEGIN in call or END in call]
    if done.returncode or len(marks) != 2:
        found.fail(f"the watched process ends with {done.returncode}: {done.stderr[-500:]}", "")
        return found
    for call in calls[marks[0] + 1 : marks[1]]:
        found.fail(call.partition(" ")[2], "")
    found.outcomes["read or refused"] = many
    return found
