"""`manage.py judge` compares any sources on any items in a view; `compare-predictors` compares mappings and
tools on an experiment set.
"""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError

from inference.core.experiment import Unit
from inference.core.judging.disagreement import DifferenceMetric
from inference.core.judging.sheet import ItemSelection
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import add_mode_option
from inference.features.asking.predictors.query import predictor_row
from inference.features.judging.engine.gate import DEFAULT_TOLERANCE, WORSE, GatedCommand, baseline_of
from inference.features.judging.engine.pages import answer_lines, score_table
from inference.features.judging.engine.query import (
    ComparisonPart,
    ViewQuestion,
    columns_of,
    comparison_rows,
    key_of,
    matching_schemes,
    selected_count,
    sheet_of,
)
from inference.features.judging.engine.request import (
    KIND,
    JudgeConfig,
    read_config,
    subject_of,
)
from inference.features.judging.engine.sources import Subject, source_named
from inference.features.judging.engine.tables import csv_of, shell_lines
from inference.features.judging.engine.views import VIEWS, ComparisonView, view_json
from inference.models import BasicBlockSet, Comparison, ExperimentSet, PortMapping, ResourceMapping
from inference.models.scheme_search import matching_texts
from inference.runs.lifecycle import submit, unused_name
from inference.storage.names import by_name

_SETS: dict[str, type[Subject]] = {"set": ExperimentSet, "blocks": BasicBlockSet}
_RUN = "run"
FINDING_COMMANDS = {"doubts": "mapping", "excess": "mapping", "congruence": "mapping", "conflicts": "set"}
"""{view: the kind of its items}; a command of the view's name prints it."""
COMMANDS_WITHOUT_ITEMS = {"mapping": "compare", "latencies": "compare-latencies"}
"""{kind of source that is compared without items: the command that compares}."""


