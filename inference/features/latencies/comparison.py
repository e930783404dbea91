"""Two sets of latencies side by side, pair of operands by pair of operands: for page, API and shell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

from django.db.models import QuerySet

from inference.core.protocols import Json
from inference.models import LatencySet, SchemeLatencies
from inference.models.scheme_search import texts_found
from inference.storage.errors import ExchangeError
from inference.web.paging import Order

ABSOLUTE, RELATIVE = 0.1, 0.02
"""Cycles, and share of the longer latency, that two measurements of one latency may be apart."""

Latencies = dict[tuple[str, str], "KnownLatency"]
"""Those of a scheme, by source and destination."""


class LatencyRelation(StrEnum):
    """How two latencies of a pair, or of all pairs of a scheme, stand to each other."""

    DIFFERENT = "different"
    SAME = "same"
    UNKNOWN = "unknown"
    """One was not measured, or a bound does not tell them apart."""


@dataclass(frozen=True, slots=True)
class KnownLatency:
    """What a set knows of a pair, as `PairLatency.as_json` has it, without the chains."""

    least: float | None
    most: float | None
    at_most: float | None
    why: str
    throughput_limited: bool
    breaks: bool

    @property
    def limits(self) -> tuple[float, float] | None:
        """What it may be, in cycles. A destination that does not wait for the source takes none."""
        if self.breaks:
            return 0.0, 0.0
        if self.least is not None and self.most is not None:
            return self.least, self.most
        return None if self.at_most is None else (0.0, max(0.0, self.at_most))

    @property
    def is_bound(self) -> bool:
        """Whether only the most is known that it may be."""
        return self.least is None and not self.breaks


@dataclass(frozen=True, slots=True)
class ComparedLatency:
    """A pair of operands in both sets; None where one of them does not have it.

    `difference`: cycles between what both may be, 0 where that overlaps, None where nothing is known.
    """

    source: str
    destination: str
    first: KnownLatency | None
    second: KnownLatency | None
    relation: LatencyRelation
    difference: float | None

    @classmethod
    def of(
        cls, pair: tuple[str, str], first: KnownLatency | None, second: KnownLatency | None
    ) -> ComparedLatency:
        """Both beside each other."""
        here = None if first is None else first.limits
        there = None if second is None else second.limits
        if first is None or second is None or here is None or there is None:
            return cls(*pair, first, second, LatencyRelation.UNKNOWN, None)
        apart = round(max(here[0] - there[1], there[0] - here[1], 0.0), 3)
        if apart > max(ABSOLUTE, RELATIVE * max(here[0], there[0])):
            return cls(*pair, first, second, LatencyRelation.DIFFERENT, apart)
        unknown = first.is_bound or second.is_bound
        relation = LatencyRelation.UNKNOWN if unknown else LatencyRelation.SAME
        return cls(*pair, first, second, relation, None if unknown else apart)


@dataclass(frozen=True)
class SchemeInBoth:
    """A scheme that both sets have. It is the same where pairs of operands are, and none is different."""

    scheme_id: int
    scheme: str
    pairs: tuple[ComparedLatency, ...]

    @cached_property
    def relation(self) -> LatencyRelation:
        """How the scheme's latencies stand to each other."""
        found = {pair.relation for pair in self.pairs}
        decided = (LatencyRelation.DIFFERENT, LatencyRelation.SAME)
        return next((one for one in decided if one in found), LatencyRelation.UNKNOWN)

    @cached_property
    def difference(self) -> float | None:
        """The largest of its pairs in cycles; None where none can be compared."""
        return max((pair.difference for pair in self.pairs if pair.difference is not None), default=None)


@dataclass(frozen=True)
class LatencyComparison:
    """The schemes that both sets have, in the order of their texts, and how many only one has."""

    schemes: tuple[SchemeInBoth, ...]
    only_first: int
    only_second: int

    def count(self, relation: LatencyRelation) -> int:
        """Schemes that stand so to each other."""
        return sum(one.relation is relation for one in self.schemes)

    def counts(self) -> dict[str, int]:
        """How many schemes there are of each kind."""
        return {
            "both": len(self.schemes),
            **{str(relation): self.count(relation) for relation in LatencyRelation},
            "only_first": self.only_first,
            "only_second": self.only_second,
        }


COLUMNS: dict[str, Callable[[SchemeInBoth], Any]] = {
    "scheme": lambda one: one.scheme,
    "difference": lambda one: -1.0 if one.difference is None else one.difference,
}
USUAL_ORDER = "-difference"


def comparable_latencies(row: LatencySet) -> QuerySet[LatencySet]:
    """The other sets of the same instruction set, newest first."""
    rows = LatencySet.objects.filter(isa=row.isa_id).exclude(pk=row.pk)
    return rows.only("pk", "name").order_by("-id")


def comparison_of_latencies(row: LatencySet, other: LatencySet) -> LatencyComparison:
    """Both sets (two queries, or none); raises `ExchangeError` for different instruction sets."""
    if row.isa_id != other.isa_id:
        raise ExchangeError(
            f"{row.name!r} is of {row.isa.name}, {other.name!r} of {other.isa.name}: "
            "latencies of the same instruction set can be compared"
        )
    return _compared((row.pk, row.created), (other.pk, other.created))


def chosen_latencies(
    found: LatencyComparison, isa_id: int, order: Order, q: str = "", *, different: bool = False
) -> Sequence[SchemeInBoth]:
    """The schemes that a search finds, or only those that differ, in this order. Raises `SearchError`."""
    wanted = texts_found(isa_id, q) if q else None
    rows = [
        one
        for one in found.schemes
        if (wanted is None or one.scheme in wanted)
        and (not different or one.relation is LatencyRelation.DIFFERENT)
    ]
    return sorted(rows, key=COLUMNS[order.column], reverse=order.descending)


@lru_cache(maxsize=8)
def _compared(row: tuple[int, datetime], other: tuple[int, datetime]) -> LatencyComparison:
    """Remembered, since what a set says never changes; a new set has a new number and date."""
    first, second = _read(row[0]), _read(other[0])
    both = sorted((text, pk) for pk, (text, _) in first.items() if pk in second)
    schemes = tuple(SchemeInBoth(pk, text, _pairs(first[pk][1], second[pk][1])) for text, pk in both)
    return LatencyComparison(schemes, len(first) - len(both), len(second) - len(both))


def _read(pk: int) -> dict[int, tuple[str, Latencies]]:
    """{scheme: its text, its latencies}."""
    rows = SchemeLatencies.objects.filter(latency_set=pk)
    found = rows.values_list("scheme_id", "scheme__text", "pairs").iterator(chunk_size=500)
    return {scheme: (text, dict(map(_known, pairs))) for scheme, text, pairs in found}


def _known(pair: Json) -> tuple[tuple[str, str], KnownLatency]:
    names = ("least", "most", "at_most", "why", "throughput_limited", "breaks")
    return (pair["source"], pair["destination"]), KnownLatency(*(pair[name] for name in names))


def _pairs(first: Latencies, second: Latencies) -> tuple[ComparedLatency, ...]:
    places = dict.fromkeys((*first, *second))
    return tuple(ComparedLatency.of(place, first.get(place), second.get(place)) for place in places)


def compared_json(rows: Sequence[SchemeInBoth]) -> list[Json]:
    """Plain objects, as the API and the shell give them."""
    return [
        {
            "scheme_id": row.scheme_id,
            "scheme": row.scheme,
            "relation": str(row.relation),
            "difference": row.difference,
            "pairs": [{**asdict(pair), "relation": str(pair.relation)} for pair in row.pairs],
        }
        for row in rows
    ]
