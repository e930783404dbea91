"""A CPU's home: what the page of a core model has beside the diagram and the kinds of instructions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from inference.core.core_model import KindCompetition
from inference.core.core_model.differences import (
    ComparedCore,
    CoreQuantity,
    front_end_quantities,
    memory_quantities,
)
from inference.core.core_model.overview import KindPair
from inference.core.texts import count_of
from inference.features.learning.core_model.missing import MissingParts
from inference.features.learning.core_model.query import CoreModelContents
from inference.features.learning.latencies.query import memory_sentences
from inference.features.machines.machines.query import noise_of, readings_of, shares_of
from inference.models import Machine, SchemeConflict, StoredCoreModel
from inference.storage.judging import grounds_of

_DAY = timedelta(hours=24)
_MAX_CONFLICTS = 60
_MAX_PAIRS = 3
"""Pairs of competing kinds that a sentence names."""


@dataclass(frozen=True)
class HomeSection:
    """A section of named numbers with their units, and sentences that are folded.

    `links`: (text, address) of the pages with the details.
    """

    key: str
    title: str
    facts: tuple[tuple[str, str], ...]
    folded: str = ""
    sentences: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


def home_sections(row: StoredCoreModel, core: ComparedCore) -> list[HomeSection]:
    """The sections that have content."""
    sections = (_front_end(row, core), _memory(row, core), _noise(row))
    return [section for section in sections if section is not None and (section.facts or section.sentences)]


def quantity_facts(quantities: Iterable[CoreQuantity]) -> tuple[tuple[str, str], ...]:
    """(label, number with its unit) of the known ones."""
    return tuple(
        (quantity.aspect[0].upper() + quantity.aspect[1:], f"{_number(quantity.value)} {quantity.unit}")
        for quantity in quantities
        if quantity.value is not None
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _front_end(row: StoredCoreModel, core: ComparedCore) -> HomeSection:
    limits = core.overview.front_end
    facts = quantity_facts(front_end_quantities(limits))
    if core.overview.issue is not None:
        facts = (("Instructions issue", core.overview.issue.text), *facts)
    fused = () if limits is None or limits.fused is None else tuple(sorted(limits.fused))
    if fused:
        facts = (*facts, ("Pairs in one slot", count_of(len(fused), "pair")))
    links = _links("Curves and the code behind each number", "front-end", row.front_end_id)
    return HomeSection("front-end", "Front end", facts, "Which pairs take one slot", fused, links)


def _memory(row: StoredCoreModel, core: ComparedCore) -> HomeSection:
    facts = quantity_facts(memory_quantities(core.memory))
    sentences = () if core.memory is None else tuple(memory_sentences(core.memory))
    links = (
        *_links("Memory in detail", "latency-memory", row.latencies_id),
        *_links("All latencies", "latency-set", row.latencies_id),
    )
    return HomeSection("memory", "Memory", facts, "Renaming, pages, lines", sentences, links)


def _noise(row: StoredCoreModel) -> HomeSection | None:
    machine = row.machine
    if machine is None or machine.is_simulated:
        return None
    facts = []
    if (noise := noise_of(machine)) is not None:
        facts.append(("Reference blocks off by", f"{100 * noise:.1f} %, median"))
    if machine.ghz is not None:
        facts.append(("Clock", f"{machine.ghz:.2f} GHz"))
    shares = shares_of(readings_of(machine, timezone.now() - _DAY))
    facts += [
        (f"{word.capitalize()}, last day", f"{share:.0f} % of the time")
        for state, word, share in shares
        if state == Machine.State.CONTENDED
    ]
    checks = None if row.mapping is None else grounds_of(row.mapping, ()).checks
    if checks is not None and checks.overall.repeats is not None:
        facts.append(("A mix measured again differs by", f"{checks.overall.repeats:.1f} %, median"))
    links = _links("Can its numbers be trusted?", "machine-trust", machine.pk)
    return HomeSection("noise", "Noise", tuple(facts), links=links)


def _links(text: str, route: str, pk: int | None) -> tuple[tuple[str, str], ...]:
    return () if pk is None else ((text, reverse(route, args=[pk])),)


def competition_sentences(competition: KindCompetition) -> list[str]:
    """The pairs of kinds that compete most, in words; [] where no two kinds delay each other."""
    return [_pair_sentence(pair) for pair in competition.strongest[:_MAX_PAIRS]]


def _pair_sentence(pair: KindPair) -> str:
    first, second = sorted((pair.first, pair.second), key=lambda group: len(group.ports))
    shared = (
        f"its {len(pair.shared)}"
        if len(pair.shared) == len(first.ports)
        else f"{len(pair.shared)} of its {len(first.ports)}"
    )
    name = first.names[0]
    return (
        f"{name[0].upper()}{name[1:]} shares {shared} {'port' if len(first.ports) == 1 else 'ports'} with "
        f"{second.names[0]}: a cycle’s work of each takes {pair.together:.2g} cycles together."
    )


@dataclass(frozen=True)
class CompetitionCell:
    """A pair of kinds in the table. `level`: 0 for no delay, to 4 for taking turns."""

    text: str
    title: str
    level: int


@dataclass(frozen=True)
class CompetitionRow:
    """A group of kinds. `ports`: labels; `cells`: against the groups before it, and itself."""

    names: str
    typical: str
    ports: str
    cells: tuple[CompetitionCell, ...]


def competition_table(competition: KindCompetition, labels: Mapping[str, str]) -> list[CompetitionRow]:
    """The lower half of the matrix, since it is symmetric; [] for fewer than two groups."""
    if len(competition.groups) < 2:
        return []
    return [
        CompetitionRow(
            ", ".join(group.names),
            group.typical,
            " ".join(labels.get(port, port) for port in group.ports),
            tuple(_cell(pair, labels) for pair in row[:place]),
        )
        for place, (group, row) in enumerate(zip(competition.groups, competition.pairs, strict=True))
    ]


def _cell(pair: KindPair, labels: Mapping[str, str]) -> CompetitionCell:
    extra = pair.together - 1
    first, second = pair.first.names[0], pair.second.names[0]
    if not pair.shared:
        return CompetitionCell("", f"{first} and {second} share no port", 0)
    shared = ", ".join(labels.get(port, port) for port in pair.shared)
    title = (
        f"{first} and {second} share {shared}: as many of each as take a cycle alone take "
        f"{pair.together:.2f} cycles together"
    )
    return CompetitionCell(f"+{100 * extra:.0f} %", title, min(4, math.ceil(4 * extra - 1e-9)))


@dataclass(frozen=True)
class Contradictions:
    """What speaks against a model.

    Attributes:
        conflicts: Conflicts of its mapping, at most `_MAX_CONFLICTS`.
        total: Number of schemes with any.
        objections: Objections of the newest check of the port model on its machine.
    """

    conflicts: tuple[SchemeConflict, ...] = ()
    total: int = 0
    objections: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.total or self.objections)


def contradictions(row: StoredCoreModel) -> Contradictions:
    if row.mapping is None:
        return Contradictions()
    rows = SchemeConflict.objects.filter(mapping=row.mapping).select_related("scheme", "other")
    listed = rows.defer("other__report").order_by("scheme__text", "other_id")[:_MAX_CONFLICTS]
    return Contradictions(
        tuple(listed), rows.values("scheme").distinct().count(), grounds_of(row.mapping, ()).objections
    )


def limits_of(
    contents: CoreModelContents, missing: MissingParts, against: Contradictions
) -> list[tuple[str, str]]:
    """(what limits a model, key of the section about it), in a few words each."""
    limits = [(missing.recorded, "missing")] if missing.recorded else []
    named = missing.recorded.split("; ") if missing.recorded else []
    limits += [(f"{part} not measured", "missing") for part in contents.lacking if part not in named]
    limits += [
        (f"ports of {part.lacking:,} schemes of the default set not known", "missing")
        for part in missing.parts
        if part.lacking
    ]
    if against.total:
        schemes = count_of(against.total, "scheme")
        limits.append((f"{schemes} contradicted by another result", "contradictions"))
    return limits
