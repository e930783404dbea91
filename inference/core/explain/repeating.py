"""A witness whose two experiments were measured another time, perhaps elsewhere: is the verdict the same?"""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.explain.problem import Seen, Witness
from inference.core.explain.surplus import surplus_by_time


@dataclass(frozen=True)
class Repeated:
    """What the two times show now; see `Witness`. `agrees`: the verdict is what it was."""

    surplus: float
    uops: int
    seen: Seen
    agrees: bool


def measured_again(witness: Witness, base_cycles: float, cycles: float) -> Repeated:
    """The verdict on other times of the same experiments, with what was found on subsets taken as known.

    The tolerance is the witness's own, at least that of a quiet measurement. What could not be seen because
    the blocked set is as wide as the bottleneck cannot be seen now.
    """
    surplus = surplus_by_time(base_cycles, cycles, witness.mask.bit_count())
    tolerance = max(witness.tolerance, LEAST_TOLERANCE)
    is_as_before = abs(surplus - witness.below - witness.uops) <= tolerance
    uops = witness.uops if is_as_before else round(surplus) - witness.below
    if witness.seen is Seen.UNDECIDED:
        return Repeated(surplus, 0, Seen.UNDECIDED, True)
    if uops < 0 or abs(surplus - witness.below - uops) > tolerance:
        seen = Seen.ODD
    else:
        seen = Seen.USES if uops else Seen.EVADES
    agrees = seen is witness.seen and (seen is Seen.ODD or uops == witness.uops)
    return Repeated(surplus, uops, seen, agrees)


LEAST_TOLERANCE = 0.15
"""How far from a whole number of µops any measurement may be: the paper's tolerance."""
