"""From an instruction as it is written to its machine code, as assemblers choose it.

All encodings that fit are candidates. An assembler takes VEX before EVEX unless something needs the latter,
then the shortest, then the one that comes first in the manuals. GNU's and LLVM's agree in nearly all cases;
where they do not, this one does as LLVM. A listing without bytes tells how long each instruction is, and then
the first candidate of that length counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from iced_x86 import Code, Encoder, Instruction, OpKind, Register, RoundingControl

from inference.isa.x86.assembly.mnemonics import (
    Reading,
    att_readings,
    exchanged,
    pops_without_operands,
    readings,
)
from inference.isa.x86.assembly.opcodes import Opcode, Place, opcodes_of
from inference.isa.x86.assembly.operands import (
    ImmediateOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
    TargetOperand,
    Written,
    is_vector,
)
from inference.isa.x86.assembly.errors import BlockError
from inference.isa.x86.iced_types import OpKindValue, RegisterValue
from inference.isa.x86.scheme_set import texts_of_forms

PREFIX_BYTES = {
    "lock": 0xF0, "rep": 0xF3, "repe": 0xF3, "repz": 0xF3, "repne": 0xF2, "repnz": 0xF2, "data16": 0x66,
    "addr32": 0x67, "cs": 0x2E, "ss": 0x36, "ds": 0x3E, "es": 0x26, "fs": 0x64, "gs": 0x65, "bnd": 0xF2,
    "notrack": 0x3E, "xacquire": 0xF2, "xrelease": 0xF3, "hnt": 0x2E, "ht": 0x3E,
    **{f"rex{'.' if bits else ''}{''.join(name for bit, name in zip((8, 4, 2, 1), 'wrxb', strict=True) if bits & bit)}": 0x40 | bits for bits in range(16)},
}  # fmt: skip
"""Prefixes that can stand before an instruction, each with its byte."""

PSEUDO_PREFIXES = frozenset({"{vex}", "{vex2}", "{vex3}", "{evex}", "{load}", "{store}", "{disp8}", "{disp32}"})
"""Wishes for one of several encodings, as GNU's assembler has them."""

_SYNONYMS = {"data32": "", "data64": "rex.w", "addr64": "", "rex64": "rex.w", "wait": ""}
_REPEATING = frozenset({0xF2, 0xF3})
_LEGACY_PREFIXES = frozenset({0xF0, 0xF2, 0xF3, 0x66, 0x67, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65})
_ROUNDINGS = {
    "rn-sae": RoundingControl.ROUND_TO_NEAREST,
    "rne-sae": RoundingControl.ROUND_TO_NEAREST,
    "rd-sae": RoundingControl.ROUND_DOWN,
    "ru-sae": RoundingControl.ROUND_UP,
    "rz-sae": RoundingControl.ROUND_TOWARD_ZERO,
}
ROUNDINGS = frozenset({"sae", *_ROUNDINGS})

_EVEX_FIRST = frozenset(
    "vpdpbusd vpdpbusds vpdpwssd vpdpwssds vpmadd52luq vpmadd52huq vcvtneps2bf16".split()  # noqa: SIM905
)
"""Instructions that had EVEX encodings before they got VEX ones: assemblers take VEX only if told to."""

_WITH_XMM0 = frozenset("blendvps blendvpd pblendvb sha256rnds2".split())  # noqa: SIM905
_WITH_REGISTERS = frozenset(
    "monitor mwait monitorx mwaitx clzero invlpga vmload vmsave vmrun skinit umonitor tpause umwait".split()  # noqa: SIM905
)
"""Instructions whose registers listings write out although they are always the same."""

_OF_REGISTERS = frozenset(
    getattr(Code, f"{encoding}MOVQ_{operands}")
    for encoding, operands in (
        *product(("", "VEX_V", "EVEX_V"), ("XMM_RM64", "RM64_XMM")),
        *product(("",), ("MM_RM64", "RM64_MM")),
    )
)
"""Moves between general and vector registers; for memory there are others, as short at times."""

_LATER = 1 << 20
_LAST_FIRST = ("vfmadd", "vfmsub", "vfnmadd", "vfnmsub")
"""Of FMA4's two encodings of registers alone, assemblers take the second."""

_SHOWN = 4
_FIRST_WIDTH = {"nop": 32, "push": 64, "pop": 64, "call": 64, "jmp": 64, "ptwrite": 32}
"""Bits of memory of which nothing says how wide it is, in assemblers."""

