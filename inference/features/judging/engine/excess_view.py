"""What takes longer than a port mapping among the sources allows; see `inference.core.excess`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from inference.core.excess import Excess, excess
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.features.judging.engine.query import ComparisonPart, key_of, points_of, sheet_of
from inference.features.judging.engine.tables import LinkedText, code, number
from inference.features.judging.engine.view_values import ViewQuestion
from inference.storage.rows import load_mapping
from inference.web.published_page import PublishedTable, Value

MOST = 5000
"""Items that are looked at: seconds; of more, as many that are spread evenly."""


def excess_tables(question: ViewQuestion) -> list[PublishedTable]:
    """A line per group of µops that limit experiments, those first of which most take longer."""
    ports: Sequence[str] = ()
    found = Excess(0, ())
    if question.column.mapping is not None:
        mapping = load_mapping(question.column.mapping)
        ports, found = mapping.ports, _excess(question, mapping)
    return [excess_table(found, ports, question.reference, question.column.name)]


def excess_table(
    found: Excess,
    ports: Sequence[str],
    measured: str,
    predicted: str,
    url: Callable[[Experiment], str] = lambda experiment: "",
) -> PublishedTable:
    """`measured`, `predicted`: the headings of the cycles; `url`: the page of an experiment."""
    rows: list[tuple[Value, ...]] = []
    for group in found.groups:
        limits = " and ".join(f"[{','.join(names)}]" for names in group.port_names(ports))
        largest = group.exceeding[0]
        readings = f"{largest.readings} readings, all longer" if largest.repeated else ""
        experiment = LinkedText(str(largest.experiment), url(largest.experiment), note=readings)
        rows.append(
            (
                *(limits or "issue slots", group.experiments, len(group.exceeding), 100 * group.median),
                *(experiment, largest.measured, largest.predicted),
            )
        )
    heads = (
        *(code("Limited by"), number("Experiments", 0), number("Longer", 0)),
        *(number("Median excess (%)", 1), code("Largest excess")),
        *(number(measured, 3), number(predicted, 3)),
    )
    return PublishedTable("excess", f"What takes longer than {predicted} allows", heads, tuple(rows))


def _excess(question: ViewQuestion, mapping: PortMapping) -> Excess:
    key = key_of(question.row)
    in_cycles = ComparisonPart(selection=question.part.selection, against=question.part.against)
    points, table = points_of(key, question.column.position, in_cycles), sheet_of(key).items.table
    assert table is not None, "experiments have schemes"
    if len(points) > MOST:
        points = points.where(np.linspace(0, len(points) - 1, MOST).astype(np.int64))
    readings: dict[Experiment, list[float]] = {}
    for at, cycles in zip(points.at.tolist(), points.reference.tolist(), strict=True):
        readings.setdefault(table.experiment(at), []).append(cycles)
    return excess(mapping, readings)
