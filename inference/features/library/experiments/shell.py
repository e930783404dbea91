"""`manage.py predict`: predictions of an experiment with their limits; the experiment page for scripts."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any, TypeVar

from django.core.management.base import CommandError
from django.db.models import Exists, OuterRef

from inference.core.experiment import Experiment
from inference.core.schedule import INSTRUCTIONS, PORTS, SLOTS
from inference.features.library.experiments.query import (
    MappingPrediction,
    SettledTimes,
    measured_row,
    measurements_with_machines,
    predictions_for,
)
from inference.features.library.resources.query import ResourcePrediction, resource_predictions
from inference.figures.tripartite import buckets
from inference.models import ISA, PortMapping, ResourceMapping
from inference.storage.instruction_sets import read_experiment
from inference.storage.names import by_name
from inference.web.data_command import DataCommand

AnyPrediction = TypeVar("AnyPrediction", MappingPrediction, ResourcePrediction)
Mappings = Sequence[PortMapping | ResourceMapping]

LIMITS = {INSTRUCTIONS: "R_max", SLOTS: "slots"}


class PredictExperiment(DataCommand):
    help = "Predict an experiment's inverse throughput, name what limits it, and show the load of every port."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("experiment", metavar="EXPERIMENT", help="'2*SCHEME; SCHEME …'")
        for option, kind in (("--mapping", "port"), ("--resource-mapping", "resource")):
            parser.add_argument(
                option,
                metavar="NAME",
                action="append",
                default=[],
                help=f"only this {kind} mapping; repeatable",
            )
        parser.add_argument(
            "--isa", metavar="NAME", default="", help="instruction set of the schemes or the code"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        mappings = [by_name(PortMapping, name) for name in dict.fromkeys(options["mapping"])]
        names = dict.fromkeys(options["resource_mapping"])
        resources = [by_name(ResourceMapping, name) for name in names]
        isas = _instruction_sets(options["isa"], [*mappings, *resources])
        experiment, isa = _read(options["experiment"], isas)
        row = measured_row(experiment, isa)
        times = SettledTimes(measurements_with_machines(row))
        measured, _ = times.of(mappings[0] if mappings else None)
        by_ports = predictions_for(experiment, isa, times)
        by_resources = resource_predictions(experiment, isa, measured)
        if mappings or resources:
            by_ports, by_resources = (_select(mappings, by_ports), _select(resources, by_resources))
        elif not by_ports and not by_resources:
            raise CommandError("no mapping describes all of these schemes: infer or import one")
        if options["json"]:
            answer = _as_json(experiment, isa, measured, by_ports, by_resources)
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        self.stdout.write(f"{experiment}: {experiment.length} instruction{'s' * (experiment.length > 1)}")
        if measured is not None:
            self.stdout.write(f"measured: {measured:.3f} cycles")
        for lines in (*map(_port_lines, by_ports), *map(_resource_lines, by_resources)):
            self.stdout.write("\n" + "\n".join(lines))


def _instruction_sets(name: str, mappings: Mappings) -> list[ISA]:
    """The named instruction set, those of the mappings, or all with mappings."""
    if name:
        return [by_name(ISA, name)]
    if mappings:
        isas = {mapping.isa for mapping in mappings}
        if len(isas) > 1:
            names = ", ".join(sorted(isa.name for isa in isas))
            raise CommandError(f"these mappings are of several instruction sets: {names}; name one set")
        return list(isas)
    by_ports = Exists(PortMapping.objects.filter(isa=OuterRef("pk")))
    by_resources = Exists(ResourceMapping.objects.filter(isa=OuterRef("pk")))
    predicted = list(ISA.objects.filter(by_ports | by_resources).order_by("name"))
    if not predicted:
        raise CommandError("there is no mapping: import or infer one")
    return predicted


def _read(text: str, isas: Sequence[ISA]) -> tuple[Experiment, ISA]:
    """The experiment in the first instruction set that has all its schemes."""
    problems: list[str] = []
    for isa in isas:
        typed = read_experiment(text, isa)
        if typed.experiment is not None:
            return typed.experiment, isa
        problems += typed.problems
        problems += [f"did you mean {suggestion.corrected!r}?" for suggestion in typed.suggestions]
    raise CommandError("\n".join(dict.fromkeys(problems)))


def _select(mappings: Mappings, predictions: Sequence[AnyPrediction]) -> list[AnyPrediction]:
    """The predictions of these mappings, in their order. Raises `CommandError` if one makes none."""
    by_mapping: dict[Any, AnyPrediction] = {prediction.mapping: prediction for prediction in predictions}
    lacking = [mapping.name for mapping in mappings if mapping not in by_mapping]
    if lacking:
        raise CommandError(f"{', '.join(map(repr, lacking))} do not describe all of these schemes")
    return [by_mapping[mapping] for mapping in mappings]


def _port_lines(prediction: MappingPrediction) -> list[str]:
    plan = prediction.schedule
    busiest = [plan.ports[port] for port in plan.bottleneck]
    limit = f"{'port' if len(busiest) == 1 else 'ports'} {', '.join(busiest) or 'none'}"
    if plan.limited_by != PORTS:
        limit = f"{LIMITS[plan.limited_by]}; ports alone: {plan.port_cycles:.3f}"
    lines = [f"{_cycles(prediction)}, limited by {limit}"]
    width = max(map(len, plan.ports))
    for name, load, (lowest, highest) in zip(plan.ports, plan.loads, plan.intervals, strict=True):
        freedom = "" if lowest == highest else f", can be {lowest:.3f} to {highest:.3f}"
        lines.append(f"  port {name:<{width}}  {load:.3f}{freedom}")
    lines += [f"  {LIMITS[unit]:<{5 + width}}  {cycles:.3f}" for unit, cycles in plan.limits.items()]
    return lines


def _resource_lines(prediction: ResourcePrediction) -> list[str]:
    limits = prediction.limits
    limit_text = f"{'resource' if len(limits) == 1 else 'resources'} {', '.join(limits) or 'none'}"
    return [f"{_cycles(prediction)}, limited by {limit_text}"]


def _cycles(prediction: MappingPrediction | ResourcePrediction) -> str:
    error = "" if prediction.error is None else f" ({prediction.error:+.1f} % of the measurement)"
    return f"{prediction.mapping.name}: {prediction.cycles:.3f} cycles{error}"


def _as_json(
    experiment: Experiment,
    isa: ISA,
    measured: float | None,
    by_ports: Sequence[MappingPrediction],
    by_resources: Sequence[ResourcePrediction],
) -> dict[str, Any]:
    return {
        "experiment": str(experiment),
        "isa": isa.name,
        "instructions": experiment.length,
        "measured": measured,
        "predictions": [
            {"mapping": row.mapping.name, "error": row.error, **buckets(row.schedule)} for row in by_ports
        ],
        "resource_predictions": [
            {
                "resource_mapping": row.mapping.name,
                "error": row.error,
                "cycles": row.cycles,
                "limited_by": row.limits,
            }
            for row in by_resources
        ],
    }
