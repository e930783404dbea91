"""`manage.py compare`: two mappings side by side, by their µops and by what they predict."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inference.core.deviating import Deviation, Sampling
from inference.core.identity import MappingComparison, SchemeRelation
from inference.core.mapping import described
from inference.core.metrics import Scores, Unit
from inference.core.protocols import Json
from inference.core.random_mixes import MIX_LENGTH
from inference.features.judging.comparing.deviation_query import Model, deviation_of, require_same_isa
from inference.features.judging.comparing.query import (
    DifferingExperiment,
    comparison_head,
    differences_first,
    up_to_hidden,
    witnesses,
    write_comparison_csv,
)
from inference.features.learning.explained.reference_contradictions import (
    ReferenceContradiction,
    contradictions,
)
from inference.features.library.mappings.compared import comparison_of, summary
from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.storage.names import by_name
from inference.web.data_command import DataCommand, write_file

LISTED = 20  # schemes with different µops that the output names


class Command(DataCommand):
    """Comparisons in the shell; see the module."""

    help = (
        "Compare two mappings of one instruction set: port mappings up to a renaming of ports, any by what "
        "they predict for random experiments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("mapping", metavar="MAPPING")
        parser.add_argument("other", metavar="OTHER", help="the mapping whose ports are renamed")
        parser.add_argument(
            "--dataset",
            metavar="SET",
            help="experiment set whose measurements tell which µops can be seen at all",
        )
        parser.add_argument(
            "--experiments",
            type=int,
            metavar="N",
            help="ask both for so many random experiments (default: none; with a resource mapping 5000)",
        )
        parser.add_argument(
            "--length", type=int, default=MIX_LENGTH, help="instructions of each (default: 5)"
        )
        parser.add_argument(
            "--unit",
            choices=[unit.value for unit in Unit],
            default=Unit.IPC.value,
            help="in which the predictions are compared (default: ipc)",
        )
        parser.add_argument("--r-max", type=float, metavar="R", help="R_max of both (default: their own)")
        parser.add_argument("--seed", type=int, default=1, help="of the random experiments (default: 1)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write every scheme to a file as well")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what is equal, what tells the mappings apart, and how far apart their predictions are."""
        row, other = (_model(options[name]) for name in ("mapping", "other"))
        lines: list[str] = []
        told: Json = {}
        if isinstance(row, PortMapping) and isinstance(other, PortMapping):
            lines, told = self._structure(row, other, options)
        if options["experiments"] is not None or not told:
            require_same_isa(row, other)
            found = deviation_of(row, other, _sampling(options))
            lines += _deviation_lines(row, other, found, options["unit"])
            told["deviation"] = _deviation_json(found, options)
        if options["json"]:
            self.stdout.write(
                json.dumps({"first": row.name, "second": other.name, **told}, ensure_ascii=False)
            )
        else:
            for line in lines:
                self.stdout.write(line)

    def _structure(
        self, row: PortMapping, other: PortMapping, options: dict[str, Any]
    ) -> tuple[list[str], dict[str, Any]]:
        """Lines and JSON of the comparison by µops."""
        comparison = comparison_of(row, other)
        found = witnesses(row, other, comparison)
        csv, dataset = options["csv"], options["dataset"]
        judged_by = None if dataset is None else by_name(ExperimentSet, dataset)
        share = None if judged_by is None else up_to_hidden(row, other, judged_by)
        if csv is not None:
            rows = differences_first(comparison.schemes)
            write_file(csv, write_comparison_csv(comparison, rows, comparison_head(row, other)).encode())
        spoken = contradictions(row, comparison)
        lines = [summary(comparison)]
        if share is not None:
            lines.append(
                f"{100 * share:.1f} % have the same µops up to those that {dataset!r} does not show."
            )
        lines += _told(row, other, comparison, found, spoken)
        told = _as_json(row, other, comparison, found, spoken)
        return lines, {**told, "up_to_hidden": share}


def _model(name: str) -> Model:
    """The port mapping of this name, or else the resource mapping."""
    resources = ResourceMapping.objects.filter(name=name).first()
    if resources is not None and not PortMapping.objects.filter(name=name).exists():
        return resources
    return by_name(PortMapping, name)


def _sampling(options: dict[str, Any]) -> Sampling:
    experiments = options["experiments"]
    return Sampling(
        experiments=Sampling().experiments if experiments is None else experiments,
        length=options["length"],
        seed=options["seed"],
        unit=Unit(options["unit"]),
        r_max=options["r_max"],
    )


