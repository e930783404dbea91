"""Compiling inner loops takes nothing of a search's time limit."""

from __future__ import annotations

import time
from typing import Any

import pytest

from inference.core.pacing import PacedReporter
from inference.core.search_clocks import SearchClock, computing_seconds, elapsed_seconds
from tests.core.pmevo.small import Listener


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_stopped_clock_stands_still() -> None:
    clock = Clock()
    searching = SearchClock(clock)
    clock.now += 1
    searching.stop()
    clock.now += 30
    assert searching() == 101
    searching.start()
    assert searching() == 101
    clock.now += 2
    assert searching() == 103
    searching.start()  # it runs already
    assert searching() == 103


@pytest.fixture
def compiled() -> tuple[float, float]:
    """Seconds of computing before and after, by the processor and by the clock, of compiling a function."""
    import numba

    import inference.core.compiling  # noqa: F401  stops the clocks

    compile_: Any = numba.njit  # its declared types know no functions of integers

    def inner(number: int) -> int:
        return number + 1

    called = compile_(inner)  # compiled while its caller is

    def outer(number: int) -> int:
        doubled: int = called(number) * 2
        return doubled

    before, began = computing_seconds(), time.process_time()
    assert compile_(outer)(1) == 4
    return computing_seconds() - before, time.process_time() - began


def test_compiling_does_not_count(compiled: tuple[float, float]) -> None:
    searching, computing = compiled
    assert searching < computing / 2
    before = computing_seconds(), elapsed_seconds()
    ends = time.process_time() + 0.01
    while time.process_time() < ends:
        pass
    assert (computing_seconds(), elapsed_seconds()) > before  # both go on


def test_a_reporter_reaches_its_limit_without_the_time_of_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    searching = SearchClock(clock)
    monkeypatch.setattr("inference.core.pacing.elapsed_seconds", searching)
    pace = PacedReporter(Listener())
    pace.may_finish = True
    pace.limit(10)
    searching.stop()
    clock.now += 60
    searching.start()
    pace.pulse()
    assert (pace.finishing, pace.elapsed) == (False, 0)
    clock.now += 11
    pace.pulse()
    assert pace.finishing
