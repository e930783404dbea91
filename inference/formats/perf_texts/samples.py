"""Samples of a recording, before anybody knows to which bytes of which file they belong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from inference.formats.errors import ExchangeError

MOST_POINTS = 1_000_000
MOST_MAPPED = 100_000


@dataclass(frozen=True, slots=True)
class SampledPoint:
    """A place in running code: what was printed of it.

    `address`: the process's, or with `of_file` the file's; None where only the symbol was printed.
    `symbol` with `offset` bytes behind its begin (None: somewhere in it); `file`: the program or library.
    """

    address: int | None = None
    symbol: str = ""
    offset: int | None = None
    file: str = ""
    process: int | None = None
    of_file: bool = False


@dataclass(frozen=True, slots=True)
class Mapped:
    """A part of a file that a process had in its memory from `begin` to before `end`."""

    process: int
    begin: int
    end: int
    offset: int
    file: str


@dataclass
class PerfSamples:
    """A text of perf's. `counts` and `branches` are of each event by itself: "cycles:u", "" for unnamed.

    `branches`: how often a jump went from one place to another, by the processor's branch records.
    """

    counts: dict[str, Counter[SampledPoint]] = field(default_factory=dict)
    branches: dict[str, Counter[tuple[SampledPoint, SampledPoint]]] = field(default_factory=dict)
    mapped: list[Mapped] = field(default_factory=list)
    percent: bool = False
    """Whether counts are per cent of all samples, not samples."""
    lines: int = 0
    unread: int = 0
    """Lines that are neither samples nor anything that belongs beside them."""
    first_unread: tuple[int, str] | None = None

    def count(self, event: str, point: SampledPoint, number: float = 1) -> None:
        """Note samples. Raises `ExchangeError` where there are too many places."""
        counter = self.counts.setdefault(event, Counter())
        counter[point] += number  # type: ignore[assignment]  # shares of samples, of annotations
        _check(len(counter))

    def jumped(self, event: str, begin: SampledPoint, end: SampledPoint) -> None:
        """Note a jump. Raises `ExchangeError` where there are too many."""
        counter = self.branches.setdefault(event, Counter())
        counter[begin, end] += 1
        _check(len(counter))

    def pass_over(self, number: int, line: str) -> None:
        """Note a line that says nothing."""
        self.unread += 1
        if self.first_unread is None:
            self.first_unread = (number, line.strip()[:80])

    @property
    def events(self) -> list[str]:
        """Those that were recorded, that with the most samples first."""
        return sorted(self.counts, key=lambda event: -self.counts[event].total())


def _check(points: int) -> None:
    if points > MOST_POINTS:
        raise ExchangeError(f"the samples are at more than {MOST_POINTS:,} places: give a part of them")
