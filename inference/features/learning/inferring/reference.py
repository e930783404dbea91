"""Comparison of a mapping inferred by counter-examples with a reference mapping of the same schemes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, replace

from django.db.models import Count, Q, QuerySet

from inference.core.experiment import Experiment
from inference.core.identity import best_renaming
from inference.core.mapping import PortMapping as Mapping
from inference.core.throughput import inverse_throughput
from inference.features.library.mappings.query import comparable
from inference.models import Machine, PortMapping
from inference.storage.evidence import Evidence
from inference.storage.instruction_sets import core_of
from inference.storage.mappings import load_mapping


@dataclass(frozen=True)
class Objection:
    """A measurement that the reference does not explain, with both mappings' predictions, in cycles."""

    experiment: Experiment
    measured: float
    inferred: float
    reference: float


@dataclass(frozen=True)
class ReferenceComparison:
    """The reference restricted to the result's schemes, with ports renamed to match the result's.

    `differing`: {scheme with other µops: the measurement that contradicts the reference most; None if it
    explains all measurements of the scheme}. `r_max` is the same for both predictions.
    """

    row: PortMapping
    mapping: Mapping
    differing: Dictionary[str, Objection | None]
    objections: tuple[Objection, ...]
    r_max: float | None

    @property
    def agrees(self) -> bool:
        return not self.differing


def references(row: PortMapping) -> QuerySet[PortMapping]:
    """Other mappings that describe all schemes of this one; imported ones first, then the newest."""
    schemes = row.usages.values("scheme").distinct()
    described = Count("usages__scheme", filter=Q(usages__scheme__in=schemes), distinct=True)
    mappings = comparable(row).annotate(described=described).filter(described=schemes.count())
    return mappings.select_related("machine").order_by("origin", "-id")


def default_reference(row: PortMapping, candidates: list[PortMapping]) -> PortMapping | None:
    """The imported mapping named after the machine's microarchitecture, else the newest imported one."""
    imported = [row for row in candidates if row.origin == PortMapping.Origin.IMPORT]
    named = None if row.machine is None else named_after(row.machine, imported)
    return named or next(iter(imported), None)


def named_after(machine: Machine, candidates: Iterable[PortMapping]) -> PortMapping | None:
    """The first mapping whose name contains the machine's microarchitecture: for Zen, not "Zen 3"."""
    core = core_of(machine)
    if core is None:
        return None
    name_pattern = re.compile(rf"\b{re.escape(core.name)}(?![\w+-]| \d)", re.IGNORECASE)
    return next((row for row in candidates if name_pattern.search(row.name)), None)


def documented_for(machine: Machine) -> PortMapping | None:
    """The newest imported mapping named after the machine's microarchitecture."""
    imported = PortMapping.objects.filter(isa=machine.isa_id, origin=PortMapping.Origin.IMPORT)
    return named_after(machine, imported.order_by("-id"))


def compare_with(value: Mapping, evidence: Evidence, reference: PortMapping) -> ReferenceComparison:
    """Compares the result `value` with the reference, using the result's measurements."""
    described = load_mapping(reference)
    usage = {scheme: described.usage[scheme] for scheme in value.usage if scheme in described.usage}
    r_max = evidence.r_max or described.r_max
    restricted = replace(described, usage=usage, r_max=r_max)
    renamed = best_renaming(value, restricted).apply(restricted)
    objections = _objections(replace(value, r_max=r_max), renamed, evidence)
    differing = {
        scheme: next((objection for objection in objections if scheme in objection.experiment.schemes), None)
        for scheme in value.usage
        if scheme in usage and renamed.usage[scheme] != value.usage[scheme]
    }
    return ReferenceComparison(reference, renamed, differing, objections, r_max)


def _objections(value: Mapping, reference: Mapping, evidence: Evidence) -> tuple[Objection, ...]:
    """Measurements that differ from the reference's prediction by more than the noise, largest error per
    instruction first.
    """
    objections = []
    for result in evidence.experiments:
        is_described = all(
            scheme in reference.usage and scheme in value.usage for scheme in result.experiment.schemes
        )
        if result.cycles is None or not is_described:
            continue
        reference_cycles = inverse_throughput(reference, result.experiment)
        if abs(reference_cycles - result.cycles) > evidence.epsilon * result.experiment.length:
            inferred_cycles = inverse_throughput(value, result.experiment)
            objections.append(Objection(result.experiment, result.cycles, inferred_cycles, reference_cycles))
    objections.sort(key=lambda o: -abs(o.reference - o.measured) / o.experiment.length)
    return tuple(objections)
