"""Accuracy as a gate: sources held against a baseline of theirs, on pages and in commands.

A source is worse when its MAPE has grown by more than a tolerance, or when it answers fewer items: a tool
that leaves out what it is bad at would pass otherwise. That has no tolerance: answers are counted, not
measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import CommandError, CommandParser

from inference.core.judging.sheet import ItemKind
from inference.core.protocols import Json
from inference.features.judging.engine.query import (
    EVERYTHING,
    agreement_of,
    columns_of,
    key_of,
    sheet_of,
)
from inference.formats.accuracy_baseline import (
    LIMIT_BYTES,
    AccuracyBaseline,
    BaselineColumn,
    digest_of_blocks,
    read_baseline,
    write_baseline,
)
from inference.formats.junit import TestCase, write_junit
from inference.formats.problems import ExchangeError
from inference.models import BasicBlock, Comparison
from inference.storage.instruction_sets import code_isa
from inference.web.data_command import write_file
from inference.web.published_page import CellKind, PublishedColumn, PublishedTable
from inference.web.run_command import RunCommand

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


_ROWS = 500


def baseline_of(row: Comparison) -> AccuracyBaseline:
    """The scores in cycles of all columns; the digest is of the blocks or of the experiments' texts."""
    sheet = sheet_of(key_of(row))
    columns = [
        BaselineColumn(
            name=column.name,
            answered=int((sheet.columns[column.position].reasons == 0).sum()),
            mape=scores.mape,
            kendall=scores.kendall,
        )
        for column in columns_of(row)
        if (scores := agreement_of(column, EVERYTHING).scores)
    ]
    return AccuracyBaseline(
        set=row.source,
        blocks=row.n,
        digest=digest_of_blocks(_codes(row), code_isa(row.isa)),
        reference=row.reference or "measured",
        numbers=int((sheet.reference > 0).sum()),
        columns=columns,
    )


def _codes(row: Comparison) -> Iterable[bytes]:
    items = sheet_of(key_of(row)).items
    if row.item_kind == ItemKind.EXPERIMENTS:
        assert items.table is not None, "experiments have schemes"
        yield from (str(items.table.experiment(number)).encode() for number in range(len(items)))
        return
    ids = items.ids.tolist()
    for start in range(0, len(ids), _ROWS):
        rows = BasicBlock.objects.filter(pk__in=ids[start : start + _ROWS])
        yield from map(bytes, rows.values_list("code", flat=True))


WORSE = 2
"""Exit status where a source is worse than its baseline; everything else that goes wrong is 1."""
_USAGE = 2
"""The same number is argparse's for a wrong option."""


class GatedCommand(RunCommand):
    """A command with the options `write_baseline`, `baseline`, `tolerance`, `junit` and `json`."""

    columns_noun = "columns"

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        """As usual, but for the exit status of a wrong option: 2 is for sources that are worse."""
        parser = super().create_parser(prog_name, subcommand, **options)
        parser.exit = partial(exit_as_error, parser.exit)  # type: ignore[method-assign]  # argparse has no other way
        return parser

    def write_baseline(self, baseline: AccuracyBaseline, options: dict[str, Any]) -> None:
        file = options["write_baseline"]
        write_file(Path(file), write_baseline(baseline).encode())
        if options["json"]:
            self.stdout.write(json.dumps(baseline.model_dump(), ensure_ascii=False))
        else:
            count = len(baseline.columns)
            self.stdout.write(f"{file}: {count} {self.columns_noun} beside {baseline.reference}")

    def hold_against_baseline(
        self, now: AccuracyBaseline, options: dict[str, Any], only: Sequence[str] = ()
    ) -> None:
        """Write the verdicts on the file's columns, or those named; `CommandError` where any is worse."""
        file = options["baseline"]
        tolerance = DEFAULT_TOLERANCE if options["tolerance"] is None else options["tolerance"]
        verdicts = judged(read_baseline(_content(file), file), now, tolerance, only)
        if options["junit"]:
            write_file(Path(options["junit"]), verdicts.as_junit().encode())
        lines = (
            [json.dumps(verdicts.as_json(), ensure_ascii=False)] if options["json"] else gate_lines(verdicts)
        )
        for line in lines:
            self.stdout.write(line)
        if verdicts.worse:
            names = ", ".join(verdict.name for verdict in verdicts.worse)
            raise CommandError(f"worse than {file}: {names}", returncode=WORSE)


def exit_as_error(
    leave: Callable[[int, str | None], NoReturn], status: int = 0, message: str | None = None
) -> NoReturn:
    """End the program, with 1 in place of argparse's status for wrong options."""
    leave(1 if status == _USAGE else status, message)


def gate_lines(result: GateResult) -> Iterator[str]:
    before, now = result.baseline.numbers, result.numbers
    changed = "" if before == now else f" ({before:,} before)"
    yield f"{result.baseline.reference}: a number above 0 for {now:,} blocks{changed}"
    for verdict in result.verdicts:
        yield f"  {'WORSE' if verdict.reasons else 'ok   '} {verdict.name}: {verdict.text}"
        for reason in verdict.reasons:
            yield f"        {reason}"
    for name in result.added:
        yield f"  new   {name}: not in the baseline, not judged"


def _content(file: str) -> bytes:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(LIMIT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error
