"""What a prediction counts that is off: its relative error, or a bounded and one-sided loss."""

from __future__ import annotations

from typing import NamedTuple

ERROR_UNIT = 2.0**-32
"""Losses are summed as whole multiples of this: such sums depend on no order, and can be updated."""


class Loss(NamedTuple):
    """What the relative error e = (predicted - measured) / measured of an experiment counts.

    With a `spread` of 0 just |e|. Otherwise `e² / (e² + spread²)`, `over` times that where e > 0, with
    `waste` times the spread where e < 0, and `distance · min(|e|, 1)` in addition. Ports and slots bound a
    time from below, and no core beats them beyond the noise, which `spread` stands for; many waste a little,
    since ports are chosen before they are free. So what is explained exactly counts, a prediction that is too
    slow is wrong, one that is too fast may only be incomplete, and how far off it is hardly matters.

    `forgiven`: a share of the measured time that a prediction may be too fast by and count nothing, where
    any experiment may have been wasted as much on.
    """

    spread: float
    over: float
    waste: float
    distance: float
    forgiven: float = 0.0


RELATIVE = Loss(spread=0.0, over=1.0, waste=1.0, distance=1.0)
"""The relative error itself, whose mean is D_avg (thesis §5.1.3)."""


def bounded(spread: float, forgiven: float = 0.0) -> Loss:
    """The loss for measurements with this noise, a share of the cycles."""
    return Loss(spread, over=2.0, waste=2.0, distance=0.15, forgiven=forgiven)
