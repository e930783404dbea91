"""Queries of instruction sets and schemes: facts from mappings, times alone, and experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import Uops, uops_of
from inference.core.throughput import inverse_throughput
from inference.models import (
    ISA,
    Characterisation,
    ExperimentSet,
    InstructionScheme,
    Measurement,
    PortMapping,
    ResourceMapping,
    Witness,
)
from inference.models.row_counts import row_count
from inference.models.scheme_search import FIT
from inference.storage.evaluations import SchemeResidual, residuals_of
from inference.storage.judging import conflicts_of
from inference.storage.mappings import load_part, load_parts
from inference.storage.rows import StoredMeasurement, measurements_of
from inference.web.paging import Order, Page, page_of

SCHEME_COLUMNS = {
    "fit": FIT,
    "row": "id",
    "text": "text",
    "extension": "extension",
    "category": "category",
    "memory": "memory",
    "width": "width",
}
"""Columns that schemes can be sorted by, for `paging.Order`; `fit` needs rows of `annotate_fit`."""


def instruction_sets() -> QuerySet[ISA]:
    """Instruction sets with numbers of rows.

    `scheme_count`, `default_count`, `set_count`, `mapping_count` (port mappings), `resource_mapping_count`.
    """
    return ISA.objects.annotate(
        scheme_count=row_count(InstructionScheme.objects.all(), "isa"),
        default_count=row_count(InstructionScheme.objects.filter(exclusion=""), "isa"),
        set_count=row_count(ExperimentSet.objects.all(), "isa"),
        mapping_count=row_count(PortMapping.objects.all(), "isa"),
        resource_mapping_count=row_count(ResourceMapping.objects.all(), "isa"),
    )


def extensions_of(isa: ISA) -> list[str]:
    """The CPU features that schemes require, in alphabetical order."""
    rows = isa.schemes.exclude(extension="").order_by("extension")
    return list(rows.values_list("extension", flat=True).distinct())


@dataclass(frozen=True)
class SchemeUsage:
    mapping: PortMapping
    uops: Uops


def usages_of(scheme: InstructionScheme) -> list[SchemeUsage]:
    """The µops of a scheme in all mappings that describe it, newest first (one query)."""
    by_mapping: dict[PortMapping, list[tuple[int, int]]] = {}
    rows = scheme.usages.select_related("mapping").defer("mapping__report").order_by("-mapping_id", "mask")
    for usage in rows:
        pairs = by_mapping.setdefault(usage.mapping, [])
        if usage.count:
            pairs.append((usage.mask, usage.count))
    return [SchemeUsage(mapping, uops_of(pairs)) for mapping, pairs in by_mapping.items()]


PAGE = 25
EXPERIMENT_COLUMNS = {"length": "experiment__length", "set": "experiment_set__name"}
"""Columns that the experiments with a scheme can be sorted by, for `paging.Order`."""

MAX_ALONE = 50
MAX_WITNESSES = 50
MAX_EXPORTED = 20_000


@dataclass(frozen=True)
class MappingFacts:
    """A port mapping's µops of a scheme, with evidence.

    `uops` and `cycles` (alone) are None if it does not describe the scheme; `verdict` is explainable
    inference's, with the number of its `witnesses`; `residual` is None without an evaluation. `conflicts`:
    differing results of its machine.
    """

    mapping: PortMapping
    uops: Uops | None
    cycles: float | None
    verdict: Characterisation | None
    witnesses: int
    residual: SchemeResidual | None
    conflicts: Sequence[str] = ()

    @property
    def imported(self) -> bool:
        return self.mapping.origin == PortMapping.Origin.IMPORT


def facts_of(scheme: InstructionScheme) -> list[MappingFacts]:
    """Facts from all mappings that describe the scheme or have a verdict on it, newest first (seven
    queries).
    """
    usages = {usage.mapping.pk: usage for usage in usages_of(scheme)}
    judged = (
        scheme.characterisations.select_related("mapping")
        .defer("mapping__report")
        .annotate(number=Count("witnesses"))
    )
    verdicts = {verdict.mapping_id: verdict for verdict in judged}
    mappings = {pk: usage.mapping for pk, usage in usages.items()}
    mappings |= {pk: verdict.mapping for pk, verdict in verdicts.items() if pk not in mappings}
    residuals = residuals_of(mappings, [scheme.text])
    parts = load_parts(scheme.isa_id, {scheme.pk: scheme.text})
    alone = {row.pk: inverse_throughput(value, Experiment.of([scheme.text])) for row, value in parts}
    conflicts = conflicts_of(list(mappings), [scheme.text])
    facts = []
    for pk, row in sorted(mappings.items(), reverse=True):
        uops = usages[pk].uops if pk in usages else None
        verdict = verdicts.get(pk)
        number = 0 if verdict is None else verdict.number
        cycles = None if uops is None else alone[pk]
        other_texts = [*dict.fromkeys(other.words for other in conflicts.get((pk, scheme.text), []))]
        facts.append(
            MappingFacts(row, uops, cycles, verdict, number, residuals.get((pk, scheme.text)), other_texts)
        )
    return facts


def measured_alone(scheme: InstructionScheme) -> list[Measurement]:
    """Measurements of one instance, newest sets first, with sets and machines (one query)."""
    rows = Measurement.objects.filter(experiment__isa=scheme.isa_id, experiment__key=f"{scheme.pk}:1")
    rows = rows.select_related("experiment_set__machine").order_by("-experiment_set_id", "repeat")
    return list(rows[:MAX_ALONE])


def witnesses_of(scheme: InstructionScheme) -> list[Witness]:
    """Witnesses of its µops in all mappings, with blockers and mappings, newest mapping first (one query)."""
    rows = Witness.objects.filter(characterisation__scheme=scheme).select_related(
        "blocker", "characterisation__mapping"
    )
    rows = rows.defer("characterisation__mapping__report")
    return list(rows.order_by("-characterisation__mapping_id", "id")[:MAX_WITNESSES])


def experiments_with(scheme: InstructionScheme) -> QuerySet[Measurement]:
    """The measurements that contain the scheme, with their sets."""
    rows = Measurement.objects.filter(experiment__terms__scheme=scheme)
    return rows.select_related("experiment", "experiment_set").defer("experiment_set__summary")


def shortest_measured(scheme: InstructionScheme) -> tuple[int, list[tuple[str, Measured]]]:
    """(number of measurements with the scheme that have cycles, (set, value) of the first
    `MAX_EXPORTED`).
    """
    rows = Measurement.objects.filter(experiment__terms__scheme=scheme, cycles__isnull=False)
    total = rows.count()
    rows = rows.order_by("experiment__length", "experiment_id", "id")[:MAX_EXPORTED]
    sets = dict(rows.values_list("id", "experiment_set__name"))
    return total, [(sets.get(stored.id, ""), stored.value) for stored in measurements_of(rows)]


@dataclass(frozen=True)
class MeasurementWithScheme:
    """A measurement with the scheme, its set, and a mapping's prediction in cycles (None without one)."""

    stored: StoredMeasurement
    row: Measurement
    predicted: float | None

    @property
    def difference(self) -> float | None:
        """The error in per cent of the measurement."""
        cycles = self.stored.value.cycles
        return None if self.predicted is None or not cycles else 100 * (self.predicted - cycles) / cycles