_UNBASED = (Register.NONE, Register.RIP, Register.EIP)
_FROM_HERE = (Register.RIP, Register.EIP)
_SEGMENT_OF_STACK = (Register.RSP, Register.RBP, Register.ESP, Register.EBP)
_HERE = 0x1000


@dataclass(frozen=True, slots=True)
class Encoded:
    """Machine code, the opcode that it is of, and `width`: bits of memory of which nobody said how wide."""

    code: bytes
    opcode: Opcode
    width: int = 0

    @property
    def rank(self) -> tuple[int, int, int]:
        """Less is what assemblers rather take."""
        opcode = self.opcode
        second = opcode.is_evex != (opcode.mnemonic in _EVEX_FIRST)
        order = opcode.order + _LATER * (opcode.code in _OF_REGISTERS or opcode.is_length_changing)
        return second, len(self.code), -order if opcode.mnemonic.startswith(_LAST_FIRST) else order


def encode(written: Written, length: int | None = None) -> bytes:
    """The machine code of an instruction that is no jump to a label. Raises `BlockError`.

    `length` in bytes, where a listing tells it: the first encoding of that length is taken if there is one.
    """
    found = _first_that_fit(written)
    widths = {one.width for one in found}
    if len(widths) > 1 and (usual := _FIRST_WIDTH.get(found[0].opcode.mnemonic)) in widths:
        found, widths = [one for one in found if one.width == usual], {usual}
    if len(widths) > 1:
        raise BlockError(_ambiguous(written, sorted(widths)))
    best = min(found, key=lambda one: one.rank)
    if length is None or len(best.code) == length:
        return best.code
    others = [one for one in _all_that_fit(written) if len(one.code) <= length and one.width in widths]
    if fitting := [one for one in others if len(one.code) == length]:
        return min(fitting, key=lambda one: one.rank).code
    if best.opcode.mnemonic == "nop" and others:
        longest = max((one.code for one in others), key=len)
        return b"\x66" * (length - len(longest)) + longest  # padding: not all of its prefixes are shown
    return best.code


def encode_jump(mnemonic: str, distance: int, bits: int, prefixes: Sequence[str] = ()) -> bytes | None:
    """A jump or call so many bytes beyond its own end, the distance in 8 or 32 bits; None if there is none."""
    for reading in (*readings(mnemonic), *att_readings(mnemonic)):
        for opcode in opcodes_of(reading.mnemonic):
            if [place.branch for place in opcode.places] == [bits]:
                instruction = Instruction()
                instruction.code = opcode.code
                instruction.op0_kind = OpKind.NEAR_BRANCH64
                size = len(_with_target(instruction, _HERE) or b"")
                code = _with_target(instruction, _HERE + size + distance)
                return None if code is None else _prefixed(code, Written(mnemonic, prefixes=tuple(prefixes)))
    return None


def _with_target(instruction: Instruction, target: int) -> bytes | None:
    instruction.near_branch64 = target % 2**64
    return _bytes(instruction)


def _ambiguous(written: Written, widths: Sequence[int]) -> str:
    what = f"{written.mnemonic} with this memory can be of {', '.join(map(str, widths))} bits"
    if written.is_att:
        return f"{what}: put a letter for the size behind the mnemonic, as in {written.mnemonic}l"
    return f"{what}: write 'byte ptr', 'word ptr', 'dword ptr', 'qword ptr' … before the ["


def _first_that_fit(written: Written) -> list[Encoded]:
    """The encodings of the first meaning of the text that has any, one for each opcode."""
    for meaning, reading in _meanings(written):
        if found := list(_encodings(meaning, reading, everything=False)):
            return found
    raise BlockError(_complaint(written))


def _all_that_fit(written: Written) -> Iterator[Encoded]:
    for meaning, reading in _meanings(written):
        found = list(_encodings(meaning, reading, everything=True))
        yield from found
        if found:
            return


def _meanings(written: Written) -> Iterator[tuple[Written, Reading]]:
    """What the text can mean, the plainest first."""
    names = list(dict.fromkeys((att_readings if written.is_att else readings)(written.mnemonic)))
    for reading in names:
        for meaning in _written_otherwise(written, reading.mnemonic):
            yield meaning, reading
    if not names and not written.is_att:  # listings write AT&T's names in Intel's syntax here and there
        for reading in dict.fromkeys(att_readings(written.mnemonic)):
            if not written.operands:
                yield written, reading


