"""Two stored models of a processor on random experiments, and what each says of every scheme."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from inference.core.deviating import Deviation, Sampling, deviation
from inference.core.experiment import Experiment
from inference.core.identity import ComparedScheme, SchemeRelation
from inference.core.identity.comparison import NOISE
from inference.core.mapping import Uops
from inference.core.predicting import PortMappingModel, ThroughputModel
from inference.core.resources import Conversion, TooManyResourcesError, from_port_mapping
from inference.core.resources import ResourceMapping as Resources
from inference.core.resources.mapping import MAX_RESOURCES
from inference.core.throughput import inverse_throughput
from inference.formats.errors import ExchangeError
from inference.models import PortMapping, ResourceMapping
from inference.storage.resource_mappings import load_resource_mapping
from inference.storage.rows import load_mapping

Model = PortMapping | ResourceMapping

_Key = tuple[type[Model], int, datetime]


def deviation_of(row: Model, other: Model, sampling: Sampling) -> Deviation:
    """How far two models are apart on random experiments; raises `ExchangeError` for different ISAs.

    A fraction of a second for the usual thousands, and remembered.
    """
    require_same_isa(row, other)
    return _deviation(_key(row), _key(other), sampling)


def require_same_isa(row: Model, other: Model) -> None:
    """Raise `ExchangeError` for models of different instruction sets."""
    if row.isa_id != other.isa_id:
        raise ExchangeError(
            f"{row.name!r} describes {row.isa.name}, {other.name!r} describes {other.isa.name}: "
            "mappings of the same instruction set can be compared"
        )


def _key(row: Model) -> _Key:
    return type(row), row.pk, row.created


@lru_cache(maxsize=16)
def _deviation(row: _Key, other: _Key, sampling: Sampling) -> Deviation:
    """Remembered, since what a mapping says never changes; a new mapping has a new number and date."""
    (first, first_rate), (second, second_rate) = (_model(*key) for key in (row, other))
    return deviation(first, second, sampling, (first_rate, second_rate))


@lru_cache(maxsize=8)
def _model(kind: type[Model], pk: int, created: datetime) -> tuple[ThroughputModel, float | None]:
    """What predicts without R_max, and its R_max."""
    del created
    row = kind.objects.get(pk=pk)
    if isinstance(row, ResourceMapping):
        return load_resource_mapping(row), None
    value = load_mapping(row)
    bare = replace(value, r_max=None)
    try:
        # An equal model (Theorem 5.2) that answers thousands of experiments in hundredths of a second.
        return from_port_mapping(bare, Conversion(MAX_RESOURCES)), value.r_max
    except TooManyResourcesError:
        return PortMappingModel(bare), value.r_max


def beside_loads(row: PortMapping, other: ResourceMapping) -> tuple[ComparedScheme, ...]:
    """All schemes that either describes, with µops of the one and what one instance takes in both.

    Ports and resources cannot be compared: schemes differ where their inverse throughputs do, by more than
    the noise of measurements.
    """
    require_same_isa(row, other)
    return _beside_loads(_key(row), _key(other))


@lru_cache(maxsize=8)
def _beside_loads(row: _Key, other: _Key) -> tuple[ComparedScheme, ...]:
    mapping = load_mapping(PortMapping.objects.get(pk=row[1]))
    resources = load_resource_mapping(ResourceMapping.objects.get(pk=other[1]))
    ours: dict[Uops, float] = {}
    found = []
    for scheme in sorted(mapping.usage.keys() | resources.loads.keys()):
        uops = mapping.usage.get(scheme)
        alone = Experiment.of([scheme])
        if uops is not None and uops not in ours:
            ours[uops] = inverse_throughput(mapping, alone)
        here = None if uops is None else ours[uops]
        there = resources.inverse_throughput(alone) if scheme in resources.loads else None
        found.append(ComparedScheme(scheme, _kind(here, there), (uops, None), (here, there)))
    return tuple(found)


def _kind(here: float | None, there: float | None) -> SchemeRelation:
    if there is None:
        return SchemeRelation.ONLY_FIRST
    if here is None:
        return SchemeRelation.ONLY_SECOND
    return SchemeRelation.DIFFERENT if abs(here - there) > NOISE else SchemeRelation.EQUAL


def loads_summary(schemes: Collection[ComparedScheme]) -> str:
    """The comparison in a sentence or two."""
    counts = Counter(each.kind for each in schemes)
    common = counts[SchemeRelation.EQUAL] + counts[SchemeRelation.DIFFERENT]
    if not common:
        return "No scheme is described by both."
    first, second = counts[SchemeRelation.ONLY_FIRST], counts[SchemeRelation.ONLY_SECOND]
    return (
        f"{counts[SchemeRelation.EQUAL]:,} of {common:,} common schemes take as long alone, within {NOISE:g} "
        f"cycles. {first:,} only in the first, {second:,} only in the second."
    )


def described_loads(other: ResourceMapping, schemes: Collection[str]) -> dict[str, str]:
    """{scheme: its loads in words}, of those that the resource mapping describes."""
    rows = other.loads.filter(scheme__text__in=schemes).order_by("resource")
    loads: dict[str, list[tuple[int, float]]] = {}
    for scheme, resource, load in rows.values_list("scheme__text", "resource", "load"):
        entry = loads.setdefault(scheme, [])
        if load:
            entry.append((resource, load))
    value = Resources(tuple(other.resources), {scheme: tuple(entry) for scheme, entry in loads.items()})
    return {scheme: value.describe(scheme) for scheme in loads}
