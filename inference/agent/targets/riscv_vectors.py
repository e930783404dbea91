"""The code that fills RISC-V's vector registers, for frames that name any.

A vector register is filled by elements of 64 bits. What the loop needs besides, its body sets itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inference.agent.targets import riscv_words as words

_SET_DOUBLES = 0x0D807057  # vsetvli x0, x0, e64, m1, ta, ma
_FILL = 0x5E004057  # vmv.v.x v0, x0
_TARGET, _SOURCE = 7, 15  # lowest bits of the numbers of registers
_REGISTERS = 32


def is_vector(name: str) -> bool:
    """Whether a name is one of v0 to v31."""
    return name[:1] == "v" and name[1:].isdecimal() and len(name) <= 3 and int(name[1:]) < _REGISTERS


def fill(vectors: Mapping[str, int], scratch: int) -> Iterator[int]:
    """Fill those of v0 to v31 that are named; nothing where none is: the processor may have no vectors."""
    patterns = {int(name[1:]): pattern for name, pattern in vectors.items() if is_vector(name)}
    if patterns:
        yield _SET_DOUBLES | scratch << _TARGET  # another target than x0: as many elements as there are
    for number, pattern in patterns.items():
        yield from words.set_register(scratch, pattern)
        yield _FILL | number << _TARGET | scratch << _SOURCE
