"""Files, uploads and requests that nobody should send: how many of them are answered as they should be.

`files`: every reader by itself, with 100,000 inputs each, made from small sound files (see
`_input_mutations`). An input is a function of the seed, the reader's name and its number, so each failure can
be had again; what fails is made smaller as long as it fails in the same way. A failure is whatever a reader
raises that is not its own kind of error, a value that no database could hold, or more than five seconds.
`uploads`: 2,000 of these files through the pages of a site, from the form to the import by a worker.
`requests`: 10,000 that schemathesis makes of the API's document, sound and unsound ones. `floods`: bodies of
few megabytes that cost much and texts of one word, repeated, sent to a site in processes of its own, whose
`/health/` and memory are watched meanwhile.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.test import override_settings

from benchmarks import Result
from benchmarks._input_floods import floods
from benchmarks._input_importers import IMPORTERS, Importer
from benchmarks._input_mutations import mutated
from benchmarks._input_requests import fuzz_requests
from benchmarks._input_site import furnished
from benchmarks._input_uploads import fuzz_uploads
from benchmarks._survey import Survey
from benchmarks._temporary_database import PLAIN_STATIC, temporary_database

INPUTS, UPLOADS, REQUESTS = 100_000, 2_000, 10_000
QUICK = 50
"""Times fewer of each, to see whether it works."""
SEED = 12
LONGEST = 5.0
"""Seconds of computing, whoever else computes here."""
_SHOWN = 10
_TRIES = 400


class HangError(BaseException):
    """Something has taken longer than `LONGEST`; no handler of `Exception` takes it for its own."""


def run(quick: bool) -> Iterator[Result]:
    """All cases; `PMWEB_HOSTILE` names a few of them, `PMWEB_HOSTILE_INPUTS` another number of each."""
    chosen = os.environ.get("PMWEB_HOSTILE", "").split()
    wanted = os.environ.get("PMWEB_HOSTILE_INPUTS")
    files, uploads, requests = (
        int(wanted or many) // (QUICK if quick else 1) for many in (INPUTS, UPLOADS, REQUESTS)
    )
    with temporary_database(), override_settings(STORAGES=PLAIN_STATIC, ALLOWED_HOSTS=["testserver"]):
        browser, token = furnished()
        for importer in IMPORTERS:
            if not chosen or importer.name in chosen:
                yield _files(importer, files)
        if not chosen or "uploads" in chosen:
            yield _surveyed("uploads", lambda: fuzz_uploads(browser, SEED, uploads))
        if not chosen or "requests" in chosen:
            yield _surveyed("requests", lambda: fuzz_requests(token, SEED, requests))
    if not chosen or "floods" in chosen:
        yield from floods(quick)


def _surveyed(case: str, fuzz: Callable[[], Survey]) -> Result:
    began, before = time.monotonic(), _resident()
    survey = fuzz()
    more = {
        "seed": SEED,
        **survey.as_json(),
        "seconds": round(time.monotonic() - began, 1),
        "memory_mb": [before, _resident()],
    }
    return Result(case, survey.total - len(survey.failures), "answered", survey.total, more)


def _files(importer: Importer, n: int) -> Result:
    sound = importer.sound()
    failures: dict[str, dict[str, object]] = {}
    counts: Counter[str] = Counter()
    slowest = 0.0
    began, before = time.monotonic(), _resident()
    for number in range(n):
        content = input_of(importer.name, number, sound)
        spent = time.process_time()
        outcome = failure_of(importer, content)
        slowest = max(slowest, time.process_time() - spent)
        counts[outcome.split(":")[0]] += 1
        if outcome not in ("accepted", "refused") and outcome not in failures:
            small = _shrunk(importer, content, outcome)
            failures[outcome] = {"number": number, "bytes": len(small), "input": repr(small[:300])}
    good = counts["accepted"] + counts["refused"]
    more = {
        "seed": SEED,
        "outcomes": dict(counts.most_common()),
        "slowest_seconds": round(slowest, 2),
        "seconds": round(time.monotonic() - began, 1),
        "memory_mb": [before, _resident()],
        "failures": dict(list(failures.items())[:_SHOWN]),
    }
    return Result(importer.name, good, "answered", n, more)


def input_of(name: str, number: int, sound: object) -> bytes:
    """The input of this number for a reader; the same every time."""
    return mutated(sound, random.Random(f"{SEED} {name} {number}"))  # type: ignore[arg-type]


def failure_of(importer: Importer, content: bytes) -> str:
    """`accepted`, `refused`, or how and where the reader fails."""
    try:
        with _alarm():
            return "accepted" if importer.read(content) else "refused"
    except HangError:
        return f"hang: more than {LONGEST:g} s"
    except Exception as error:  # noqa: BLE001 that is what is counted
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {place.filename.rpartition('/')[2]}:{place.lineno}"


def _shrunk(importer: Importer, content: bytes, outcome: str) -> bytes:
    """A part of the content that fails in the same way: ever smaller pieces are left out."""
    piece, tries = max(1, len(content) // 2), 0
    while piece and tries < _TRIES and not outcome.startswith("hang"):
        at = 0
        while at < len(content) and tries < _TRIES:
            tries += 1
            shorter = content[:at] + content[at + piece :]
            if failure_of(importer, shorter) == outcome:
                content = shorter
            else:
                at += piece
        piece //= 2
    return content


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _resident() -> int:
    """MiB that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
