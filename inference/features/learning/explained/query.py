"""What explainable inference concluded: verdicts, filtered and sorted; witnesses that contradict a
reference.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.db.models import Count, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from inference.core.explain import Seen
from inference.core.explain.regularity import Regularity, regularity
from inference.core.identity import MappingComparison, SchemeRelation
from inference.core.mapping import Uops, uops_of
from inference.models import Characterisation, PortMapping
from inference.models import Witness as WitnessRow
from inference.models.scheme_search import search_schemes
from inference.storage.characterisations import KEY
from inference.storage.rows import BATCH, load_mapping

UNKNOWN = -1.0  # sorts what was not measured or counted below everything else
VERDICT_COLUMNS = {
    "row": "id",
    "text": "scheme__text",
    "cycles": "cycles_or_less",
    "counted": "counted_or_less",
}
"""Columns that verdicts can be sorted by, for `paging.Order`."""


@dataclass(frozen=True)
class VerdictQuery:
    """Which verdicts to list; empty fields ask for nothing.

    `q` is a search over schemes, `doubtful`: only those with doubts or alternatives, `among`: scheme texts.
    """

    outcome: str = ""
    stage: str = ""
    reason: str = ""
    q: str = ""
    doubtful: bool = False
    among: tuple[str, ...] = ()


def is_explained(row: PortMapping) -> bool:
    """Whether there are verdicts beside the mapping, or what concerns them all."""
    return KEY in row.report or row.characterisations.exists()


def verdicts(row: PortMapping, wanted: VerdictQuery | None = None) -> QuerySet[Characterisation]:
    """The verdicts of a mapping with their schemes; raises `SearchError` for a search it cannot read.

    Each has `cycles_or_less` and `counted_or_less`, `UNKNOWN` where there is no number.
    """
    wanted = wanted or VerdictQuery()
    rows = row.characterisations.select_related("scheme").annotate(
        cycles_or_less=Coalesce("cycles", Value(UNKNOWN)), counted_or_less=Coalesce("counted", Value(UNKNOWN))
    )
    for name in ("outcome", "stage", "reason"):
        if value := getattr(wanted, name):
            rows = rows.filter(**{name: value})
    if wanted.q.strip():
        rows = rows.filter(scheme__in=search_schemes(row.isa.schemes.all(), wanted.q).values("pk"))
    if wanted.among:
        rows = rows.filter(scheme__in=row.isa.schemes.filter(text__in=wanted.among).values("pk"))
    if wanted.doubtful:
        rows = rows.exclude(doubts=[], alternatives=[])
    return rows


@dataclass(frozen=True)
class Counts:
    """How many verdicts there are of each outcome, and of those without µops by stage and by reason."""

    outcomes: Counter[str]
    stages: Counter[str]
    reasons: Counter[str]
    doubtful: int

    @property
    def asked(self) -> int:
        return self.outcomes.total()


def counts_of(row: PortMapping) -> Counts:
    """Numbers for a summary and for the choices of a filter (two queries)."""
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
    """{scheme id: µops} of those of the schemes that the mapping describes."""
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    rows = row.usages.filter(scheme__in=list(scheme_ids))
    for scheme, mask, count in rows.values_list("scheme_id", "mask", "count"):
        entry = found[scheme]
        if count:
            entry.append((mask, count))
    return {scheme: uops_of(pairs) for scheme, pairs in found.items()}


def regularity_of(row: PortMapping) -> Regularity:
    """How regular the mapping's port usages are (§6.3.5)."""
    return _regularity(row.pk, row.created)


@lru_cache(maxsize=16)
def _regularity(pk: int, _created: datetime) -> Regularity:
    """Remembered, since what a mapping says never changes; a new mapping has a new number and date."""
    return regularity(load_mapping(PortMapping.objects.get(pk=pk)).usage)


@dataclass(frozen=True)
class ReferenceContradiction:
    """`copies` of a blocker beside the scheme: `shown` µops cannot evade its ports, `said` by the reference.

    `mask` are ports of the explained mapping.
    """

    blocker: str
    copies: int
    mask: int
    shown: int
    said: int


def contradictions(
    row: PortMapping, comparison: MappingComparison, schemes: Collection[str] | None = None
) -> dict[str, ReferenceContradiction]:
    """{scheme: the witness that contradicts the other mapping most}, for those that differ; none for others.

    `comparison`: of the explained mapping with the reference, whose µops it has under this mapping's port
    names. `schemes`: only these.
    """
    differing = {
        each.scheme: each.uops[1]
        for each in comparison.schemes
        if each.kind is SchemeRelation.DIFFERENT
        and each.uops[1] is not None
        and (schemes is None or each.scheme in schemes)
    }
    if not differing:
        return {}
    found: dict[str, ReferenceContradiction] = {}
    names = sorted(differing)
    for start in range(0, len(names), BATCH):
        witnesses = WitnessRow.objects.filter(
            characterisation__mapping=row,
            characterisation__scheme__text__in=names[start : start + BATCH],
            seen__in=(Seen.USES.value, Seen.EVADES.value),
        ).order_by("id")
        fields = ("characterisation__scheme__text", "blocker__text", "copies", "mask", "below", "uops")
        for scheme, blocker, copies, mask, below, uops in witnesses.values_list(*fields):
            bound = sum(count for ports, count in differing[scheme] or () if ports & ~mask == 0)
            new = ReferenceContradiction(blocker, copies, mask, below + uops, bound)
            known = found.get(scheme)
            if new.shown != new.said and (known is None or _off(new) > _off(known)):
                found[scheme] = new
    return found


def _off(found: ReferenceContradiction) -> int:
    return abs(found.shown - found.said)
