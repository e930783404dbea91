"""Where a mapping is in doubt: experiments that it does not explain, reasons to doubt its µops of a scheme.

Ports and issue slots bound a time from below, and both bounds only grow with more instructions. An experiment
that takes longer was delayed by the core, which chose ports before they were free, or shows something that
the mapping lacks. Such waste comes with certain port sets side by side, so experiments are grouped by the
µops that limit them (`excess`), or by the instruction that they have in common. Of a single experiment,
`smallest_changes` are the smallest changes of the mapping that make it predict the measurement: µops of one
kind, or issue slots, of one scheme; more where the mapping is too fast, fewer where it is too slow. The size
of a change is the number of these µops or slots.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, ports_in, unions_of, uops_of
from inference.core.protocols import Json
from inference.core.throughput import inverse_throughput, issue_bound, work_of

MEASUREMENT_TOLERANCE = 0.03
"""Share of the measurement by which repeated measurements on a quiet computer differ."""

MAX_CHANGE = 4
"""µops or slots of one scheme: an error that needs a larger change has another cause."""

MIN_EXCESS = 0.05
"""Share of the prediction by which a measurement must be longer to exceed it by more than noise."""

MIN_COMMON_SHARE = 0.6
"""Smallest share of the experiments that must contain a common part; less is a coincidence."""


@dataclass(frozen=True)
class SlowExperiment:
    """An experiment with its measured and predicted cycles.

    `port_sets`: those of the µops that limit it, ascending; () where issue slots or R_max limit it.
    `readings`: the number of its measurements; `lowest` and `highest` of these, in cycles.
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
        """Share of the prediction by which the experiment takes longer."""
        return self.measured / self.predicted - 1

    @property
    def repeated(self) -> bool:
        """Whether there are several readings and each exceeds the prediction."""
        return self.readings > 1 and self.lowest > (1 + MIN_EXCESS) * self.predicted

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
    """All experiments that the same port sets limit: their number, and those that exceed the prediction.

    `exceeding`: the largest excess first.
    """

    port_sets: tuple[int, ...]
    experiments: int
    exceeding: tuple[SlowExperiment, ...]

    @property
    def share(self) -> float:
        """Share of the experiments with these limits that exceed their prediction: how repeatable the
        excess is.
        """
        return len(self.exceeding) / self.experiments

    @property
    def median(self) -> float:
        """Median excess of the experiments that exceed, as a share of the prediction."""
        return statistics.median(slow.excess for slow in self.exceeding)

    def port_names(self, ports: Sequence[str]) -> list[list[str]]:
        return [[ports[k] for k in ports_in(mask)] for mask in self.port_sets]

    def as_json(self, ports: Sequence[str], max_experiments: int) -> Json:
        """Plain JSON with the port sets by name and at most `max_experiments` of the experiments."""
        return {
            "port_sets": self.port_names(ports),
            "experiments": self.experiments,
            "exceeding": len(self.exceeding),
            "median": round(self.median, 4),
            "largest": [slow.as_json() for slow in self.exceeding[:max_experiments]],
        }


@dataclass(frozen=True)
class Excess:
    """The groups with an experiment that exceeds, those with most such experiments first; `experiments`:
    all compared.
    """

    experiments: int
    groups: tuple[ExcessGroup, ...]

    @property
    def mean(self) -> float:
        """Mean excess as a share of the prediction, over all experiments: 0 for those that do not exceed."""
        total = sum(slow.excess for group in self.groups for slow in group.exceeding)
        return total / self.experiments if self.experiments else 0.0

    @property
    def median(self) -> float:
        """Median excess of the experiments that exceed; 0 where none does."""
        excesses = [slow.excess for group in self.groups for slow in group.exceeding]
        return statistics.median(excesses) if excesses else 0.0

    @property
    def exceeding(self) -> int:
        """How many experiments exceed their prediction."""
        return sum(len(group.exceeding) for group in self.groups)