def _written_otherwise(written: Written, mnemonic: str) -> Iterator[Written]:
    """The text, and what it means with an operand written or left out that assemblers take for granted."""
    operands = written.operands
    if mnemonic == "xchg" and len(operands) == 2 and all(isinstance(one, RegisterOperand) for one in operands):
        yield replace(written, operands=operands[::-1])  # which register goes where: as LLVM has it
        return
    if mnemonic.startswith("f"):
        yield from _on_the_stack(written, mnemonic)
        return
    yield written
    if mnemonic == "imul" and len(operands) == 2:
        yield replace(written, operands=(operands[0], *operands))
    if mnemonic in _WITH_XMM0 and len(operands) == 3 and operands[2] == RegisterOperand(Register.XMM0):
        yield replace(written, operands=operands[:2])
    if mnemonic in _WITH_REGISTERS:
        yield replace(written, operands=tuple(one for one in operands[:1] if mnemonic[0] in "ut"))


def _on_the_stack(written: Written, mnemonic: str) -> Iterator[Written]:
    """An x87 instruction: without operands, with one of its two registers, in AT&T's exchanged names."""
    operands = written.operands
    top, below = RegisterOperand(Register.ST0), RegisterOperand(Register.ST1)
    if not operands and pops_without_operands(mnemonic):
        yield replace(written, mnemonic=f"{mnemonic}p", operands=(below, top))
        return
    yield written
    if not operands:
        yield replace(written, operands=(below,))
        yield from (replace(written, operands=pair) for pair in ((below, top), (top, below)))
    if len(operands) == 1 and isinstance(operands[0], RegisterOperand):
        yield from (replace(written, operands=pair) for pair in ((top, operands[0]), (operands[0], top)))
    if len(operands) == 2 and top in operands:
        yield replace(written, operands=(operands[1] if operands[0] == top else operands[0],))


def _encodings(written: Written, reading: Reading, *, everything: bool) -> Iterator[Encoded]:
    mnemonic = written.mnemonic if written.mnemonic in ("faddp", "fmulp", "fsubp", "fsubrp", "fdivp", "fdivrp") else reading.mnemonic
    operands = written.operands
    if reading.implied is not None:
        operands = (*operands, ImmediateOperand(reading.implied))
    if written.is_att and _is_into_stack(operands):
        mnemonic = exchanged(mnemonic)
    for symbols_fit in (False, True):
        any_found = False
        for opcode in opcodes_of(mnemonic):
            if not _suits(opcode, written, reading):
                continue
            positions = _filled(opcode, operands, small_symbols=symbols_fit)
            if positions is None:
                continue
            for code in _codes(opcode, positions, operands, written, everything=everything):
                any_found = True
                yield Encoded(code, opcode, _open_width(opcode, operands, written, reading))
        if any_found or not any(isinstance(one, ImmediateOperand) and one.symbol for one in operands):
            return


def _is_into_stack(operands: Sequence[Operand]) -> bool:
    """Whether the target is a register of x87 other than by name the top alone."""
    registers = [one.register for one in operands if isinstance(one, RegisterOperand)]
    return len(registers) == 2 and registers[1] == Register.ST0 and Register.ST0 <= registers[0] <= Register.ST7 and registers[0] != Register.ST0


def _suits(opcode: Opcode, written: Written, reading: Reading) -> bool:
    """Whether all that the text says beside the operands is so of the opcode."""
    far = written.mnemonic.startswith("l") and reading.mnemonic in ("call", "jmp")
    wide = next((one.width for one in written.operands if isinstance(one, MemoryOperand)), None)
    if opcode.is_far != far and not (opcode.is_far and wide in (48, 80) and wide == opcode.memory_width):
        return False
    if far and opcode.memory_width != (wide or 48):
        return False
    if reading.size and reading.size not in opcode.widths:
        return False
    if reading.size and reading.source and opcode.places[0].width != reading.size:
        return False
    if reading.source and reading.source not in (opcode.memory_width, opcode.places[-1].width):
        return False
    if reading.long and not any(
        place.absolute or (place.immediate and place.immediate[1] == 64) for place in opcode.places
    ):
        return False
    if opcode.any_width and opcode.operand_size == 16 and opcode.memory_width and not opcode.bare:
        return wide == opcode.memory_width
    if not opcode.bare and reading.size != opcode.operand_size:
        return False
    if ("{vex}" in written.prefixes or "{vex2}" in written.prefixes or "{vex3}" in written.prefixes) and opcode.is_evex:
        return False
    return not ("{evex}" in written.prefixes and not opcode.is_evex)


