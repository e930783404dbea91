"""Experiments that are slower than a port mapping predicts; see `inference.core.misfits`."""

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
from inference.storage.mappings import load_mapping
from inference.storage.rows import measurements_of
from inference.web.published_page import PublishedTable

MAX_ITEMS = 5000
"""Items that are analysed, which takes seconds; of more, as many that are spread evenly."""


def excess_tables(question: ViewQuestion) -> list[PublishedTable]:
    """A line per group of µops that limit experiments, the group with the most slower experiments first."""
    ports: Sequence[str] = ()
    slow_groups = Excess(0, ())
    if question.column.mapping is not None:
        mapping = load_mapping(question.column.mapping)
        ports, slow_groups = mapping.ports, _excess(question, mapping)
    return [excess_table(slow_groups, ports, question.reference, question.column.name)]


def excess_table(
    slow_groups: Excess,
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
        f"Slower than {predicted} predicts",
        slow_groups.groups,
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
    if len(points) > MAX_ITEMS:
        points = points.where(np.linspace(0, len(points) - 1, MAX_ITEMS).astype(np.int64))
    readings: dict[Experiment, list[float]] = {}
    for at, cycles in zip(points.at.tolist(), points.reference.tolist(), strict=True):
        readings.setdefault(table.experiment(at), []).append(cycles)
    return excess(mapping, readings)


def sets_for(row: PortMapping) -> Sequence[ExperimentSet]:
    """Sets to compare a mapping with: those of its run first, then of its machine, then others."""

    def rank(dataset: ExperimentSet) -> tuple[bool, bool, int]:
        is_training_set = row.run_id is not None and dataset.run_id == row.run_id
        is_same_machine = row.machine_id is not None and dataset.machine_id == row.machine_id
        return not is_training_set, not is_same_machine, -dataset.pk

    sets = ExperimentSet.objects.filter(isa_id=row.isa_id).only("pk", "name", "run_id", "machine_id")
    return sorted(sets, key=rank)


def excess_json(slow_groups: Excess, ports: Sequence[str], max_experiments: int) -> Json:
    """The groups as JSON, with at most `max_experiments` experiments each."""
    return {
        "experiments": slow_groups.experiments,
        "exceeding": slow_groups.exceeding,
        "groups": [group.as_json(ports, max_experiments) for group in slow_groups.groups],
    }


def excess_in(row: PortMapping, dataset: ExperimentSet) -> Excess:
    """The slower experiments of a set, among those whose schemes the mapping all describes."""
    return _excess_in((row.pk, row.created), dataset.pk, dataset.measurements.count())


@lru_cache(maxsize=8)
def _excess_in(row: tuple[int, datetime], set_id: int, measurements: int) -> Excess:
    mapping = load_mapping(PortMapping.objects.get(pk=row[0]))
    settled = Measurement.objects.filter(experiment_set=set_id, state=Measurement.State.SETTLED)
    ids = list(settled.order_by("experiment_id", "id").values_list("id", flat=True))
    del measurements  # part of the cache key: new measurements invalidate it
    sample = ids[:: max(1, -(-len(ids) // MAX_ITEMS))]
    readings: dict[Experiment, list[float]] = {}
    for stored in measurements_of(Measurement.objects.filter(pk__in=sample).order_by("id")):
        value = stored.value
        if value.cycles is not None and mapping.usage.keys() >= set(value.experiment.schemes):
            readings.setdefault(value.experiment, []).append(value.cycles)
    return excess(mapping, readings)
