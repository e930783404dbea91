"""iced's instructions for an opcode and operands, and their bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iced_x86 import Code, Encoder, Instruction, OpKind, Register, RoundingControl

from inference.isa.x86.assembly.matching import stored_value
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
"""Decorations in braces of EVEX instructions for rounding and exceptions."""

_WITHOUT_BASE: frozenset[RegisterValue] = frozenset({Register.NONE, Register.RIP, Register.EIP})
_INSTRUCTION_POINTERS = (Register.RIP, Register.EIP)
_STACK = (Register.RSP, Register.RBP, Register.ESP, Register.EBP)
_ABSOLUTE = frozenset(
    {
        *(Code.MOV_AL_MOFFS8, Code.MOV_AX_MOFFS16, Code.MOV_EAX_MOFFS32, Code.MOV_RAX_MOFFS64),
        *(Code.MOV_MOFFS8_AL, Code.MOV_MOFFS16_AX, Code.MOV_MOFFS32_EAX, Code.MOV_MOFFS64_RAX),
    }
)
"""Opcodes with a 64-bit address in the code."""

_SHORT, _LONG, _VERY_LONG = 1, 4, 8
"""Sizes of displacements in iced: all long ones of 64-bit addresses are 8 there."""

_NEGATIVE = 2**63
"""64-bit numbers from here on represent negative ones."""

_ASSUMED_ADDRESS = 0x1000
"""The address of encoded code; the bytes do not depend on it."""


def codes(
    opcode: Opcode,
    positions: Sequence[int],
    operands: Sequence[Operand],
    written: WrittenInstruction,
    *,
    all_lengths: bool,
) -> Iterator[bytes]:
    """The machine code for operands at their positions, the best first.

    `all_lengths`: all codes that differ in the length of a displacement or prefix, else the best only.
    """
    if not _has_requested_direction(opcode, operands, written.prefixes):
        return
    instruction = _fill_instruction(opcode, dict(zip(positions, operands, strict=True)))
    if not _decorate(instruction, written, opcode):
        return
    memory = next((operand for operand in operands if isinstance(operand, MemoryOperand)), None)
    vex_lengths = (True,) if "{vex3}" in written.prefixes else (False, True) if all_lengths else (False,)
    for size in _displacements(memory, opcode, written.prefixes, all_sizes=all_lengths):
        for long_prefix in vex_lengths:
            code = _with_displacement(instruction, memory, size, long_prefix=long_prefix)
            if code is not None:
                yield with_prefixes(code, written.prefixes)
                if not all_lengths:
                    return


def jump_bytes(opcode: Opcode, distance: int) -> bytes | None:
    """A direct jump or call by `distance` bytes from its own end; None where it cannot reach."""
    instruction = Instruction()
    instruction.code = opcode.code
    instruction.op0_kind = OpKind.NEAR_BRANCH64
    instruction.near_branch64 = _ASSUMED_ADDRESS
    size = len(_bytes(instruction) or b"")
    instruction.near_branch64 = (_ASSUMED_ADDRESS + size + distance) % 2**64
    return _bytes(instruction)


def _has_requested_direction(opcode: Opcode, operands: Sequence[Operand], prefixes: Sequence[str]) -> bool:
    """Whether the opcode has the direction that {load} or {store} requests; True without either."""
    if "{load}" not in prefixes and "{store}" not in prefixes:
        # 90 is a no-op: it does not clear the upper half as this does
        return not (opcode.code == Code.XCHG_R32_EAX and operands[0] == RegisterOperand(Register.EAX))
    return bool(opcode.places) and opcode.places[0].is_modrm == ("{store}" in prefixes)


def _fill_instruction(opcode: Opcode, operands: dict[int, Operand]) -> Instruction:
    """An instruction of the opcode with operands at their positions, and implied operands."""
    instruction = Instruction()
    instruction.code = opcode.code
    immediates = 0
    for position, place in enumerate(opcode.places):
        operand = operands.get(position) or _implied_operand(place)
        if isinstance(operand, RegisterOperand):
            instruction.set_op_register(position, operand.register)  # a register is its kind at first
        elif isinstance(operand, ImmediateOperand):
            _set_immediate(instruction, position, place, operand.value, second=immediates > 0)
            immediates += 1
        elif isinstance(operand, MemoryOperand):
            _set_memory(instruction, position, place, operand)
    return instruction


def _implied_operand(place: OpcodeOperand) -> Operand:
    if place.only_value is not None:
        return ImmediateOperand(place.only_value)
    if place.string:
        return MemoryOperand(base=place.string[0])
    assert place.registers is not None
    return RegisterOperand(place.registers[0])


def _set_immediate(
    instruction: Instruction, position: int, place: OpcodeOperand, number: int, *, second: bool
) -> None:
    value = stored_value(place, number)
    assert place.immediate is not None, "it was found to fit"
    assert value is not None
    kind: OpKindValue = OpKind.IMMEDIATE8_2ND if second else place.immediate[0]
    instruction.set_op_kind(position, kind)
    if second:
        instruction.immediate8_2nd = value
    else:
        instruction.set_immediate_u64(position, value)


def _set_memory(instruction: Instruction, position: int, place: OpcodeOperand, memory: MemoryOperand) -> None:
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
    """Set masks, roundings and repetitions; False where the opcode does not support them."""
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
    memory: MemoryOperand | None, opcode: Opcode, prefixes: Sequence[str], *, all_sizes: bool
) -> Sequence[int]:
    """Possible sizes of the displacement in iced's bytes, the best first."""
    if memory is None:
        return (0,)
    longest = _LONG if _has_short_addresses(memory) else _VERY_LONG
    if opcode.is_absolute or memory.symbol or memory.base in _WITHOUT_BASE or "{disp32}" in prefixes:
        return (longest,)
    if "{disp8}" in prefixes:
        return (_SHORT,)
    if not memory.displacement:
        return (0, _SHORT, longest) if all_sizes else (0,)
    fits = opcode.is_evex or -128 <= memory.displacement <= 127 or memory.displacement >= _NEGATIVE
    return (_SHORT, longest) if fits else (longest,)  # EVEX counts in sizes of its operand


def _has_short_addresses(memory: MemoryOperand) -> bool:
    return any(Register.EAX <= register <= Register.R15D for register in (memory.base, memory.index))


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
    if memory.base in _INSTRUCTION_POINTERS:
        instruction.memory_displacement = _ASSUMED_ADDRESS
        value += _ASSUMED_ADDRESS + len(_bytes(instruction, long_prefix=long_prefix) or b"")
    instruction.memory_displacement = value % 2**64
    return _bytes(instruction, long_prefix=long_prefix)


def _bytes(instruction: Instruction, *, long_prefix: bool = False) -> bytes | None:
    """The machine code; None where it cannot be encoded, e.g. ah beside a register with REX prefix."""
    encoder = Encoder(64)
    encoder.prevent_vex2 = long_prefix
    try:
        encoder.encode(instruction, _ASSUMED_ADDRESS)
    except ValueError:
        return None
    return encoder.take_buffer()
