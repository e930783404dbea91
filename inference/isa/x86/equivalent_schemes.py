"""Schemes that need the same ports and slots as others that cannot be measured themselves.

`push` and `pop` move the stack pointer, which the next one uses. Cores track that pointer ahead of execution
without a µop, so that ports and slots only execute the move of data. Short forms with the accumulator (`and
eax, 5`, `cdqe`) read what they write: each copy waits for the previous one. Legacy SSE costs extra cycles
beside instructions with VEX; its own work is that of the form with VEX.
"""

from __future__ import annotations

from collections.abc import Mapping

from inference.isa.tables import table_of_module

_ACCUMULATORS = {"al": 8, "ax": 16, "eax": 32, "rax": 64}

EQUIVALENT_SCHEMES: Mapping[str, tuple[str, ...]] = {
    **{scheme: tuple(equivalents) for scheme, equivalents in table_of_module(__file__).items()},
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
    """The schemes that together need the same ports and slots as this one.

    Known for those listed above and for legacy SSE.

    For legacy SSE, the name that its form with VEX would have.
    """
    return EQUIVALENT_SCHEMES.get(text) or (_with_vex(text),)


def _with_vex(text: str) -> str:
    """The form with VEX, whose destination is a separate operand."""
    mnemonic, _, operands = text.partition(" ")
    first, comma, remaining = operands.partition(", ")
    bank, _, access = first.partition(":")
    if access == "RW" and comma:
        return f"v{mnemonic} {bank}:W, {bank}:R, {remaining}"
    return f"v{text}"
