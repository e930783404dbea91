"""Queries of resource mappings: the list, classes of schemes with equal loads, and predictions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import OuterRef, QuerySet, Subquery

from inference.core.experiment import Experiment
from inference.core.resources import Loads
from inference.core.resources import ResourceMapping as Resources
from inference.models import ISA, Evaluation, InstructionScheme, ResourceLoad, ResourceMapping
from inference.models.row_counts import row_count
from inference.web.paging import having_words

RESOURCE_MAPPING_COLUMNS = {"created": "id", "name": "name", "schemes": "scheme_count"}


@dataclass(frozen=True)
class ResourceMappingSubject:
    row: ResourceMapping
    value: Resources


def resource_mappings(text: str = "") -> QuerySet[ResourceMapping]:
    """Resource mappings with `scheme_count` and `evaluation_id` of their newest evaluation in cycles.

    Filtered by a text in name or note.
    """
    evaluations = Evaluation.objects.filter(resource_mapping=OuterRef("pk"), unit=Evaluation.Unit.CYCLES)
    rows = ResourceMapping.objects.filter(having_words(text)).defer("report").select_related("isa", "machine")
    return rows.annotate(
        scheme_count=row_count(ResourceLoad.objects.all(), "mapping", "scheme"),
        evaluation_id=Subquery(evaluations.order_by("-id").values("pk")[:1]),
    )


@dataclass(frozen=True)
class LoadClass:
    """Schemes with equal loads, which no experiment can distinguish."""

    schemes: tuple[str, ...]
    loads: Loads

    @property
    def cycles(self) -> float:
        """The inverse throughput of one of them alone."""
        return max((load for _, load in self.loads), default=0.0)


def classes_of(
    mapping: Resources, schemes: Collection[str] | None = None, resource: int | None = None
) -> list[LoadClass]:
    """The classes of a resource mapping in the order of their first schemes.

    `schemes` restricts the schemes, `resource` the classes to those that load it.
    """
    members: dict[Loads, list[str]] = defaultdict(list)
    for scheme, loads in mapping.loads.items():
        if schemes is None or scheme in schemes:
            members[loads].append(scheme)
    classes = [LoadClass(tuple(listed), loads) for loads, listed in members.items()]
    if resource is None:
        return classes
    return [load_class for load_class in classes if any(index == resource for index, _ in load_class.loads)]


@dataclass(frozen=True)
class SchemeLoads:
    """The loads of a scheme in one resource mapping: (resource, cycles), the largest first."""

    mapping: ResourceMapping
    loads: tuple[tuple[str, float], ...]

    @property
    def cycles(self) -> float:
        """The inverse throughput of one instance alone."""
        return max((load for _, load in self.loads), default=0.0)


def loads_of(scheme: InstructionScheme) -> list[SchemeLoads]:
    """The loads of a scheme in all resource mappings that describe it, newest first (one query)."""
    by_mapping: dict[ResourceMapping, list[tuple[str, float]]] = {}
    rows = scheme.resource_loads.select_related("mapping").defer("mapping__report")
    for row in rows.order_by("-mapping_id", "-load", "resource"):
        loads = by_mapping.setdefault(row.mapping, [])
        if row.load:
            loads.append((row.mapping.resources[row.resource], row.load))
    return [SchemeLoads(mapping, tuple(loads)) for mapping, loads in by_mapping.items()]


@dataclass(frozen=True)
class ResourcePrediction:
    """A resource mapping's prediction for an experiment, in cycles per execution."""

    mapping: ResourceMapping
    cycles: float
    limits: tuple[str, ...]
    measured: float | None

    @property
    def error(self) -> float | None:
        """The error in per cent of the measurement, None without one."""
        return None if self.measured is None else 100 * (self.cycles - self.measured) / self.measured


def resource_predictions(
    experiment: Experiment, isa: ISA, measured: float | None = None
) -> list[ResourcePrediction]:
    """Predictions of all resource mappings that describe all schemes, newest first.

    `limits` names the fullest resources; empty if nothing is loaded.
    """
    texts = dict(isa.schemes.filter(text__in=experiment.schemes).values_list("id", "text"))
    rows = ResourceLoad.objects.filter(scheme__in=texts, mapping__isa=isa).order_by("scheme_id", "resource")
    loads: dict[int, dict[str, list[tuple[int, float]]]] = defaultdict(dict)
    for mapping_id, scheme_id, resource, load in rows.values_list(
        "mapping_id", "scheme_id", "resource", "load"
    ):
        scheme_loads = loads[mapping_id].setdefault(texts[scheme_id], [])
        if load:
            scheme_loads.append((resource, load))
    complete = [pk for pk, by_scheme in loads.items() if len(by_scheme) == len(experiment.terms)]
    mappings = ResourceMapping.objects.filter(pk__in=complete).defer("report").order_by("-id")
    return [_prediction(row, loads[row.pk], experiment, measured) for row in mappings]


def _prediction(
    row: ResourceMapping,
    loads: dict[str, list[tuple[int, float]]],
    experiment: Experiment,
    measured: float | None,
) -> ResourcePrediction:
    value = Resources(tuple(row.resources), {text: tuple(entry) for text, entry in loads.items()})
    cycles = value.inverse_throughput(experiment)
    pressures = zip(value.resources, value.pressure(experiment), strict=True)
    limits = tuple(name for name, load in pressures if cycles and math.isclose(load, cycles, rel_tol=1e-9))
    return ResourcePrediction(row, cycles, limits, measured)
