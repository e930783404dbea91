"""`manage.py compare`, `compare-sets` and `compare-latencies`: mappings, experiment sets, sets of
latencies."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inference.core.deviation import Sampling
from inference.core.experiment import Unit
from inference.core.identity import SchemeRelation
from inference.core.protocols import Json
from inference.core.sampling import MIX_LENGTH
from inference.features.judging.comparing.latencies import (
    DEFAULT_ORDER,
    comparison_of_latencies,
    filtered_schemes,
    pairs_table,
    schemes_json,
)
from inference.features.judging.comparing.query import (
    Model,
    Structure,
    deviation_of,
    differences_first,
    furthest_json,
)
from inference.features.judging.comparing.sets import (
    OF_FORMER_FILES,
    ComparedSets,
    compared_sets,
    counts_within,
)
from inference.features.judging.comparing.tables import (
    comparison_csv,
    contradiction_in_words,
    deviation_table,
    head_of_pair,
    schemes_table,
    structure_tables,
)
from inference.features.judging.engine.differences_view import TOLERANCES
from inference.features.judging.engine.tables import csv_of, shell_lines
from inference.features.judging.engine.views import VIEWS
from inference.features.learning.explained.query import contradictions
from inference.features.library.mappings.query import require_same_isa, summary
from inference.models import ExperimentSet, LatencySet, PortMapping, ResourceMapping
from inference.storage.names import by_name
from inference.web.data_command import DataCommand, write_file
from inference.web.paging import Order

MAX_SCHEMES = 20  # rows printed of a table of mappings
MAX_ROWS_OF_SETS = 10


class CompareCommand(DataCommand):
    help = (
        "Compare two mappings of one instruction set: port mappings up to a renaming of ports, others by "
        "their predictions for random experiments."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("mapping", metavar="MAPPING")
        parser.add_argument("other", metavar="OTHER", help="mapping whose ports are renamed")
        parser.add_argument(
            "--dataset",
            metavar="SET",
            help="experiment set whose measurements show which µops are hidden",
        )
        parser.add_argument(
            "--experiments",
            type=int,
            metavar="N",
            help="compare N random experiments (default: none; with a resource mapping 5000)",
        )
        parser.add_argument("--length", type=int, default=MIX_LENGTH, help="instructions each (default: 5)")
        parser.add_argument(
            "--unit",
            choices=[unit.value for unit in Unit],
            default=Unit.IPC.value,
            help="unit of the compared predictions (default: ipc)",
        )
        parser.add_argument("--r-max", type=float, metavar="R", help="R_max of both (default: their own)")
        parser.add_argument("--seed", type=int, default=1, help="of the random experiments (default: 1)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write every scheme to a file as well")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print common µops, distinguishing experiments, and the deviation of the predictions."""
        row, other = (_model(options[name]) for name in ("mapping", "other"))
        require_same_isa(row, other)
        lines: list[str] = []
        answer: Json = {"first": row.name, "second": other.name}
        is_structural = isinstance(row, PortMapping) and isinstance(other, PortMapping)
        if isinstance(row, PortMapping) and isinstance(other, PortMapping):
            dataset = options["dataset"]
            structure = Structure(row, other, None if dataset is None else by_name(ExperimentSet, dataset))
            if options["csv"] is not None:
                write_file(options["csv"], comparison_csv(row, other).encode())
            lines += _structure_lines(structure)
            answer |= _structure_json(structure)
        if options["experiments"] is not None or not is_structural:
            sampling = _sampling(options)
            apart = deviation_of(row, other, sampling)
            lines += shell_lines([deviation_table(row, other, apart, sampling)])
            answer["deviation"] = {
                **apart.scores.as_json(),
                "mape_backwards": apart.backwards.mape,
                "common": apart.common,
                "skipped": apart.skipped,
                **{name: options[name] for name in ("length", "seed", "unit")},
                "r_max": list(apart.r_max),
                "furthest_apart": furthest_json(apart.furthest),
            }
        self.print_answer(answer, lines, as_json=options["json"])


def _model(name: str) -> Model:
    """The port mapping of this name, else the resource mapping. Raises `CommandError` without either."""
    resources = ResourceMapping.objects.filter(name=name).first()
    if resources is not None and not PortMapping.objects.filter(name=name).exists():
        return resources
    return by_name(PortMapping, name)


