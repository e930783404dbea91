"""Loop bodies of any instruction set that can be assembled, chosen by its name."""

from __future__ import annotations

from collections.abc import Sequence

from inference.isa.facets import BodyMaker
from inference.isa.machine_bodies import LoopBody
from inference.isa.targets import DEFAULT, code_target, target_of


def obstacle_to_blocks(name: str, isa: str) -> str:
    """Why there are no blocks for a mapping or machine of this instruction set, "" where there are.

    `name` is that of the mapping or machine.
    """
    target = target_of(isa)
    if target.blocks is not None:
        return ""
    if target.bodies is not None:
        return f"{name!r} is for {isa}, and blocks of {isa} are not supported yet"
    return (
        f"{name!r} is for the instruction set {isa!r}, and blocks have the schemes of {DEFAULT}: match the "
        "names of a mapping to them when you import it"
    )


def body_maker(isa: str) -> BodyMaker:
    """What makes the bodies of an instruction set. Raises `LookupError` where nothing does."""
    maker = code_target(isa).bodies
    if maker is None:
        raise LookupError(f"no machine code of {isa} can be made here")
    return maker


def unrolled(isa: str, terms: Sequence[tuple[str, int]]) -> LoopBody:
    """The loop body of an experiment; `terms` are (scheme text, multiplicity) pairs.

    Raises `CannotMeasureError`, also where the assembler is not there.
    """
    return body_maker(isa).unroll(terms)
