"""The latency of a pair of operands from the readings of its chains, or a bound of it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from inference.core.protocols import Json
from inference.isa.chains import ChainLink, DependencyChain, PairChains, ValueClass

ABSOLUTE_ERROR, RELATIVE_ERROR = 0.05, 0.015
"""Cycles, and share of a chain's cycles, by which a settled reading may be off."""

_SAME_WITHIN = 0.5
"""Cycles by which readings of long chains may differ and still be one latency: these are whole cycles."""

MIN_CONNECTOR = 1.0
"""Smallest latency in cycles of a connector between two register classes."""


@dataclass(frozen=True, slots=True)
class ChainReading:
    """The measured cycles per turn of a chain; None where they did not settle, with the reason in `note`."""

    chain: DependencyChain
    cycles: float | None
    spread: float = 0.0
    note: str = ""

    def agrees(self, other: ChainReading) -> bool:
        """Whether both have cycles that differ by no more than their errors."""
        if self.cycles is None or other.cycles is None:
            return False
        return abs(self.cycles - other.cycles) <= _error(self.cycles) + _error(other.cycles)


@dataclass(frozen=True, slots=True)
class LatencyOfValues:
    """The latency for operand values of one class; fields as in `PairLatency`."""

    values: ValueClass
    least: float | None
    most: float | None
    at_most: float | None
    why: str
    breaks: bool = False

    def as_json(self) -> Json:
        """A plain object; `immediate` and `breaks` only of classes of immediates, `count` of shifts."""
        plain: Json = {
            "values": self.values.name,
            "told": self.values.description,
            "least": _round_or_none(self.least),
            "most": _round_or_none(self.most),
            "at_most": _round_or_none(self.at_most),
            "why": self.why,
        }
        if self.values.count is not None:
            return {**plain, "count": self.values.count}
        if self.values.immediate is None:
            return plain
        return {**plain, "immediate": self.values.immediate, "breaks": self.breaks}


@dataclass(frozen=True, slots=True)
class PairLatency:
    """The latency of a pair in cycles: `least` and `most` over connectors, None where it is not isolated.

    Attributes:
        at_most: A bound where only sums are known: the shortest chain, less the least latency of its
            connectors.
        throughput_limited: Chains that throughput limits were skipped, or are the only ones.
        why: What prevents an isolated value or a measurement.
    """

    link: ChainLink
    least: float | None
    most: float | None
    at_most: float | None
    why: str
    readings: tuple[ChainReading, ...]
    throughput_limited: bool = False
    breaks: bool = False
    """The destination does not wait for the source: chains take less than their connectors."""
    best: float | None = None
    """The value of the most exact chain."""
    by_values: tuple[LatencyOfValues, ...] = ()
    """Where values or immediates matter, the latency for each class; `least` and `most` are over all."""
    queued: float | None = None
    """The least where other instructions wait as well, if that is more: see `bypasses`."""
    kind: int | None = None
    """Number of its kind, where latencies depend on the kinds of neighbours; see `bypasses`."""
    beside: tuple[float, ...] = ()
    """For each kind, the cycles that the pair and a neighbour of the kind take beyond the least of both."""

    @property
    def is_isolated(self) -> bool:
        return self.least is not None

    def as_json(self) -> Json:
        """A plain object, with the chains as machine code in hexadecimal digits."""
        return {
            "source": self.link.source,
            "destination": self.link.destination,
            "least": _round_or_none(self.least),
            "most": _round_or_none(self.most),
            "at_most": _round_or_none(self.at_most),
            "why": self.why,
            "throughput_limited": self.throughput_limited,
            "breaks": self.breaks,
            "values": [latency.as_json() for latency in self.by_values],
            **({} if self.queued is None else {"queued": _round_or_none(self.queued)}),
            **({} if self.kind is None else {"kind": self.kind, "beside": list(self.beside)}),
            "chains": [
                {
                    "code": reading.chain.code.hex(),
                    "cycles": _round_or_none(reading.cycles),
                    "spread": _round_or_none(reading.spread),
                    "note": reading.note,
                    "values": reading.chain.values,
                    "listing": list(reading.chain.listing),
                    "connectors": [str(link) for link in reading.chain.closing_links],
                }
                for reading in self.readings
            ],
        }