def _open_width(opcode: Opcode, operands: Sequence[Operand], written: Written, reading: Reading) -> int:
    """The width of a memory operand that nothing written determines; 0 where something does."""
    open_ones = [one for one in operands if isinstance(one, MemoryOperand) and one.width is None]
    if not open_ones or opcode.any_width or not any(place.memory for place in opcode.places):
        return 0
    if reading.size or reading.source:
        return 0
    return opcode.element_width if open_ones[0].broadcast else opcode.memory_width


# --------------------------------------------------------------------------- operands and places


def _filled(opcode: Opcode, operands: Sequence[Operand], *, small_symbols: bool) -> list[int] | None:
    """Which places the operands fill, in order; None where they do not."""
    places = opcode.places
    count = len(operands)
    if count == len(places):
        choices = [list(range(count))]
    elif count < len(places):
        strings = any(place.string for place in places)
        left = [k for k, place in enumerate(places) if not (place.is_fixed and (strings or _may_be_unwritten(place)))]
        seen = [k for k, place in enumerate(places) if place.string or not place.is_fixed] if strings else left
        choices = [one for one in (left, seen) if len(one) == count]
    else:
        return None
    for positions in choices:
        if all(
            _fits(places[k], one, opcode, small_symbols=small_symbols)
            for k, one in zip(positions, operands, strict=True)
        ):
            return positions
    return None


def _may_be_unwritten(place: Place) -> bool:
    return place.only_value is not None or place.registers == (Register.ST0, Register.ST0)


def _fits(place: Place, operand: Operand, opcode: Opcode, *, small_symbols: bool) -> bool:
    if isinstance(operand, RegisterOperand):
        return place.registers is not None and place.registers[0] <= operand.register <= place.registers[1]
    if isinstance(operand, ImmediateOperand):
        if place.immediate is None:
            return False
        if operand.symbol and not small_symbols and place.immediate[1] < 32:
            return False
        return _stored(place, operand.value) is not None
    if isinstance(operand, TargetOperand):
        return False
    return _is_there(place, operand, opcode)


def _is_there(place: Place, operand: MemoryOperand, opcode: Opcode) -> bool:
    """Whether the memory operand can stand at the place."""
    if place.string:
        return operand.base == place.string[0] and operand.width in (None, opcode.memory_width)
    if not place.memory:
        return False
    if place.index:  # the size that is written may be that of an element or of all
        return place.index[0] <= operand.index <= place.index[1]
    if is_vector(operand.index) or bool(operand.broadcast) > bool(opcode.element_width):
        return False
    if place.absolute:
        if operand.base or operand.index:
            return False
        return operand.displacement >= 2**31 or operand.displacement < -(2**31) or operand.width is not None or True
    if operand.broadcast > 0 and operand.broadcast * opcode.element_width != opcode.memory_width:
        return False
    width = opcode.element_width if operand.broadcast else opcode.memory_width
    return operand.width is None or opcode.any_width or not width or operand.width == width


def _stored(place: Place, value: int) -> int | None:
    """The number as the code has it, None where it does not fit."""
    assert place.immediate is not None
    _, bits, wide = place.immediate
    if place.only_value is not None:
        return value if value == place.only_value else None
    if not wide:
        return value % 2**bits if -(2 ** (bits - 1)) <= value < 2**bits else None
    if 2 ** (wide - 1) <= value < 2**wide:
        value -= 2**wide
    return value % 2**64 if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


# --------------------------------------------------------------------------- instructions of iced


def _codes(
    opcode: Opcode, positions: Sequence[int], operands: Sequence[Operand], written: Written, *, everything: bool
) -> Iterator[bytes]:
    """The machine code; with `everything`, all that differ in how a displacement or a prefix is written."""
    if not _turns_as_wished(opcode, operands, written.prefixes):
        return
    instruction = Instruction()
    instruction.code = opcode.code
    given = dict(zip(positions, operands, strict=True))
    second = False
    for position, place in enumerate(opcode.places):
        operand = given.get(position)
        if operand is None:
            operand = _unwritten(place)
        second = _fill(instruction, position, place, operand, second=second)
    if not _decorate(instruction, written, opcode):
        return
    memory = next((one for one in operands if isinstance(one, MemoryOperand)), None)
    absolute = any(place.absolute for place in opcode.places)
    for displacement in _displacements(memory, absolute=absolute, prefixes=written.prefixes, everything=everything):
        for long_vex in (False, True) if everything or "{vex3}" in written.prefixes else (False,):
            code = _with_displacement(instruction, memory, displacement, long_vex=long_vex or "{vex3}" in written.prefixes)
            if code is not None:
                yield _prefixed(code, written)
                if not everything:
                    return


