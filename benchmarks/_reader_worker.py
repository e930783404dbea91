"""Texts read one after the other, and what must not happen meanwhile."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._reader_texts import text_of
from benchmarks._reader_trace import traced

LONGEST = 1.0
"""Seconds of computing for one text."""
SECRET = bytes.fromhex("4d0faffe") * 8
"""What the file has that the texts name: instructions (imul r15, r14) that none of them writes."""
MOST = 1000
BEGIN, END = "/the-reading-begins", "/the-reading-ends"
_GROWTH = 512
_WARM = 300
_SHOWN = 20


class SlowError(BaseException):
    """A text has taken longer than `LONGEST`; no handler of `Exception` takes it for its own."""


@dataclass
class Findings:
    """What became of texts, the longest CPU time of one, and every `failure`: {in words: an example}."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)
    failed: int = 0

    def fail(self, what: str, text: str) -> None:
        """Note a failure, and the shortest text that leads to it."""
        self.failed += 1
        self.outcomes["failed"] += 1
        if what not in self.failures or len(text) < len(self.failures[what]):
            self.failures[what] = text

    def as_json(self) -> dict[str, Any]:
        """For people who read it."""
        shown = list(self.failures.items())[:_SHOWN]
        return {
            "outcomes": dict(self.outcomes.most_common()),
            "slowest_ms": round(self.slowest * 1000, 1),
            "failures": {what: repr(text)[:500] for what, text in shown},
        }


def fuzzed(seed: int, numbers: range, file: str) -> Findings:
    """Read the texts of these numbers in this process, traced after a warm-up."""
    found = Findings()
    for number in range(_WARM):
        _tried(text_of(seed + 1, number, file), Findings())
    before = resident()
    with traced() as events:
        for number in numbers:
            text = text_of(seed, number, file)
            _tried(text, found)
            if events:
                found.fail(f"it opens or starts: {events[0]}", text)
                events.clear()
    if resident() - before > _GROWTH:
        found.fail(f"memory grows by {resident() - before} MiB", "")
    return found


def _tried(text: str, found: Findings) -> None:
    from inference.isa.blocks import BlockError, read

    def attempt() -> str:
        try:
            reading = read(text, MOST)
        except BlockError:
            return "refused"
        for piece in reading.pieces:
            if SECRET[:8] in piece.block.code:
                return "failed: the file's content is in a block"
            again = [one.block.code for one in read(piece.block.text, MOST).pieces]
            if again != [piece.block.code]:
                return "failed: what is printed of it is read as other code"
        return "read"

    judge(text, attempt, found)


def judge(text: str, attempt: Callable[[], str], found: Findings) -> None:
    """Count an attempt's outcome: it shall not raise, not take long, and not say that it failed."""
    began = time.process_time()
    try:
        with _alarm():
            outcome = attempt()
    except SlowError:
        outcome = "failed: it takes too long"
    except Exception as error:  # noqa: BLE001 that is what is counted
        frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
        outcome = f"failed: {type(error).__name__} in {Path(frame.f_code.co_filename).name}:{line}"
    spent = time.process_time() - began
    found.slowest = max(found.slowest, spent)
    if outcome.startswith("failed: "):
        found.fail(outcome.removeprefix("failed: "), text)
    elif spent > LONGEST:
        found.fail("it takes too long", text)
    else:
        found.outcomes[outcome] += 1


def resident() -> int:
    """MiB that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise SlowError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, 2 * LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def main() -> None:
    """Read texts for somebody who watches this process: by a seed, how many, and the file that they name.

    Files that do not exist are asked for when it begins and when it ends, so that the watcher knows.
    """
    seed, many, file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    found = Findings()
    for number in range(_WARM):
        _tried(text_of(seed + 1, number, file), Findings())
    os.access(BEGIN, os.R_OK)
    for number in range(many):
        _tried(text_of(seed, number, file), found)
    os.access(END, os.R_OK)


if __name__ == "__main__":
    main()
