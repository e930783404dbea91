"""Sets of latencies side by side, pair of operands by pair of operands: for page, API and shell."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from itertools import combinations
from operator import itemgetter
from typing import Any, NamedTuple

from django.db.models import TextField
from django.db.models.functions import Cast

from inference.core.protocols import Json
from inference.features.judging.engine.tables import LinkedText, choice, code, number, text
from inference.formats.problems import ExchangeError
from inference.models import LatencySet, SchemeLatencies
from inference.models.scheme_search import texts_found
from inference.web.paging import Order
from inference.web.published_page import PublishedTable

ABSOLUTE, RELATIVE = 0.1, 0.02
"""Cycles, and share of the longer latency, that two measurements of one latency may be apart."""

MOST_SETS = 6
"""Beside each other."""

_FIELDS = itemgetter("least", "most", "at_most", "why", "throughput_limited", "breaks")

Latencies = dict[tuple[str, str], "KnownLatency"]
"""Those of a scheme, by source and destination."""


class LatencyRelation(StrEnum):
    """How what sets say of a pair, or of all pairs of a scheme, stands to each other."""

    DIFFERENT = "different"
    SAME = "same"
    UNKNOWN = "unknown"
    """All but one were not measured, or bounds do not tell them apart."""


RELATION_WORDS = {
    LatencyRelation.DIFFERENT: "≠",
    LatencyRelation.SAME: "=",
    LatencyRelation.UNKNOWN: "not comparable",
}


class KnownLatency(NamedTuple):
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
    def words(self) -> str:
        if self.breaks:
            return "no dependency"
        if self.least is None or self.most is None:
            return "–" if self.at_most is None else f"≤ {self.at_most:.2f}"
        least, most = f"{self.least:.2f}", f"{self.most:.2f}"
        return least if least == most else f"{least}–{most}"

    @property
    def is_bound(self) -> bool:
        """Whether only the most is known that it may be."""
        return self.least is None and not self.breaks


class ComparedLatency(NamedTuple):
    """A pair of operands in all sets; `said` in their order, None where one does not have it.

    `difference`: the most cycles between what two of them may be, 0 where that overlaps, None where nothing
    is known.
    """

    source: str
    destination: str
    said: tuple[KnownLatency | None, ...]
    relation: LatencyRelation
    difference: float | None


@lru_cache(maxsize=1 << 14)
def standing_of(said: tuple[KnownLatency | None, ...]) -> tuple[LatencyRelation, float | None]:
    """How what sets say of a pair stands to each other: they differ where any two do.

    Remembered, for there are tens of thousands, and most are told like others.
    """
    found = [_stand(one, other) for one, other in combinations(said, 2)]
    apart = max((cycles for _, cycles in found if cycles is not None), default=None)
    return _overall([relation for relation, _ in found]), apart


def _overall(found: Collection[LatencyRelation]) -> LatencyRelation:
    """Different where anything is, the same where anything is and nothing is different."""
    if LatencyRelation.DIFFERENT in found:
        return LatencyRelation.DIFFERENT
    return LatencyRelation.SAME if LatencyRelation.SAME in found else LatencyRelation.UNKNOWN


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


class SharedScheme(NamedTuple):
    """A scheme that at least two sets have, the same where pairs of operands are and none is different.

    `difference`: the largest of its pairs in cycles; None where none can be compared.
    """

    scheme_id: int
    scheme: str
    pairs: tuple[ComparedLatency, ...]
    relation: LatencyRelation
    difference: float | None

    @classmethod
    def of(cls, scheme_id: int, scheme: str, sets: Sequence[Latencies]) -> SharedScheme:
        """What each set says of it, {} where it does not have it."""
        places = dict.fromkeys([place for found in sets for place in found])
        said = [tuple([found.get(place) for found in sets]) for place in places]
        stands = [standing_of(each) for each in said]
        pairs = [
            ComparedLatency(*place, each, *stand)
            for place, each, stand in zip(places, said, stands, strict=True)
        ]
        apart = [difference for _, difference in stands if difference is not None]
        relation = _overall([relation for relation, _ in stands])
        return cls(scheme_id, scheme, tuple(pairs), relation, max(apart, default=None))


@dataclass(frozen=True)
class LatencyComparison:
    """The schemes that sets share, in the order of their texts; `only`: how many each set has alone."""

    schemes: tuple[SharedScheme, ...]
    only: tuple[int, ...]

    def counts(self) -> dict[str, int]:
        """How many shared schemes there are of each kind."""
        found = Counter(one.relation for one in self.schemes)
        return {"shared": len(self.schemes), **{str(kind): found[kind] for kind in LatencyRelation}}


COLUMNS: dict[str, Callable[[SharedScheme], Any]] = {
    "scheme": lambda one: one.scheme,
    "difference": lambda one: -1.0 if one.difference is None else one.difference,
}
USUAL_ORDER = "-difference"


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
    texts = {pk: scheme for found in sets for pk, (scheme, _) in found.items()}
    shared = sorted((scheme, pk) for pk, scheme in texts.items() if having[pk] > 1)
    schemes = tuple(
        SharedScheme.of(pk, scheme, [found[pk][1] if pk in found else {} for found in sets])
        for scheme, pk in shared
    )
    return LatencyComparison(schemes, tuple(sum(having[pk] == 1 for pk in found) for found in sets))


@lru_cache(maxsize=MOST_SETS)
def _read(pk: int, _created: datetime) -> dict[int, tuple[str, Latencies]]:
    """{scheme: its text, its latencies}, remembered: the next comparison often has some of the same sets."""
    rows = SchemeLatencies.objects.filter(latency_set=pk).annotate(told=Cast("pairs", TextField()))
    found = list(rows.values_list("scheme_id", "scheme__text", "told"))
    told = json.loads(f"[{','.join(pairs for *_, pairs in found)}]")  # takes half as long as one by one
    return {
        pk: (
            scheme,
            {(pair["source"], pair["destination"]): KnownLatency(*_FIELDS(pair)) for pair in pairs},
        )
        for (pk, scheme, _), pairs in zip(found, told, strict=True)
    }


def compared_json(rows: Sequence[SharedScheme]) -> list[Json]:
    """Plain objects, as the API and the shell give them."""
    return [{**row._asdict(), "pairs": [_pair_json(pair) for pair in row.pairs]} for row in rows]


def _pair_json(pair: ComparedLatency) -> Json:
    return {**pair._asdict(), "said": [None if known is None else known._asdict() for known in pair.said]}


_LIMITS = ("least", "most", "at_most")


def limits_table(rows: Sequence[SharedScheme], names: Sequence[str]) -> PublishedTable:
    """A line per pair of operands: least, most and bound by each set, empty where it says none."""
    heads = [text("scheme"), text("source"), text("destination"), text("relation"), number("difference")]
    heads += [number(f"{name}: {limit.replace('_', ' ')}") for name in names for limit in _LIMITS]
    cells = (
        (
            *(row.scheme, pair.source, pair.destination, str(pair.relation), pair.difference),
            *(getattr(known, limit, None) for known in pair.said for limit in _LIMITS),
        )
        for row in rows
        for pair in row.pairs
    )
    return PublishedTable("latencies", "Latencies", tuple(heads), tuple(cells))


def pairs_table(
    rows: Sequence[SharedScheme],
    names: Sequence[str],
    url: Callable[[SharedScheme, int | None], str] = lambda row, place: "",
) -> PublishedTable:
    """A line per pair of operands with each set's latency in words.

    `url`: of a scheme's page, or with the place of a set of the page with its chains.
    """
    heads = (
        *(code("scheme"), text("from → to"), *(text(f"{name}, cycles") for name in names)),
        *(choice("relation"), number("difference, cycles")),
    )
    lines = tuple(
        (
            *(LinkedText(row.scheme, url(row, None)), f"{pair.source} → {pair.destination}"),
            *(
                None if known is None else LinkedText(known.words, url(row, place))
                for place, known in enumerate(pair.said)
            ),
            *(RELATION_WORDS[pair.relation], pair.difference),
        )
        for row in rows
        for pair in row.pairs
    )
    return PublishedTable("latencies", "Latencies", heads, lines)
