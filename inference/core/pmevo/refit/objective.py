"""What a re-fit minimises: how far predictions are off, and what µops and slots cost beside that."""

from __future__ import annotations

from typing import NamedTuple

from inference.core.metrics import RELATIVE, Loss


class Objective(NamedTuple):
    """What each prediction counts, and the cycles per issue slot, 0 where none count."""

    loss: Loss
    per_slot: float


MEAN = Objective(RELATIVE, per_slot=0.0)


class Prices(NamedTuple):
    """What µops cost beside the errors, all in units of the objective's sum.

    `kind`: for each kind of µop that no other scheme uses. `volume`: for each µop and port that it can use.
    `uop` and `slot`: for each of these, whatever it can use. `rare`: for each kind that others use, times the
    logarithm of all schemes to its users: of two kinds that explain as much, the one in common use. `none`:
    for a scheme without µops that takes longer alone than its slot, as the width may hide it in all mixes.
    """

    kind: float
    volume: float
    uop: float = 0.0
    slot: float = 0.0
    rare: float = 0.0
    none: float = 0.0
