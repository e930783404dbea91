"""The options of `manage.py block-sets` that make accuracy a gate, and what they do."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import CommandError

from inference.features.asking.block_sets.columns import column_named
from inference.features.judging.column_accuracy.accuracy import accuracy_of
from inference.features.judging.column_accuracy.gate import DEFAULT_TOLERANCE, GateResult, baseline_of, judged
from inference.formats.accuracy_baseline import LIMIT_BYTES, AccuracyBaseline, read_baseline
from inference.models import BasicBlockSet

WORSE = 2
"""Exit status where a column is worse than its baseline; everything else that goes wrong is 1."""
_USAGE = 2
"""The same number is argparse's for a wrong option."""


def add_gate_options(parser: ArgumentParser) -> None:
    gate = parser.add_mutually_exclusive_group()
    gate.add_argument(
        "--write-baseline", metavar="FILE", default="", help="with --accuracy: keep the scores in a file"
    )
    gate.add_argument(
        "--baseline",
        metavar="FILE",
        default="",
        help="with --accuracy: exit with 2 where a column is worse than this file says, with 1 for errors",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="POINTS",
        help=f"percentage points that a MAPE may grow by; default: {DEFAULT_TOLERANCE:g}",
    )
    parser.add_argument("--junit", metavar="FILE", default="", help="write the verdicts as JUnit XML, too")
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        dest="columns",
        metavar="NAME",
        help="keep, or judge, this column alone; may be repeated",
    )


def check_gate_options(options: Mapping[str, Any]) -> None:
    """Raise `CommandError` where some of them are of no use together."""
    written, held = options["write_baseline"], options["baseline"]
    if (written or held) and not options["accuracy"]:
        raise CommandError("--write-baseline and --baseline need --accuracy with the column that judges")
    if (options["tolerance"] is not None or options["junit"]) and not held:
        raise CommandError("--tolerance and --junit need --baseline")
    if options["columns"] and not (written or held):
        raise CommandError("--column needs --write-baseline or --baseline")


def exit_as_error(
    leave: Callable[[int, str | None], NoReturn], status: int = 0, message: str | None = None
) -> NoReturn:
    """End the program, with 1 in place of argparse's status for wrong options."""
    leave(1 if status == _USAGE else status, message)


def baseline_now(row: BasicBlockSet, options: Mapping[str, Any]) -> AccuracyBaseline:
    """Of the columns asked for. Raises `ExchangeError`."""
    return _baseline(row, options["accuracy"], options["columns"])


def held_against(row: BasicBlockSet, options: Mapping[str, Any]) -> GateResult:
    """The set's columns beside the file. Raises `ExchangeError`, and `CommandError` for a file."""
    file = options["baseline"]
    baseline = read_baseline(_content(file), file)
    tolerance = DEFAULT_TOLERANCE if options["tolerance"] is None else options["tolerance"]
    return judged(baseline, _baseline(row, options["accuracy"]), tolerance, options["columns"])


def gate_lines(found: GateResult) -> Iterator[str]:
    before, now = found.baseline.numbers, found.numbers
    changed = "" if before == now else f" ({before:,} before)"
    yield f"{found.baseline.reference}: a number above 0 for {now:,} blocks{changed}"
    for one in found.verdicts:
        yield f"  {'WORSE' if one.reasons else 'ok   '} {one.name}: {one.text}"
        for reason in one.reasons:
            yield f"        {reason}"
    for name in found.added:
        yield f"  new   {name}: not in the baseline, not judged"


def _baseline(row: BasicBlockSet, reference: str, only: list[str] | None = None) -> AccuracyBaseline:
    column = column_named(row, reference)
    return baseline_of(row, column, accuracy_of(row, column), only or [])


def _content(file: str) -> bytes:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(LIMIT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error
