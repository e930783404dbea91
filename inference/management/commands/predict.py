"""`manage.py predict`: what port mappings say of one experiment, and why; the experiment page for scripts."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError

from inference.core.experiment import Experiment
from inference.exchange.errors import ExchangeError
from inference.exchange.names import by_name
from inference.exchange.typed import read_experiment
from inference.figures.buckets import buckets
from inference.management.data_command import DataCommand
from inference.models import ISA, PortMapping
from inference.queries.answers import Prediction, measured_row, predictions_for, settled_cycles


class Command(DataCommand):
    """Predictions in the shell; see the module."""

    help = "Predict an experiment's inverse throughput, name what limits it, and show the load of every port."
    requires_system_checks = ()  # they would load every page of the site first

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("experiment", metavar="EXPERIMENT", help="'2*SCHEME; SCHEME …'")
        parser.add_argument(
            "--mapping", metavar="NAME", action="append", default=[], help="only this mapping; repeatable"
        )
        parser.add_argument(
            "--isa", metavar="NAME", default="", help="instruction set that names the schemes"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Predict and print."""
        try:
            mappings = [by_name(PortMapping, name) for name in dict.fromkeys(options["mapping"])]
            isas = _instruction_sets(options["isa"], mappings)
        except ExchangeError as error:
            raise CommandError(str(error)) from error
        experiment, isa = _read(options["experiment"], isas)
        row = measured_row(experiment, isa)
        measured = settled_cycles(row.measurements.all()) if row else None
        found = _only(mappings, predictions_for(experiment, isa, measured))
        if options["json"]:
            answer = _as_json(experiment, isa, measured, found)
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        self.stdout.write(f"{experiment}: {experiment.length} instruction{'s' * (experiment.length > 1)}")
        if measured is not None:
            self.stdout.write(f"measured: {measured:.3f} cycles")
        for prediction in found:
            self.stdout.write("\n" + "\n".join(_told(prediction)))


def _instruction_sets(name: str, mappings: Sequence[PortMapping]) -> list[ISA]:
    """The one that is named, those of the mappings, or all for which anything can be predicted."""
    if name:
        return [by_name(ISA, name)]
    if mappings:
        isas = {mapping.isa for mapping in mappings}
        if len(isas) > 1:
            names = ", ".join(sorted(isa.name for isa in isas))
            raise CommandError(f"these mappings are of several instruction sets: {names}; ask for each alone")
        return list(isas)
    predicted = list(ISA.objects.filter(mappings__isnull=False).distinct().order_by("name"))
    if not predicted:
        raise CommandError("there is no port mapping yet: import or infer one")
    return predicted


def _read(text: str, isas: Sequence[ISA]) -> tuple[Experiment, ISA]:
    """The experiment in the first instruction set that has all of its schemes."""
    complaints: list[str] = []
    for isa in isas:
        typed = read_experiment(text, isa)
        if typed.experiment is not None:
            return typed.experiment, isa
        complaints += typed.problems
        complaints += [f"did you mean {each.corrected!r}?" for each in typed.suggestions]
    raise CommandError("\n".join(dict.fromkeys(complaints)))


def _only(mappings: Sequence[PortMapping], found: Sequence[Prediction]) -> Sequence[Prediction]:
    """The predictions of these mappings, in their order, or all; refuses where there would be none."""
    by_mapping = {prediction.mapping: prediction for prediction in found}
    lacking = [mapping.name for mapping in mappings if mapping not in by_mapping]
    if lacking:
        raise CommandError(f"not all of these schemes are described by {', '.join(map(repr, lacking))}")
    if not found:
        raise CommandError("no port mapping describes all of these schemes: infer one from measurements")
    return [by_mapping[mapping] for mapping in mappings] or found


def _told(prediction: Prediction) -> list[str]:
    plan = prediction.schedule
    busiest = [plan.ports[port] for port in plan.bottleneck]
    limit = f"{'port' if len(busiest) == 1 else 'ports'} {', '.join(busiest) or 'none'}"
    if plan.limited_by_r_max:
        limit = f"R_max; ports alone: {plan.port_cycles:.3f}"
    error = "" if prediction.error is None else f" ({prediction.error:+.1f} % of the measurement)"
    lines = [f"{prediction.mapping.name}: {plan.cycles:.3f} cycles{error}, limited by {limit}"]
    width = max(map(len, plan.ports))
    for name, load, (least, greatest) in zip(plan.ports, plan.loads, plan.intervals, strict=True):
        freedom = "" if least == greatest else f", can be {least:.3f} to {greatest:.3f}"
        lines.append(f"  port {name:<{width}}  {load:.3f}{freedom}")
    return lines


def _as_json(
    experiment: Experiment, isa: ISA, measured: float | None, found: Sequence[Prediction]
) -> dict[str, Any]:
    return {
        "experiment": str(experiment),
        "isa": isa.name,
        "instructions": experiment.length,
        "measured": measured,
        "predictions": [
            {"mapping": each.mapping.name, "error": each.error, **buckets(each.schedule)} for each in found
        ],
    }
