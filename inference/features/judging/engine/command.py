"""`manage.py judge ITEMS SOURCE…`: any sources of answers on any items, in any view."""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError

from inference.core.judging.disagreement import DifferenceMetric
from inference.core.judging.sheet import ItemSelection
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import add_mode_option
from inference.features.asking.predictors.query import chosen
from inference.features.judging.engine.baseline import baseline_of
from inference.features.judging.engine.gate import DEFAULT_TOLERANCE
from inference.features.judging.engine.gated import WORSE, GatedCommand
from inference.features.judging.engine.query import (
    ComparisonPart,
    columns_of,
    comparison_rows,
    schemes_found,
    selected,
)
from inference.features.judging.engine.request import KIND, JudgeConfig
from inference.features.judging.engine.sources import Subject, source_named
from inference.features.judging.engine.tables import csv_of, shell_lines
from inference.features.judging.engine.view_values import ViewQuestion, view_json
from inference.features.judging.engine.views import VIEWS
from inference.models import BasicBlockSet, Comparison, ExperimentSet
from inference.runs.lifecycle import submit, unused_name
from inference.storage.names import by_name

_SETS: dict[str, type[Subject]] = {"set": ExperimentSet, "blocks": BasicBlockSet}
_RUN = "run"
FINDINGS = {"doubts": "mapping", "excess": "mapping", "congruence": "mapping", "conflicts": "set"}
"""{view that is a command of this name: the kind of its items}."""