def unconfirmed(
    pair: PairChains, readings: Sequence[ChainReading], connectors: Mapping[ChainLink, float]
) -> list[ChainReading]:
    """The readings of a pair whose latency no other reading with the same values confirms.

    Such a chain is limited by throughput, its way back has a bypass of its own, or another process disturbed
    the core. Of chains that only give sums, those whose cycles are not a whole number. `connectors`: their
    latencies.
    """
    if not pair.isolated:
        settled = ((reading, reading.cycles) for reading in readings if reading.cycles is not None)
        return [reading for reading, cycles in settled if abs(cycles - round(cycles)) > _error(cycles)]
    candidates = [(row, value) for row in readings if (value := _candidate(row, connectors)) is not None]
    return [
        reading
        for reading, value in candidates
        if not any(
            value.agrees(other)
            for _, other in candidates
            if other is not value and (pair.is_by_immediate or other.chain.values == value.chain.values)
        )
    ]


def read_pair(
    pair: PairChains, readings: Sequence[ChainReading], connectors: Mapping[ChainLink, float]
) -> PairLatency:
    """The latency of a pair from the readings of its chains. `connectors`: their latencies."""
    if not pair.classes or not pair.chains:
        return _read(pair, readings, connectors)
    rows = [
        (values, _read(pair, [row for row in readings if row.chain.values == values.name], connectors))
        for values in pair.classes
    ]
    if pair.is_by_immediate:
        return _by_immediate(pair.link, rows, readings)
    return _combine(pair.link, rows, readings)


def _by_immediate(
    link: ChainLink, rows: Sequence[tuple[ValueClass, PairLatency]], readings: Sequence[ChainReading]
) -> PairLatency:
    """The latency with the usual immediate alone, unless other measured ones differ from it."""
    usual = rows[0][1]
    measured = [(kind, pair) for kind, pair in rows if any(row.cycles is not None for row in pair.readings)]
    if all(_are_similar(usual, pair) for _, pair in measured):
        return replace(usual, readings=tuple(readings))
    return replace(_combine(link, measured, readings), best=usual.best)


def _are_similar(usual: PairLatency, other: PairLatency) -> bool:
    """Whether the latency with another immediate equals the usual one."""
    if usual.breaks != other.breaks or usual.is_isolated != other.is_isolated:
        return False
    if usual.least is not None and usual.most is not None and other.least is not None:
        return usual.least - _SAME_WITHIN < other.least < usual.most + _SAME_WITHIN
    return usual.at_most is None or other.at_most is None or abs(usual.at_most - other.at_most) < _SAME_WITHIN


def _combine(
    link: ChainLink, rows: Sequence[tuple[ValueClass, PairLatency]], readings: Sequence[ChainReading]
) -> PairLatency:
    """The least and the most over all classes of values."""
    latencies = [pair for _, pair in rows]
    bounds = [pair.at_most for pair in latencies if pair.at_most is not None]
    isolated = [pair for pair in latencies if pair.is_isolated]
    return PairLatency(
        link,
        min((pair.least for pair in isolated if pair.least is not None), default=None),
        max((pair.most for pair in isolated if pair.most is not None), default=None),
        max(bounds) if bounds and not isolated else None,
        "; ".join(dict.fromkeys(pair.why for pair in latencies if pair.why and not isolated)),
        tuple(readings),
        any(pair.throughput_limited for pair in latencies),
        all(pair.breaks for pair in latencies),
        next((pair.best for pair in isolated), None),
        tuple(
            LatencyOfValues(kind, row.least, row.most, row.at_most, row.why, row.breaks) for kind, row in rows
        ),
    )


