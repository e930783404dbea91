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
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Result
from benchmarks._pumped_texts import pumped, pumped_texts
from benchmarks._reader_doors import knocked
from benchmarks._reader_worker import BEGIN, END, SECRET, fuzzed
from benchmarks._sites import temporary_database
from benchmarks._survey import Survey

TEXTS, WATCHED, PAGES = 1_000_000, 20_000, 10_000
QUICK = 200
"""Times fewer of each, to see whether it works."""

SEED = 25
_WATCH = ("strace", "-f", "-qq", "-e", "trace=%file,%process,socket", "-e", "signal=none", "-o")


def run(quick: bool) -> Iterator[Result]:
    """All cases; `PMWEB_READER_TEXTS` and `PMWEB_READER_PAGES` are other numbers of texts."""
    less = QUICK if quick else 1
    texts = int(os.environ.get("PMWEB_READER_TEXTS", TEXTS)) // less
    pages = int(os.environ.get("PMWEB_READER_PAGES", PAGES)) // less
    with tempfile.TemporaryDirectory(prefix="pmweb-secret-") as directory:
        secret = Path(directory) / "secret"
        secret.write_bytes(SECRET)
        file = str(secret)
        yield fuzzed(SEED, texts, file).result()
        yield pumped(SEED, 100 if quick else len(pumped_texts())).result()
        if shutil.which("strace"):
            yield _watched(WATCHED // less, file).result()
        else:
            print("reader-fuzz: strace is not installed: nobody watches from outside", file=sys.stderr)
        with temporary_database():
            yield knocked(SEED, pages, file).result()


def _watched(many: int, file: str) -> Survey:
    """Let another process read texts, and look at the files that it names and the programs that it starts."""
    survey = Survey("strace", SEED)
    with tempfile.TemporaryDirectory(prefix="pmweb-strace-") as directory:
        log = Path(directory) / "calls"
        worker = [sys.executable, "-m", "benchmarks._reader_worker", str(SEED), str(many), file]
        done = subprocess.run([*_WATCH, str(log), *worker], capture_output=True, check=False, text=True)
        calls = log.read_text().splitlines()
    marks = [number for number, call in enumerate(calls) if BEGIN in call or END in call]
    is_complete = not done.returncode and len(marks) == 2
    survey.expect(is_complete, f"the watched process ends with {done.returncode}: {done.stderr[-500:]}")
    for call in calls[marks[0] + 1 : marks[1]] if is_complete else ():
        survey.expect(False, call.partition(" ")[2])
    survey.outcomes["read or refused"] = many if is_complete else 0
    return survey