class Command(GatedCommand):
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
            "mapping:NAME, a port mapping whose doubts, excess or congruence are viewed, or that is compared "
            "with the source mapping:NAME; latencies:NAME, compared with the sources latencies:NAME",
        )
        parser.add_argument(
            "sources",
            metavar="SOURCE",
            nargs="*",
            help="mapping:NAME, resources:NAME, core-model:NAME, machine:NAME, predictor:NAME, set:NAME, "
            "tool:NAME or column:NAME; numbers of rows do as well",
        )
        parser.add_argument("--against", metavar="SOURCE", default="", help="reference of the comparison")
        parser.add_argument("--view", choices=tuple({**VIEWS, **FINDING_COMMANDS}), default="scores")
        parser.add_argument("--column", metavar="NAME", default="", help="source to view")
        parser.add_argument("--shortest", type=int, metavar="N", help="instructions of an item, at least")
        parser.add_argument("--longest", type=int, metavar="N", help="instructions of an item, at most")
        parser.add_argument("--search", default="", metavar="SEARCH", help="items with such schemes")
        parser.add_argument("--only", action="store_true", help="items without any other scheme")
        parser.add_argument("--common", action="store_true", help="items that every source answered")
        parser.add_argument("--bound", default="", metavar="NAME", help="items with this largest bound")
        parser.add_argument("--apart", type=float, default=0.0, metavar="SHARE", help="minimum error")
        parser.add_argument("--threshold", type=float, default=0.5, help="from which sources disagree")
        parser.add_argument(
            "--metric", choices=[metric.value for metric in DifferenceMetric], default="relative"
        )
        _add_run_options(parser)
        preset = JudgeConfig.default_of("mode")
        add_mode_option(parser, f"{preset}; empty: as the items were measured", preset)
        gate = parser.add_mutually_exclusive_group()
        gate.add_argument("--write-baseline", metavar="FILE", default="", help="write the scores to a file")
        gate.add_argument(
            "--baseline",
            metavar="FILE",
            default="",
            help=f"exit with status {WORSE} if a source is worse than in this file",
        )
        parser.add_argument("--tolerance", type=float, default=DEFAULT_TOLERANCE, metavar="POINTS")
        parser.add_argument("--junit", metavar="FILE", default="", help="with --baseline: write JUnit XML")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        for option in ("apart", "threshold"):
            if not 0 <= options[option] < math.inf:
                raise CommandError(f"--{option} must be a number of at least 0, not {options[option]:g}")
        kind, _, first = options["items"].partition(":")
        named = [source.partition(":") for source in options["sources"]]
        if kind in COMMANDS_WITHOUT_ITEMS and named and all(source[0] == kind for source in named):
            names = (first, *(source[2] for source in named))
            call_command(COMMANDS_WITHOUT_ITEMS[kind], *names, json=options["json"], stdout=self.stdout)
            return
        if options["view"] not in VIEWS or kind in COMMANDS_WITHOUT_ITEMS:
            self._show_findings(options)
            return
        row = self._comparison(options)
        if options["write_baseline"]:
            self.write_baseline(baseline_of(row), options)
        elif options["baseline"]:
            self.check_against_baseline(baseline_of(row), options)
        else:
            self._show(row, options)
        self.stderr.write(f"its page: /comparisons/{row.run_id}/")

    def _show_findings(self, options: dict[str, Any]) -> None:
        """Print a view that is a command of its own."""
        view, (kind, _, name) = options["view"], options["items"].partition(":")
        if FINDING_COMMANDS.get(view) != kind or options["sources"]:
            views = ", ".join(f"{of}:NAME --view {view}" for view, of in FINDING_COMMANDS.items())
            raise CommandError(
                f"{options['items']} --view {view} is not possible; without sources, these are: {views}"
            )
        formats = {"json": options["json"]}
        if options["against"]:
            formats["dataset" if view == "excess" else "against"] = options["against"].partition(":")[2]
        call_command(view, name, **formats, stdout=self.stdout, stderr=self.stderr)

    def _comparison(self, options: dict[str, Any]) -> Comparison:
        kind, _, number = options["items"].partition(":")
        if kind == _RUN:
            stored = comparison_rows().filter(run=int(number) if number.isdecimal() else 0).first()
            if stored is None or options["sources"]:
                raise CommandError(
                    f"{options['items']}: there is no such comparison, or sources were given as well"
                )
            return stored
        config = _config(options)
        _check_view(config, options)
        name = options["name"] and unused_name(options["name"])
        return comparison_rows().get(run=self.do_run(lambda: submit(KIND, config, name)))

    def _show(self, row: Comparison, options: dict[str, Any]) -> None:
        question = _question(row, options)
        view = VIEWS[options["view"]]
        if options["csv"] is not None:
            self.write_output(self.csv_text(view, question), _output_file(options["csv"]))
        if options["json"]:
            view_data = view_json(view, question, selected_count(row, question.part.selection))
            self.stdout.write(json.dumps(view_data, ensure_ascii=False))
        elif options["csv"] != Path("-"):
            for line in shell_lines(view.tables(question)):
                self.stdout.write(line)
        if options["answers"] is not None:
            lines = answer_lines(sheet_of(key_of(row)), [column.name for column in question.columns])
            self.write_output("".join(lines), _output_file(options["answers"]))
        for column in question.columns:
            if column.error:
                self.stderr.write(f"{column.name}: {column.error}")

    def csv_text(self, view: ComparisonView, question: ViewQuestion) -> str:
        return csv_of(view.tables(question)[0])


def _add_run_options(parser: ArgumentParser) -> None:
    """Add the options for the run's name, its sample of items, and the output files."""
    parser.add_argument("--unit", choices=[unit.value for unit in Unit], default=Unit.CYCLES.value)
    for name in ("instructions", "most", "seed"):
        parser.add_argument(f"--{name}", type=int, default=JudgeConfig.default_of(name), metavar="N")
    parser.add_argument("--name", default="", help="of the run")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="the table as CSV; - for the output")
    parser.add_argument(
        "--answers", type=Path, metavar="FILE", help="a line per experiment with all answers, as CSV"
    )


