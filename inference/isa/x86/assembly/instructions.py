"""Instructions of iced for an opcode and operands, and their bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iced_x86 import Code, Encoder, Instruction, OpKind, Register, RoundingControl

from inference.isa.x86.assembly.matching import stored
from inference.isa.x86.assembly.opcodes import Opcode, OpcodeOperand
from inference.isa.x86.assembly.operands import (
    ImmediateOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
    WrittenInstruction,
)
from inference.isa.x86.assembly.prefixes import REPEATING, repetition_of, with_prefixes
from inference.isa.x86.iced_types import OpKindValue, RegisterValue

_ROUNDINGS = {
    "rn-sae": RoundingControl.ROUND_TO_NEAREST,
    "rne-sae": RoundingControl.ROUND_TO_NEAREST,
    "rd-sae": RoundingControl.ROUND_DOWN,
    "ru-sae": RoundingControl.ROUND_UP,
    "rz-sae": RoundingControl.ROUND_TOWARD_ZERO,
}
ROUNDINGS = frozenset({"sae", *_ROUNDINGS})
"""What stands in braces behind operands of EVEX instructions about rounding and exceptions."""

_UNBASED: frozenset[RegisterValue] = frozenset({Register.NONE, Register.RIP, Register.EIP})
_FROM_HERE = (Register.RIP, Register.EIP)
_STACK = (Register.RSP, Register.RBP, Register.ESP, Register.EBP)
_ABSOLUTE = frozenset(
    {
        *(Code.MOV_AL_MOFFS8, Code.MOV_AX_MOFFS16, Code.MOV_EAX_MOFFS32, Code.MOV_RAX_MOFFS64),
        *(Code.MOV_MOFFS8_AL, Code.MOV_MOFFS16_AX, Code.MOV_MOFFS32_EAX, Code.MOV_MOFFS64_RAX),
    }
)
"""Opcodes that have an address of 64 bits in the code."""

_SHORT, _LONG, _VERY_LONG = 1, 4, 8
"""Sizes of displacements as iced counts them: all long ones of 64-bit addresses are 8 there."""

_NEGATIVE = 2**63
"""From here on a number of 64 bits stands for a negative one."""

_HERE = 0x1000
"""Where code is encoded for; nothing depends on it."""


def codes(
    opcode: Opcode,
    positions: Sequence[int],
    operands: Sequence[Operand],
    written: WrittenInstruction,
    *,
    everything: bool,
) -> Iterator[bytes]:
    """The machine code of operands at their places, the best first.

    With `everything` all that differ in how long a displacement or a prefix is.
    """
    if not _turns_as_wished(opcode, operands, written.prefixes):
        return
    instruction = _filled(opcode, dict(zip(positions, operands, strict=True)))
    if not _decorate(instruction, written, opcode):
        return
    memory = next((one for one in operands if isinstance(one, MemoryOperand)), None)
    wishes = (True,) if "{vex3}" in written.prefixes else (False, True) if everything else (False,)
    for size in _displacements(memory, opcode, written.prefixes, everything=everything):
        for long_prefix in wishes:
            code = _with_displacement(instruction, memory, size, long_prefix=long_prefix)
            if code is not None:
                yield with_prefixes(code, written.prefixes)
                if not everything:
                    return


def jump_bytes(opcode: Opcode, distance: int) -> bytes | None:
    """A direct jump or call so many bytes beyond its own end; None where it cannot reach."""
    instruction = Instruction()
    instruction.code = opcode.code
    instruction.op0_kind = OpKind.NEAR_BRANCH64
    instruction.near_branch64 = _HERE
    size = len(_bytes(instruction) or b"")
    instruction.near_branch64 = (_HERE + size + distance) % 2**64
    return _bytes(instruction)


def _turns_as_wished(opcode: Opcode, operands: Sequence[Operand], prefixes: Sequence[str]) -> bool:
    """Whether it is the direction that {load} or {store} asks for; both where neither stands there."""
    if "{load}" not in prefixes and "{store}" not in prefixes:
        # 90 is a no-op: it does not clear the upper half as this does
        return not (opcode.code == Code.XCHG_R32_EAX and operands[0] == RegisterOperand(Register.EAX))
    return bool(opcode.places) and opcode.places[0].is_modrm == ("{store}" in prefixes)


def _filled(opcode: Opcode, given: dict[int, Operand]) -> Instruction:
    """An instruction of the opcode with the operands at their positions, and what needs not be written."""
    instruction = Instruction()
    instruction.code = opcode.code
    immediates = 0
    for position, place in enumerate(opcode.places):
        operand = given.get(position) or _unwritten(place)
        if isinstance(operand, RegisterOperand):
            instruction.set_op_register(position, operand.register)  # a register is its kind at first
        elif isinstance(operand, ImmediateOperand):
            _put_immediate(instruction, position, place, operand.value, second=immediates > 0)
            immediates += 1
        elif isinstance(operand, MemoryOperand):
            _put_memory(instruction, position, place, operand)
    return instruction


def _unwritten(place: OpcodeOperand) -> Operand:
    if place.only_value is not None:
        return ImmediateOperand(place.only_value)
    if place.string:
        return MemoryOperand(base=place.string[0])
    assert place.registers is not None
    return RegisterOperand(place.registers[0])


def _put_immediate(
    instruction: Instruction, position: int, place: OpcodeOperand, number: int, *, second: bool
) -> None:
    value = stored(place, number)
    assert place.immediate is not None, "it was found to fit"
    assert value is not None
    kind: OpKindValue = OpKind.IMMEDIATE8_2ND if second else place.immediate[0]
    instruction.set_op_kind(position, kind)
    if second:
        instruction.immediate8_2nd = value
    else:
        instruction.set_immediate_u64(position, value)


def _put_memory(instruction: Instruction, position: int, place: OpcodeOperand, memory: MemoryOperand) -> None:
    instruction.set_op_kind(position, place.string[1] if place.string else OpKind.MEMORY)
    if not place.string:
        instruction.memory_base = memory.base
        instruction.memory_index = memory.index
        instruction.memory_index_scale = memory.scale
        instruction.is_broadcast = bool(memory.broadcast)
    elif place.string[1] == OpKind.MEMORY:  # of xlatb
        instruction.memory_base, instruction.memory_index = Register.RBX, Register.AL
    if memory.segment and not _is_default(memory.segment, memory.base, place):
        instruction.segment_prefix = memory.segment


def _is_default(segment: RegisterValue, base: RegisterValue, place: OpcodeOperand) -> bool:
    if place.string and place.string[1] == OpKind.MEMORY_ESRDI:
        return bool(segment == Register.ES)
    return bool(segment == (Register.SS if base in _STACK else Register.DS))


def _decorate(instruction: Instruction, written: WrittenInstruction, opcode: Opcode) -> bool:
    """Masks, roundings and repetitions; False where the opcode can have none of what is written."""
    if written.mask or written.zeroing or written.rounding:
        if not opcode.is_evex:
            return False
        instruction.op_mask = written.mask
        instruction.zeroing_masking = written.zeroing
        instruction.suppress_all_exceptions = written.rounding == "sae"
        if written.rounding in _ROUNDINGS:
            instruction.rounding_control = _ROUNDINGS[written.rounding]
    if written.prefixes:
        instruction.has_lock_prefix = "lock" in written.prefixes
        repetition = repetition_of(written.prefixes)
        instruction.has_repne_prefix = repetition == REPEATING[0]
        instruction.has_rep_prefix = repetition == REPEATING[1]
    return True


def _displacements(
    memory: MemoryOperand | None, opcode: Opcode, prefixes: Sequence[str], *, everything: bool
) -> Sequence[int]:
    """How many bytes the displacement may take, as iced counts them, the best first."""
    if memory is None:
        return (0,)
    longest = _LONG if _has_short_addresses(memory) else _VERY_LONG
    if opcode.is_absolute or memory.symbol or memory.base in _UNBASED or "{disp32}" in prefixes:
        return (longest,)
    if "{disp8}" in prefixes:
        return (_SHORT,)
    if not memory.displacement:
        return (0, _SHORT, longest) if everything else (0,)
    fits = opcode.is_evex or -128 <= memory.displacement <= 127 or memory.displacement >= _NEGATIVE
    return (_SHORT, longest) if fits else (longest,)  # EVEX counts in sizes of its operand


def _has_short_addresses(memory: MemoryOperand) -> bool:
    return any(Register.EAX <= one <= Register.R15D for one in (memory.base, memory.index))


def _with_displacement(
    instruction: Instruction, memory: MemoryOperand | None, size: int, *, long_prefix: bool
) -> bytes | None:
    """The bytes with a displacement of this size; None where it does not fit."""
    if memory is None or instruction.memory_base != memory.base:  # nothing, or that of a string instruction
        return _bytes(instruction, long_prefix=long_prefix)
    value = 0 if memory.symbol else memory.displacement
    if instruction.code not in _ABSOLUTE:
        if _NEGATIVE <= value < 2**64:
            value -= 2**64
        if not -(2**31) <= value < (2**32 if size == _LONG else 2**31):
            return None
    instruction.memory_displ_size = size
    if memory.base in _FROM_HERE:
        instruction.memory_displacement = _HERE
        value += _HERE + len(_bytes(instruction, long_prefix=long_prefix) or b"")
    instruction.memory_displacement = value % 2**64
    return _bytes(instruction, long_prefix=long_prefix)


def _bytes(instruction: Instruction, *, long_prefix: bool = False) -> bytes | None:
    """None where it cannot be encoded, e.g. ah beside a register that needs a REX prefix."""
    encoder = Encoder(64)
    encoder.prevent_vex2 = long_prefix
    try:
        encoder.encode(instruction, _HERE)
    except ValueError:
        return None
    return encoder.take_buffer()
