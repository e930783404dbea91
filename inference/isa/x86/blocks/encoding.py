"""From a line of assembly to its machine code: the shortest of all encodings that fit.

Every form of the mnemonic is tried; of equally short ones VEX comes before EVEX, then iced's order counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product

from iced_x86 import (
    Encoder,
    EncodingKind,
    Instruction,
    OpCodeInfo,
    OpKind,
    Register,
    RegisterInfo,
    RoundingControl,
)

from inference.isa.x86.blocks.aliases import readings
from inference.isa.x86.blocks.errors import BlockError
from inference.isa.x86.blocks.reading import ImmediateOperand, Line, MemoryOperand, Operand, RegisterOperand
from inference.isa.x86.forms import Form, forms
from inference.isa.x86.holes import Hole
from inference.isa.x86.iced_types import OpKindValue, RegisterValue
from inference.isa.x86.instances import instance
from inference.isa.x86.scheme_set import texts_of_forms

_CLASSES: dict[str, tuple[RegisterValue, RegisterValue]] = {
    "GPR[8h]": (Register.AH, Register.BH),
    "GPR[16]": (Register.AX, Register.R15W),
    "GPR[32]": (Register.EAX, Register.R15D),
    "GPR[64]": (Register.RAX, Register.R15),
    "MM": (Register.MM0, Register.MM7),
    "XMM": (Register.XMM0, Register.XMM31),
    "XMMx4": (Register.XMM0, Register.XMM31),
    "YMM": (Register.YMM0, Register.YMM31),
    "ZMM": (Register.ZMM0, Register.ZMM31),
    "ZMMx4": (Register.ZMM0, Register.ZMM31),
    "K": (Register.K0, Register.K7),
    "Kx2": (Register.K0, Register.K7),
    "ST": (Register.ST0, Register.ST7),
    "TMM": (Register.TMM0, Register.TMM7),
    "SEG": (Register.ES, Register.GS),
    "CR": (Register.CR0, Register.CR15),
    "DR": (Register.DR0, Register.DR15),
}
_ROUNDINGS = {
    "rn-sae": RoundingControl.ROUND_TO_NEAREST,
    "rne-sae": RoundingControl.ROUND_TO_NEAREST,
    "rd-sae": RoundingControl.ROUND_DOWN,
    "ru-sae": RoundingControl.ROUND_UP,
    "rz-sae": RoundingControl.ROUND_TOWARD_ZERO,
}
_UNSIGNED = {OpKind.IMMEDIATE8: 8, OpKind.IMMEDIATE8_2ND: 8, OpKind.IMMEDIATE16: 16, OpKind.IMMEDIATE32: 32}
_EXTENDED: dict[OpKindValue, tuple[int, int]] = {
    OpKind.IMMEDIATE8TO16: (8, 16),
    OpKind.IMMEDIATE8TO32: (8, 32),
    OpKind.IMMEDIATE8TO64: (8, 64),
    OpKind.IMMEDIATE32TO64: (32, 64),
    OpKind.IMMEDIATE64: (64, 64),
}
"""Bits in the code, and bits that they are extended to."""

_SHOWN = 4
_WIDEST = 512
"""Bits of an operand of which a program could say how wide it is; states that are saved are wider."""


def encoded(line: Line, at: int) -> bytes:
    """The machine code for an instruction that lies at the address `at`. Raises `BlockError`."""
    possible = list(readings(line.mnemonic))
    for candidate, reading in product(_written_otherwise(line), possible):
        found = list(_encodings(candidate, *reading, at=at))
        if found:
            break
    else:
        raise BlockError(_complaint(line, [name for name, _ in possible]))
    widths = {width for _, width, _ in found}
    if len(widths) > 1 and max(widths) <= _WIDEST and line.mnemonic != "nop":  # which accesses nothing
        raise BlockError(
            f"{line.mnemonic} with this memory can be of {', '.join(map(str, sorted(widths)))} bits: write "
            "'byte ptr', 'word ptr', 'dword ptr', 'qword ptr' … before the ["
        )
    return min(found, key=lambda one: (len(one[2]), one[0]))[2]


def _written_otherwise(line: Line) -> Iterator[Line]:
    """The line, and what it means with an operand written or left out that assemblers take for granted.

    That is the top of x87's stack, and the source of `imul eax, 5` that is its target.
    """
    yield line
    if line.mnemonic == "imul" and len(line.operands) == 2:
        yield replace(line, operands=(line.operands[0], *line.operands))
    if line.mnemonic.startswith("f"):
        top = RegisterOperand(Register.ST0)
        for k in [k for k, one in enumerate(line.operands) if one == top]:
            yield replace(line, operands=line.operands[:k] + line.operands[k + 1 :])
        if not line.operands:
            below = RegisterOperand(Register.ST1)
            yield from (replace(line, operands=pair) for pair in ((below, top), (top, below)))


def _encodings(
    line: Line, mnemonic: str, implied: int | None, *, at: int
) -> Iterator[tuple[bool, int, bytes]]:
    """(EVEX?, width of a memory operand whose width was not given else 0, code) of each form that fits."""
    operands = line.operands if implied is None else (*line.operands, ImmediateOperand(implied))
    unsized = any(isinstance(one, MemoryOperand) and one.width is None for one in operands)
    for form, is_evex in _forms(mnemonic):
        if not _decorations_fit(line, form, is_evex=is_evex) or not _prefix_fits(line.prefixes, form.prefix):
            continue
        positions = _filled(form, operands)
        if positions is None:
            continue
        instruction = instance(form)
        instruction.ip = at
        _decorate(instruction, line)
        for position, operand in zip(positions, operands, strict=True):
            _fill(instruction, form, position, operand)
        code = _code_of(instruction, operands, at)
        if code is not None:
            in_memory = [hole for hole in form.holes if hole.kind == "memory"]
            yield is_evex, in_memory[0].width if unsized and in_memory else 0, code


@cache
def _forms(mnemonic: str) -> tuple[tuple[Form, bool], ...]:
    """The forms of a mnemonic that are encodings of their own, and whether by EVEX."""
    found: dict[object, tuple[Form, bool]] = {}
    for form in forms(mnemonic):
        if form.narrows is None:
            shapes = tuple("address" if hole.kind == "address" else hole.name for hole in form.holes)
            key = form.code, shapes, form.prefix, form.masking, form.rounding, form.broadcast
            found.setdefault(key, (form, OpCodeInfo(form.code).encoding == EncodingKind.EVEX))
    return tuple(found.values())


def _decorations_fit(line: Line, form: Form, *, is_evex: bool) -> bool:
    masking = "{k}" if line.mask != Register.NONE else ""
    if line.zeroing:
        masking += "{z}"
    rounding = "" if not line.rounding else "{sae}" if line.rounding == "sae" else "{er}"
    if ("{vex}" if is_evex else "{evex}") in line.prefixes:
        return False
    broadcasts = {one.broadcast for one in line.operands if isinstance(one, MemoryOperand)} or {0}
    return (masking, rounding) == (form.masking, form.rounding) and broadcasts == {form.broadcast}


def _prefix_fits(given: frozenset[str], wanted: str) -> bool:
    shown = given - {"{evex}", "{vex}"}
    if wanted in ("rep", "repe"):
        return bool(shown) and shown <= {"rep", "repe"}
    return shown == ({wanted} if wanted else frozenset())


def _filled(form: Form, operands: Sequence[Operand]) -> list[int] | None:
    """Which holes the operands fill, in order; None where they do not."""
    for positions in _positions(form, len(operands)):
        if all(_fits(form.holes[k], one) for k, one in zip(positions, operands, strict=True)):
            return positions
    return None


def _positions(form: Form, count: int) -> Iterator[list[int]]:
    """All holes, and those without what may be left unwritten, where there are so many of them."""
    everything = list(range(len(form.holes)))
    strings = any(_is_string(hole) for hole in form.holes)
    without_registers = [k for k in everything if not (strings and form.holes[k].fixed)]
    left = [
        k
        for k in everything
        if not _is_string(form.holes[k])
        and not (form.holes[k].fixed and (strings or form.holes[k].name == "st0"))
    ]
    for positions in (everything, without_registers, left):
        if len(positions) == count:
            yield positions


def _is_string(hole: Hole) -> bool:
    """Whether the operand can be nothing else than memory at a register, such as [rdi]."""
    return hole.kind == "memory" and (hole.op_kind != OpKind.MEMORY or hole.shape == "rbx+al")


def _fits(hole: Hole, operand: Operand) -> bool:
    if isinstance(operand, RegisterOperand):
        return hole.kind == "register" and _is_in(hole, operand.register)
    if isinstance(operand, ImmediateOperand):
        return hole.kind == "immediate" and _stored(hole, operand.value) is not None
    return hole.kind in ("address", "memory") and _addresses(hole, operand)


def _addresses(hole: Hole, operand: MemoryOperand) -> bool:
    """Whether the operand is memory of the hole's kind."""
    if hole.vector_index:  # the size that is written may be that of an element or of all
        return _is_vector(operand.index) and _same_class(hole.vector_index, operand.index)
    if _is_string(hole):
        base = {"rsi": Register.RSI, "rdi": Register.RDI}.get(hole.shape, Register.RBX)
        return operand.base == base and operand.width in (None, hole.width)
    if hole.kind == "memory" and operand.width not in (None, hole.width):
        return False
    if hole.shape == "moffs":
        return operand.base == operand.index == Register.NONE and operand.displacement >= 0
    return not _is_vector(operand.index)


