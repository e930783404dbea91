"""The loop body with which an agent measures an experiment, as its page lists it."""

from __future__ import annotations

from typing import Any

from inference.core.experiment import Experiment
from inference.isa.bodies import ASSEMBLED, X86, Body, unrolled
from inference.isa.unrolling import CannotMeasureError
from inference.isa.x86.assembling import LoopCode, unroll
from inference.isa.x86.breaking import COSTS
from inference.models import ISA

MOST_INSTRUCTIONS = 400
"""A longer experiment is not listed: nobody reads it, and it is a page of its own to load."""


def code_of(experiment: Experiment, isa: ISA) -> dict[str, Any]:
    """{"code": {"listing", "copies", "half_copies", "bytes", …}}, or {"no_code": why there is none}.

    Where it cannot be measured otherwise, `breakers` tells what breaks its dependencies, and what that costs.
    """
    if isa.name not in ASSEMBLED or experiment.length > MOST_INSTRUCTIONS:
        return {}
    try:
        loop = _loop(experiment, isa.name)
    except CannotMeasureError as error:
        return {"no_code": error.reason}
    code: dict[str, Any] = {
        "listing": loop.listing,
        "copies": loop.copies,
        "half_copies": loop.half_copies,
        "bytes": len(loop.code),
    }
    if isinstance(loop, LoopCode):
        code |= {"chains": loop.chains, "breakers": [COSTS[kind] for kind in loop.breakers]}
    return {"code": code}


def _loop(experiment: Experiment, isa: str) -> Body:
    """As it is measured usually, with breakers only where that is impossible."""
    try:
        return unrolled(isa, experiment.terms)
    except CannotMeasureError as error:
        if isa != X86:
            raise
        try:
            return unroll(experiment.terms, breaking=True)
        except CannotMeasureError:
            raise error from None
