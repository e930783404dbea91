"""Which schemes of each instruction set issue slots are counted with."""

from __future__ import annotations

from inference.core.measured_slots import Padding
from inference.isa.targets import target_of


def padding_of(isa: str) -> Padding | None:
    """The padding of the instruction set of this name; None for one that is not built in."""
    bodies = target_of(isa).bodies
    return None if bodies is None else Padding(*bodies.padding)
