"""Which schemes of each instruction set issue slots are counted with."""

from __future__ import annotations

from inference.core.measured_slots import Padding
from inference.isa import aarch64
from inference.isa.bodies import X86

_PADDINGS = {
    X86: Padding("mov GPR[64]:W, GPR[64]:R", "xchg GPR[64]:RW, GPR[64]:RW"),
    aarch64.NAME: Padding("mov GPR[64]:W, GPR[64]:R"),
}


def padding_of(isa: str) -> Padding | None:
    """The padding of the instruction set of this name; None for one that is not built in."""
    return _PADDINGS.get(isa)