def _deviation_lines(row: Model, other: Model, found: Deviation, unit: str) -> Iterator[str]:
    if not found.scores.n:
        yield f"No random experiment to ask: {found.common} schemes are described by both."
        return
    rates = " and ".join("none" if rate is None else f"{rate:g}" for rate in found.r_max)
    yield (
        f"{found.scores.n} random experiments of {found.common} common schemes, "
        f"in {unit.upper()} with R_max {rates}:"
    )
    yield (
        f"  mean deviation {_percent(found.scores)} of {row.name!r}, "
        f"{_percent(found.backwards)} of {other.name!r}"
    )
    yield f"  Pearson {_decimals(found.scores.pearson)}, Kendall {_decimals(found.scores.kendall)}"
    if found.skipped:
        yield f"  {found.skipped} left out: they need no time"
    if found.furthest is not None:
        far = found.furthest
        yield f"  furthest apart on {far.experiment}: {far.first:.3f} and {far.second:.3f}"


def _percent(scores: Scores) -> str:
    return "–" if scores.mape is None else f"{scores.mape:.1f} %"


def _decimals(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _deviation_json(found: Deviation, options: dict[str, Any]) -> dict[str, Any]:
    far = found.furthest
    return {
        **found.scores.as_json(),
        "mape_backwards": found.backwards.mape,
        "common": found.common,
        "skipped": found.skipped,
        "length": options["length"],
        "seed": options["seed"],
        "unit": options["unit"],
        "r_max": list(found.r_max),
        "furthest_apart": None
        if far is None
        else {"experiment": str(far.experiment), "first": far.first, "second": far.second},
    }


def _told(
    row: PortMapping,
    other: PortMapping,
    comparison: MappingComparison,
    found: list[DifferingExperiment],
    spoken: Mapping[str, ReferenceContradiction],
) -> Iterator[str]:
    renamed = ", ".join(f"{there} is {here or 'none'}" for there, here in _ports(row, other, comparison))
    yield f"Ports of {other.name!r} in {row.name!r}: {renamed}"
    for witness in found:
        said = witness.distinction
        measured = "not measured" if witness.measured is None else f"measured {witness.measured:.3f}"
        yield f"Distinguished by {said.experiment}: {said.first:.3f} and {said.second:.3f} cycles, {measured}"
    different = [
        each for each in differences_first(comparison.schemes) if each.kind is SchemeRelation.DIFFERENT
    ]
    for each in different[:LISTED]:
        first, second = (described(uops or (), comparison.ports) for uops in each.uops)
        yield f"  {each.scheme}: {first} | {second}"
        if (shown := spoken.get(each.scheme)) is not None:
            yield (
                f"    beside {shown.copies} × {shown.blocker}, {shown.shown} µops cannot evade "
                f"its ports, not {shown.said}"
            )
    if len(different) > LISTED:
        yield f"  … and {len(different) - LISTED} more; --csv writes them all"


def _ports(
    row: PortMapping, other: PortMapping, comparison: MappingComparison
) -> list[tuple[str, str | None]]:
    """(port of the other mapping, what the first one calls it or None)."""
    partners = comparison.agreement.renaming.ports
    return [
        (name, None if port is None else row.ports[port])
        for name, port in zip(other.ports, partners, strict=True)
    ]


def _as_json(
    row: PortMapping,
    other: PortMapping,
    comparison: MappingComparison,
    found: list[DifferingExperiment],
    spoken: Mapping[str, ReferenceContradiction],
) -> dict[str, Any]:
    agreement, largest = comparison.agreement, comparison.largest
    return {
        "equal": comparison.are_equal,
        "common": len(agreement.agreeing) + len(agreement.differing),
        "agreeing": len(agreement.agreeing),
        "share": agreement.share,
        "same_number_of_uops": comparison.same_number,
        "only_first": len(agreement.only_first),
        "only_second": len(agreement.only_second),
        "renaming": dict(_ports(row, other, comparison)),
        "renaming_is_best": agreement.renaming.exact,
        "furthest_apart": None
        if largest is None
        else {"scheme": largest.scheme, "first": largest.cycles[0], "second": largest.cycles[1]},
        "told_apart_by": [
            {
                "experiment": str(witness.distinction.experiment),
                "first": witness.distinction.first,
                "second": witness.distinction.second,
                "measured": witness.measured,
            }
            for witness in found
        ],
        "contradicted_by": {scheme: asdict(each) for scheme, each in sorted(spoken.items())},
    }