def _sampling(options: dict[str, Any]) -> Sampling:
    names = ("experiments", "length", "seed", "r_max")
    options_set = {name: options[name] for name in names if options[name] is not None}
    return Sampling(unit=Unit(options["unit"]), **options_set)


def _structure_lines(structure: Structure) -> Iterator[str]:
    comparison = structure.comparison
    yield summary(comparison)
    if structure.judged_by is not None and (share := structure.up_to_hidden) is not None:
        name = structure.judged_by.name
        yield f"{100 * share:.1f} % have the same µops up to those that {name!r} does not show."
    different = differences_first(comparison.schemes, relation=SchemeRelation.DIFFERENT)
    tables = [*structure_tables(structure), schemes_table(different, comparison.ports)]
    yield from shell_lines(tables, MAX_SCHEMES)
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
            scheme: asdict(contradiction)
            for scheme, contradiction in sorted(contradictions(structure.row, comparison).items())
        },
    }


class CompareSetsCommand(DataCommand):
    help = "Compare two experiment sets: the repeatability of their common experiments, by length and scheme."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("first", metavar="SET")
        parser.add_argument("second", metavar="SET", help="differences are in per cent of the first set")
        parser.add_argument(
            "--within",
            type=float,
            choices=TOLERANCES,
            default=5.0,
            help="tolerance in per cent (default: 5)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write a table to a file as well")
        parser.add_argument("--by", choices=OF_FORMER_FILES, default="schemes", help="rows of that table")

    def handle(self, *args: Any, **options: Any) -> None:
        first, second = (by_name(ExperimentSet, options[name]) for name in ("first", "second"))
        compared = compared_sets(first, second, at_once=True)
        assert compared is not None, "`at_once` computes it"
        if options["csv"] is not None:
            (table,) = VIEWS[OF_FORMER_FILES[options["by"]]].tables(compared.question)
            write_file(options["csv"], csv_of(table, head_of_pair(first, second)).encode())
        self.print_answer(
            _sets_json(compared), _lines_of_sets(compared, options["within"]), as_json=options["json"]
        )


def _lines_of_sets(compared: ComparedSets, within: float) -> Iterator[str]:
    only = _only_text((compared.first, compared.second), compared.only)
    yield f"{compared.n} experiments in both sets, {only}"
    if compared.closeness is not None:
        yield (
            f"  {compared.closeness.share(within):.1f} % within {within:g} %, median difference "
            f"{compared.agreement.median:.2f} %, mean {compared.closeness.mean:.2f} %"
        )
    views = ("within", "differences", "worst")
    yield from shell_lines((VIEWS[name].tables(compared.question)[0] for name in views), MAX_ROWS_OF_SETS)


def _only_text(rows: Iterable[ExperimentSet | LatencySet], counts: Iterable[int]) -> str:
    return ", ".join(f"{n} only in {row.name!r}" for row, n in zip(rows, counts, strict=True))


def _sets_json(compared: ComparedSets) -> Json:
    return {
        "first": compared.first.name,
        "second": compared.second.name,
        **compared.figures(),
        "within": {str(tolerance): n for tolerance, n in counts_within(compared.closeness)},
        "lengths": {
            str(length): {"n": close.n, "mean": close.mean, "within": list(close.within)}
            for length, close in compared.lengths.items()
        },
        "schemes": [asdict(scheme) for scheme in compared.schemes],
    }


class CompareLatenciesCommand(DataCommand):
    help = "Compare sets of latencies, pair of operands by pair of operands."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("sets", metavar="SET", nargs="+")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the counts, then the schemes that differ, the largest differences first."""
        rows = [by_name(LatencySet, name) for name in options["sets"]]
        compared = comparison_of_latencies(*rows)
        counts = compared.counts()
        schemes = filtered_schemes(compared, rows[0].isa_id, Order.of(DEFAULT_ORDER), different=True)
        names = [row.name for row in rows]
        text = (
            f"{counts['shared']} schemes in {'both' if len(rows) == 2 else 'several'}: {counts['same']} the "
            f"same, {counts['different']} different, {counts['unknown']} not comparable; "
            f"{_only_text(rows, compared.only)}"
        )
        answer = {"sets": names, **counts, "only": compared.only, "differences": schemes_json(schemes)}
        self.print_answer(
            answer, [text, *shell_lines([pairs_table(schemes, names)])], as_json=options["json"]
        )
