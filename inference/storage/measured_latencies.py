"""What core models have of a stored latency set: values from the rows of its schemes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from inference.core.core_model import BypassTimes, LatencyBases, OperandLatencies
from inference.core.latency import IdiomKind
from inference.core.protocols import Json

NEEDS_NO_PORT = (IdiomKind.ZEROING, IdiomKind.ELIMINATED)
WAITS_FOR_NOTHING = (IdiomKind.ZEROING, IdiomKind.BREAKING)
HALF_OF_A_SUM = "half of a way there and back"
AT_MOST = "a bound"
_OFF = 0.1
"""Cycles by which a bound may be too small."""

LatencyRow = tuple[str, list[Json], list[Json]]
"""Scheme, pairs and idioms of a row of `SchemeLatencies`."""


@dataclass
class MeasuredLatencies:
    """By scheme, as `CoreModel` has them; `idioms`: the schemes of each kind."""

    latencies: dict[str, OperandLatencies] = field(default_factory=dict)
    bases: dict[str, LatencyBases] = field(default_factory=dict)
    by_immediate: dict[str, dict[int, OperandLatencies]] = field(default_factory=dict)
    unqueued: dict[str, OperandLatencies] = field(default_factory=dict)
    bypasses: BypassTimes = field(default_factory=BypassTimes)
    false_dependences: dict[str, dict[str, float]] = field(default_factory=dict)
    idioms: dict[IdiomKind, set[str]] = field(default_factory=lambda: {kind: set() for kind in IdiomKind})

    def of(self, kinds: Collection[IdiomKind]) -> frozenset[str]:
        """The schemes that are idioms of any of these kinds."""
        return frozenset().union(*(self.idioms[kind] for kind in kinds))


def latencies_of_schemes(rows: Iterable[LatencyRow]) -> MeasuredLatencies:
    """All that the rows of a set say."""
    known = MeasuredLatencies()
    kinds: dict[str, dict[tuple[str, str], int]] = {}
    excess: dict[int, Sequence[float]] = {}
    for text, pairs, idioms in rows:
        latencies, bases = _operand_latencies(pairs)
        for idiom in idioms:
            kind = IdiomKind(idiom["kind"])
            known.idioms[kind].add(text)
            destination, cycles = idiom["destination"], idiom["latency"]
            if kind is IdiomKind.PARTIAL_REGISTER and cycles is not None:
                latencies = {(destination, destination): cycles, **latencies}
            if kind is IdiomKind.FALSE_DEPENDENCY and cycles is not None:
                known.false_dependences.setdefault(text, {})[destination] = cycles
        known.latencies[text] = latencies
        if bases:
            known.bases[text] = bases
        if by_immediate := _by_immediate(pairs):
            known.by_immediate[text] = by_immediate
        if unqueued := {_ends(pair): pair["least"] for pair in pairs if "queued" in pair}:
            known.unqueued[text] = unqueued
        if of_pairs := {_ends(pair): pair["kind"] for pair in pairs if "kind" in pair}:
            kinds[text] = of_pairs
            excess |= {pair["kind"]: pair["beside"] for pair in pairs if "kind" in pair}
    known.bypasses = BypassTimes(kinds, _matrix(excess))
    return known


def _matrix(rows: dict[int, Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    """Rows of kinds of which no scheme is there are nothing."""
    size = max((len(row) for row in rows.values()), default=0)
    return tuple(tuple(rows.get(kind, (0.0,) * size)) for kind in range(size))


def _ends(pair: Json) -> tuple[str, str]:
    return pair["source"], pair["destination"]


def _operand_latencies(pairs: list[Json]) -> tuple[OperandLatencies, LatencyBases]:
    """What is isolated as it is; a sum over two classes of registers halved, since the way back is alike.

    Of other bounds it is the whole cycles: an instruction takes as many, and what is above comes of ports
    that others in the chain need, too. Where values matter, they are the quick ones: a bound holds whatever
    they are. Where nothing but a queue makes a pair slower, it is the slower one, as in most blocks that a
    chain limits.
    """
    latencies: dict[tuple[str, str], float | None] = {}
    bases: dict[tuple[str, str], str] = {}
    for pair in pairs:
        ends = _ends(pair)
        if pair["breaks"]:
            latencies[ends] = None
        elif pair["least"] is not None:
            latencies[ends] = max(pair["queued"] if "queued" in pair else pair["least"], 0.0)
        elif pair["at_most"] is not None:
            latencies[ends], bases[ends] = _share(pair)
    return latencies, bases


def _by_immediate(pairs: list[Json]) -> dict[int, OperandLatencies]:
    """The latencies of pairs that depend on it, or on the number of bits that a shift moves by."""
    latencies: dict[int, dict[tuple[str, str], float | None]] = defaultdict(dict)
    for pair in pairs:
        for values in pair.get("values", ()):
            number = values.get("immediate", values.get("count"))
            if number is not None:
                as_pair = {**pair, **values, "why": pair["why"], "values": ()}
                latencies[number].update(_operand_latencies([as_pair])[0])
    return dict(latencies)


def _share(pair: Json) -> tuple[float, str]:
    bounds = [one["at_most"] for one in pair.get("values", ()) if one["at_most"] is not None]
    bound = float(min(bounds, default=pair["at_most"]))
    if all(word in pair["why"] for word in ("general-purpose", "vector")):
        return max((bound + 1) / 2, 1.0), HALF_OF_A_SUM
    return max(float(math.floor(bound + _OFF)), 0.0), AT_MOST
