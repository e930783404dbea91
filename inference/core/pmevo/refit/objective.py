"""The objective of a re-fit: losses of predictions, and prices of µops and slots."""

from __future__ import annotations

from typing import NamedTuple

from inference.core.metrics import RELATIVE_LOSS, Loss


class Objective(NamedTuple):
    """The loss of a prediction, and cycles per issue slot, 0 where slots do not count."""

    loss: Loss
    per_slot: float


MEAN = Objective(RELATIVE_LOSS, per_slot=0.0)


class Prices(NamedTuple):
    """Prices of µops and slots, in units of the objective's sum of losses.

    `uop` and `slot`: for each of these, whatever it can use.

    Attributes:
        kind: For each kind of µop that no other scheme uses.
        volume: For each µop and port that it can use.
        rare: For each kind that others use, times the logarithm of all schemes to its users: of two kinds
            that explain as much, the one in common use.
        none: For a scheme without µops that takes longer alone than its slot, as the width may hide it in
            all mixes.
    """

    kind: float
    volume: float
    uop: float = 0.0
    slot: float = 0.0
    rare: float = 0.0
    none: float = 0.0
