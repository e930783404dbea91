"""Witnesses whose two experiments were measured again, perhaps on another computer."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.explain.problem import Witness, WitnessOutcome
from inference.core.explain.surplus import surplus_by_time


@dataclass(frozen=True)
class RepeatedWitness:
    """The verdict on the new times; see `Witness`. `agrees`: it is the same as before."""

    surplus: float
    uops: int
    outcome: WitnessOutcome
    agrees: bool


def repeat_witness(witness: Witness, base_cycles: float, cycles: float) -> RepeatedWitness:
    """The verdict on new times of a witness's experiments; the µops on subsets are taken as they were.

    The tolerance is the witness's own, at least `MIN_TOLERANCE`. A witness that is undecided, because the
    blocked set is as wide as the bottleneck, stays so.

    Args:
        witness: The witness to repeat.
        base_cycles: New time of the flood alone.
        cycles: New time of the flood with the scheme.
    """
    surplus = surplus_by_time(base_cycles, cycles, witness.mask.bit_count())
    tolerance = max(witness.tolerance, MIN_TOLERANCE)
    # The earlier number first: a time between two whole numbers must not turn on the smallest change.
    is_as_before = abs(surplus - witness.below - witness.uops) <= tolerance
    uops = witness.uops if is_as_before else round(surplus) - witness.below
    if witness.seen is WitnessOutcome.UNDECIDED:
        return RepeatedWitness(surplus, 0, WitnessOutcome.UNDECIDED, True)
    if uops < 0 or abs(surplus - witness.below - uops) > tolerance:
        outcome = WitnessOutcome.ODD
    else:
        outcome = WitnessOutcome.USES if uops else WitnessOutcome.EVADES
    agrees = outcome is witness.seen and (outcome is WitnessOutcome.ODD or uops == witness.uops)
    return RepeatedWitness(surplus, uops, outcome, agrees)


MIN_TOLERANCE = 0.15
"""How far from a whole number of µops any measurement may be: the paper's tolerance."""
