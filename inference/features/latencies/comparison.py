"""Sets of latencies side by side, pair of operands by pair of operands: for page, API and shell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

from django.db.models import QuerySet

from inference.core.protocols import Json
from inference.formats.csv_cells import written
from inference.models import LatencySet, SchemeLatencies
from inference.models.scheme_search import texts_found
from inference.storage.errors import ExchangeError
from inference.web.paging import Order

ABSOLUTE, RELATIVE = 0.1, 0.02
"""Cycles, and share of the longer latency, that two measurements of one latency may be apart."""

MOST_SETS = 6
"""Beside each other."""

Latencies = dict[tuple[str, str], "KnownLatency"]
"""Those of a scheme, by source and destination."""


class LatencyRelation(StrEnum):
    """How what sets say of a pair, or of all pairs of a scheme, stands to each other."""

    DIFFERENT = "different"
    SAME = "same"
    UNKNOWN = "unknown"
    """All but one were not measured, or bounds do not tell them apart."""


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
    """A pair of operands in all sets; `said` in their order, None where one does not have it.

    `difference`: the most cycles between what two of them may be, 0 where that overlaps, None where nothing
    is known.
    """

    source: str
    destination: str
    said: tuple[KnownLatency | None, ...]
    relation: LatencyRelation
    difference: float | None

    @classmethod
    def of(cls, pair: tuple[str, str], *said: KnownLatency | None) -> ComparedLatency:
        """All beside each other: they differ where any two do."""
        found = [_stand(*two) for two in combinations(said, 2)]
        relations = {relation for relation, _ in found}
        apart = max((cycles for _, cycles in found if cycles is not None), default=None)
        return cls(*pair, said, _overall(relations), apart)


def _overall(found: Collection[LatencyRelation]) -> LatencyRelation:
    """Different where anything is, the same where anything is and nothing is different."""
    decided = (LatencyRelation.DIFFERENT, LatencyRelation.SAME)
    return next((one for one in decided if one in found), LatencyRelation.UNKNOWN)


def _stand(first: KnownLatency | None, second: KnownLatency | None) -> tuple[LatencyRelation, float | None]:
    """How two latencies stand to each other, and the cycles between them, None where they do not tell."""
    here = None if first is None else first.limits
    there = None if second is None else second.limits
    if first is None or second is None or here is None or there is None:
        return LatencyRelation.UNKNOWN, None
    apart = round(max(here[0] - there[1], there[0] - here[1], 0.0), 3)
    if apart > max(ABSOLUTE, RELATIVE * max(here[0], there[0])):
        return LatencyRelation.DIFFERENT, apart
    if first.is_bound or second.is_bound:
        return LatencyRelation.UNKNOWN, None
    return LatencyRelation.SAME, apart


@dataclass(frozen=True)
class SharedScheme:
    """A scheme that at least two sets have, the same where pairs of operands are and none is different."""

    scheme_id: int
    scheme: str
    pairs: tuple[ComparedLatency, ...]

    @cached_property
    def relation(self) -> LatencyRelation:
        """How the scheme's latencies stand to each other."""
        return _overall({pair.relation for pair in self.pairs})

    @cached_property
    def difference(self) -> float | None:
        """The largest of its pairs in cycles; None where none can be compared."""
        return max((pair.difference for pair in self.pairs if pair.difference is not None), default=None)


@dataclass(frozen=True)
class LatencyComparison:
    """The schemes that sets share, in the order of their texts; `only`: how many each set has alone."""

    schemes: tuple[SharedScheme, ...]
    only: tuple[int, ...]

    def count(self, relation: LatencyRelation) -> int:
        """Schemes that stand so to each other."""
        return sum(one.relation is relation for one in self.schemes)

    def counts(self) -> dict[str, int]:
        """How many shared schemes there are of each kind."""
        kinds = {str(relation): self.count(relation) for relation in LatencyRelation}
        return {"shared": len(self.schemes), **kinds}


