"""Accuracy as a gate: columns held against a baseline of theirs.

A column is worse when its MAPE has grown by more than a tolerance, or when it answers fewer blocks: a tool
that leaves out what it is bad at would pass otherwise. That has no tolerance: answers are counted, not
measured.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from inference.core.protocols import Json
from inference.formats.accuracy_baseline import AccuracyBaseline, BaselineColumn
from inference.formats.junit import TestCase, write_junit
from inference.formats.problems import ExchangeError
from inference.web.published_page import CellKind, PublishedColumn, PublishedTable

DEFAULT_TOLERANCE = 0.5
"""Percentage points of MAPE: a set that is measured again moves by less."""
MOST_TOLERANCE = 100.0
_ROUNDING = 1e-9
"""Percentage points by which sums in another order differ."""


@dataclass(frozen=True)
class ColumnVerdict:
    """A column `before` and `now`; `reasons` why it is worse, none where it is not."""

    name: str
    before: BaselineColumn
    now: BaselineColumn
    reasons: tuple[str, ...]

    @property
    def change(self) -> float | None:
        """Percentage points of MAPE; None where one is undefined."""
        if self.before.mape is None or self.now.mape is None:
            return None
        return self.now.mape - self.before.mape

    @property
    def text(self) -> str:
        """All numbers in a line."""
        parts = (
            f"MAPE {_told(self.before.mape, 2)} % → {_told(self.now.mape, 2)} %",
            f"τ {_told(self.before.kendall, 3)} → {_told(self.now.kendall, 3)}",
            f"answered {self.before.answered:,} → {self.now.answered:,}",
        )
        return ", ".join(parts)


@dataclass(frozen=True)
class GateResult:
    """Verdicts on columns of a set; `added`: columns that the baseline does not have, not judged."""

    block_set: str
    baseline: AccuracyBaseline
    numbers: int
    tolerance: float
    verdicts: tuple[ColumnVerdict, ...]
    added: tuple[str, ...]

    @property
    def worse(self) -> tuple[ColumnVerdict, ...]:
        """Those that do not pass."""
        return tuple(one for one in self.verdicts if one.reasons)

    def as_json(self) -> Json:
        return {
            "set": self.block_set,
            "reference": self.baseline.reference,
            "tolerance": self.tolerance,
            "numbers_before": self.baseline.numbers,
            "numbers": self.numbers,
            "worse": [one.name for one in self.worse],
            "columns": [
                {
                    "name": one.name,
                    "worse": bool(one.reasons),
                    "reasons": list(one.reasons),
                    "before": _numbers(one.before),
                    "now": _numbers(one.now),
                }
                for one in self.verdicts
            ],
            "added": list(self.added),
        }

    @property
    def table(self) -> PublishedTable:
        """A row per column; one that passes has no reasons."""
        numbers = (("MAPE", 2), ("Kendall’s τ", 3), ("Answered", 0))
        heads = (
            PublishedColumn(f"{title} {when}", CellKind.NUMBER, decimals)
            for title, decimals in numbers
            for when in ("before", "now")
        )
        rows = tuple(
            (
                *(one.name, one.before.mape, one.now.mape, one.before.kendall, one.now.kendall),
                *(one.before.answered, one.now.answered, "; ".join(one.reasons) or "passes"),
            )
            for one in self.verdicts
        )
        columns = (PublishedColumn("Column"), *heads, PublishedColumn("Verdict"))
        return PublishedTable("gate", f"{self.block_set} beside its baseline", columns, rows)

    def as_junit(self) -> str:
        """A test case per column; those that the baseline does not have are skipped."""
        judged = [TestCase(one.name, one.text, "; ".join(one.reasons)) for one in self.verdicts]
        new = [TestCase(name, "", skipped="the baseline has no such column") for name in self.added]
        suite = f"accuracy on {self.block_set} beside {self.baseline.reference}"
        return write_junit(suite, self.block_set, [*judged, *new])


def columns_named(
    columns: Sequence[BaselineColumn], where: str, only: Collection[str]
) -> list[BaselineColumn]:
    """Those of these names, or all where there are none. Raises `ExchangeError` for names there are not."""
    known = [column.name for column in columns]
    for name in only:
        if name not in known:
            raise ExchangeError(_no_column(where, name, known))
    return [column for column in columns if not only or column.name in only]


def judged(
    baseline: AccuracyBaseline, now: AccuracyBaseline, tolerance: float, only: Sequence[str] = ()
) -> GateResult:
    """What is held against the baseline: all columns of that, or those named.

    Raises `ExchangeError` where the two are not about the same blocks and reference, or a column is missing.
    """
    if not 0 <= tolerance <= MOST_TOLERANCE:
        raise ExchangeError(f"the tolerance is 0 to {MOST_TOLERANCE:g} percentage points, not {tolerance:g}")
    if baseline.digest != now.digest:
        raise ExchangeError(
            f"the baseline is of other blocks: {baseline.blocks:,} of {baseline.set!r}, not the "
            f"{now.blocks:,} of {now.set!r}"
        )
    if baseline.reference != now.reference:
        raise ExchangeError(
            f"the baseline was taken beside {baseline.reference!r}, not beside {now.reference!r}"
        )
    before = {column.name: column for column in baseline.columns}
    there = {column.name: column for column in now.columns}
    names = [column.name for column in columns_named(baseline.columns, "the baseline", only)]
    columns_named(now.columns, now.set, names)
    verdicts = tuple(
        ColumnVerdict(name, before[name], there[name], _reasons(before[name], there[name], tolerance))
        for name in names
    )
    added = () if only else tuple(name for name in there if name not in before)
    return GateResult(now.set, baseline, now.numbers, tolerance, verdicts, added)


def _reasons(before: BaselineColumn, now: BaselineColumn, tolerance: float) -> tuple[str, ...]:
    reasons = []
    then = before.mape
    if then is not None and now.mape is None:
        reasons.append(f"nothing to compare any more, where MAPE was {then:.2f} %")
    elif then is not None and now.mape is not None and now.mape > then + tolerance + _ROUNDING:
        reasons.append(f"MAPE {now.mape:.2f} % instead of {then:.2f} %: more than {tolerance:g} points worse")
    if now.answered < before.answered:
        reasons.append(f"{now.answered:,} blocks answered instead of {before.answered:,}")
    return tuple(reasons)


def _no_column(where: str, name: str, known: Sequence[str]) -> str:
    return f"{where} has no column {name!r}, only {', '.join(known) or 'none'}"


def _numbers(column: BaselineColumn) -> Json:
    return column.model_dump(exclude={"name"})


def _told(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"
