"""Schemes that do the work of others, by which they are known where they cannot be measured themselves.

`push` and `pop` move the stack pointer that the next one uses. Cores follow that pointer ahead of everything
else and spend no µop on it, so that the move is all that ports and slots see. Short forms with the
accumulator (`and eax, 5`, `cdqe`) read what they write: each copy waits for the one before. Legacy SSE costs
extra cycles beside instructions with VEX; its own work is that of the form with VEX.
"""

from __future__ import annotations

from collections.abc import Mapping

_LOAD, _STORE = "mov GPR[64]:W, MEM[64]:R", "mov MEM[64]:W, GPR[64]:R"
_NARROW_LOAD, _NARROW_STORE = "mov GPR[16]:W, MEM[16]:R", "mov MEM[16]:W, GPR[16]:R"
_STORE_OF_A_NUMBER = "mov MEM[64]:W, IMM[32]:R"

_ACCUMULATORS = {"al": 8, "ax": 16, "eax": 32, "rax": 64}

WORK_OF_OTHERS: Mapping[str, tuple[str, ...]] = {
    "push GPR[64]:R": (_STORE,),
    "push GPR[16]:R": (_NARROW_STORE,),
    "push 0x0": (_STORE_OF_A_NUMBER,),
    "push IMM[8]:R": (_STORE_OF_A_NUMBER,),
    "push IMM[32]:R": (_STORE_OF_A_NUMBER,),
    "push IMM[16]:R": ("mov MEM[16]:W, IMM[16]:R",),
    "push MEM[64]:R": (_LOAD, _STORE),
    "push MEM[16]:R": (_NARROW_LOAD, _NARROW_STORE),
    "pop GPR[64]:W": (_LOAD,),
    "pop GPR[16]:W": (_NARROW_LOAD,),
    "pop MEM[64]:W": (_LOAD, _STORE),
    "pop MEM[16]:W": (_NARROW_LOAD, _NARROW_STORE),
    "cbw": ("movsx GPR[16]:W, GPR[8]:R",),
    "cwde": ("movsx GPR[32]:W, GPR[16]:R",),
    "cdqe": ("movsxd GPR[64]:W, GPR[32]:R",),
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
