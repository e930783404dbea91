"""`manage.py evaluate`: the accuracy of a mapping, or of a tool with answers in the data, on a set."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from inference.core.experiment import Unit
from inference.core.metrics import Scores
from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.storage.evaluations import compare_tool, evaluate
from inference.storage.names import by_name
from inference.web.data_command import DataCommand


class Command(DataCommand):
    help = "Compare predictions with the measurements of an experiment set: MAPE, Pearson's r, Kendall's tau."

    def add_arguments(self, parser: ArgumentParser) -> None:
        predictor = parser.add_mutually_exclusive_group(required=True)
        predictor.add_argument("--mapping", metavar="NAME", help="port mapping that predicts")
        predictor.add_argument("--resource-mapping", metavar="NAME", help="resource mapping that predicts")
        predictor.add_argument("--tool", metavar="NAME", help="tool with answers in the set")
        parser.add_argument("--dataset", metavar="NAME", required=True, help="experiment set to predict")
        parser.add_argument("--unit", choices=[unit.value for unit in Unit], default=Unit.CYCLES.value)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        unit = Unit(options["unit"])
        experiment_set = by_name(ExperimentSet, options["dataset"])
        if options["tool"]:
            predictions = compare_tool(experiment_set, options["tool"], unit)
            scores, skipped = predictions.scores, predictions.skipped
        else:
            row = evaluate(_predictor_row(options), experiment_set, unit)
            scores, skipped = Scores(row.n, row.mape, row.pearson, row.kendall), row.skipped
        predictor = options["mapping"] or options["resource_mapping"] or options["tool"]
        lines = (
            f"{predictor} on {experiment_set.name}, in {unit.label}:",
            f"  {scores.n} experiments, {skipped} skipped",
            f"  MAPE {_number_text(scores.mape, 2)} %",
            f"  Pearson's r {_number_text(scores.pearson, 3)}, Kendall's τ {_number_text(scores.kendall, 3)}",
        )
        self.print_answer(scores.as_json(), lines, as_json=options["json"])


def _predictor_row(options: dict[str, Any]) -> PortMapping | ResourceMapping:
    if options["mapping"]:
        return by_name(PortMapping, options["mapping"])
    return by_name(ResourceMapping, options["resource_mapping"])


def _number_text(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"
