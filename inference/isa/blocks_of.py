"""Of which instruction set basic blocks can be read, and what is said of the others."""

from __future__ import annotations

from inference.isa.bodies import ASSEMBLED, X86


def obstacle_to_blocks(name: str, isa: str) -> str:
    """Why there are no blocks for a mapping or machine of this instruction set, "" where there are.

    `name` is that of the mapping or machine.
    """
    if isa == X86:
        return ""
    if isa in ASSEMBLED:
        return f"{name!r} is for {isa}, and blocks of {isa} are not supported yet"
    return (
        f"{name!r} is for the instruction set {isa!r}, and blocks have the schemes of {X86}: match the names "
        "of a mapping to them when you import it"
    )
