"""Schemes that do the work of others, by which they are known where they cannot be measured themselves.

`push` and `pop` move the stack pointer that the next one uses. Cores follow that pointer ahead of everything
else and spend no µop on it, so that the move is all that ports and slots see. Short forms with the
accumulator (`and eax, 5`, `cdqe`) read what they write: each copy waits for the one before. Legacy SSE costs
extra cycles beside instructions with VEX; its own work is that of the form with VEX.
"""

from __future__ import annotations

from collections.abc import Mapping

from inference.isa.tables import table_beside

_ACCUMULATORS = {"al": 8, "ax": 16, "eax": 32, "rax": 64}

WORK_OF_OTHERS: Mapping[str, tuple[str, ...]] = {
    **{scheme: tuple(others) for scheme, others in table_beside(__file__).items()},
    **{
        f"{mnemonic} {register}:RW, IMM[{min(width, 32)}]:R": (
            f"{mnemonic} GPR[{width}]:RW, IMM[{min(width, 32)}]:R",
        )
        for mnemonic in ("add", "and", "or", "sub", "xor")
        for register, width in _ACCUMULATORS.items()
    },
}
"""{scheme: schemes that together need the same ports and slots}."""


def same_work(text: str) -> tuple[str, ...]:
    """The schemes that together need the same ports and slots as this one, which is excluded as legacy SSE or
    listed above; of the former the name that its form with VEX would have."""
    return WORK_OF_OTHERS.get(text) or (_with_vex(text),)


def _with_vex(text: str) -> str:
    """VEX has the destination beside the first source."""
    mnemonic, _, operands = text.partition(" ")
    first, comma, others = operands.partition(", ")
    bank, _, access = first.partition(":")
    if access == "RW" and comma:
        return f"v{mnemonic} {bank}:W, {bank}:R, {others}"
    return f"v{text}"