def _output_file(path: Path) -> Path | None:
    """The file to write; None for `-`, the standard output."""
    return None if path == Path("-") else path


def _config(options: dict[str, Any]) -> Json:
    """The description of the run. Raises `CommandError` for unknown names."""
    kind, colon, name = options["items"].partition(":")
    if kind not in _SETS or not colon:
        raise CommandError(f"{options['items']!r} names no items: write set:NAME, blocks:NAME or run:NUMBER")
    if not options["sources"]:
        raise CommandError("name at least one source")
    model, may_choose = _SETS[kind], partial(predictor_row, may_choose=True)
    row = model._default_manager.filter(pk=int(name)).first() if name.isdecimal() else None
    subject = row or by_name(model, name)
    against = options["against"]
    return {
        "block_set" if kind == "blocks" else "experiment_set": subject.pk,
        "sources": [source_named(text, subject, may_choose).text for text in options["sources"]],
        "against": source_named(against, subject, may_choose).text if against else "",
        **{name: options[name] for name in ("instructions", "most", "seed", "mode")},
    }


def _check_view(config: Json, options: dict[str, Any]) -> None:
    """Check the search and the column before the run asks predictors. Raises `CommandError`."""
    described = read_config(config)
    subject = subject_of(described)
    if options["search"] and subject.isa_id is not None:
        matching_texts(subject.isa_id, options["search"])
    if options["column"]:
        _check_column(options["column"], [source_named(text, subject).name for text in described.sources])


def _check_column(name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise CommandError(f"there is no source {name!r} in it, only {', '.join(names)}")


def _question(row: Comparison, options: dict[str, Any]) -> ViewQuestion:
    columns = columns_of(row)
    name = options["column"] or columns[0].name
    _check_column(name, [column.name for column in columns])
    column = next(column for column in columns if column.name == name)
    schemes = matching_schemes(row, options["search"]) if options["search"] else None
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


class ComparePredictorsCommand(Command):
    """`judge` on an experiment set, with an option per kind of source."""

    help = (
        "Predict the experiments of a set by port mappings, resource mappings, llvm-mca, OSACA or any "
        "other predictor, and compare with its measurements: MAPE, r, τ and coverage of each."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("set", metavar="SET", help="an experiment set")
        many: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME"}
        parser.add_argument("--mapping", **many, help="a port mapping or a resource mapping; may be repeated")
        parser.add_argument("--tool", **many, help="a tool with answers in the set; may be repeated")
        parser.add_argument("--other-set", **many, help="other measurements of the experiments; repeatable")
        parser.add_argument(
            "--predictor",
            **many,
            help="a predictor to ask: one of `manage.py predictors`, or e.g. llvm-mca:release=19,cpu=skylake",
        )
        _add_run_options(parser)
        add_mode_option(parser, "in a loop where the set was measured here, else as each predictor says")

    def handle(self, *args: Any, **options: Any) -> None:
        resources = set(ResourceMapping.objects.values_list("name", flat=True))
        sources = [
            *(
                f"resources:{by_name(ResourceMapping, name).pk}"
                if name in resources
                else f"mapping:{by_name(PortMapping, name).pk}"
                for name in options["mapping"]
            ),
            *(f"tool:{name}" for name in options["tool"]),
            *(f"set:{by_name(ExperimentSet, name).pk}" for name in options["other_set"]),
            *(f"predictor:{name}" for name in options["predictor"]),
        ]
        items = f"set:{by_name(ExperimentSet, options['set']).pk}"
        preset = Command().create_parser("manage.py", "judge").parse_args([items, *sources])
        super().handle(**{**vars(preset), **options})

    def csv_text(self, view: ComparisonView, question: ViewQuestion) -> str:
        return score_table(question.columns, question.part)
