"""`manage.py compare-predictors SET`: mappings and tools on the same measurements, as a table."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from inference.core.metrics import Unit
from inference.features.asking.predictors.modes import add_mode_option
from inference.features.asking.predictors.query import chosen
from inference.features.judging.engine.file_pages import answer_lines, score_table
from inference.features.judging.engine.query import (
    ComparisonPart,
    columns_of,
    comparison_rows,
    key_of,
    scores_of,
    sheet_of,
)
from inference.features.judging.engine.request import BY_KIND_OF_COLUMN
from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.runs.lifecycle import submit, unused_name
from inference.storage.names import by_name
from inference.web.run_command import RunCommand

UNITS = ("cycles", "cpi", "ipc")


class Command(RunCommand):
    """A comparison in the shell; see the module."""

    help = (
        "Give the experiments of a set to port mappings, resource mappings, llvm-mca, OSACA or whatever "
        "else predicts, and hold them against its measurements: MAPE, r, τ and coverage of each."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("set", metavar="SET", help="an experiment set")
        many: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME"}
        parser.add_argument("--mapping", **many, help="a port mapping or a resource mapping; may be repeated")
        parser.add_argument("--tool", **many, help="a tool whose answers came with the set; may be repeated")
        parser.add_argument("--other-set", **many, help="other measurements of the experiments; repeatable")
        parser.add_argument(
            "--predictor",
            **many,
            help="a predictor to ask: one of `manage.py predictors`, or e.g. llvm-mca:release=19,cpu=skylake",
        )
        parser.add_argument("--instructions", type=int, default=10, help="of a block at least (default: 10)")
        parser.add_argument(
            "--most", type=int, default=20_000, help="experiments to ask for (default: 20000)"
        )
        parser.add_argument("--seed", type=int, default=1, help="draws them, where there are more")
        add_mode_option(parser, "in a loop where the set was measured here, else as each predictor says")
        parser.add_argument("--unit", choices=UNITS, default="cycles")
        parser.add_argument("--name", default="", help="of the run")
        parser.add_argument("--csv", type=Path, metavar="FILE", help="the table as CSV; - for the output")
        parser.add_argument(
            "--answers", type=Path, metavar="FILE", help="a line per experiment with all answers, as CSV"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        config = _config(options)
        usual = unused_name(options["name"] or f"Predictors on {options['set']}"[:180])
        run = self.do_run(lambda: submit(BY_KIND_OF_COLUMN, config, usual))
        self._show(run.pk, options)

    def _show(self, run: int, options: dict[str, Any]) -> None:

        row = comparison_rows().get(run=run)
        columns, unit = columns_of(row), Unit(options["unit"])
        found = [(column, scores_of(column, ComparisonPart(unit))) for column in columns]
        if options["csv"] is not None:
            self.deliver(score_table(columns, ComparisonPart(unit)), _file(options["csv"]))
        if options["csv"] != Path("-"):
            width = max(len(column.name) for column in columns)
            self.stdout.write(f"{'':{width}}  coverage      MAPE       r       τ")
            for column, scores in found:
                share = f"{100 * scores.n / row.n:.1f} %"
                mape = "–" if scores.mape is None else f"{scores.mape:.2f} %"
                numbers = "".join(f"{_decimals(value):>8}" for value in (scores.pearson, scores.kendall))
                self.stdout.write(f"{column.name:{width}}  {share:>8}  {mape:>8}{numbers}")
                if column.error:
                    self.stderr.write(f"{column.name}: {column.error}")
        if options["answers"] is not None:
            lines = answer_lines(sheet_of(key_of(row)), [column.name for column in columns])
            self.deliver("".join(lines), _file(options["answers"]))
        self.stderr.write(f"its page: /comparisons/{run}/")


def _file(given: Path) -> Path | None:
    """Where to write; None for the output, which - stands for."""
    return None if given == Path("-") else given


def _decimals(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _config(options: dict[str, Any]) -> dict[str, Any]:
    """The description of the run. Raises `CommandError` for names that nothing has."""

    resources = list(ResourceMapping.objects.filter(name__in=options["mapping"]))
    named = {row.name for row in resources}
    mappings = [by_name(PortMapping, name) for name in options["mapping"] if name not in named]
    return {
        "experiment_set": by_name(ExperimentSet, options["set"]).pk,
        "mappings": [row.pk for row in mappings],
        "resource_mappings": [row.pk for row in resources],
        "tools": options["tool"],
        "other_sets": [by_name(ExperimentSet, name).pk for name in options["other_set"]],
        "predictors": [chosen(name, may_choose=True).pk for name in options["predictor"]],
        **{name: options[name] for name in ("instructions", "most", "seed", "mode")},
    }
