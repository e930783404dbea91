"""The RISC-V instruction schemes: RV64GC with Zba, Zbb, Zbs, Zicond and Zfh, which is what compilers emit.

`schemes.json` has them in the public format of `inference.isa.document`. The accesses are those of the
instruction set manual:

- Results of 32 bits are sign-extended, and those of fewer than 64 bits in floating-point registers are boxed:
  every write replaces the whole register.
- The rounding mode and the accrued exceptions (`fcsr`) are no operands: arithmetic only adds to the
  exceptions, and nothing waits for them.
- A compressed instruction is a form of the scheme that it abbreviates, with that scheme's operands.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from inference.isa.document import InstructionSet, read_instruction_set
from inference.isa.scheme import Scheme

NAME = "RISC-V"
RETURN_ADDRESS, STACK_POINTER = 1, 2
"""Numbers of `ra` and `sp` among the general-purpose registers."""

DIVISIONS = frozenset(
    (
        *(f"{name} GPR[64]:W, GPR[64]:R, GPR[64]:R" for name in ("div", "divu", "rem", "divw")),
        *(
            f"fdiv.{letter} FPR[{bits}]:W, FPR[{bits}]:R, FPR[{bits}]:R"
            for letter, bits in (("s", 32), ("d", 64))
        ),
        "fsqrt.d FPR[64]:W, FPR[64]:R",
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