def _unwritten(place: Place) -> Operand:
    if place.only_value is not None:
        return ImmediateOperand(place.only_value)
    if place.string:
        return MemoryOperand(base=place.string[0])
    assert place.registers is not None
    return RegisterOperand(place.registers[0])


def _turns_as_wished(opcode: Opcode, operands: Sequence[Operand], prefixes: Sequence[str]) -> bool:
    """Whether it is the direction that {load} or {store} asks for; both where neither stands there."""
    if "{load}" not in prefixes and "{store}" not in prefixes:
        # 90 is a no-op: it does not clear the upper half as this does
        return not (opcode.code == Code.XCHG_R32_EAX and operands[0] == RegisterOperand(Register.EAX))
    first = opcode.places[0].is_modrm
    return first == ("{store}" in prefixes)


def _fill(instruction: Instruction, position: int, place: Place, operand: Operand, *, second: bool) -> bool:
    """Put an operand at its place; whether an immediate has been put anywhere."""
    if isinstance(operand, RegisterOperand):
        instruction.set_op_kind(position, OpKind.REGISTER)
        instruction.set_op_register(position, operand.register)
    elif isinstance(operand, ImmediateOperand):
        value = _stored(place, operand.value)
        assert place.immediate is not None and value is not None, "it was found to fit"
        kind: OpKindValue = OpKind.IMMEDIATE8_2ND if second else place.immediate[0]
        instruction.set_op_kind(position, kind)
        if second:
            instruction.immediate8_2nd = value
        else:
            instruction.set_immediate_u64(position, value)
        return True
    elif isinstance(operand, MemoryOperand):
        kind = place.string[1] if place.string else OpKind.MEMORY
        instruction.set_op_kind(position, kind)
        if kind == OpKind.MEMORY and place.string:
            instruction.memory_base, instruction.memory_index = Register.RBX, Register.AL
        elif not place.string:
            instruction.memory_base = operand.base
            instruction.memory_index = operand.index
            instruction.memory_index_scale = operand.scale
            instruction.is_broadcast = bool(operand.broadcast)
        if operand.segment and not _is_default(operand.segment, operand.base, place):
            instruction.segment_prefix = operand.segment
    return second


def _is_default(segment: RegisterValue, base: RegisterValue, place: Place) -> bool:
    if place.string and place.string[1] == OpKind.MEMORY_ESRDI:
        return bool(segment == Register.ES)
    return bool(segment == (Register.SS if base in _SEGMENT_OF_STACK else Register.DS))


def _decorate(instruction: Instruction, written: Written, opcode: Opcode) -> bool:
    """Masks, roundings and repetitions; False where the opcode can have none of what is written."""
    if written.mask or written.zeroing or written.rounding:
        if not opcode.is_evex:
            return False
        instruction.op_mask = written.mask
        instruction.zeroing_masking = written.zeroing
        instruction.suppress_all_exceptions = written.rounding == "sae"
        if written.rounding in _ROUNDINGS:
            instruction.rounding_control = _ROUNDINGS[written.rounding]
    for name in written.prefixes:
        byte = PREFIX_BYTES.get(name)
        if byte == 0xF0:
            instruction.has_lock_prefix = True
        elif byte == 0xF3:
            instruction.has_rep_prefix = True
        elif byte == 0xF2:
            instruction.has_repne_prefix = True
    return True


def _displacements(
    memory: MemoryOperand | None, *, absolute: bool, prefixes: Sequence[str], everything: bool
) -> Sequence[int]:
    """How many bytes the displacement may take, as iced counts them, the best first."""
    if memory is None:
        return (0,)
    most = 4 if Register.EAX <= memory.base <= Register.R15D or Register.EAX <= memory.index <= Register.R15D else 8
    if absolute or memory.symbol or memory.base in _UNBASED or "{disp32}" in prefixes:
        return (most,)
    if "{disp8}" in prefixes:
        return (1,)
    if everything and not memory.displacement:
        return (0, 1, most)
    return (1, most) if memory.displacement or everything else (0,)


