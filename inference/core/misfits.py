"""Experiments that a mapping does not explain: which take longer, by what limits them, and what would fit.

Ports and issue slots bound a time from below, and both only grow with what there is to do. What takes longer
was wasted by the core, which chose ports before they were free, or shows something that the mapping lacks.
Waste has a pattern, it comes with certain port sets beside each other: so experiments are put together by
the µops that limit them (`excess`). Of a single experiment, `smallest_changes` are those with which the
mapping says what was measured: µops of one kind, or issue slots, of one scheme, more where the mapping is too
fast and fewer where it is too slow. The size of a change is how many µops or slots that is.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, ports_in, unions_of, uops_of
from inference.core.protocols import Json
from inference.core.throughput import inverse_throughput, issue_bound, work_of

TOLERANCE = 0.03
"""Of the measurement: what repeated measurements of a quiet computer differ by."""

MOST = 4
"""µops or slots of one scheme: beyond, something else is wrong than a number."""

LEAST = 0.05
"""Share of the prediction from which a measurement is longer by more than noise."""


@dataclass(frozen=True)
class Exceeding:
    """An experiment with its measured and predicted cycles.

    `port_sets`: those of the µops that limit it, ascending; () where issue slots or R_max do. `readings`: how
    often it was measured, `lowest` and `highest` of these.
    """

    experiment: Experiment
    port_sets: tuple[int, ...]
    measured: float
    predicted: float
    readings: int
    lowest: float
    highest: float

    @property
    def excess(self) -> float:
        """Share of the prediction by which it takes longer."""
        return self.measured / self.predicted - 1

    @property
    def repeated(self) -> bool:
        """Whether every one of several readings exceeds the prediction."""
        return self.readings > 1 and self.lowest > (1 + LEAST) * self.predicted

    def as_json(self) -> Json:
        return {
            "experiment": str(self.experiment),
            "measured": self.measured,
            "predicted": self.predicted,
            "excess": round(self.excess, 4),
            "readings": self.readings,
            "repeated": self.repeated,
        }


@dataclass(frozen=True)
class ExcessGroup:
    """All experiments that the same port sets limit: how many, and those of them that exceed.

    `exceeding`: the largest excess first.
    """

    port_sets: tuple[int, ...]
    experiments: int
    exceeding: tuple[Exceeding, ...]

    @property
    def share(self) -> float:
        """How repeatable it is: the part of the experiments with these limits that exceed."""
        return len(self.exceeding) / self.experiments

    @property
    def median(self) -> float:
        """The middle excess of those that exceed."""
        return statistics.median(each.excess for each in self.exceeding)

    def port_names(self, ports: Sequence[str]) -> list[list[str]]:
        """The port sets by the names of their ports."""
        return [[ports[k] for k in ports_in(mask)] for mask in self.port_sets]

    def as_json(self, ports: Sequence[str], most: int) -> Json:
        """For programs, with at most so many of the experiments."""
        return {
            "port_sets": self.port_names(ports),
            "experiments": self.experiments,
            "exceeding": len(self.exceeding),
            "median": round(self.median, 4),
            "largest": [each.as_json() for each in self.exceeding[:most]],
        }


@dataclass(frozen=True)
class Excess:
    """What was found in `experiments` of them: groups with most experiments that exceed first."""

    experiments: int
    groups: tuple[ExcessGroup, ...]

    @property
    def exceeding(self) -> int:
        """How many experiments exceed their prediction."""
        return sum(len(group.exceeding) for group in self.groups)


def excess(mapping: PortMapping, readings: Mapping[Experiment, Sequence[float]]) -> Excess:
    """Hold experiments with their readings, in cycles, against a mapping that knows all of their schemes.

    Of several readings the median counts. Experiments that the mapping takes to need no time are passed over.
    """
    grouped: dict[tuple[int, ...], list[Exceeding]] = {}
    for experiment, cycles in readings.items():
        port_sets, predicted = limits_of(mapping, experiment)
        if predicted > 0:
            found = Exceeding(
                experiment,
                port_sets,
                statistics.median(cycles),
                predicted,
                len(cycles),
                min(cycles),
                max(cycles),
            )
            grouped.setdefault(port_sets, []).append(found)
    groups = []
    for port_sets, members in grouped.items():
        exceeding = [each for each in members if each.excess > LEAST]
        if exceeding:
            exceeding.sort(key=lambda each: (-each.excess, each.experiment))
            groups.append(ExcessGroup(port_sets, len(members), tuple(exceeding)))
    groups.sort(key=lambda group: (-len(group.exceeding), -group.median, group.port_sets))
    return Excess(sum(map(len, grouped.values())), tuple(groups))


def limits_of(mapping: PortMapping, experiment: Experiment) -> tuple[tuple[int, ...], float]:
    """The port sets of the µops that limit an experiment, and its cycles; () where it is issue that does."""
    work = work_of(mapping, experiment)
    confined: tuple[int, ...] = ()
    slowest = 0.0
    for union in sorted(unions_of(work) - {0}, key=lambda union: (union.bit_count(), union)):
        inside = tuple(sorted(mask for mask in work if mask & ~union == 0))
        cycles = sum(work[mask] for mask in inside) / union.bit_count()
        if cycles > slowest:
            confined, slowest = inside, cycles
    issue = issue_bound(mapping, experiment)
    return ((), issue) if issue > slowest else (confined, slowest)


@dataclass(frozen=True)
class Change:
    """`number` of something more (> 0) or fewer (< 0) for `scheme`: of µops on the ports `mask`, or of issue
    slots where that is None. `cycles`: what the experiment takes then."""

    scheme: str
    mask: int | None
    number: int
    cycles: float

    @property
    def size(self) -> int:
        """How many µops or slots."""
        return abs(self.number)

    @property
    def uops(self) -> Uops:
        """The µops that are more or fewer; () where it is about slots."""
        return () if self.mask is None else ((self.mask, self.size),)


def fits(predicted: float, measured: float) -> bool:
    """Whether a prediction is the measurement, as far as one can measure."""
    return abs(predicted - measured) <= TOLERANCE * measured


def smallest_changes(
    mapping: PortMapping,
    experiment: Experiment,
    measured: float,
    *,
    kinds: Collection[int] | None = None,
) -> tuple[Change, ...]:
    """All changes of the smallest size that fit, the nearest to the measurement first.

    None where the mapping fits as it is, or no change of at most `MOST` µops or slots does. `kinds` of µops
    that may be added are those that the mapping has, unless they are given. Raises `InvalidInputError` for a
    measurement that is no time, and `UnknownSchemeError`.
    """
    if not (math.isfinite(measured) and measured > 0):
        raise InvalidInputError(f"a measured time is a number of cycles above 0, not {measured!r}")
    predicted = inverse_throughput(mapping, experiment)
    if fits(predicted, measured):
        return ()
    sign = 1 if measured > predicted else -1
    small = mapping.restricted(experiment.schemes)
    own = {mask for uops in mapping.usage.values() for mask, _ in uops}
    addable = sorted(own if kinds is None else kinds)
    too_far: set[tuple[str, int | None]] = set()
    for size in range(1, MOST + 1):
        found = []
        for scheme, mask in _places(small, addable, sign):
            if (scheme, mask) in too_far:
                continue
            changed = _changed(small, scheme, mask, sign * size)
            if changed is None:
                continue
            cycles = inverse_throughput(changed, experiment)
            if fits(cycles, measured):
                found.append(Change(scheme, mask, sign * size, cycles))
            elif sign * (cycles - measured) > 0:  # more of the same leads further away
                too_far.add((scheme, mask))
        if found:
            return tuple(sorted(found, key=lambda change: _rank(change, small.usage, measured)))
    return ()


def _places(mapping: PortMapping, kinds: list[int], sign: int) -> Iterator[tuple[str, int | None]]:
    """Where something can be added to a scheme, or taken away."""
    for scheme, uops in mapping.usage.items():
        for mask in kinds if sign > 0 else [mask for mask, _ in uops]:
            yield scheme, mask
        if mapping.issue_width is not None:
            yield scheme, None


def _changed(mapping: PortMapping, scheme: str, mask: int | None, number: int) -> PortMapping | None:
    """The mapping with so much more or less; None where there is not so much."""
    if mask is None:
        slots = mapping.slots_of(scheme) + number
        return replace(mapping, slots={**mapping.slots, scheme: slots}) if slots >= 1 else None
    counts = dict(mapping.usage[scheme])
    counts[mask] = counts.get(mask, 0) + number
    if counts[mask] < 0:
        return None
    uops = uops_of((kind, count) for kind, count in counts.items() if count)
    return replace(mapping, usage={**mapping.usage, scheme: uops})


def _rank(change: Change, usage: Mapping[str, Uops], measured: float) -> tuple[float, bool, int, str, int]:
    """Nearest first; of equals, µops of a kind that the scheme has, then those on few ports."""
    own = change.mask is not None and change.mask in dict(usage[change.scheme])
    width = change.mask.bit_count() if change.mask is not None else 0
    return (round(abs(change.cycles - measured), 9), not own, width, change.scheme, change.mask or 0)