def _is_in(hole: Hole, register: RegisterValue) -> bool:
    if hole.fixed:
        return register == hole.registers[0]
    if hole.name == "GPR[8]":
        return bool(Register.AL <= register <= Register.R15L) and not Register.AH <= register <= Register.BH
    first, last = _CLASSES[hole.name]
    return bool(first <= register <= last)


def _is_vector(register: RegisterValue) -> bool:
    return bool(Register.XMM0 <= register <= Register.ZMM31)


def _same_class(one: RegisterValue, other: RegisterValue) -> bool:
    return bool(RegisterInfo(one).base == RegisterInfo(other).base)


def _stored(hole: Hole, value: int) -> int | None:
    """The number as the code has it, None where it does not fit."""
    if hole.fixed:
        return hole.value if value == hole.value else None
    if hole.width < 8:
        return value if 0 <= value < 2**hole.width else None
    if hole.op_kind in _UNSIGNED:
        bits = _UNSIGNED[hole.op_kind]
        return value % 2**bits if -(2 ** (bits - 1)) <= value < 2**bits else None
    bits, wide = _EXTENDED[hole.op_kind]
    if 2 ** (wide - 1) <= value < 2**wide:
        value -= 2**wide
    return value % 2**64 if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def _decorate(instruction: Instruction, line: Line) -> None:
    if line.mask:  # NONE is 0
        instruction.op_mask = line.mask
    if line.rounding in _ROUNDINGS:
        instruction.rounding_control = _ROUNDINGS[line.rounding]