def _read(
    pair: PairChains, readings: Sequence[ChainReading], connectors: Mapping[ChainLink, float]
) -> PairLatency:
    """The latency from readings of chains that all have operand values of one class."""
    link, usable = pair.link, [reading for reading in readings if reading.cycles is not None]
    if not pair.chains or not usable:
        notes = dict.fromkeys(reading.note for reading in readings if reading.note)
        why = pair.why if not pair.chains else "; ".join(notes) or "no chain has settled"
        return PairLatency(link, None, None, None, why, tuple(readings))
    if not pair.isolated:
        return PairLatency(link, None, None, _bound(usable, connectors), pair.why, tuple(readings))
    candidates = [value for row in usable if (value := _candidate(row, connectors)) is not None]
    if not candidates:
        why = "its connectors are not known"
        return PairLatency(link, None, None, _bound(usable, connectors), why, tuple(readings))
    if any(candidate.value < -candidate.error for candidate in candidates):
        why = "the destination does not wait for the source"
        return PairLatency(link, None, None, None, why, tuple(readings), breaks=True)
    values, limited = _consistent_latencies(candidates)
    return PairLatency(link, min(values), max(values), None, "", tuple(readings), limited, best=values[0])


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The latency that a chain leaves for its first link, and its error."""

    chain: DependencyChain
    value: float
    error: float

    def agrees(self, other: _Candidate) -> bool:
        """Whether both may be the same latency."""
        return abs(self.value - other.value) <= self.error + other.error

    def is_same_as(self, other: _Candidate) -> bool:
        """Whether both are one latency: by different ways back, latencies can differ by whole cycles."""
        return self.agrees(other) and abs(self.value - other.value) <= _SAME_WITHIN


def _candidate(reading: ChainReading, connectors: Mapping[ChainLink, float]) -> _Candidate | None:
    """The latency of the chain's first link; None where a connector's is not known."""
    cycles, closing_links = reading.cycles, own_connectors(reading.chain)
    if cycles is None or not connectors.keys() >= set(closing_links):
        return None
    closing, links = sum(connectors[link] for link in closing_links), reading.chain.links
    times = links.count(links[0])
    error = _error(cycles + closing)
    return _Candidate(reading.chain, (cycles - closing) / times, error / times)


def link_value(reading: ChainReading, connectors: Mapping[ChainLink, float]) -> float | None:
    """Cycles that a chain leaves for its first link; None where a connector's latency is not known."""
    candidate = _candidate(reading, connectors)
    return None if candidate is None else candidate.value


def _error(cycles: float) -> float:
    """Largest error of a settled reading, in cycles."""
    return max(ABSOLUTE_ERROR, RELATIVE_ERROR * cycles)


def own_connectors(chain: DependencyChain) -> list[ChainLink]:
    """All links except the measured one, which a turn can pass several times."""
    return [link for link in chain.closing_links if link != chain.links[0]]


def _consistent_latencies(candidates: Sequence[_Candidate]) -> tuple[list[float], bool]:
    """The latencies by way back, the most exact first, and whether throughput limits chains.

    A chain that throughput limits takes no longer with more connectors, so it leaves less for the link. Of
    each way back the chains count that confirm one another, or that the link with itself confirms, else the
    longest; the link with itself counts unless all others agree on less. Equal values are one latency, of
    which each chain is a reading.
    """
    ways: dict[frozenset[ChainLink], list[_Candidate]] = defaultdict(list)
    for candidate in sorted(candidates, key=lambda candidate: len(candidate.chain.links)):
        ways[frozenset(own_connectors(candidate.chain))].append(candidate)
    direct = ways.pop(frozenset(), [])  # chains of the link with itself alone
    readings, limited = [], False
    for members in ways.values():
        pairs = [*itertools.pairwise(members), *((a, b) for a in members for b in direct)]
        confirmed = next((a for a, b in pairs if a.agrees(b)), None)
        limited |= confirmed is None and len(members) > 1 and members[-1].value < members[0].value
        confirming = members[-1:] if confirmed is None else members[members.index(confirmed) :]
        readings.append(_mean([candidate for candidate in confirming if candidate.agrees(confirming[0])]))
    for candidate in direct:
        if readings and all(
            candidate.value > value.value and not candidate.agrees(value) for value in readings
        ):
            limited = True
        else:
            readings.append(candidate)
    groups: list[list[_Candidate]] = []
    for candidate in sorted(readings, key=lambda candidate: candidate.error):
        for group in groups:
            if candidate.is_same_as(group[0]):
                group.append(candidate)
                break
        else:
            groups.append([candidate])
    return [_mean(members).value for members in groups], limited


def _mean(candidates: Sequence[_Candidate]) -> _Candidate:
    """The mean of readings of one latency, weighted by 1 / error²; its error is that of the most exact."""
    weights = [candidate.error**-2 for candidate in candidates]
    value = sum(row.value * weight for row, weight in zip(candidates, weights, strict=True)) / sum(weights)
    best = min(candidates, key=lambda candidate: candidate.error)
    return _Candidate(best.chain, value, best.error)


def _bound(readings: Iterable[ChainReading], connectors: Mapping[ChainLink, float]) -> float:
    """The least value that a chain leaves, with `MIN_CONNECTOR` for connectors of unknown latency."""
    remaining = (
        reading.cycles - sum(connectors.get(link, MIN_CONNECTOR) for link in reading.chain.closing_links)
        for reading in readings
        if reading.cycles is not None
    )
    return max(min(remaining), 0.0)  # a renamed store takes less than the least that is counted for it


def _round_or_none(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