class Command(GatedCommand):
    """A comparison in the shell; see the module."""

    columns_noun = "sources"

    help = (
        "Compare any sources of answers on the experiments or blocks of a set, against its measurements or "
        "against another source, and show the result in one of its views."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "items",
            metavar="ITEMS",
            help="set:NAME, an experiment set; blocks:NAME, a basic-block set; run:NUMBER, a comparison; "
            "mapping:NAME, a port mapping whose doubts, excess or congruence are viewed",
        )
        parser.add_argument(
            "sources",
            metavar="SOURCE",
            nargs="*",
            help="mapping:NAME, resources:NAME, core-model:NAME, machine:NAME, predictor:NAME, set:NAME, "
            "tool:NAME or column:NAME; numbers of rows do as well",
        )
        parser.add_argument("--against", metavar="SOURCE", default="", help="what sources are held against")
        parser.add_argument("--view", choices=tuple({**VIEWS, **FINDINGS}), default="scores")
        parser.add_argument("--column", metavar="NAME", default="", help="the source that is looked at")
        parser.add_argument("--unit", choices=[unit.value for unit in Unit], default=Unit.CYCLES.value)
        parser.add_argument("--shortest", type=int, metavar="N", help="instructions of an item, at least")
        parser.add_argument("--longest", type=int, metavar="N", help="instructions of an item, at most")
        parser.add_argument("--search", default="", metavar="SEARCH", help="items with such schemes")
        parser.add_argument("--only", action="store_true", help="items with no other schemes than these")
        parser.add_argument("--common", action="store_true", help="items that every source answered")
        parser.add_argument("--bound", default="", metavar="NAME", help="items with this largest bound")
        parser.add_argument(
            "--apart", type=float, default=0.0, metavar="SHARE", help="relative error, at least"
        )
        parser.add_argument("--threshold", type=float, default=0.5, help="from which sources disagree")
        parser.add_argument(
            "--metric", choices=[metric.value for metric in DifferenceMetric], default="relative"
        )
        for name in ("instructions", "most", "seed"):
            parser.add_argument(f"--{name}", type=int, default=JudgeConfig.usual(name), metavar="N")
        add_mode_option(parser, "as the items were measured")
        parser.add_argument("--name", default="", help="of the run")
        parser.add_argument("--csv", type=Path, metavar="FILE", help="the view as CSV; - for the output")
        gate = parser.add_mutually_exclusive_group()
        gate.add_argument("--write-baseline", metavar="FILE", default="", help="keep the scores in a file")
        gate.add_argument(
            "--baseline",
            metavar="FILE",
            default="",
            help=f"exit with {WORSE} where a source has become worse",
        )
        parser.add_argument("--tolerance", type=float, default=DEFAULT_TOLERANCE, metavar="POINTS")
        parser.add_argument("--junit", metavar="FILE", default="", help="with --baseline: JUnit XML, too")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare, or look at a comparison, and write."""
        if options["view"] not in VIEWS or options["items"].startswith("mapping:"):
            self._show_findings(options)
            return
        row = self._comparison(options)
        if options["write_baseline"]:
            self.write_baseline(baseline_of(row), options)
        elif options["baseline"]:
            self.hold_against_baseline(baseline_of(row), options)
        else:
            self._show(row, options)
        self.stderr.write(f"its page: /comparisons/{row.run_id}/")

    def _show_findings(self, options: dict[str, Any]) -> None:
        """What the command of this name says of the items: which schemes are questionable."""
        view, (kind, _, name) = options["view"], options["items"].partition(":")
        if FINDINGS.get(view) != kind or options["sources"]:
            views = ", ".join(f"{of}:NAME --view {view}" for view, of in FINDINGS.items())
            raise CommandError(f"{options['items']} --view {view}: right would be, without sources, {views}")
        chosen = {"json": options["json"]}
        if options["against"]:
            chosen["dataset" if view == "excess" else "against"] = options["against"].partition(":")[2]
        call_command(view, name, **chosen, stdout=self.stdout, stderr=self.stderr)

    def _comparison(self, options: dict[str, Any]) -> Comparison:
        kind, _, number = options["items"].partition(":")
        if kind == _RUN:
            there = comparison_rows().filter(run=int(number) if number.isdecimal() else 0).first()
            if there is None or options["sources"]:
                raise CommandError(f"{options['items']}: there is no such comparison, or sources beside it")
            return there
        config = _config(options)
        name = unused_name(options["name"] or f"Comparison on {options['items']}"[:180])
        return comparison_rows().get(run=self.do_run(lambda: submit(KIND, config, name)))

    def _show(self, row: Comparison, options: dict[str, Any]) -> None:
        question = _question(row, options)
        view = VIEWS[options["view"]]
        tables = view.tables(question)
        if options["csv"] is not None:
            self.deliver(csv_of(tables[0]), None if options["csv"] == Path("-") else options["csv"])
        if options["json"]:
            view_data = view_json(view, question, selected(row, question.part.selection))
            self.stdout.write(json.dumps(view_data, ensure_ascii=False))
        elif options["csv"] != Path("-"):
            for line in shell_lines(tables):
                self.stdout.write(line)
        for column in question.columns:
            if column.error:
                self.stderr.write(f"{column.name}: {column.error}")


def _config(options: dict[str, Any]) -> Json:
    """The description of the run. Raises `CommandError` for names that nothing has."""
    kind, colon, name = options["items"].partition(":")
    if kind not in _SETS or not colon:
        raise CommandError(f"{options['items']!r} names no items: write set:NAME, blocks:NAME or run:NUMBER")
    if not options["sources"]:
        raise CommandError("name at least one source")
    model, may_choose = _SETS[kind], partial(chosen, may_choose=True)
    row = model._default_manager.filter(pk=int(name)).first() if name.isdecimal() else None
    subject = row or by_name(model, name)
    against = options["against"]
    return {
        "block_set" if kind == "blocks" else "experiment_set": subject.pk,
        "sources": [source_named(text, subject, may_choose).text for text in options["sources"]],
        "against": source_named(against, subject, may_choose).text if against else "",
        **{name: options[name] for name in ("instructions", "most", "seed", "mode")},
    }


def _question(row: Comparison, options: dict[str, Any]) -> ViewQuestion:
    columns = columns_of(row)
    name = options["column"] or columns[0].name
    column = next((column for column in columns if column.name == name), None)
    if column is None:
        known = ", ".join(column.name for column in columns)
        raise CommandError(f"there is no source {name!r} in it, only {known}")
    for option in ("apart", "threshold"):
        if not 0 <= options[option] < math.inf:
            raise CommandError(f"--{option} must be a number of at least 0, not {options[option]:g}")
    schemes = schemes_found(row, options["search"]) if options["search"] else None
    selection = ItemSelection(
        options["shortest"],
        options["longest"],
        schemes,
        options["only"] and schemes is not None,
        options["common"],
        options["bound"],
        options["apart"],
    )
    part = ComparisonPart(Unit(options["unit"]), selection)
    return ViewQuestion(row, columns, column, part, options["threshold"], options["metric"])
