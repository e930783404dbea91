"""The machine code of a written instruction, as assemblers choose it.

All encodings that fit are candidates. An assembler prefers VEX to EVEX unless only the latter fits, then the
shortest, then the first one in the manuals. GNU's and LLVM's agree in nearly all cases; where they differ,
this module follows LLVM. A listing without bytes implies the length of each instruction; then the first
candidate of that length is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from iced_x86 import Code

from inference.isa.code.block import BlockError
from inference.isa.x86.assembly.instructions import codes, jump_bytes
from inference.isa.x86.assembly.matching import candidates, first_fitting_order
from inference.isa.x86.assembly.meanings import MnemonicMeaning, meanings
from inference.isa.x86.assembly.mnemonics import att_readings, readings
from inference.isa.x86.assembly.opcodes import Opcode, opcodes_of
from inference.isa.x86.assembly.operands import (
    ImmediateOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
    WrittenInstruction,
)
from inference.isa.x86.assembly.prefixes import as_padding, with_prefixes
from inference.isa.x86.scheme_set import texts_of_forms

_EVEX_FIRST = frozenset(
    {"vpdpbusd", "vpdpbusds", "vpdpwssd", "vpdpwssds", "vpmadd52luq", "vpmadd52huq", "vcvtneps2bf16"}
)
"""Instructions whose EVEX encodings are older than their VEX ones: assemblers take VEX only on request."""

_REGISTER_MOVES = frozenset(
    {
        *(Code.MOVQ_XMM_RM64, Code.MOVQ_RM64_XMM, Code.MOVQ_MM_RM64, Code.MOVQ_RM64_MM),
        *(
            Code.VEX_VMOVQ_XMM_RM64,
            Code.VEX_VMOVQ_RM64_XMM,
            Code.EVEX_VMOVQ_XMM_RM64,
            Code.EVEX_VMOVQ_RM64_XMM,
        ),
    }
)
"""Moves between general and vector registers; for memory there are others, sometimes as short."""

_PREFER_LAST = ("vfmadd", "vfmsub", "vfnmadd", "vfnmsub")
"""Of FMA4's two encodings with only registers, assemblers take the second."""

_USUAL_WIDTHS = {"nop": 32, "push": 64, "pop": 64, "call": 64, "jmp": 64, "ptwrite": 32}
"""Bits of memory operands without a stated width, in assemblers."""

_LOW_PRIORITY = 1 << 20  # more than there are opcodes: such encodings come last
_MAX_FORMS = 4  # that an error suggests


class CodeEncoding(NamedTuple):
    """Machine code and its opcode; `width`: bits of a memory operand without a stated width, else 0."""

    code: bytes
    opcode: Opcode
    width: int = 0

    @property
    def rank(self) -> tuple[bool, int, int]:
        """A sort key: assemblers prefer the smallest."""
        opcode = self.opcode
        second = opcode.is_evex != (opcode.mnemonic in _EVEX_FIRST)
        order = opcode.order + _LOW_PRIORITY * (opcode.code in _REGISTER_MOVES or opcode.is_length_changing)
        return second, len(self.code), -order if opcode.mnemonic.startswith(_PREFER_LAST) else order


def encode(written: WrittenInstruction, length: int | None = None) -> bytes:
    """The machine code of an instruction other than a jump to a label. Raises `BlockError`.

    `length` in bytes, where a listing implies it: the first encoding of that length is taken if there is one.

    >>> from inference.isa.x86.assembly.statements import read_statement
    >>> encode(read_statement("add rax, rbx", "intel", {})).hex()
    '4801d8'
    """
    encodings = _first_that_fit(written)
    if len(encodings) == 1 and length is None:
        return encodings[0].code
    encodings = _of_usual_width(encodings)
    widths = {encoding.width for encoding in encodings}
    if len(widths) > 1:
        raise BlockError(_ambiguous_width_message(written, sorted(widths)))
    best = min(encodings, key=lambda encoding: encoding.rank)
    return best.code if length is None else _of_length(written, best, length)


def _of_length(written: WrittenInstruction, best: CodeEncoding, length: int) -> bytes:
    """The best encoding of the given length; the best of all where there is none."""
    code = best.code
    if len(code) != length:
        same_width = (other for other in _all_that_fit(written) if other.width == best.width)
        shorter = [other for other in same_width if len(other.code) <= length]
        if fitting := [encoding for encoding in shorter if len(encoding.code) == length]:
            code = min(fitting, key=lambda encoding: encoding.rank).code
        elif best.opcode.mnemonic == "nop" and shorter:  # not all prefixes of padding are shown
            code = max((encoding.code for encoding in shorter), key=len)
    return as_padding(code, length) if best.opcode.mnemonic == "nop" else code