def _fill(instruction: Instruction, form: Form, position: int, operand: Operand) -> None:
    hole = form.holes[position]
    if isinstance(operand, RegisterOperand):
        instruction.set_op_register(position, operand.register)
    elif isinstance(operand, ImmediateOperand):
        value = _stored(hole, operand.value)
        assert value is not None, "it was found to fit"
        if instruction.op_kind(position) == OpKind.IMMEDIATE8_2ND:
            instruction.immediate8_2nd = value
        else:
            instruction.set_immediate_u64(position, value)
    else:
        if operand.segment:  # NONE is 0
            instruction.segment_prefix = operand.segment
        if not _is_string(hole):
            _point(instruction, operand, absolute=hole.shape == "moffs")


def _point(instruction: Instruction, operand: MemoryOperand, *, absolute: bool) -> None:
    instruction.memory_base = operand.base
    instruction.memory_index = operand.index
    instruction.memory_index_scale = operand.scale
    instruction.memory_displacement = operand.displacement % 2**64
    small = operand.base not in (Register.NONE, Register.RIP, Register.EIP)
    if absolute or not small:
        instruction.memory_displ_size = 8
    else:
        instruction.memory_displ_size = 1 if operand.displacement else 0


def _code_of(instruction: Instruction, operands: Iterable[Operand], at: int) -> bytes | None:
    """None where it cannot be encoded, e.g. ah beside a register that needs a REX prefix."""
    relative = [
        one for one in operands if isinstance(one, MemoryOperand) and one.base in (Register.RIP, Register.EIP)
    ]
    displacements = [one for one in operands if isinstance(one, MemoryOperand)]
    if any(not -(2**31) <= one.displacement < 2**32 for one in displacements) and not _is_absolute(
        instruction
    ):
        return None
    for one in relative:
        instruction.memory_displacement = at + one.displacement
        code = _bytes(instruction, at)
        if code is None:
            return None
        instruction.memory_displacement = (at + len(code) + one.displacement) % 2**64
    return _bytes(instruction, at)


def _is_absolute(instruction: Instruction) -> bool:
    return instruction.memory_base == instruction.memory_index == Register.NONE


def _bytes(instruction: Instruction, at: int) -> bytes | None:
    encoder = Encoder(64)
    for size in dict.fromkeys((instruction.memory_displ_size, 4, 8)):
        instruction.memory_displ_size = size
        try:
            encoder.encode(instruction, at)
        except ValueError:
            encoder.take_buffer()
            continue
        return encoder.take_buffer()
    return None


def _complaint(line: Line, mnemonics: Sequence[str]) -> str:
    """That no form fits, with those that come nearest."""
    found: dict[str, tuple[int, int, bool]] = {}
    for mnemonic in mnemonics:
        for form, text in texts_of_forms(mnemonic).items():
            if form.narrows is None:
                fitting = sum(map(_fits, form.holes, line.operands))
                found[text] = -fitting, abs(len(form.holes) - len(line.operands)), "{" in text
    nearest = sorted(found, key=lambda text: found[text])[:_SHOWN]
    return f"{line.mnemonic} does not take these operands; forms of it are: {'; '.join(nearest)}"
