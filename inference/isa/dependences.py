"""What each instruction of a block reads and writes, by the operands of its scheme."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """An access to memory: `address` is equal for accesses that surely have the same one but for `offset`.

    `steady`: the address is the same in every iteration. `pointer`: what the address is made of, whatever the
    block has written to it.
    """

    address: str
    offset: int
    bits: int
    steady: bool
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class OperandAccess:
    """A read or a write of one location through an operand, named as latencies name it.

    `location`: of a register or a flag; `memory` instead, of an access to memory.
    """

    operand: str
    location: str = ""
    memory: MemoryPlace | None = None


@dataclass(frozen=True, slots=True)
class InstructionAccesses:
    """One instruction: `scheme` is None where it has none. `one_register`: all operands that can be the same
    register are. `vector`: what it loads or stores is in a vector register."""

    scheme: str | None
    reads: tuple[OperandAccess, ...]
    writes: tuple[OperandAccess, ...]
    one_register: bool = False
    vector: bool = False
