"""What a re-fit minimises: how far predictions are off, and what µops and slots cost beside that."""

from __future__ import annotations

from typing import NamedTuple


class Objective(NamedTuple):
    """What the relative error e = (predicted - measured) / measured of an experiment counts.

    With a `spread` of 0 just |e|. Otherwise `e² / (e² + spread²)`, `over` times that where e > 0, and
    `distance · min(|e|, 1)` in addition. Ports and slots bound a time from below, and no core beats them
    beyond the noise, which `spread` stands for; many waste a little, since ports are chosen before they are
    free. So what is explained exactly counts, a prediction that is too slow is wrong, one that is too fast
    may only be incomplete, and how far off it is hardly matters. `per_slot`: cycles per issue slot, 0 where
    none count.
    """

    spread: float
    over: float
    distance: float
    per_slot: float


MEAN = Objective(spread=0.0, over=1.0, distance=1.0, per_slot=0.0)


class Prices(NamedTuple):
    """What µops cost beside the errors, all in units of the objective's sum.

    `kind`: for each kind of µop that no other scheme uses. `volume`: for each µop and port that it can use.
    `uop` and `slot`: for each of these, whatever it can use. `rare`: for each kind that others use, times the
    logarithm of all schemes to its users: of two kinds that explain as much, the one in common use.
    """

    kind: float
    volume: float
    uop: float = 0.0
    slot: float = 0.0
    rare: float = 0.0
