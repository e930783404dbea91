"""`manage.py predict`: with `--predictor`, basic blocks by any predictors; else experiments by mappings.

It takes the place of inference's command of that name and leaves experiments to it.
"""

from __future__ import annotations

import csv
import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from anica_app.campaigning.asking import ask
from anica_app.campaigning.predictors import chosen
from anica_app.core.answers import Answer
from anica_app.core.errors import PredictorError
from inference.isa.x86.blocks import Block, BlockError, read_blocks
from inference.management.commands.predict import Command as PredictExperiment

MOST_BLOCKS = 100_000
_SHOWN = 44


class Command(PredictExperiment):
    """Predictions of blocks in the shell; see the module."""

    help = (
        "Predict an experiment's inverse throughput, name what limits it, and show the load of every port. "
        "With --predictor: ask predictors for the cycles that basic blocks take per execution."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        super().add_arguments(parser)
        (what,) = (action for action in parser._actions if action.dest == "experiment")
        what.metavar = "EXPERIMENT|FILE"
        what.help = (
            f"{what.help}; with --predictor a file of blocks in Intel or AT&T syntax or hexadecimal digits, "
            "a paragraph each, or a CSV file with digits in its first column; - for the standard input"
        )
        parser.add_argument(
            "--predictor",
            metavar="NAME",
            action="append",
            default=[],
            help="who predicts the blocks, by its name in `manage.py predictors` or as "
            "KIND:OPTION=VALUE,…, e.g. llvm-mca:release=19,cpu=haswell; repeatable",
        )
        parser.add_argument("--csv", action="store_true", help="with --predictor: print a CSV file")
        parser.add_argument(
            "--again", action="store_true", help="with --predictor: do not look up what was answered before"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Predict and print."""
        if not options["predictor"]:
            super().handle(*args, **options)
            return
        try:
            blocks = read_blocks(_text(options["experiment"]), MOST_BLOCKS)
        except BlockError as error:
            raise CommandError(str(error)) from error
        names, answers = _asked(options["predictor"], blocks, anew=options["again"])
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(names, blocks, answers), ensure_ascii=False))
        elif options["csv"]:
            self._write_csv(names, blocks, answers)
        else:
            self._write_table(names, blocks, answers)

    def _write_csv(
        self, names: Sequence[str], blocks: Sequence[Block], answers: Sequence[Sequence[Answer]]
    ) -> None:
        """The published form of a set of blocks; what has no number is −1."""
        writer = csv.writer(self.stdout, lineterminator="\n")
        writer.writerow(["bb", *names])
        for block, row in zip(blocks, answers, strict=True):
            cells = [-1 if answer.cycles is None else round(answer.cycles, 6) for answer in row]
            writer.writerow([block.hex, *cells])

    def _write_table(
        self, names: Sequence[str], blocks: Sequence[Block], answers: Sequence[Sequence[Answer]]
    ) -> None:
        widths = [max(len(name), 11) for name in names]
        heads = "  ".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
        self.stdout.write(f"{'block':<{_SHOWN}}  {heads}")
        for block, row in zip(blocks, answers, strict=True):
            text = "; ".join(one.text for one in block.instructions)
            text = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
            cells = [answer.failure if answer.cycles is None else f"{answer.cycles:.2f}" for answer in row]
            shown = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
            self.stdout.write(f"{text:<{_SHOWN}}  {shown}")
            for name, answer in zip(names, row, strict=True):
                if answer.detail:
                    self.stdout.write(f"  {name}: {answer.detail}")


def _asked(
    texts: Sequence[str], blocks: Sequence[Block], *, anew: bool
) -> tuple[list[str], list[list[Answer]]]:
    """Names of the predictors, and per block an answer of each."""
    try:
        rows = [chosen(text) for text in dict.fromkeys(texts)]
    except PredictorError as error:
        raise CommandError(str(error)) from error
    columns = ask(rows, [block.code for block in blocks], remembering=not anew)
    if errors := [column.error for column in columns if column.error]:
        raise CommandError("\n".join(errors))
    names = [column.predictor.name for column in columns]
    return names, [list(row) for row in zip(*(column.answers for column in columns), strict=True)]


def _as_json(
    names: Sequence[str], blocks: Sequence[Block], answers: Sequence[Sequence[Answer]]
) -> dict[str, Any]:
    return {
        "predictors": list(names),
        "blocks": [
            {
                "hex": block.hex,
                "assembly": [one.text for one in block.instructions],
                "answers": [
                    {"cycles": one.cycles, "failure": one.failure, "detail": one.detail} for one in row
                ],
            }
            for block, row in zip(blocks, answers, strict=True)
        ],
    }


def _text(path: str) -> str:
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error
