"""What the chains of a pair of operands say: its latency, or what is known of it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from inference.core.protocols import Json
from inference.isa.chains import ChainLink, DependencyChain, PairChains, ValueClass

ABSOLUTE, RELATIVE = 0.05, 0.015
"""Cycles, and share of a chain's cycles, by which a settled reading may be off."""
_APART = 0.5
"""Cycles by which readings of long chains may be apart and still be one latency."""
LEAST = 1.0
"""Cycles that a connector between two classes takes at least."""


@dataclass(frozen=True, slots=True)
class ChainReading:
    """A chain as it was measured: cycles of one turn, None where they did not settle, and then `note` why."""

    chain: DependencyChain
    cycles: float | None
    spread: float = 0.0
    note: str = ""

    def agrees(self, other: ChainReading) -> bool:
        """Whether both have cycles, and are as near as readings of one chain are."""
        if self.cycles is None or other.cycles is None:
            return False
        return abs(self.cycles - other.cycles) <= _error(self.cycles) + _error(other.cycles)


@dataclass(frozen=True, slots=True)
class LatencyOfValues:
    """What the chains with the operands' values of one class say: see `PairLatency`."""

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
            "told": self.values.told,
            "least": _rounded(self.least),
            "most": _rounded(self.most),
            "at_most": _rounded(self.at_most),
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

    `at_most` is a bound where only sums are known: the shortest chain, less what its connectors take at
    least. `throughput_limited`: chains were passed over, or are all there is, that throughput limits. `why`
    says what kept it from being isolated or measured.
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
    queued: float | None = None
    """The least where other instructions wait as well, if that is more: see `bypasses`."""
    kind: int | None = None
    """Number of its kind, where latencies depend on the kinds of neighbours; see `bypasses`."""
    beside: tuple[float, ...] = ()
    """Cycles that it and a neighbour of each kind take together beyond the least of both."""
    """Where values or immediates matter, of each class of them; `least` and `most` are over all."""

    @property
    def is_isolated(self) -> bool:
        """Whether there is a value."""
        return self.least is not None

    def as_json(self) -> Json:
        """A plain object, with the chains as machine code in hexadecimal digits."""
        return {
            "source": self.link.source,
            "destination": self.link.destination,
            "least": _rounded(self.least),
            "most": _rounded(self.most),
            "at_most": _rounded(self.at_most),
            "why": self.why,
            "throughput_limited": self.throughput_limited,
            "breaks": self.breaks,
            "values": [one.as_json() for one in self.by_values],
            **({} if self.queued is None else {"queued": _rounded(self.queued)}),
            **({} if self.kind is None else {"kind": self.kind, "beside": list(self.beside)}),
            "chains": [
                {
                    "code": one.chain.code.hex(),
                    "cycles": _rounded(one.cycles),
                    "spread": _rounded(one.spread),
                    "note": one.note,
                    "values": one.chain.values,
                    "listing": list(one.chain.listing),
                    "connectors": [str(link) for link in one.chain.others],
                }
                for one in self.readings
            ],
        }


def unconfirmed(
    pair: PairChains, readings: Sequence[ChainReading], known: Mapping[ChainLink, float]
) -> list[ChainReading]:
    """Those of a pair's readings by which it takes what it takes by no other one with these values.

    Throughput limits the chain, its way back has a bypass of its own, or something else ran on the core. Of
    sums that nothing isolates, those that are no whole number of cycles. `known`: latencies of connectors.
    """
    if not pair.isolated:
        settled = ((one, one.cycles) for one in readings if one.cycles is not None)
        return [one for one, cycles in settled if abs(cycles - round(cycles)) > _error(cycles)]
    found = [(one, left) for one in readings if (left := _candidate(one, known)) is not None]
    return [
        one
        for one, left in found
        if not any(
            left.agrees(other)
            for _, other in found
            if other is not left and (pair.is_by_immediate or other.chain.values == left.chain.values)
        )
    ]


def read_pair(
    pair: PairChains, readings: Sequence[ChainReading], known: Mapping[ChainLink, float]
) -> PairLatency:
    """What the readings of a pair's chains say. `known`: latencies of connectors."""
    if not pair.classes or not pair.chains:
        return _read(pair, readings, known)
    each = [
        (one, _read(pair, [reading for reading in readings if reading.chain.values == one.name], known))
        for one in pair.classes
    ]
    if pair.is_by_immediate:
        return _by_immediate(pair.link, each, readings)
    return _joined(pair.link, each, readings)


def _by_immediate(
    link: ChainLink, each: Sequence[tuple[ValueClass, PairLatency]], readings: Sequence[ChainReading]
) -> PairLatency:
    """By the usual immediate alone, unless others that were measured take another time."""
    usual = each[0][1]
    measured = [
        (kind, one) for kind, one in each if any(reading.cycles is not None for reading in one.readings)
    ]
    if all(_is_alike(usual, one) for _, one in measured):
        return replace(usual, readings=tuple(readings))
    return replace(_joined(link, measured, readings), best=usual.best)


def _is_alike(usual: PairLatency, other: PairLatency) -> bool:
    """Whether another immediate shows nothing else."""
    if usual.breaks != other.breaks or usual.is_isolated != other.is_isolated:
        return False
    if usual.least is not None and usual.most is not None and other.least is not None:
        return usual.least - _APART < other.least < usual.most + _APART
    return usual.at_most is None or other.at_most is None or abs(usual.at_most - other.at_most) < _APART


