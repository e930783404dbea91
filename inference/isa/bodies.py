"""Makers of code for measurements, by instruction set: loop bodies, chains, code for front ends."""

from __future__ import annotations

from inference.isa.block_facets import BodyMaker
from inference.isa.code.block import BlockError
from inference.isa.facets import FrontEndMaker, LatencyChainMaker
from inference.isa.targets import DEFAULT, code_target, target_of


def obstacle_to_blocks(name: str, isa: str) -> str:
    """Why there are no blocks for a mapping or machine of this instruction set; "" where there are.

    Args:
        name: Name of the mapping or machine, for the message.
        isa: Name of its instruction set.

    >>> obstacle_to_blocks("lab", "x86-64")
    ''
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
    """The maker of loop bodies of an instruction set. Raises `LookupError` where there is none."""
    maker = code_target(isa).bodies
    if maker is None:
        raise LookupError(f"machine code of {isa} cannot be generated")
    return maker


def chain_maker(isa: str) -> LatencyChainMaker:
    """The maker of latency chains of an instruction set. Raises `LookupError` where there is none."""
    maker = target_of(isa).chains
    if maker is None:
        raise LookupError(f"there are no chains for {isa}")
    return maker


def obstacle_to_chains(name: str, isa: str) -> str:
    """Why there are no chains for a machine called `name` of this instruction set; "" where there are."""
    return obstacle_to_blocks(name, isa) if target_of(isa).chains is None else ""


def front_end_maker(isa: str) -> FrontEndMaker:
    """The maker of code that shows a front end. Raises `BlockError` where there is none."""
    maker = target_of(isa).front_end
    if maker is None:
        raise BlockError(f"front ends of {isa} cannot be measured yet")
    return maker
