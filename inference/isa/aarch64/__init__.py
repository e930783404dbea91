"""The AArch64 instruction schemes: Armv8-A as in Cortex-A72, what compilers emit of it.

`schemes.json` has them in the public format of `inference.isa.document`. The accesses are those of the
architecture reference manual:

- Writes of 32 bits clear the rest of a general-purpose register, those of fewer than 128 bits the rest of a
  vector register: they are mere writes. What leaves a part as it was (`ins`, `movk`, `bfi`, `xtn2`, lanes
  that are loaded) or adds to it (`mla`, `usra`, `sadalp`, `aese`) reads the register as well.
- A condition reads the flags. `ccmp` and `adcs` read and write them, so their copies wait for each other.
- Pre- and post-indexed accesses read and write their base register.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from inference.isa.document import InstructionSet, read_instruction_set
from inference.isa.scheme import Scheme

NAME = "AArch64"
STACK_POINTER = 31
"""Its number among the general-purpose registers."""

DIVISIONS = frozenset(
    (
        *(
            f"{name} GPR[{width}]:W, GPR[{width}]:R, GPR[{width}]:R"
            for name in ("sdiv", "udiv")
            for width in (32, 64)
        ),
        "fdiv FPR[64]:W, FPR[64]:R, FPR[64]:R",
        "fsqrt FPR[64]:W, FPR[64]:R",
    )
)
"""The schemes of a starter set of latencies beside those of throughputs."""

DOCUMENT = Path(__file__).with_name("schemes.json")


@cache
def instruction_set() -> InstructionSet:
    """The instruction set of `schemes.json`, read once."""
    return read_instruction_set(DOCUMENT.read_bytes())


@cache
def by_text() -> dict[str, Scheme]:
    return {scheme.text: scheme for scheme in instruction_set().schemes}
