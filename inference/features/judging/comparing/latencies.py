"""Comparisons of sets of latencies, pair of operands by pair of operands."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from itertools import combinations, permutations
from operator import itemgetter
from typing import Any, NamedTuple

from django.db.models import TextField
from django.db.models.functions import Cast

from inference.core.protocols import Json
from inference.features.judging.engine.tables import LinkedText, choice, code, number, text
from inference.formats.measured_rows import LARGEST_OF_SOURCES
from inference.formats.problems import ExchangeError
from inference.models import LatencySet, SchemeLatencies
from inference.models.scheme_search import matching_texts
from inference.web.paging import Order
from inference.web.published_page import ProperName, PublishedTable

ABSOLUTE, RELATIVE = 0.1, 0.02
"""Cycles, and share of the longer latency, by which two measurements of one latency may differ."""

MAX_SETS = 6
"""Sets of one comparison."""

_FIELDS = itemgetter("least", "most", "at_most", "why", "throughput_limited", "breaks")

Latencies = dict[tuple[str, str], "KnownLatency"]
"""{(source, destination): latency} of a scheme."""


class LatencyRelation(StrEnum):
    """How sets agree on a pair of operands, or on all pairs of a scheme."""

    DIFFERENT = "different"
    SAME = "same"
    UNKNOWN = "unknown"
    """At most one set has a number, or bounds do not distinguish them."""


RELATION_WORDS = {
    LatencyRelation.DIFFERENT: "≠",
    LatencyRelation.SAME: "=",
    LatencyRelation.UNKNOWN: "not comparable",
}


class KnownLatency(NamedTuple):
    """The latency of a pair in a set, with the fields of `PairLatency.as_json` except the chains."""

    least: float | None
    most: float | None
    at_most: float | None
    why: str
    throughput_limited: bool
    breaks: bool

    @property
    def limits(self) -> tuple[float, float] | None:
        """(least, most) possible cycles; 0 if the destination does not wait for the source, None if
        unknown."""
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
        lowest, highest = f"{self.least:.2f}", f"{self.most:.2f}"
        return lowest if lowest == highest else f"{lowest}–{highest}"

    @property
    def is_bound(self) -> bool:
        """Whether only an upper bound is known."""
        return self.least is None and not self.breaks


class ComparedLatency(NamedTuple):
    """A pair of operands in all sets; `said`: a latency per set, None where a set lacks it.

    `difference`: the largest number of cycles between the possible ranges of two sets, 0 if all overlap, None
    if none can be compared.
    """

    source: str
    destination: str
    said: tuple[KnownLatency | None, ...]
    relation: LatencyRelation
    difference: float | None


@lru_cache(maxsize=1 << 14)
def relation_of(latencies: tuple[KnownLatency | None, ...]) -> tuple[LatencyRelation, float | None]:
    """(relation, difference in cycles) of a pair's latencies: different if any two are.

    Cached: of tens of thousands of pairs, most have the latencies of another one.
    """
    relations = [_pair_relation(first, second) for first, second in combinations(latencies, 2)]
    difference = max((cycles for _, cycles in relations if cycles is not None), default=None)
    return _overall_relation([relation for relation, _ in relations]), difference


def _overall_relation(relations: Collection[LatencyRelation]) -> LatencyRelation:
    """DIFFERENT if any relation is, else SAME if any is, else UNKNOWN."""
    if LatencyRelation.DIFFERENT in relations:
        return LatencyRelation.DIFFERENT
    return LatencyRelation.SAME if LatencyRelation.SAME in relations else LatencyRelation.UNKNOWN


def _pair_relation(
    first: KnownLatency | None, second: KnownLatency | None
) -> tuple[LatencyRelation, float | None]:
    """(relation, cycles between the ranges) of two latencies; None if they cannot be compared."""
    here = None if first is None else first.limits
    there = None if second is None else second.limits
    if first is None or second is None or here is None or there is None:
        return LatencyRelation.UNKNOWN, None
    difference = round(max(here[0] - there[1], there[0] - here[1], 0.0), 3)
    if difference > max(ABSOLUTE, RELATIVE * max(here[0], there[0])):
        return LatencyRelation.DIFFERENT, difference
    if first.is_bound or second.is_bound:
        return LatencyRelation.UNKNOWN, None
    return LatencyRelation.SAME, difference


def _relations_by_largest(
    by_place: Sequence[tuple[KnownLatency | None, ...]],
) -> dict[int, tuple[LatencyRelation, float]]:
    """{pair: (relation, difference)} where one set only has the largest latency of several pairs.

    Another set agrees if the largest of its latencies of these pairs is as long.
    """
    relations: dict[int, tuple[LatencyRelation, float]] = {}
    for first, second in permutations(range(len(by_place[0]) if by_place else 0), 2):
        bounds = {place: row[first] for place, row in enumerate(by_place)}
        places = [place for place, bound in bounds.items() if bound and bound.why == LARGEST_OF_SOURCES]
        values = [latency.most for place in places if (latency := by_place[place][second])]
        bound = max((latency.at_most or 0.0 for place in places if (latency := bounds[place])), default=0.0)
        numbers = [value for value in values if value is not None]
        if not numbers or len(numbers) < len(places):
            continue
        difference = round(bound - max(numbers), 3)
        tolerance = max(ABSOLUTE, RELATIVE * bound)
        if abs(difference) <= tolerance:
            near = [place for place, value in zip(places, numbers, strict=True) if value >= bound - tolerance]
            relations |= dict.fromkeys(near, (LatencyRelation.SAME, 0.0))
        elif difference > 0:
            relations |= dict.fromkeys(places, (LatencyRelation.DIFFERENT, difference))
    return relations


class SharedScheme(NamedTuple):
    """A scheme in at least two sets; DIFFERENT if any pair of operands is, SAME if some are and none differs.

    `difference`: the largest of its pairs in cycles; None if none can be compared.
    """

    scheme_id: int
    scheme: str
    pairs: tuple[ComparedLatency, ...]
    relation: LatencyRelation
    difference: float | None

    @classmethod
    def of(cls, scheme_id: int, scheme: str, sets: Sequence[Latencies]) -> SharedScheme:
        """Compare a scheme; `sets`: its latencies in each set, {} for a set without it."""
        places = dict.fromkeys([place for latencies in sets for place in latencies])
        by_place = [tuple([latencies.get(place) for latencies in sets]) for place in places]
        largest = _relations_by_largest(by_place)
        results = [
            largest.get(place, relation) if relation[0] is LatencyRelation.UNKNOWN else relation
            for place, relation in enumerate(map(relation_of, by_place))
        ]
        pairs = [
            ComparedLatency(*place, row, *relation_and_difference)
            for place, row, relation_and_difference in zip(places, by_place, results, strict=True)
        ]
        apart = [difference for _, difference in results if difference is not None]
        relation = _overall_relation([relation for relation, _ in results])
        return cls(scheme_id, scheme, tuple(pairs), relation, max(apart, default=None))


@dataclass(frozen=True)
class LatencyComparison:
    """The shared schemes in the order of their texts; `only`: number of schemes that each set has alone."""

    schemes: tuple[SharedScheme, ...]
    only: tuple[int, ...]

    def counts(self) -> dict[str, int]:
        """{relation: number of shared schemes}, and `shared`: the number of all."""
        counts = Counter(scheme.relation for scheme in self.schemes)
        return {"shared": len(self.schemes), **{str(kind): counts[kind] for kind in LatencyRelation}}


COLUMNS: dict[str, Callable[[SharedScheme], Any]] = {
    "scheme": lambda scheme: scheme.scheme,
    "difference": lambda scheme: -1.0 if scheme.difference is None else scheme.difference,
}
DEFAULT_ORDER = "-difference"


def comparison_of_latencies(*rows: LatencySet) -> LatencyComparison:
    """Compare 2 to `MAX_SETS` sets (a query per set, or none if cached).

    Raises `ExchangeError` for another number of sets, a repeated set, or different instruction sets.
    """
    different = len({row.pk for row in rows})
    if not 2 <= different == len(rows) <= MAX_SETS:
        raise ExchangeError(f"2 to {MAX_SETS} different sets of latencies can be compared, not {different}")
    for other in rows[1:]:
        if other.isa_id != rows[0].isa_id:
            raise ExchangeError(
                f"{rows[0].name!r} is of {rows[0].isa.name}, {other.name!r} of {other.isa.name}: "
                "latencies of the same instruction set can be compared"
            )
    return _cached_comparison(tuple((row.pk, row.created) for row in rows))


def filtered_schemes(
    comparison: LatencyComparison, isa_id: int, order: Order, q: str = "", *, different: bool = False
) -> Sequence[SharedScheme]:
    """The schemes that match a search, with `different` only those that differ, sorted. Raises
    `SearchError`."""
    texts = matching_texts(isa_id, q) if q else None
    rows = [
        scheme
        for scheme in comparison.schemes
        if (texts is None or scheme.scheme in texts)
        and (not different or scheme.relation is LatencyRelation.DIFFERENT)
    ]
    return sorted(rows, key=COLUMNS[order.column], reverse=order.descending)


@lru_cache(maxsize=8)
def _cached_comparison(rows: tuple[tuple[int, datetime], ...]) -> LatencyComparison:
    """Cached, since a stored set never changes, and a new one has a new id and time of creation."""
    sets = [_read(*row) for row in rows]
    set_counts = Counter(pk for latencies in sets for pk in latencies)
    texts = {pk: scheme for latencies in sets for pk, (scheme, _) in latencies.items()}
    shared = sorted((scheme, pk) for pk, scheme in texts.items() if set_counts[pk] > 1)
    schemes = tuple(
        SharedScheme.of(pk, scheme, [latencies[pk][1] if pk in latencies else {} for latencies in sets])
        for scheme, pk in shared
    )
    return LatencyComparison(
        schemes, tuple(sum(set_counts[pk] == 1 for pk in latencies) for latencies in sets)
    )


@lru_cache(maxsize=MAX_SETS)
def _read(pk: int, _created: datetime) -> dict[int, tuple[str, Latencies]]:
    """{scheme id: (text, latencies)}; cached, since the next comparison often has some of the same sets."""
    rows = SchemeLatencies.objects.filter(latency_set=pk).annotate(pairs_text=Cast("pairs", TextField()))
    stored = list(rows.values_list("scheme_id", "scheme__text", "pairs_text"))
    documents = json.loads(f"[{','.join(pairs for *_, pairs in stored)}]")  # twice as fast as each document
    return {
        pk: (
            scheme,
            {(pair["source"], pair["destination"]): KnownLatency(*_FIELDS(pair)) for pair in pairs},
        )
        for (pk, scheme, _), pairs in zip(stored, documents, strict=True)
    }


def schemes_json(rows: Sequence[SharedScheme]) -> list[Json]:
    """The schemes as JSON, for the API and the shell."""
    return [{**row._asdict(), "pairs": [_pair_json(pair) for pair in row.pairs]} for row in rows]


def _pair_json(pair: ComparedLatency) -> Json:
    return {
        **pair._asdict(),
        "said": [None if latency is None else latency._asdict() for latency in pair.said],
    }


_LIMITS = ("least", "most", "at_most")


def limits_table(rows: Sequence[SharedScheme], names: Sequence[str]) -> PublishedTable:
    """A line per pair of operands: least, most and bound of each set, empty for none."""
    heads = [text("scheme"), text("source"), text("destination"), text("relation"), number("difference")]
    heads += [number(f"{name}: {limit.replace('_', ' ')}") for name in names for limit in _LIMITS]
    cells = (
        (
            *(row.scheme, pair.source, pair.destination, str(pair.relation), pair.difference),
            *(getattr(latency, limit, None) for latency in pair.said for limit in _LIMITS),
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
    """A line per pair of operands, with each set's latency in words.

    `url`: the page of a scheme, or with the place of a set, the page with its chains.
    """
    heads = (
        *(code("scheme"), text("from → to"), *(text(ProperName(f"{name}, cycles")) for name in names)),
        *(choice("relation"), number("difference, cycles")),
    )
    lines = tuple(
        (
            *(LinkedText(row.scheme, url(row, None)), f"{pair.source} → {pair.destination}"),
            *(
                None if latency is None else LinkedText(latency.words, url(row, place))
                for place, latency in enumerate(pair.said)
            ),
            *(RELATION_WORDS[pair.relation], pair.difference),
        )
        for row in rows
        for pair in row.pairs
    )
    return PublishedTable("latencies", "Latencies", heads, lines)
