"""`manage.py accuracy`: the accuracy of everything that predicts blocks on a machine."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from inference.core.protocols import Json
from inference.features.asking.predictors.query import predictor_row
from inference.features.judging.accuracy_checks.query import check_of
from inference.features.judging.accuracy_checks.request import KIND, AccuracyCheckConfig
from inference.features.judging.engine.tables import result_tables, shell_lines
from inference.measuring.blocks import MODES
from inference.models import BasicBlockSet, Machine, Run
from inference.runs import lifecycle
from inference.storage.names import by_name
from inference.web.run_command import RunCommand

_MAX_LINES = 20
"""Rows printed of a table; the page has all."""


class Command(RunCommand):
    help = (
        "Measure basic blocks of a set on a machine, and score its core model, its mappings and all "
        "tools against that: by component, with the worst blocks and what they have in common."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("block_set", metavar="SET", help="a basic-block set")
        parser.add_argument("--machine", required=True, metavar="NAME")
        usual = AccuracyCheckConfig.default_of
        parser.add_argument(
            "--blocks",
            type=int,
            default=usual("blocks"),
            metavar="N",
            help=f"blocks sampled from the set, at most; default: {usual('blocks')}",
        )
        parser.add_argument("--seed", type=int, default=usual("seed"), metavar="S")
        parser.add_argument("--mode", choices=MODES, default=usual("mode"))
        parser.add_argument(
            "--rounds",
            type=int,
            default=usual("rounds"),
            metavar="N",
            help=f"measurements of each block, whose median counts; default: {usual('rounds')}",
        )
        parser.add_argument(
            "--predictor",
            action="append",
            default=[],
            dest="predictors",
            metavar="NAME",
            help="a predictor of `manage.py predictors`; repeatable (default: all that fit the machine)",
        )
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        run = self.do_run(lambda: _submit_run(options))
        check = check_of(run)
        assert check is not None, "it is done"
        document = {"run": run.pk, "block_set": run.result["block_set"], **check}
        lines = shell_lines(result_tables({"check": check}), max_rows=_MAX_LINES)
        page = f"the page with all results: /accuracy/{run.pk}/"
        self.print_answer(document, [*lines, page], as_json=options["json"])


def _submit_run(options: dict[str, Any]) -> Run:
    row = by_name(BasicBlockSet, options["block_set"])
    machine = by_name(Machine, options["machine"])
    predictors = [predictor_row(name, may_choose=True).pk for name in options["predictors"]]
    config: Json = {
        "machine": machine.pk,
        "block_set": row.pk,
        "predictors": predictors,
        **{name: options[name] for name in ("blocks", "seed", "mode", "rounds")},
    }
    return lifecycle.submit(KIND, config)
