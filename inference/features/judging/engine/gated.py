"""The base of commands that keep scores as a baseline, and fail where a source has become worse."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import CommandError, CommandParser

from inference.features.judging.engine.gate import DEFAULT_TOLERANCE, GateResult, judged
from inference.formats.accuracy_baseline import LIMIT_BYTES, AccuracyBaseline, read_baseline, write_baseline
from inference.web.data_command import write_file
from inference.web.run_command import RunCommand

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
