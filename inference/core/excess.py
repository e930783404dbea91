"""Experiments that take longer than a mapping allows, by the ports that limit them.

Ports and issue slots bound a time from below. What takes longer was wasted by the core, which chose ports
before they were free, or shows something that the mapping lacks. Waste has a pattern: it comes with certain
port sets beside each other. So experiments are put together by the µops that limit them.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, ports_in
from inference.core.protocols import Json
from inference.core.throughput import issue_bound, work_of

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
    unions = {0}
    for mask in work:
        unions |= {union | mask for union in unions}
    confined: tuple[int, ...] = ()
    slowest = 0.0
    for union in sorted(unions - {0}, key=lambda union: (union.bit_count(), union)):
        inside = tuple(sorted(mask for mask in work if mask & ~union == 0))
        cycles = sum(work[mask] for mask in inside) / union.bit_count()
        if cycles > slowest:
            confined, slowest = inside, cycles
    issue = issue_bound(mapping, experiment)
    return ((), issue) if issue > slowest else (confined, slowest)
