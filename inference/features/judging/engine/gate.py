"""Accuracy as a gate: the scores of sources against a baseline, for pages and commands.

A source is worse if its MAPE has grown by more than a tolerance, or if it answers fewer items: otherwise a
tool could pass by leaving out items. The number of answers has no tolerance, since it is no measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import CommandError, CommandParser

from inference.core.judging.sheet import ItemKind
from inference.core.protocols import Json
from inference.features.judging.engine.query import (
    FULL_COMPARISON,
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
"""Percentage points of MAPE; more than a repeated measurement of a set changes it."""
MAX_TOLERANCE = 100.0
_ROUNDING = 1e-9
"""Percentage points that another order of summation may change."""


@dataclass(frozen=True)
class ColumnVerdict:
    """A column `before` and `now`; `reasons`: why it is worse, () if it passes."""

    name: str
    before: BaselineColumn
    now: BaselineColumn
    reasons: tuple[str, ...]

    @property
    def change(self) -> float | None:
        """Change of MAPE in percentage points; None if one is undefined."""
        if self.before.mape is None or self.now.mape is None:
            return None
        return self.now.mape - self.before.mape

    @property
    def text(self) -> str:
        """The numbers before and now, in one line."""
        parts = (
            f"MAPE {_number_text(self.before.mape, 2)} % → {_number_text(self.now.mape, 2)} %",
            f"τ {_number_text(self.before.kendall, 3)} → {_number_text(self.now.kendall, 3)}",
            f"answered {self.before.answered:,} → {self.now.answered:,}",
        )
        return ", ".join(parts)


@dataclass(frozen=True)
class GateResult:
    """Verdicts on the columns of a set; `added`: columns that the baseline lacks, which are not judged."""

    block_set: str
    baseline: AccuracyBaseline
    numbers: int
    tolerance: float
    verdicts: tuple[ColumnVerdict, ...]
    added: tuple[str, ...]

    @property
    def worse(self) -> tuple[ColumnVerdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.reasons)

    def as_json(self) -> Json:
        return {
            "set": self.block_set,
            "reference": self.baseline.reference,
            "tolerance": self.tolerance,
            "numbers_before": self.baseline.numbers,
            "numbers": self.numbers,
            "worse": [verdict.name for verdict in self.worse],
            "columns": [
                {
                    "name": verdict.name,
                    "worse": bool(verdict.reasons),
                    "reasons": list(verdict.reasons),
                    "before": _numbers(verdict.before),
                    "now": _numbers(verdict.now),
                }
                for verdict in self.verdicts
            ],
            "added": list(self.added),
        }

    @property
    def table(self) -> PublishedTable:
        """A row per column, with the reasons or `passes`."""
        numbers = (("MAPE", 2), ("Kendall’s τ", 3), ("Answered", 0))
        heads = (
            PublishedColumn(f"{title} {when}", CellKind.NUMBER, decimals)
            for title, decimals in numbers
            for when in ("before", "now")
        )
        rows = tuple(
            (
                *(
                    verdict.name,
                    verdict.before.mape,
                    verdict.now.mape,
                    verdict.before.kendall,
                    verdict.now.kendall,
                ),
                *(verdict.before.answered, verdict.now.answered, "; ".join(verdict.reasons) or "passes"),
            )
            for verdict in self.verdicts
        )
        columns = (PublishedColumn("Column"), *heads, PublishedColumn("Verdict"))
        return PublishedTable("gate", f"{self.block_set} compared with its baseline", columns, rows)

    def as_junit(self) -> str:
        """JUnit XML with a test case per column; columns that the baseline lacks are skipped."""
        judged = [TestCase(row.name, row.text, "; ".join(row.reasons)) for row in self.verdicts]
        new = [TestCase(name, "", skipped="the baseline has no such column") for name in self.added]
        suite = f"accuracy on {self.block_set} beside {self.baseline.reference}"
        return write_junit(suite, self.block_set, [*judged, *new])


def select_columns(
    columns: Sequence[BaselineColumn], where: str, only: Collection[str]
) -> list[BaselineColumn]:
    """The columns with a name in `only`, all if it is empty. Raises `ExchangeError` for an unknown name."""
    names = [column.name for column in columns]
    for name in only:
        if name not in names:
            raise ExchangeError(_no_column(where, name, names))
    return [column for column in columns if not only or column.name in only]


def judge_against_baseline(
    baseline: AccuracyBaseline, now: AccuracyBaseline, tolerance: float, only: Sequence[str] = ()
) -> GateResult:
    """Compare the columns of a baseline, or those in `only`, with their present scores.

    Raises `ExchangeError` if the blocks or the reference differ, or a column is missing.
    """
    if not 0 <= tolerance <= MAX_TOLERANCE:
        raise ExchangeError(f"the tolerance is 0 to {MAX_TOLERANCE:g} percentage points, not {tolerance:g}")
    if baseline.digest != now.digest:
        raise ExchangeError(
            f"the baseline has other blocks: {baseline.blocks:,} of {baseline.set!r}, not the "
            f"{now.blocks:,} of {now.set!r}"
        )
    if baseline.reference != now.reference:
        raise ExchangeError(f"the reference of the baseline is {baseline.reference!r}, not {now.reference!r}")
    before = {column.name: column for column in baseline.columns}
    current = {column.name: column for column in now.columns}
    names = [column.name for column in select_columns(baseline.columns, "the baseline", only)]
    select_columns(now.columns, now.set, names)
    verdicts = tuple(
        ColumnVerdict(name, before[name], current[name], _reasons(before[name], current[name], tolerance))
        for name in names
    )
    added = () if only else tuple(name for name in current if name not in before)
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


def _no_column(where: str, name: str, names: Sequence[str]) -> str:
    return f"{where} has no column {name!r}, only {', '.join(names) or 'none'}"


def _numbers(column: BaselineColumn) -> Json:
    return column.model_dump(exclude={"name"})


def _number_text(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"


_ROWS = 500


def baseline_of(row: Comparison) -> AccuracyBaseline:
    """The baseline of a comparison, in cycles; its digest covers the blocks or the experiments' texts."""
    sheet = sheet_of(key_of(row))
    columns = [
        BaselineColumn(
            name=column.name,
            answered=int((sheet.columns[column.position].reasons == 0).sum()),
            mape=scores.mape,
            kendall=scores.kendall,
        )
        for column in columns_of(row)
        if (scores := agreement_of(column, FULL_COMPARISON).scores)
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
"""Exit status if a source is worse than its baseline; other errors have 1."""
_USAGE = 2
"""argparse's exit status for a wrong option, which equals `WORSE`."""


class GatedCommand(RunCommand):
    """A command with the options `write_baseline`, `baseline`, `tolerance`, `junit` and `json`."""

    columns_noun = "columns"

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        """The usual parser, with exit status 1 for a wrong option: 2 means that a source is worse."""
        parser = super().create_parser(prog_name, subcommand, **options)
        # argparse has no other way
        parser.exit = partial(exit_as_error, parser.exit)  # type: ignore[method-assign]
        return parser

    def write_baseline(self, baseline: AccuracyBaseline, options: dict[str, Any]) -> None:
        file = options["write_baseline"]
        write_file(Path(file), write_baseline(baseline).encode())
        line = f"{file}: {len(baseline.columns)} {self.columns_noun} beside {baseline.reference}"
        self.print_answer(baseline.model_dump(), [line], as_json=options["json"])

    def check_against_baseline(
        self, now: AccuracyBaseline, options: dict[str, Any], only: Sequence[str] = ()
    ) -> None:
        """Print the verdicts on the file's columns, or those in `only`. Raises `CommandError` if any is
        worse."""
        file = options["baseline"]
        tolerance = DEFAULT_TOLERANCE if options["tolerance"] is None else options["tolerance"]
        verdicts = judge_against_baseline(read_baseline(_content(file), file), now, tolerance, only)
        if options["junit"]:
            write_file(Path(options["junit"]), verdicts.as_junit().encode())
        self.print_answer(verdicts.as_json(), gate_lines(verdicts), as_json=options["json"])
        if verdicts.worse:
            names = ", ".join(verdict.name for verdict in verdicts.worse)
            raise CommandError(f"worse than {file}: {names}", returncode=WORSE)


def exit_as_error(
    leave: Callable[[int, str | None], NoReturn], status: int = 0, message: str | None = None
) -> NoReturn:
    """Exit like `leave`, with status 1 in place of argparse's 2 for wrong options."""
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