def _with_displacement(
    instruction: Instruction, memory: MemoryOperand | None, size: int, *, long_vex: bool
) -> bytes | None:
    if memory is None or memory.base == Register.NONE == memory.index and size == 0:
        return _bytes(instruction, long_vex=long_vex)
    value = 0 if memory.symbol else memory.displacement
    if instruction.memory_base != memory.base or (not memory.base and not memory.index and False):
        return _bytes(instruction, long_vex=long_vex)  # a string's
    if size != 8 or not _is_absolute_place(instruction):
        if 2**63 <= value < 2**64:
            value -= 2**64
        if not -(2**31) <= value < (2**32 if size == 4 else 2**31):
            return None
    instruction.memory_displ_size = size
    if memory.base in _FROM_HERE:
        instruction.memory_displacement = _HERE
        code = _bytes(instruction, long_vex=long_vex)
        if code is None:
            return None
        value += _HERE + len(code)
    instruction.memory_displacement = value % 2**64
    return _bytes(instruction, long_vex=long_vex)


def _is_absolute_place(instruction: Instruction) -> bool:
    return instruction.code in _ABSOLUTE


_ABSOLUTE = frozenset(
    getattr(Code, name)
    for name in (
        *("MOV_AL_MOFFS8", "MOV_AX_MOFFS16", "MOV_EAX_MOFFS32", "MOV_RAX_MOFFS64"),
        *("MOV_MOFFS8_AL", "MOV_MOFFS16_AX", "MOV_MOFFS32_EAX", "MOV_MOFFS64_RAX"),
    )
)


def _bytes(instruction: Instruction, *, long_vex: bool = False) -> bytes | None:
    """None where it cannot be encoded, e.g. ah beside a register that needs a REX prefix."""
    encoder = Encoder(64)
    encoder.prevent_vex2 = long_vex
    try:
        encoder.encode(instruction, _HERE)
    except ValueError:
        return None
    return encoder.take_buffer()


def _prefixed(code: bytes, written: Written) -> bytes:
    """The code with the prefixes that stand before it and mean nothing to iced."""
    legacy = bytearray()
    rex = 0
    for name in written.prefixes:
        byte = PREFIX_BYTES.get(_SYNONYMS.get(name, name))
        if byte is None or byte == 0xF0 or byte in _REPEATING:
            continue
        if 0x40 <= byte <= 0x4F:
            rex |= byte
        else:
            legacy.append(byte)
    if rex:
        at = next((k for k, byte in enumerate(code) if byte not in _LEGACY_PREFIXES), 0)
        behind = code[at + 1 :] if 0x40 <= code[at] <= 0x4F else code[at:]
        code = code[:at] + bytes([rex | (code[at] if 0x40 <= code[at] <= 0x4F else 0)]) + behind
    if written.mnemonic.startswith("nop"):  # padding has the operand size first
        while code[:1] == b"\x66" or code[1:2] == b"\x66" and code[:1] == b"\x2e":
            if code[:1] == b"\x2e":
                code = b"\x66\x2e" + code[2:]
            break
        sizes = legacy.count(0x66) + (code[:1] == b"\x66")
        rest = bytes(byte for byte in legacy if byte != 0x66)
        return b"\x66" * sizes + rest + (code[1:] if code[:1] == b"\x66" else code)
    return bytes(legacy) + code


def _complaint(written: Written) -> str:
    """That no form fits, with those that come nearest."""
    names = dict.fromkeys(
        one.mnemonic for one in (att_readings if written.is_att else readings)(written.mnemonic)
    )
    found: dict[str, tuple[int, int, bool]] = {}
    for mnemonic in names:
        for form, text in texts_of_forms(mnemonic).items():
            if form.narrows is None:
                found[text] = (
                    abs(len(form.holes) - len(written.operands)),
                    -sum(
                        hole.kind == _kind(operand)
                        for hole, operand in zip(form.holes, written.operands, strict=False)
                    ),
                    "{" in text,
                )
    nearest = sorted(found, key=lambda text: found[text])[:_SHOWN]
    forms = f"; forms of it are: {'; '.join(nearest)}" if nearest else ""
    return f"{written.mnemonic} does not take these operands{forms}"


def _kind(operand: Operand) -> str:
    if isinstance(operand, RegisterOperand):
        return "register"
    return "immediate" if isinstance(operand, ImmediateOperand) else "memory"