COLUMNS: dict[str, Callable[[SharedScheme], Any]] = {
    "scheme": lambda one: one.scheme,
    "difference": lambda one: -1.0 if one.difference is None else one.difference,
}
USUAL_ORDER = "-difference"


def comparable_latencies(row: LatencySet) -> QuerySet[LatencySet]:
    """The other sets of the same instruction set, newest first."""
    rows = LatencySet.objects.filter(isa=row.isa_id).exclude(pk=row.pk)
    return rows.only("pk", "name").order_by("-id")


def comparison_of_latencies(*rows: LatencySet) -> LatencyComparison:
    """The sets beside each other (a query for each, or none).

    Raises `ExchangeError` for less than two, too many, the same twice, or different instruction sets.
    """
    different = len({row.pk for row in rows})
    if not 2 <= different == len(rows) <= MOST_SETS:
        raise ExchangeError(f"2 to {MOST_SETS} different sets of latencies can be compared, not {different}")
    for other in rows[1:]:
        if other.isa_id != rows[0].isa_id:
            raise ExchangeError(
                f"{rows[0].name!r} is of {rows[0].isa.name}, {other.name!r} of {other.isa.name}: "
                "latencies of the same instruction set can be compared"
            )
    return _compared(tuple((row.pk, row.created) for row in rows))


def chosen_latencies(
    found: LatencyComparison, isa_id: int, order: Order, q: str = "", *, different: bool = False
) -> Sequence[SharedScheme]:
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
def _compared(rows: tuple[tuple[int, datetime], ...]) -> LatencyComparison:
    """Remembered, since what a set says never changes; a new set has a new number and date."""
    sets = [_read(*row) for row in rows]
    having = Counter(pk for found in sets for pk in found)
    texts = {pk: text for found in sets for pk, (text, _) in found.items()}
    shared = sorted((text, pk) for pk, text in texts.items() if having[pk] > 1)
    schemes = tuple(
        SharedScheme(pk, text, _pairs([found[pk][1] if pk in found else {} for found in sets]))
        for text, pk in shared
    )
    return LatencyComparison(schemes, tuple(sum(having[pk] == 1 for pk in found) for found in sets))


@lru_cache(maxsize=MOST_SETS)
def _read(pk: int, created: datetime) -> dict[int, tuple[str, Latencies]]:
    """{scheme: its text, its latencies}, remembered: the next comparison often has some of the same sets."""
    del created
    rows = SchemeLatencies.objects.filter(latency_set=pk)
    found = rows.values_list("scheme_id", "scheme__text", "pairs").iterator(chunk_size=500)
    return {scheme: (text, dict(map(_known, pairs))) for scheme, text, pairs in found}


def _known(pair: Json) -> tuple[tuple[str, str], KnownLatency]:
    names = ("least", "most", "at_most", "why", "throughput_limited", "breaks")
    return (pair["source"], pair["destination"]), KnownLatency(*(pair[name] for name in names))


def _pairs(sets: Sequence[Latencies]) -> tuple[ComparedLatency, ...]:
    places = dict.fromkeys(place for found in sets for place in found)
    return tuple(ComparedLatency.of(place, *(found.get(place) for found in sets)) for place in places)


def compared_json(rows: Sequence[SharedScheme]) -> list[Json]:
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


def write_compared_csv(rows: Sequence[SharedScheme], names: Sequence[str]) -> str:
    """A line per pair of operands: least, most and bound by each set, empty where it says none."""
    header = ["scheme", "source", "destination", "relation", "difference"]
    header += [f"{name}: {what}" for name in names for what in ("least", "most", "at most")]
    return written(header, (_cells(row, pair) for row in rows for pair in row.pairs))


def _cells(row: SharedScheme, pair: ComparedLatency) -> list[object]:
    cells: list[object] = [
        row.scheme, pair.source, pair.destination, str(pair.relation), pair.difference,
    ]  # fmt: skip
    for one in pair.said:
        cells += [None] * 3 if one is None else [one.least, one.most, one.at_most]
    return cells
