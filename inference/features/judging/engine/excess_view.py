"""What takes longer than a port mapping allows, in a comparison or a set; see `inference.core.misfits`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache

import numpy as np

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as Mapping
from inference.core.misfits import Excess, ExcessGroup, excess
from inference.core.protocols import Json
from inference.features.judging.engine.query import ComparisonPart, ViewQuestion, key_of, points_of, sheet_of
from inference.features.judging.engine.tables import LinkedText, code, number, table_of
from inference.models import ExperimentSet, Measurement, PortMapping
from inference.storage.rows import load_mapping, measurements_of
from inference.web.published_page import PublishedTable

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

    def limits(group: ExcessGroup) -> str:
        return " and ".join(f"[{','.join(names)}]" for names in group.port_names(ports)) or "issue slots"

    def largest(group: ExcessGroup) -> LinkedText:
        first = group.exceeding[0]
        readings = f"{first.readings} readings, all longer" if first.repeated else ""
        return LinkedText(str(first.experiment), url(first.experiment), note=readings)

    return table_of(
        "excess",
        f"What takes longer than {predicted} allows",
        found.groups,
        (code("Limited by"), limits),
        (number("Experiments", 0), lambda group: group.experiments),
        (number("Longer", 0), lambda group: len(group.exceeding)),
        (number("Median excess (%)", 1), lambda group: 100 * group.median),
        (code("Largest excess"), largest),
        (number(measured, 3), lambda group: group.exceeding[0].measured),
        (number(predicted, 3), lambda group: group.exceeding[0].predicted),
    )


def _excess(question: ViewQuestion, mapping: Mapping) -> Excess:
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


def sets_for(row: PortMapping) -> Sequence[ExperimentSet]:
    """Sets to hold a mapping against: those that its run measured, its machine's, then the others."""

    def rank(dataset: ExperimentSet) -> tuple[bool, bool, int]:
        own = row.run_id is not None and dataset.run_id == row.run_id
        same = row.machine_id is not None and dataset.machine_id == row.machine_id
        return not own, not same, -dataset.pk

    sets = ExperimentSet.objects.filter(isa_id=row.isa_id).only("pk", "name", "run_id", "machine_id")
    return sorted(sets, key=rank)


def excess_json(found: Excess, ports: Sequence[str], most: int) -> Json:
    """For programs, with at most so many experiments of a group."""
    return {
        "experiments": found.experiments,
        "exceeding": found.exceeding,
        "groups": [group.as_json(ports, most) for group in found.groups],
    }


def excess_in(row: PortMapping, dataset: ExperimentSet) -> Excess:
    """What of a set takes longer than the mapping allows, of the experiments whose schemes it all knows."""
    return _excess_in((row.pk, row.created), dataset.pk, dataset.measurements.count())


@lru_cache(maxsize=8)
def _excess_in(row: tuple[int, datetime], set_id: int, measurements: int) -> Excess:
    mapping = load_mapping(PortMapping.objects.get(pk=row[0]))
    settled = Measurement.objects.filter(experiment_set=set_id, state=Measurement.State.SETTLED)
    ids = list(settled.order_by("experiment_id", "id").values_list("id", flat=True))
    del measurements  # with more of them it is another question
    chosen = ids[:: max(1, -(-len(ids) // MOST))]
    readings: dict[Experiment, list[float]] = {}
    for stored in measurements_of(Measurement.objects.filter(pk__in=chosen).order_by("id")):
        value = stored.value
        if value.cycles is not None and mapping.usage.keys() >= set(value.experiment.schemes):
            readings.setdefault(value.experiment, []).append(value.cycles)
    return excess(mapping, readings)