def excess(mapping: PortMapping, readings: Mapping[Experiment, Sequence[float]]) -> Excess:
    """Compare experiments with a mapping that describes all of their schemes.

    Args:
        mapping: Its predictions include limits and slots.
        readings: {experiment: its measured cycles}, of which the median counts. Experiments that the mapping
            predicts to take no time are skipped.
    """
    grouped: dict[tuple[int, ...], list[SlowExperiment]] = {}
    for experiment, cycles in readings.items():
        port_sets, predicted = limits_of(mapping, experiment)
        if predicted > 0:
            experiment_times = SlowExperiment(
                experiment,
                port_sets,
                statistics.median(cycles),
                predicted,
                len(cycles),
                min(cycles),
                max(cycles),
            )
            grouped.setdefault(port_sets, []).append(experiment_times)
    groups = []
    for port_sets, members in grouped.items():
        exceeding = [slow for slow in members if slow.excess > MIN_EXCESS]
        if exceeding:
            exceeding.sort(key=lambda slow: (-slow.excess, slow.experiment))
            groups.append(ExcessGroup(port_sets, len(members), tuple(exceeding)))
    groups.sort(key=lambda group: (-len(group.exceeding), -group.median, group.port_sets))
    return Excess(sum(map(len, grouped.values())), tuple(groups))


def limits_of(mapping: PortMapping, experiment: Experiment) -> tuple[tuple[int, ...], float]:
    """The port sets of the µops that limit an experiment, and its cycles; () where issue limits it."""
    work = work_of(mapping, experiment)
    limiting: tuple[int, ...] = ()
    slowest = 0.0
    for union in sorted(unions_of(work) - {0}, key=lambda union: (union.bit_count(), union)):
        inside = tuple(sorted(mask for mask in work if mask & ~union == 0))
        cycles = sum(work[mask] for mask in inside) / union.bit_count()
        if cycles > slowest:
            limiting, slowest = inside, cycles
    issue = issue_bound(mapping, experiment)
    return ((), issue) if issue > slowest else (limiting, slowest)


@dataclass(frozen=True)
class Change:
    """`number` more (> 0) or fewer (< 0) µops of `scheme` on the ports `mask`; issue slots where `mask` is
    None.

    `cycles`: what the experiment takes then.
    """

    scheme: str
    mask: int | None
    number: int
    cycles: float

    @property
    def size(self) -> int:
        """Number of µops or slots that change."""
        return abs(self.number)

    @property
    def uops(self) -> Uops:
        """The µops that are added or removed; () for a change of slots."""
        return () if self.mask is None else ((self.mask, self.size),)


def is_within_tolerance(predicted: float, measured: float) -> bool:
    """Whether a prediction equals the measurement up to `MEASUREMENT_TOLERANCE`."""
    return abs(predicted - measured) <= MEASUREMENT_TOLERANCE * measured


def smallest_changes(
    mapping: PortMapping,
    experiment: Experiment,
    measured: float,
    *,
    kinds: Collection[int] | None = None,
) -> tuple[Change, ...]:
    """All changes of the smallest size with which the mapping predicts the measurement, the nearest first.

    Args:
        mapping: Describes the schemes of the experiment.
        experiment: Measured.
        measured: Its cycles, finite and > 0.
        kinds: Port sets of µops that may be added; by default those that the mapping has.

    Returns:
        () where the mapping fits as it is, or no change of at most `MAX_CHANGE` µops or slots does.

    Raises:
        InvalidInputError: For a measurement that is not a finite number > 0.
        UnknownSchemeError: For schemes that the mapping does not describe.
    """
    if not (math.isfinite(measured) and measured > 0):
        raise InvalidInputError(f"a measured time is a number of cycles above 0, not {measured!r}")
    predicted = inverse_throughput(mapping, experiment)
    if is_within_tolerance(predicted, measured):
        return ()
    sign = 1 if measured > predicted else -1
    small = mapping.restricted(experiment.schemes)
    used_kinds = {mask for uops in mapping.usage.values() for mask, _ in uops}
    addable = sorted(used_kinds if kinds is None else kinds)
    overshooting: set[tuple[str, int | None]] = set()
    for size in range(1, MAX_CHANGE + 1):
        changes = []
        for scheme, mask in _change_sites(small, addable, sign):
            if (scheme, mask) in overshooting:
                continue
            changed = _with_change(small, scheme, mask, sign * size)
            if changed is None:
                continue
            cycles = inverse_throughput(changed, experiment)
            if is_within_tolerance(cycles, measured):
                changes.append(Change(scheme, mask, sign * size, cycles))
            elif sign * (cycles - measured) > 0:  # more of the same leads further away
                overshooting.add((scheme, mask))
        if changes:
            return tuple(sorted(changes, key=lambda change: _rank(change, small.usage, measured)))
    return ()