def page_of_experiments(
    scheme: InstructionScheme, predicted_by: PortMapping | None, order: Order, cursor: str
) -> tuple[Page[Measurement], list[MeasurementWithScheme]]:
    """A page of the measurements that contain the scheme, with a mapping's predictions."""
    page = page_of(experiments_with(scheme), order, EXPERIMENT_COLUMNS, cursor, PAGE)
    rows = {row.pk: row for row in page.rows}
    values = {stored.id: stored for stored in measurements_of(Measurement.objects.filter(pk__in=list(rows)))}
    stored = [values[pk] for pk in rows if pk in values]
    predicted = {} if predicted_by is None else _predictions(predicted_by, scheme, stored)
    return page, [MeasurementWithScheme(value, rows[value.id], predicted.get(value.id)) for value in stored]


def _predictions(
    row: PortMapping, scheme: InstructionScheme, stored: Sequence[StoredMeasurement]
) -> dict[int, float]:
    """{measurement: predicted cycles}, if the mapping describes all schemes; only these are loaded."""
    texts = {text for measured in stored for text in measured.value.experiment.schemes}
    ids = dict(InstructionScheme.objects.filter(isa=scheme.isa_id, text__in=texts).values_list("pk", "text"))
    value = load_part(row, ids)
    return {
        measured.id: inverse_throughput(value, measured.value.experiment)
        for measured in stored
        if value.usage.keys() >= set(measured.value.experiment.schemes)
    }
