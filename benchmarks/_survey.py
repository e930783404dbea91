"""What became of inputs that nobody should send: each is tried within bounds, counted and reported."""

from __future__ import annotations

import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import Result
from benchmarks._measured import peak_mebibytes

FAILED = "failed: "
"""Begins an outcome that must not be."""

_SHOWN = 20  # failures that a result names
_TRIES = 400  # smaller inputs tried to shrink a failing one


class HangError(BaseException):
    """An input has taken too long; no handler of `Exception` takes it for its own."""


@dataclass
class Survey:
    """How many inputs of each kind were `sent`, their `outcomes`, and every failure with an example.

    `longest`: seconds of computing that an input may take, whoever else computes here.
    """

    case: str = ""
    seed: int | None = None
    longest: float = 5.0
    sent: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[str, object] = field(default_factory=dict)
    slowest: float = 0.0
    _failed: int = 0
    _began: float = field(default_factory=time.monotonic)
    _peak: float = field(default_factory=peak_mebibytes)

    @property
    def total(self) -> int:
        return self.sent.total() or self.outcomes.total()

    def expect(self, holds: bool, otherwise: str, example: object = "") -> None:
        """Note a failure unless something holds; of several alike, the shortest example is kept."""
        if not holds:
            self._failed += 1
            known = self.failures.get(otherwise)
            if known is None or len(str(example)) < len(str(known)):
                self.failures[otherwise] = example

    def count(self, outcome: str, example: object = "") -> None:
        failure = outcome.removeprefix(FAILED)
        self.outcomes[outcome if failure == outcome else "failed"] += 1
        self.expect(failure == outcome, failure, example)

    def attempt(self, action: Callable[[], str]) -> str:
        """The outcome of an action, in words; one that raises or takes too long has failed."""
        began = time.process_time()
        try:
            with _alarm(self.longest):
                outcome = action()
        except HangError:
            outcome = f"{FAILED}more than {self.longest:g} s"
        except Exception as error:  # noqa: BLE001 that is what is counted
            frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
            outcome = f"{FAILED}{type(error).__name__} in {Path(frame.f_code.co_filename).name}:{line}"
        self.slowest = max(self.slowest, time.process_time() - began)
        return outcome

    def result(self, unit: str = "answered") -> Result:
        """How many inputs of all were dealt with as they should be."""
        more = {
            "seed": self.seed,
            "sent": dict(self.sent.most_common()),
            "outcomes": dict(self.outcomes.most_common()),
            "failures": dict(list(self.failures.items())[:_SHOWN]),
            "slowest_seconds": round(self.slowest, 2),
            "slowest_ms": round(self.slowest * 1000, 1),
            "seconds": round(time.monotonic() - self._began, 1),
            "memory_mb": [round(self._peak), round(peak_mebibytes())],
        }
        return Result(self.case, max(0, self.total - self._failed), unit, self.total, more)


def shrunk(content: bytes, fails_alike: Callable[[bytes], bool]) -> bytes:
    """A part of the content that fails in the same way: ever smaller pieces are left out."""
    piece, tries = max(1, len(content) // 2), 0
    while piece and tries < _TRIES:
        at = 0
        while at < len(content) and tries < _TRIES:
            tries += 1
            shorter = content[:at] + content[at + piece :]
            if fails_alike(shorter):
                content = shorter
            else:
                at += piece
        piece //= 2
    return content


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise `HangError` after so many seconds of CPU."""

    def ring(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
