"""The loop body with which an agent measures an experiment, as its page lists it."""

from __future__ import annotations

from typing import Any

from inference.core.experiment import Experiment
from inference.exchange.instruction_sets import X86
from inference.isa.x86.assembling import CannotMeasureError, unroll
from inference.models import ISA

MOST_INSTRUCTIONS = 400
"""A longer experiment is not listed: nobody reads it, and it is a page of its own to load."""


def code_of(experiment: Experiment, isa: ISA) -> dict[str, Any]:
    """{"code": {"listing", "copies", "half_copies", "bytes"}}, or {"no_code": why there is none}."""
    if isa.name != X86 or experiment.length > MOST_INSTRUCTIONS:
        return {}
    try:
        loop = unroll(experiment.terms)
    except CannotMeasureError as error:
        return {"no_code": error.reason}
    code = {
        "listing": loop.listing,
        "copies": loop.copies,
        "half_copies": loop.half_copies,
        "bytes": len(loop.code),
    }
    return {"code": code}
