"""A mapping found by counter-examples beside one that describes the same schemes, and what was measured."""

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
    """A measurement that the reference does not explain; all in cycles."""

    experiment: Experiment
    measured: float
    found: float
    reference: float


@dataclass(frozen=True)
class ReferenceBeside:
    """The reference's schemes that the result has too, its ports named as there.

    `differing`: schemes with other µops, {scheme: the measurement that contradicts the reference most, None
    where the reference explains all measurements of it}. `r_max` is what both were reckoned with.
    """

    row: PortMapping
    mapping: Mapping
    differing: Dictionary[str, Objection | None]
    objections: tuple[Objection, ...]
    r_max: float | None

    @property
    def agrees(self) -> bool:
        """Whether all schemes have the same µops."""
        return not self.differing


def references(row: PortMapping) -> QuerySet[PortMapping]:
    """Other mappings that describe all of its schemes; imported ones first, then the newest."""
    schemes = row.usages.values("scheme").distinct()
    described = Count("usages__scheme", filter=Q(usages__scheme__in=schemes), distinct=True)
    found = comparable(row).annotate(described=described).filter(described=schemes.count())
    return found.select_related("machine").order_by("origin", "-id")


def usual_reference(row: PortMapping, candidates: list[PortMapping]) -> PortMapping | None:
    """An imported mapping that says to be of the same microarchitecture, or else the newest imported one."""
    imported = [each for each in candidates if each.origin == PortMapping.Origin.IMPORT]
    named = None if row.machine is None else named_after(row.machine, imported)
    return named or next(iter(imported), None)


def named_after(machine: Machine, candidates: Iterable[PortMapping]) -> PortMapping | None:
    """The first that has the name of the machine's microarchitecture in its own: not Zen 3 for Zen."""
    known = core_of(machine)
    if known is None:
        return None
    whole = re.compile(rf"\b{re.escape(known.name)}(?![\w+-]| \d)", re.IGNORECASE)
    return next((each for each in candidates if whole.search(each.name)), None)


def documented_for(machine: Machine) -> PortMapping | None:
    """The newest imported mapping that says to be of the machine's microarchitecture."""
    imported = PortMapping.objects.filter(isa=machine.isa_id, origin=PortMapping.Origin.IMPORT)
    return named_after(machine, imported.order_by("-id"))


def beside(value: Mapping, evidence: Evidence, reference: PortMapping) -> ReferenceBeside:
    """The reference beside the result `value`, judged by what was measured for it."""
    described = load_mapping(reference)
    usage = {scheme: described.usage[scheme] for scheme in value.usage if scheme in described.usage}
    r_max = evidence.r_max or described.r_max
    restricted = replace(described, usage=usage, r_max=r_max)
    renamed = best_renaming(value, restricted).apply(restricted)
    objections = _objections(replace(value, r_max=r_max), renamed, evidence)
    differing = {
        scheme: next((each for each in objections if scheme in each.experiment.schemes), None)
        for scheme in value.usage
        if scheme in usage and renamed.usage[scheme] != value.usage[scheme]
    }
    return ReferenceBeside(reference, renamed, differing, objections, r_max)


def _objections(value: Mapping, reference: Mapping, evidence: Evidence) -> tuple[Objection, ...]:
    """Measurements off the reference's predictions by more than the noise, the furthest per instruction
    first."""
    found = []
    for asked in evidence.asked:
        known = all(
            scheme in reference.usage and scheme in value.usage for scheme in asked.experiment.schemes
        )
        if asked.cycles is None or not known:
            continue
        said = inverse_throughput(reference, asked.experiment)
        if abs(said - asked.cycles) > evidence.epsilon * asked.experiment.length:
            own = inverse_throughput(value, asked.experiment)
            found.append(Objection(asked.experiment, asked.cycles, own, said))
    found.sort(key=lambda each: -abs(each.reference - each.measured) / each.experiment.length)
    return tuple(found)
