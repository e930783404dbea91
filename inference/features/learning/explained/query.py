"""Verdicts of explainable inference, filtered and sorted; witnesses that contradict a reference mapping."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.db.models import Count, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from inference.core.explain import WitnessOutcome
from inference.core.explain.regularity import Regularity, regularity
from inference.core.identity import MappingComparison, SchemeRelation
from inference.core.mapping import Uops, uops_of
from inference.models import Characterisation, PortMapping
from inference.models import Witness as WitnessRow
from inference.models.scheme_search import search_schemes
from inference.storage.characterisations import KEY
from inference.storage.mappings import load_mapping
from inference.storage.rows import BATCH

UNKNOWN = -1.0  # sorts missing times and counts below all others
VERDICT_COLUMNS = {
    "row": "id",
    "text": "scheme__text",
    "cycles": "cycles_or_less",
    "counted": "counted_or_less",
}
"""Columns that verdicts can be sorted by, for `paging.Order`."""


@dataclass(frozen=True)
class VerdictQuery:
    """A filter of verdicts; empty fields do not filter.

    Attributes:
        q: A search over schemes.
        doubtful: Only those with doubts or alternatives.
        among: Scheme texts.
    """

    outcome: str = ""
    stage: str = ""
    reason: str = ""
    q: str = ""
    doubtful: bool = False
    among: tuple[str, ...] = ()


def is_explained(row: PortMapping) -> bool:
    """Whether the mapping has verdicts, or facts about all schemes from explainable inference."""
    return KEY in row.report or row.characterisations.exists()


def verdicts(row: PortMapping, query: VerdictQuery | None = None) -> QuerySet[Characterisation]:
    """The verdicts of a mapping with their schemes. Raises `SearchError` for an invalid search.

    Each has `cycles_or_less` and `counted_or_less`, which are `UNKNOWN` without a number.
    """
    query = query or VerdictQuery()
    rows = row.characterisations.select_related("scheme").annotate(
        cycles_or_less=Coalesce("cycles", Value(UNKNOWN)), counted_or_less=Coalesce("counted", Value(UNKNOWN))
    )
    for name in ("outcome", "stage", "reason"):
        if value := getattr(query, name):
            rows = rows.filter(**{name: value})
    if query.q.strip():
        rows = rows.filter(scheme__in=search_schemes(row.isa.schemes.all(), query.q).values("pk"))
    if query.among:
        rows = rows.filter(scheme__in=row.isa.schemes.filter(text__in=query.among).values("pk"))
    if query.doubtful:
        rows = rows.exclude(doubts=[], alternatives=[])
    return rows


@dataclass(frozen=True)
class Counts:
    """Numbers of verdicts by outcome, by stage, and by reason of exclusion."""

    outcomes: Counter[str]
    stages: Counter[str]
    reasons: Counter[str]
    doubtful: int

    @property
    def requested(self) -> int:
        return self.outcomes.total()


def counts_of(row: PortMapping) -> Counts:
    """Numbers of verdicts (two queries)."""
    outcomes: Counter[str] = Counter()
    stages: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    grouped = row.characterisations.order_by().values("outcome", "stage", "reason").annotate(n=Count("pk"))
    for group in grouped:
        outcomes[group["outcome"]] += group["n"]
        stages[group["stage"]] += group["n"]
        if group["reason"]:
            reasons[group["reason"]] += group["n"]
    doubtful = row.characterisations.filter(~Q(doubts=[], alternatives=[])).count()
    return Counts(outcomes, stages, reasons, doubtful)


def usages_in(row: PortMapping, scheme_ids: Iterable[int]) -> dict[int, Uops]:
    """{scheme id: µops} of the schemes that the mapping describes."""
    uops_by_scheme: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    rows = row.usages.filter(scheme__in=list(scheme_ids))
    for scheme, mask, count in rows.values_list("scheme_id", "mask", "count"):
        uops = uops_by_scheme[scheme]
        if count:
            uops.append((mask, count))
    return {scheme: uops_of(pairs) for scheme, pairs in uops_by_scheme.items()}


def regularity_of(row: PortMapping) -> Regularity:
    """The regularity of the mapping's port usages (§6.3.5); cached."""
    return _regularity(row.pk, row.created)


@lru_cache(maxsize=16)
def _regularity(pk: int, _created: datetime) -> Regularity:
    """Cached by id and date: a mapping never changes, but ids may be reused."""
    return regularity(load_mapping(PortMapping.objects.get(pk=pk)).usage)


@dataclass(frozen=True)
class ReferenceContradiction:
    """A witness that contradicts a reference: beside `copies` of a blocker, `shown` µops of the scheme cannot
    evade; by the reference, `said` do. `mask` has ports of the explained mapping.
    """

    blocker: str
    copies: int
    mask: int
    shown: int
    said: int


def contradictions(
    row: PortMapping, comparison: MappingComparison, schemes: Collection[str] | None = None
) -> dict[str, ReferenceContradiction]:
    """{scheme: the witness that contradicts the reference most}, for schemes with different µops.

    Args:
        comparison: The explained mapping compared with the reference, whose ports have the explained
            mapping's names.
        schemes: Restricts the result to these texts.
    """
    differing = {
        pair.scheme: pair.uops[1]
        for pair in comparison.schemes
        if pair.kind is SchemeRelation.DIFFERENT
        and pair.uops[1] is not None
        and (schemes is None or pair.scheme in schemes)
    }
    if not differing:
        return {}
    largest: dict[str, ReferenceContradiction] = {}
    names = sorted(differing)
    for start in range(0, len(names), BATCH):
        witnesses = WitnessRow.objects.filter(
            characterisation__mapping=row,
            characterisation__scheme__text__in=names[start : start + BATCH],
            seen__in=(WitnessOutcome.USES.value, WitnessOutcome.EVADES.value),
        ).order_by("id")
        fields = ("characterisation__scheme__text", "blocker__text", "copies", "mask", "below", "uops")
        for scheme, blocker, copies, mask, below, uops in witnesses.values_list(*fields):
            bound = sum(count for ports, count in differing[scheme] or () if ports & ~mask == 0)
            candidate = ReferenceContradiction(blocker, copies, mask, below + uops, bound)
            previous = largest.get(scheme)
            if candidate.shown != candidate.said and (previous is None or _off(candidate) > _off(previous)):
                largest[scheme] = candidate
    return largest


def _off(contradiction: ReferenceContradiction) -> int:
    return abs(contradiction.shown - contradiction.said)
