"""The smallest changes of a mapping with which an experiment takes as long as it was measured to.

A change is of one scheme: µops of one kind more or fewer, or issue slots more or fewer. Its size is how many
µops or slots that is. Ports and slots bound a time from below, and both only grow with what there is to do:
where the mapping is too fast something is missing, where it is too slow there is too much.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.throughput import inverse_throughput

TOLERANCE = 0.03
"""Of the measurement: what repeated measurements of a quiet computer differ by."""

MOST = 4
"""µops or slots of one scheme: beyond, something else is wrong than a number."""


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


def fits(predicted: float, measured: float, tolerance: float = TOLERANCE) -> bool:
    """Whether a prediction is the measurement, as far as one can measure."""
    return abs(predicted - measured) <= tolerance * measured


def smallest_changes(
    mapping: PortMapping,
    experiment: Experiment,
    measured: float,
    *,
    kinds: Collection[int] | None = None,
    tolerance: float = TOLERANCE,
    most: int = MOST,
) -> tuple[Change, ...]:
    """All changes of the smallest size that fit, the nearest to the measurement first.

    None where the mapping fits as it is, or no change of at most `most` µops or slots does. `kinds` of µops
    that may be added are those that the mapping has, unless they are given. Raises `InvalidInputError` for a
    measurement that is no time, and `UnknownSchemeError`.
    """
    if not (math.isfinite(measured) and measured > 0):
        raise InvalidInputError(f"a measured time is a number of cycles above 0, not {measured!r}")
    predicted = inverse_throughput(mapping, experiment)
    if fits(predicted, measured, tolerance):
        return ()
    sign = 1 if measured > predicted else -1
    small = mapping.restricted(experiment.schemes)
    own = {mask for uops in mapping.usage.values() for mask, _ in uops}
    addable = sorted(own if kinds is None else kinds)
    too_far: set[tuple[str, int | None]] = set()
    for size in range(1, most + 1):
        found = []
        for scheme, mask in _places(small, addable, sign):
            if (scheme, mask) in too_far:
                continue
            changed = _changed(small, scheme, mask, sign * size)
            if changed is None:
                continue
            cycles = inverse_throughput(changed, experiment)
            if fits(cycles, measured, tolerance):
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
