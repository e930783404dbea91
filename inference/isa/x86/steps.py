"""What carrying out an instruction needs to know of it, read from its code once."""

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

from inference.isa.x86.choosing import RSP, family_of
from inference.isa.x86.forms import MNEMONICS
from inference.isa.x86.iced_types import RegisterValue

WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
READS = (OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_HIGH = (Register.AH, Register.BH, Register.CH, Register.DH)
_FACTORY = InstructionInfoFactory()
_READ_BEFORE = 1 << 14
"""Instructions, about a kilobyte each; blocks of a program have the same ones over and over."""


def information(one: Instruction) -> InstructionInfo:
    """The registers and the memory that an instruction uses; good until the next one is asked about."""
    return _FACTORY.info(one)


@dataclass(frozen=True, slots=True)
class RegisterPart:
    """A general-purpose register, or its lower `bits`, or of 8 bits the `high` ones behind them."""

    family: int
    bits: int
    high: bool


@dataclass(frozen=True, slots=True)
class InMemory:
    """base + scale · index + displacement; `in_code`: relative to the instruction pointer.

    Not `is_known`: a vector of addresses, and the like.
    """

    base: RegisterPart | None
    index: RegisterPart | None
    scale: int
    displacement: int
    bits: int
    in_code: bool
    is_known: bool


Operand = RegisterPart | InMemory | int | None
"""A number is an immediate; None is anything else."""


_CL = RegisterPart(family=1, bits=8, high=False)
_SHIFTS = frozenset(("rcl", "rcr", "rol", "ror", "sar", "shl", "shld", "shr", "shrd"))


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction, the general-purpose registers that it reads and writes, and whether others are read.

    `accesses`: to memory; one that reads and writes counts twice. `pushed`: by how many bytes it moves the
    stack pointer as `push` and `pop` do.
    """

    mnemonic: str
    operands: tuple[Operand, ...]
    memory: InMemory | None
    reads: tuple[RegisterPart, ...]
    writes: tuple[RegisterPart, ...]
    reads_others: bool
    accesses: int
    reads_memory: bool
    writes_memory: bool
    reads_flags: bool
    writes_flags: bool
    pushed: int

    @property
    def bits(self) -> int:
        first = self.operands[0] if self.operands else None
        return first.bits if isinstance(first, RegisterPart | InMemory) else 64

    @property
    def is_shift_by_register(self) -> bool:
        """Whether it moves bits by as many as the lowest ones of `rcx` say."""
        return self.mnemonic in _SHIFTS and self.operands[-1] == _CL

    def shift_count(self, count: int) -> int:
        """By how many bits it moves where `rcx` is this number."""
        return count & (63 if self.bits == 64 else 31)

    @property
    def moves_stack_pointer(self) -> bool:
        """Whether it writes the stack pointer otherwise than `push` and `pop` do."""
        return not self.pushed and any(part.family == RSP for part in self.writes)


@lru_cache(maxsize=_READ_BEFORE)
def step_of(code: bytes) -> Step:
    """Read an instruction. What it finds relative to itself is behind its first byte."""
    one = Decoder(64, code).decode()
    info = information(one)
    registers = [(used.register, used.access) for used in info.used_registers()]
    accesses = [used.access for used in info.used_memory()]
    operands = tuple(_operand(one, place) for place in range(one.op_count))
    read = [register for register, access in registers if access in READS]
    return Step(
        MNEMONICS[one.mnemonic],
        operands,
        next((operand for operand in operands if isinstance(operand, InMemory)), None),
        tuple(part for register in read if (part := _part(register)) is not None),
        tuple(part for register, access in registers if access in WRITES and (part := _part(register))),
        any(_part(register) is None for register in read),
        sum((access in READS) + (access in WRITES) for access in accesses),
        any(access in READS for access in accesses),
        any(access in WRITES for access in accesses),
        bool(one.rflags_read),
        bool(one.rflags_modified),
        one.stack_pointer_increment,
    )


@cache
def _part(register: RegisterValue) -> RegisterPart | None:
    if not RegisterExt.is_gpr(register):
        return None
    return RegisterPart(family_of(register)[1], 8 * RegisterExt.size(register), register in _HIGH)


def _operand(one: Instruction, place: int) -> Operand:
    kind = one.op_kind(place)
    if kind == OpKind.REGISTER:
        return _part(one.op_register(place))
    if kind == OpKind.MEMORY:
        in_code = RegisterExt.is_ip(one.memory_base)
        registers = [one.memory_index, *([] if in_code else [one.memory_base])]
        return InMemory(
            None if in_code else _part(one.memory_base),
            _part(one.memory_index),
            one.memory_index_scale,
            one.memory_displacement,
            8 * MemorySizeExt.size(one.memory_size),
            in_code,
            all(not register or _part(register) is not None for register in registers),
        )
    if OpKind.IMMEDIATE8 <= kind <= OpKind.IMMEDIATE32TO64:
        return one.immediate(place)
    return None