def _joined(
    link: ChainLink, each: Sequence[tuple[ValueClass, PairLatency]], readings: Sequence[ChainReading]
) -> PairLatency:
    """The least and the most over all classes of values."""
    found = [one for _, one in each]
    bounds = [one.at_most for one in found if one.at_most is not None]
    isolated = [one for one in found if one.is_isolated]
    return PairLatency(
        link,
        min((one.least for one in isolated if one.least is not None), default=None),
        max((one.most for one in isolated if one.most is not None), default=None),
        max(bounds) if bounds and not isolated else None,
        "; ".join(dict.fromkeys(one.why for one in found if one.why and not isolated)),
        tuple(readings),
        any(one.throughput_limited for one in found),
        all(one.breaks for one in found),
        next((one.best for one in isolated), None),
        tuple(
            LatencyOfValues(kind, one.least, one.most, one.at_most, one.why, one.breaks) for kind, one in each
        ),
    )


def _read(
    pair: PairChains, readings: Sequence[ChainReading], known: Mapping[ChainLink, float]
) -> PairLatency:
    link, usable = pair.link, [one for one in readings if one.cycles is not None]
    if not pair.chains or not usable:
        notes = dict.fromkeys(one.note for one in readings if one.note)
        why = pair.why if not pair.chains else "; ".join(notes) or "no chain has settled"
        return PairLatency(link, None, None, None, why, tuple(readings))
    if not pair.isolated:
        return PairLatency(link, None, None, _bound(usable, known), pair.why, tuple(readings))
    candidates = [one for one in (_candidate(each, known) for each in usable) if one is not None]
    if not candidates:
        why = "its connectors are not known"
        return PairLatency(link, None, None, _bound(usable, known), why, tuple(readings))
    if any(one.value < -one.error for one in candidates):
        why = "the destination does not wait for the source"
        return PairLatency(link, None, None, None, why, tuple(readings), breaks=True)
    values, limited = _consistent(candidates)
    return PairLatency(link, min(values), max(values), None, "", tuple(readings), limited, best=values[0])


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What a chain leaves for its first link, and by how much it may be off."""

    chain: DependencyChain
    value: float
    error: float

    def agrees(self, other: _Candidate) -> bool:
        """Whether both may be the same latency."""
        return abs(self.value - other.value) <= self.error + other.error

    def is_same_as(self, other: _Candidate) -> bool:
        """Whether both are one latency: by different ways back, it can be another one by whole cycles."""
        return self.agrees(other) and abs(self.value - other.value) <= _APART


def _candidate(reading: ChainReading, known: Mapping[ChainLink, float]) -> _Candidate | None:
    """None where a connector is not known."""
    cycles, others = reading.cycles, own_connectors(reading.chain)
    if cycles is None or not known.keys() >= set(others):
        return None
    closing, times = sum(known[link] for link in others), reading.chain.links.count(reading.chain.links[0])
    error = _error(cycles + closing)
    return _Candidate(reading.chain, (cycles - closing) / times, error / times)


def link_value(reading: ChainReading, known: Mapping[ChainLink, float]) -> float | None:
    """Cycles that a chain leaves for its first link; None where a connector is not known."""
    candidate = _candidate(reading, known)
    return None if candidate is None else candidate.value


def _error(cycles: float) -> float:
    """By how much a settled reading may be off."""
    return max(ABSOLUTE, RELATIVE * cycles)


def own_connectors(chain: DependencyChain) -> list[ChainLink]:
    """All links but the wanted one, which a turn can pass several times."""
    return [link for link in chain.others if link != chain.links[0]]


def _consistent(candidates: Sequence[_Candidate]) -> tuple[list[float], bool]:
    """The latencies that the ways back show, the most exact first, and whether throughput limits chains.

    A chain that throughput limits takes no longer with more connectors, so it leaves less for the link. Of
    each way the chains count that confirm one another, or that the link with itself confirms, else the
    longest; the link with itself counts unless all others agree on less. What agrees is one latency, of
    which each chain is a reading.
    """
    ways: dict[frozenset[ChainLink], list[_Candidate]] = defaultdict(list)
    for one in sorted(candidates, key=lambda each: len(each.chain.links)):
        ways[frozenset(own_connectors(one.chain))].append(one)
    direct = ways.pop(frozenset(), [])
    chosen, limited = [], False
    for found in ways.values():
        pairs = [*itertools.pairwise(found), *((a, b) for a in found for b in direct)]
        confirmed = next((a for a, b in pairs if a.agrees(b)), None)
        limited |= confirmed is None and len(found) > 1 and found[-1].value < found[0].value
        rest = found[-1:] if confirmed is None else found[found.index(confirmed) :]
        chosen.append(_mean([one for one in rest if one.agrees(rest[0])]))
    for one in direct:
        if chosen and all(one.value > each.value and not one.agrees(each) for each in chosen):
            limited = True
        else:
            chosen.append(one)
    alike: list[list[_Candidate]] = []
    for one in sorted(chosen, key=lambda each: each.error):
        for others in alike:
            if one.is_same_as(others[0]):
                others.append(one)
                break
        else:
            alike.append([one])
    return [_mean(found).value for found in alike], limited


def _mean(found: Sequence[_Candidate]) -> _Candidate:
    """The same latency by all of them, each as heavy as it is exact; the error is that of the most exact."""
    weights = [one.error**-2 for one in found]
    value = sum(one.value * weight for one, weight in zip(found, weights, strict=True)) / sum(weights)
    best = min(found, key=lambda one: one.error)
    return _Candidate(best.chain, value, best.error)


def _bound(readings: Iterable[ChainReading], known: Mapping[ChainLink, float]) -> float:
    """The least that a chain leaves, where connectors of unknown latency take `LEAST`."""
    left = (
        one.cycles - sum(known.get(link, LEAST) for link in one.chain.others)
        for one in readings
        if one.cycles is not None
    )
    return max(min(left), 0.0)  # a renamed store takes less than the least that is counted for it


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
