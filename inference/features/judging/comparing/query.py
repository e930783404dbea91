"""Comparisons of two stored mappings: schemes, distinguishing experiments, and deviation on random
experiments.

Port mappings are compared up to a renaming of ports; with a resource mapping, schemes are compared by their
cycles alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, Field

from inference.core.deviation import Deviation, Furthest, Sampling, deviation
from inference.core.evaluator import PortMappingModel, ThroughputModel
from inference.core.experiment import Experiment, Unit
from inference.core.identity import ComparedScheme, Distinction, MappingComparison, SchemeRelation
from inference.core.identity.comparison import NOISE, agreement_up_to_hidden
from inference.core.mapping import Uops
from inference.core.protocols import Json
from inference.core.resources import MAX_RESOURCES, Conversion, TooManyResourcesError, from_port_mapping
from inference.core.resources import ResourceMapping as Resources
from inference.core.throughput import inverse_throughput
from inference.features.library.experiments.query import (
    SettledTimes,
    measured_row,
    measurements_with_machines,
)
from inference.features.library.mappings.query import comparison_of, require_same_isa
from inference.models import ExperimentSet, Measurement, PortMapping, ResourceMapping
from inference.models.scheme_search import matching_texts
from inference.storage.mappings import load_mapping, load_resource_mapping
from inference.storage.rows import measurements_of

SHORT_LENGTH = 3  # instructions of measured experiments that are searched for a distinguishing one
MAX_SEARCHED = 1000  # measurements of these

Relation = Literal["", "different", "only-first", "only-second", "equal"]
_ORDER = {kind: place for place, kind in enumerate(SchemeRelation)}

Model = PortMapping | ResourceMapping
_Key = tuple[type[Model], int, datetime]
"""Cache key of a mapping: a stored one never changes, and a new one has a new id and time of creation."""


MAX_EXPERIMENTS = 20_000
"""Random experiments of page and API; the shell takes more."""


class SamplingRequest(BaseModel):
    """The random experiments on which two mappings are compared."""

    experiments: int = Field(Sampling.experiments, ge=1, le=MAX_EXPERIMENTS)
    length: int = Field(Sampling.length, ge=1, le=100, description="Instructions per random experiment.")
    seed: int = Field(Sampling.seed, ge=0, le=2**63 - 1)
    unit: Unit = Sampling.unit
    r_max: float | None = Field(
        None,
        description="R_max of both in instructions per cycle, instead of their own.",
        examples=[5.0],
    )

    def as_sampling(self) -> Sampling:
        """Raises `InvalidInputError` for an R_max that no mapping can have."""
        return Sampling(**self.model_dump())


def _key(row: Model) -> _Key:
    return type(row), row.pk, row.created


@dataclass(frozen=True)
class DifferingExperiment(Distinction):
    """An experiment on which two mappings differ, with both predictions in cycles and its measurement.

    Attributes:
        measured: Median of the settled measurements, None without one.
        experiment_id: None if it is not stored.
    """

    measured: float | None = None
    experiment_id: int | None = None

    @property
    def nearer(self) -> int | None:
        """Which mapping is nearer to the measurement: 0 the first, 1 the second; None if neither is."""
        if self.measured is None:
            return None
        first, second = (abs(cycles - self.measured) for cycles in (self.first, self.second))
        return None if first == second else int(second < first)

    def as_json(self) -> Json:
        fields = {name: getattr(self, name) for name in ("first", "second", "measured")}
        return {"experiment": str(self.experiment), **fields}


@dataclass(frozen=True, eq=False)
class Structure:
    """Two port mappings up to a renaming of the second one's ports. Raises `ExchangeError` for other ISAs.

    `judged_by`: the set whose measurements show which µops are hidden.
    """

    row: PortMapping
    other: PortMapping
    judged_by: ExperimentSet | None = None

    @property
    def comparison(self) -> MappingComparison:
        return comparison_of(self.row, self.other)

    @property
    def ports(self) -> dict[str, str | None]:
        """{port of the second mapping: its name in the first one, None without a partner}."""
        partners = self.comparison.agreement.renaming.ports
        names = (None if port is None else self.row.ports[port] for port in partners)
        return dict(zip(self.other.ports, names, strict=True))

    @property
    def up_to_hidden(self) -> float | None:
        """Share of the common schemes, 0 to 1, with equal µops up to those hidden in the set.

        None without a set, or if both describe none of its experiments. Takes seconds for tens of thousands.
        """
        if self.judged_by is None:
            return None
        n = self.judged_by.measurements.count()
        return _up_to_hidden(_key(self.row), _key(self.other), self.judged_by.pk, n)

    @property
    def witnesses(self) -> list[DifferingExperiment]:
        """A smallest experiment that distinguishes the mappings, then, if it is not measured, a measured one.

        The measured one is that of the shortest experiments of all sets on which the mappings differ most.
        """
        comparison = self.comparison
        if comparison.distinction is None:
            return []
        smallest = self._witness(comparison.distinction)
        if smallest.measured is not None:
            return [smallest]
        measured = self._measured_distinction(comparison.noise)
        return [smallest] if measured is None else [smallest, self._witness(measured)]

    def _witness(self, distinction: Distinction) -> DifferingExperiment:
        stored = measured_row(distinction.experiment, self.row.isa)
        result = (
            ()
            if stored is None
            else (SettledTimes(measurements_with_machines(stored)).of(self.row)[0], stored.pk)
        )
        return DifferingExperiment(distinction.experiment, distinction.first, distinction.second, *result)

    def _measured_distinction(self, noise: float) -> Distinction | None:
        """The short measured experiment on which the mappings differ most, None unless by more than noise."""
        settled = Measurement.objects.filter(
            experiment__isa=self.row.isa_id,
            experiment__length__lte=SHORT_LENGTH,
            state=Measurement.State.SETTLED,
        )
        stored = measurements_of(settled.order_by("experiment__length", "id")[:MAX_SEARCHED])
        mappings = (load_mapping(self.row), load_mapping(self.other))
        best, furthest = None, 0.0
        for experiment in dict.fromkeys(entry.value.experiment for entry in stored):
            if not all(mapping.usage.keys() >= set(experiment.schemes) for mapping in mappings):
                continue
            first, second = (inverse_throughput(mapping, experiment) for mapping in mappings)
            apart = abs(first - second) / experiment.length
            if apart > max(2 * noise, furthest):
                best, furthest = Distinction(experiment, first, second), apart
        return best

    def figures(self) -> Json:
        """The numbers that API and shell share."""
        comparison, agreement = self.comparison, self.comparison.agreement
        return {
            "equal": comparison.are_equal,
            "agreeing": len(agreement.agreeing),
            "only_first": len(agreement.only_first),
            "only_second": len(agreement.only_second),
            "share": agreement.share,
            "same_number_of_uops": comparison.same_number,
            "up_to_hidden": self.up_to_hidden,
            "renaming": self.ports,
        }


@lru_cache(maxsize=16)
def _up_to_hidden(row: _Key, other: _Key, set_id: int, _measurements: int) -> float | None:
    first, second = (load_mapping(PortMapping.objects.get(pk=key[1])) for key in (row, other))
    stored = Measurement.objects.filter(experiment_set=set_id, state=Measurement.State.SETTLED)
    return agreement_up_to_hidden(
        first, second, (measurement.value.experiment for measurement in measurements_of(stored))
    )


def compared_schemes(row: PortMapping, other: Model) -> tuple[ComparedScheme, ...]:
    """All schemes that either mapping describes. Raises `ExchangeError` for different instruction sets.

    Ports and resources cannot be compared: with a resource mapping, schemes differ if the cycles of one
    instance do, by more than the noise of measurements.
    """
    if isinstance(other, PortMapping):
        return comparison_of(row, other).schemes
    require_same_isa(row, other)
    return _beside_loads(_key(row), _key(other))


@lru_cache(maxsize=8)
def _beside_loads(row: _Key, other: _Key) -> tuple[ComparedScheme, ...]:
    mapping = load_mapping(PortMapping.objects.get(pk=row[1]))
    resources = load_resource_mapping(ResourceMapping.objects.get(pk=other[1]))
    port_cycles: dict[Uops, float] = {}
    schemes = []
    for scheme in sorted(mapping.usage.keys() | resources.loads.keys()):
        uops = mapping.usage.get(scheme)
        alone = Experiment.of([scheme])
        if uops is not None and uops not in port_cycles:
            port_cycles[uops] = inverse_throughput(mapping, alone)
        here = None if uops is None else port_cycles[uops]
        there = resources.inverse_throughput(alone) if scheme in resources.loads else None
        schemes.append(ComparedScheme(scheme, _relation(here, there), (uops, None), (here, there)))
    return tuple(schemes)


def _relation(here: float | None, there: float | None) -> SchemeRelation:
    if there is None:
        return SchemeRelation.ONLY_FIRST
    if here is None:
        return SchemeRelation.ONLY_SECOND
    return SchemeRelation.DIFFERENT if abs(here - there) > NOISE else SchemeRelation.EQUAL


def differences_first(
    schemes: Sequence[ComparedScheme], isa: int | None = None, q: str = "", relation: str = ""
) -> list[ComparedScheme]:
    """The schemes of a `relation` ("" for all) that match a search of the `isa`: different ones first, the
    largest difference in cycles at the top, then those that one mapping lacks. Raises `SearchError`.
    """
    texts = matching_texts(isa, q.strip()) if isa is not None and q.strip() else None
    rows = (
        row for row in schemes if relation in ("", row.kind.value) and (texts is None or row.scheme in texts)
    )
    return sorted(rows, key=lambda row: (_ORDER[row.kind], -row.factor, row.scheme))


def loads_summary(schemes: Collection[ComparedScheme]) -> str:
    """The comparison with a resource mapping in one or two sentences."""
    counts = Counter(scheme.kind for scheme in schemes)
    common = counts[SchemeRelation.EQUAL] + counts[SchemeRelation.DIFFERENT]
    if not common:
        return "No scheme is described by both."
    first, second = counts[SchemeRelation.ONLY_FIRST], counts[SchemeRelation.ONLY_SECOND]
    return (
        f"{counts[SchemeRelation.EQUAL]:,} of {common:,} common schemes take as long alone, within {NOISE:g} "
        f"cycles. {first:,} only in the first, {second:,} only in the second."
    )


def described_loads(other: ResourceMapping, schemes: Collection[str]) -> dict[str, str]:
    """{scheme: its loads in words} of the schemes that the resource mapping describes."""
    rows = other.loads.filter(scheme__text__in=schemes).order_by("resource")
    loads: dict[str, list[tuple[int, float]]] = {}
    for scheme, resource, load in rows.values_list("scheme__text", "resource", "load"):
        entry = loads.setdefault(scheme, [])
        if load:
            entry.append((resource, load))
    value = Resources(tuple(other.resources), {scheme: tuple(entry) for scheme, entry in loads.items()})
    return {scheme: value.describe(scheme) for scheme in loads}


def deviation_of(row: Model, other: Model, sampling: Sampling) -> Deviation:
    """The deviation of two mappings on random experiments; raises `ExchangeError` for different ISAs.

    Takes a fraction of a second for thousands of experiments; cached.
    """
    require_same_isa(row, other)
    return _deviation(_key(row), _key(other), sampling)


@lru_cache(maxsize=16)
def _deviation(row: _Key, other: _Key, sampling: Sampling) -> Deviation:
    (first, first_rate), (second, second_rate) = (_model(*key) for key in (row, other))
    return deviation(first, second, sampling, (first_rate, second_rate))


@lru_cache(maxsize=8)
def _model(kind: type[Model], pk: int, _created: datetime) -> tuple[ThroughputModel, float | None]:
    """(model without R_max, its R_max)."""
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


def finite_or_none(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def furthest_json(furthest: Furthest | None) -> dict[str, Any] | None:
    """The experiment on which two models differ most, as JSON."""
    return None if furthest is None else {**vars(furthest), "experiment": str(furthest.experiment)}