def _change_sites(mapping: PortMapping, kinds: list[int], sign: int) -> Iterator[tuple[str, int | None]]:
    """(scheme, port set or None for slots) where µops or slots can be added (`sign` > 0) or removed."""
    for scheme, uops in mapping.usage.items():
        for mask in kinds if sign > 0 else [mask for mask, _ in uops]:
            yield scheme, mask
        if mapping.issue_width is not None:
            yield scheme, None


def _with_change(mapping: PortMapping, scheme: str, mask: int | None, number: int) -> PortMapping | None:
    """The mapping with `number` more µops or slots of a scheme; None where that would be fewer than
    possible.
    """
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
    """Sort key: nearest first; of equals, µops of a kind that the scheme has, then those on few ports."""
    is_used = change.mask is not None and change.mask in dict(usage[change.scheme])
    width = change.mask.bit_count() if change.mask is not None else 0
    return (round(abs(change.cycles - measured), 9), not is_used, width, change.scheme, change.mask or 0)


@dataclass(frozen=True)
class CommonPart:
    """A scheme, or the mnemonic of `schemes`, that `containing` of `total` experiments contain.

    `median_cycles`: the median, over these experiments, of the measured cycles per instance of it.
    """

    name: str
    schemes: tuple[str, ...]
    containing: int
    total: int
    median_cycles: float

    @property
    def is_in_all(self) -> bool:
        """Whether every experiment contains it."""
        return self.containing == self.total


def common_part(measured: Sequence[tuple[Experiment, float]]) -> CommonPart | None:
    """The part that at least two experiments have in common; None where there is none.

    A scheme is preferred to its mnemonic where as many experiments contain it. Of several parts the one with
    the longest name is chosen: of instructions that occur everywhere, the plain ones say least.

    Args:
        measured: (experiment, its cycles).
    """
    total = len(measured)
    if total < 2:
        return None
    schemes = Counter(scheme for experiment, _ in measured for scheme in experiment.schemes)
    mnemonics = Counter(name for experiment, _ in measured for name in {*map(_mnemonic, experiment.schemes)})
    minimum = max(2.0, MIN_COMMON_SHARE * total)
    candidates = [(count, 1, scheme) for scheme, count in schemes.items() if count >= minimum]
    candidates += [(count, 0, name) for name, count in mnemonics.items() if count >= minimum]
    if not candidates:
        return None
    count, is_scheme, name = max(candidates, key=lambda row: (row[0], row[1], len(row[2]), row[2]))
    members = {name} if is_scheme else {scheme for scheme in schemes if _mnemonic(scheme) == name}
    shares = []
    for experiment, cycles in measured:
        instances = sum(number for scheme, number in experiment.terms if scheme in members)
        if instances:
            shares.append(cycles / instances)
    return CommonPart(name, tuple(sorted(members)), count, total, median(shares))


def _mnemonic(scheme: str) -> str:
    return scheme.partition(" ")[0]


class DoubtKind(StrEnum):
    AMBIGUOUS = "ambiguous"
    EXCLUDED = "excluded"
    MISPREDICTED = "mispredicted"
    SLOTS = "slots"
    CONFLICT = "conflict"


LABELS = {
    DoubtKind.AMBIGUOUS: "ambiguous",
    DoubtKind.EXCLUDED: "excluded",
    DoubtKind.MISPREDICTED: "badly predicted",
    DoubtKind.SLOTS: "other slots measured",
    DoubtKind.CONFLICT: "in conflict",
}


@dataclass(frozen=True)
class Doubt:
    """One reason to doubt one scheme.

    `words` is the reason as a text. `uops`: its µops in the mapping, None where it has none; `alternatives`:
    other possible µops, or those of another result, under the ports of `Doubts.ports`. `size` ranks doubts of
    one kind.
    """

    kind: DoubtKind
    scheme: str
    words: str
    uops: Uops | None = None
    alternatives: tuple[Uops, ...] = ()
    size: float = 0.0


@dataclass(frozen=True)
class Doubts:
    """All doubts of a mapping, by kind, the gravest of each kind first; `ports` are the names of the
    masks' bits.
    """

    rows: tuple[Doubt, ...]
    ports: tuple[str, ...]

    @property
    def counts(self) -> Counter[DoubtKind]:
        return Counter(doubt.kind for doubt in self.rows)

    def of(self, scheme: str) -> list[Doubt]:
        return [doubt for doubt in self.rows if doubt.scheme == scheme]
