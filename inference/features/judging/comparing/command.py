"""`manage.py compare`: two mappings side by side, by their µops and by what they predict."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inference.core.deviating import Sampling
from inference.core.identity import SchemeRelation
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.core.random_mixes import MIX_LENGTH
from inference.features.judging.comparing.query import (
    Model,
    Structure,
    deviation_of,
    differences_first,
    furthest_json,
    require_same_isa,
)
from inference.features.judging.comparing.tables import (
    comparison_csv,
    contradiction_in_words,
    deviation_table,
    schemes_table,
    structure_tables,
)
from inference.features.judging.engine.tables import shell_lines
from inference.features.learning.explained.query import contradictions
from inference.features.library.mappings.query import summary
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
        require_same_isa(row, other)
        lines: list[str] = []
        result: Json = {"first": row.name, "second": other.name}
        is_structural = isinstance(row, PortMapping) and isinstance(other, PortMapping)
        if isinstance(row, PortMapping) and isinstance(other, PortMapping):
            dataset = options["dataset"]
            structure = Structure(row, other, None if dataset is None else by_name(ExperimentSet, dataset))
            if options["csv"] is not None:
                write_file(options["csv"], comparison_csv(row, other).encode())
            lines += _structure_lines(structure)
            result |= _structure_json(structure)
        if options["experiments"] is not None or not is_structural:
            sampling = _sampling(options)
            apart = deviation_of(row, other, sampling)
            lines += shell_lines([deviation_table(row, other, apart, sampling)])
            result["deviation"] = {
                **apart.scores.as_json(),
                "mape_backwards": apart.backwards.mape,
                "common": apart.common,
                "skipped": apart.skipped,
                **{name: options[name] for name in ("length", "seed", "unit")},
                "r_max": list(apart.r_max),
                "furthest_apart": furthest_json(apart.furthest),
            }
        for line in [json.dumps(result, ensure_ascii=False)] if options["json"] else lines:
            self.stdout.write(line)


def _model(name: str) -> Model:
    """The port mapping of this name, or else the resource mapping."""
    resources = ResourceMapping.objects.filter(name=name).first()
    if resources is not None and not PortMapping.objects.filter(name=name).exists():
        return resources
    return by_name(PortMapping, name)


def _sampling(options: dict[str, Any]) -> Sampling:
    names = ("experiments", "length", "seed", "r_max")
    given = {name: options[name] for name in names if options[name] is not None}
    return Sampling(unit=Unit(options["unit"]), **given)


def _structure_lines(structure: Structure) -> Iterator[str]:
    comparison = structure.comparison
    yield summary(comparison)
    if structure.judged_by is not None and (share := structure.up_to_hidden) is not None:
        name = structure.judged_by.name
        yield f"{100 * share:.1f} % have the same µops up to those that {name!r} does not show."
    different = differences_first(comparison.schemes, relation=SchemeRelation.DIFFERENT)
    tables = [*structure_tables(structure), schemes_table(different, comparison.ports)]
    yield from shell_lines(tables, LISTED)
    for scheme, contradiction in sorted(contradictions(structure.row, comparison).items()):
        yield f"{scheme}: {contradiction_in_words(contradiction)}"


def _structure_json(structure: Structure) -> Json:
    comparison = structure.comparison
    agreement, largest = comparison.agreement, comparison.largest
    return {
        **structure.figures(),
        "common": len(agreement.agreeing) + len(agreement.differing),
        "renaming_is_best": agreement.renaming.exact,
        "furthest_apart": None
        if largest is None
        else {"scheme": largest.scheme, "first": largest.cycles[0], "second": largest.cycles[1]},
        "told_apart_by": [witness.as_json() for witness in structure.witnesses],
        "contradicted_by": {
            scheme: asdict(each) for scheme, each in sorted(contradictions(structure.row, comparison).items())
        },
    }
