"""Properties of an instruction that interpreting it needs, decoded once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

from iced_x86 import (
    Decoder,
    Instruction,
    InstructionInfo,
    InstructionInfoFactory,
    MemorySizeExt,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
)

from inference.isa.x86.forms import MNEMONICS
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.register_choices import RSP, family_of

WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
READS = (OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_HIGH = (Register.AH, Register.BH, Register.CH, Register.DH)
_FACTORY = InstructionInfoFactory()
_CACHED_INSTRUCTIONS = 1 << 14
"""About a kilobyte each; blocks of a program have the same instructions over and over."""


def information(instruction: Instruction) -> InstructionInfo:
    """The registers and memory that an instruction uses; valid until the next call."""
    return _FACTORY.info(instruction)


@dataclass(frozen=True, slots=True)
class PartialRegister:
    """A general-purpose register, its lower `bits`, or with `high` bits 8 to 15."""

    family: int
    bits: int
    high: bool


@dataclass(frozen=True, slots=True)
class MemoryAddress:
    """base + scale · index + displacement; `in_code`: relative to the instruction pointer.

    Not `is_known`: a vector of addresses, and the like.
    """

    base: PartialRegister | None
    index: PartialRegister | None
    scale: int
    displacement: int
    bits: int
    in_code: bool
    is_known: bool


Operand = PartialRegister | MemoryAddress | int | None
"""A number is an immediate; None is any other operand."""


_CL = PartialRegister(family=1, bits=8, high=False)  # the register that counts shifts
_SHIFTS = frozenset(("rcl", "rcr", "rol", "ror", "sar", "shl", "shld", "shr", "shrd"))


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction with its general-purpose registers.

    Attributes:
        reads_other_registers: Whether it reads registers other than general-purpose ones.
        accesses: Number of memory accesses; one that reads and writes counts twice.
        stack_increment: Bytes by which it moves the stack pointer like `push` and `pop`.
    """

    mnemonic: str
    operands: tuple[Operand, ...]
    memory: MemoryAddress | None
    reads: tuple[PartialRegister, ...]
    writes: tuple[PartialRegister, ...]
    reads_other_registers: bool
    accesses: int
    reads_memory: bool
    writes_memory: bool
    reads_flags: bool
    writes_flags: bool
    stack_increment: int

    @property
    def bits(self) -> int:
        first = self.operands[0] if self.operands else None
        return first.bits if isinstance(first, PartialRegister | MemoryAddress) else 64

    @property
    def is_shift_by_register(self) -> bool:
        """Whether its shift count is in `cl`."""
        return self.mnemonic in _SHIFTS and self.operands[-1] == _CL

    def shift_count(self, count: int) -> int:
        """The shift count for this value of `rcx`."""
        return count & (63 if self.bits == 64 else 31)

    @property
    def moves_stack_pointer(self) -> bool:
        """Whether it writes the stack pointer in another way than `push` and `pop`."""
        return not self.stack_increment and any(part.family == RSP for part in self.writes)


@lru_cache(maxsize=_CACHED_INSTRUCTIONS)
def step_of(code: bytes) -> Step:
    """Decode an instruction. Its rip-relative addresses are relative to its first byte."""
    instruction = Decoder(64, code).decode()
    info = information(instruction)
    registers = [(used.register, used.access) for used in info.used_registers()]
    accesses = [used.access for used in info.used_memory()]
    operands = tuple(_operand(instruction, place) for place in range(instruction.op_count))
    read = [register for register, access in registers if access in READS]
    return Step(
        MNEMONICS[instruction.mnemonic],
        operands,
        next((operand for operand in operands if isinstance(operand, MemoryAddress)), None),
        tuple(part for register in read if (part := _part(register)) is not None),
        tuple(part for register, access in registers if access in WRITES and (part := _part(register))),
        any(_part(register) is None for register in read),
        sum((access in READS) + (access in WRITES) for access in accesses),
        any(access in READS for access in accesses),
        any(access in WRITES for access in accesses),
        bool(instruction.rflags_read),
        bool(instruction.rflags_modified),
        instruction.stack_pointer_increment,
    )


@cache
def _part(register: RegisterValue) -> PartialRegister | None:
    if not RegisterExt.is_gpr(register):
        return None
    return PartialRegister(family_of(register)[1], 8 * RegisterExt.size(register), register in _HIGH)


def _operand(instruction: Instruction, place: int) -> Operand:
    """An operand as a value: part of a register, address, or immediate; None for any other."""
    kind = instruction.op_kind(place)
    if kind == OpKind.REGISTER:
        return _part(instruction.op_register(place))
    if kind == OpKind.MEMORY:
        in_code = RegisterExt.is_ip(instruction.memory_base)
        registers = [instruction.memory_index, *([] if in_code else [instruction.memory_base])]
        return MemoryAddress(
            None if in_code else _part(instruction.memory_base),
            _part(instruction.memory_index),
            instruction.memory_index_scale,
            instruction.memory_displacement,
            8 * MemorySizeExt.size(instruction.memory_size),
            in_code,
            all(not register or _part(register) is not None for register in registers),
        )
    if OpKind.IMMEDIATE8 <= kind <= OpKind.IMMEDIATE32TO64:
        return instruction.immediate(place)
    return None
