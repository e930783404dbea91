"""Tables of the comparison of two mappings, for the page, the shell and CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from inference.core.deviation import Deviation, Sampling
from inference.core.identity import ComparedScheme, SchemeRelation
from inference.features.judging.comparing.query import (
    DifferingExperiment,
    Model,
    Structure,
    differences_first,
    finite_or_none,
)
from inference.features.judging.engine.tables import LinkedText, code, csv_of, number
from inference.features.learning.explained.query import ReferenceContradiction
from inference.models import ExperimentSet, PortMapping
from inference.storage.export_values import provenance_of
from inference.web.published_page import CellKind, PublishedColumn, PublishedTable, Value


def comparison_csv(first: PortMapping, second: PortMapping) -> str:
    """CSV with every scheme of two port mappings, differences first. Raises `ExchangeError` for different
    ISAs."""
    comparison = Structure(first, second).comparison
    table = schemes_table(differences_first(comparison.schemes), comparison.ports)
    return csv_of(table, head_of_pair(first, second))


def head_of_pair(first: PortMapping | ExperimentSet, second: PortMapping | ExperimentSet) -> str:
    """Comment lines of a CSV file with the provenance of both."""
    both = (("first", first), ("second", second))
    return "".join(f"# {side}\n{provenance_of(row).commented('#')}" for side, row in both)


def structure_tables(
    structure: Structure, url: Callable[[DifferingExperiment], str] = lambda witness: ""
) -> list[PublishedTable]:
    """Tables of distinguishing experiments and of the renaming of ports. `url`: the page of an experiment."""
    row, other, comparison = structure.row, structure.other, structure.comparison
    names, witnesses = (row.name, other.name), structure.witnesses
    experiments: list[tuple[Value, ...]] = [
        (
            "tells them apart",
            LinkedText(str(witness.experiment), url(witness)),
            *(witness.first, witness.second),
            witness.measured,
            None if witness.nearer is None else names[witness.nearer],
        )
        for witness in witnesses
    ]
    if comparison.largest is not None:
        furthest = comparison.largest
        experiments.append(("furthest apart, alone", furthest.scheme, *furthest.cycles, None, None))
    note = ""
    if witnesses and not comparison.noise:
        note = "This difference is smaller than the usual noise of measurements."
    elif not witnesses and comparison.agreement.differing:
        note = (
            "No short experiment of their common schemes distinguishes them. In mappings with several µops "
            "per scheme, different µops may mean the same throughput."
        )
    heads = (
        *(PublishedColumn("what"), code("experiment"), number(row.name, 3), number(other.name, 3)),
        *(number("measured", 3), PublishedColumn("nearer to")),
    )
    best = "" if comparison.agreement.renaming.exact else "Another renaming might make more schemes equal."
    ports = tuple((there, here or "none") for there, here in structure.ports.items())
    return [
        PublishedTable("differences", "Distinguished by (cycles)", heads, tuple(experiments), note),
        PublishedTable("ports", "Ports", (code(other.name), code(row.name)), ports, best),
    ]


def schemes_table(
    schemes: Sequence[ComparedScheme], ports: Sequence[str], loads: Mapping[str, str] | None = None
) -> PublishedTable:
    """A line per scheme; µops have the port names of the first mapping.

    `loads`: {scheme: loads in words} of a second mapping with resources. The column `differs in hidden` is 1
    if only hidden µops differ, which no experiment can show, 0 if others do.
    """
    uops = (PublishedColumn(f"µops {side}", CellKind.UOPS, ports=tuple(ports)) for side in _WHICH)
    heads = (
        *(code("scheme"), PublishedColumn("comparison"), *uops),
        *(number(f"cycles {side}") for side in _WHICH),
        *(number("difference %", 1), number("differs in hidden", 0)),
    )
    if loads is not None:
        heads = (*heads[:3], code("loads second"), *heads[4:])
    rows = tuple(
        (
            *(row.scheme, row.kind.value, row.uops[0]),
            row.uops[1] if loads is None else loads.get(row.scheme),
            *(finite_or_none(row.cycles[0]), finite_or_none(row.cycles[1]), finite_or_none(row.difference)),
            int(row.differs_in_hidden) if row.kind is SchemeRelation.DIFFERENT else None,
        )
        for row in schemes
    )
    return PublishedTable("schemes", "Schemes", heads, rows)


_WHICH = ("first", "second")


def contradiction_in_words(contradiction: ReferenceContradiction) -> str:
    return (
        f"beside {contradiction.copies} × {contradiction.blocker}, {contradiction.shown} µops cannot evade "
        f"its ports, not {contradiction.said}"
    )


def deviation_table(row: Model, other: Model, deviation: Deviation, sampling: Sampling) -> PublishedTable:
    """The deviation of two models, in per cent of the first and of the second."""
    heads = (
        *(PublishedColumn("in per cent of"), number("mean deviation (%)", 1), number("Pearson", 3)),
        *(number("Kendall", 3), number("R_max", 1)),
    )
    sides = zip((row, other), (deviation.scores, deviation.backwards), deviation.r_max, strict=True)
    rows = tuple(
        (model.name, scores.mape, scores.pearson, scores.kendall, rate) for model, scores, rate in sides
    )
    note = (
        f"{deviation.scores.n:,} random experiments of {sampling.length} from {deviation.common:,} common "
        f"schemes, in {sampling.unit.label}."
    )
    if not len(deviation.points):
        note = f"No random experiments: both describe {deviation.common} schemes."
    if deviation.skipped:
        note += f" {deviation.skipped:,} left out, which take no time."
    if deviation.furthest is not None:
        far = deviation.furthest
        note += f" Largest difference: {far.experiment}, {far.first:.3f} and {far.second:.3f}."
    return PublishedTable("deviation", "Deviation on random experiments", heads, rows, note)