@lru_cache(maxsize=1 << 12)
def encode_jump(mnemonic: str, distance: int, bits: int, prefixes: tuple[str, ...] = ()) -> bytes | None:
    """The code of a jump or call; None where it has no such encoding.

    Args:
        mnemonic: In Intel's or AT&T's spelling.
        distance: Bytes from the end of the instruction to its target.
        bits: Width of the distance in the encoding: 8, 16 or 32.
        prefixes: Such as `bnd` or `notrack`.
    """
    for reading in (*readings(mnemonic), *att_readings(mnemonic)):
        for opcode in opcodes_of(reading.mnemonic):
            if [place.branch for place in opcode.places] == [bits]:
                code = jump_bytes(opcode, distance)
                return None if code is None else with_prefixes(code, prefixes)
    return None


def _of_usual_width(encodings: list[CodeEncoding]) -> list[CodeEncoding]:
    """The encodings of the usual width of memory; all of them without one."""
    width = _USUAL_WIDTHS.get(encodings[0].opcode.mnemonic)
    return [encoding for encoding in encodings if encoding.width == width] or encodings


def _ambiguous_width_message(written: WrittenInstruction, widths: Sequence[int]) -> str:
    problem = f"{written.mnemonic} with this memory can be of {', '.join(map(str, widths))} bits"
    if written.is_att:
        return f"{problem}: put a letter for the size behind the mnemonic, as in {written.mnemonic}l"
    return f"{problem}: write 'byte ptr', 'word ptr', 'dword ptr', 'qword ptr' … before the ["


def _first_that_fit(written: WrittenInstruction) -> list[CodeEncoding]:
    """The encodings of the first meaning that has any, one per opcode."""
    for meaning in meanings(written):
        if encodings := list(_encodings(written, meaning, all_lengths=False)):
            return encodings
    raise BlockError(_no_form_message(written))


def _all_that_fit(written: WrittenInstruction) -> list[CodeEncoding]:
    for meaning in meanings(written):
        if encodings := list(_encodings(written, meaning, all_lengths=True)):
            return encodings
    return []


def _encodings(
    written: WrittenInstruction, meaning: MnemonicMeaning, *, all_lengths: bool
) -> Iterator[CodeEncoding]:
    """One encoding per opcode, or `all_lengths`; names are small immediates only as a last resort."""
    operands = meaning.operands
    opcodes = candidates(meaning, written)
    has_encoding = False
    has_names = any(isinstance(operand, ImmediateOperand) and operand.symbol for operand in operands)
    for small_symbols in (False, True) if has_names else (False,):
        for opcode, orders in opcodes:
            positions = first_fitting_order(opcode, orders, operands, small_symbols=small_symbols)
            if positions is None:
                continue
            for code in codes(opcode, positions, operands, written, all_lengths=all_lengths):
                has_encoding = True
                yield CodeEncoding(code, opcode, _unspecified_width(opcode, meaning))
        if has_encoding:
            return


def _unspecified_width(opcode: Opcode, meaning: MnemonicMeaning) -> int:
    """The width of a memory operand that the text does not determine; 0 where it does."""
    memory = next((operand for operand in meaning.operands if isinstance(operand, MemoryOperand)), None)
    if memory is None or memory.width is not None or meaning.reading.size or meaning.reading.source:
        return 0
    if opcode.any_width or not any(place.memory for place in opcode.places):
        return 0
    return opcode.element_width if memory.broadcast else opcode.memory_width


def _no_form_message(written: WrittenInstruction) -> str:
    names = dict.fromkeys(
        reading.mnemonic for reading in (att_readings if written.is_att else readings)(written.mnemonic)
    )
    kinds = [_kind(reading) for reading in written.operands]
    ranks: dict[str, tuple[int, int, bool]] = {}
    for mnemonic in names:
        for form, text in texts_of_forms(mnemonic).items():
            if form.narrows is None:
                equal_kinds = sum(hole.kind == kind for hole, kind in zip(form.holes, kinds, strict=False))
                ranks[text] = (abs(len(form.holes) - len(kinds)), -equal_kinds, "{" in text)
    nearest = sorted(ranks, key=lambda text: ranks[text])[:_MAX_FORMS]
    forms = f"; forms of it are: {'; '.join(nearest)}" if nearest else ""
    return f"{written.mnemonic} does not take these operands{forms}"


def _kind(operand: Operand) -> str:
    if isinstance(operand, RegisterOperand):
        return "register"
    return "immediate" if isinstance(operand, ImmediateOperand) else "memory"
