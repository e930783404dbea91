"""From an instruction as it is written to its machine code, as assemblers choose it.

All encodings that fit are candidates. An assembler takes VEX before EVEX unless something needs the latter,
then the shortest, then the one that comes first in the manuals. GNU's and LLVM's agree in nearly all cases;
where they do not, this one does as LLVM. A listing without bytes tells how long each instruction is, and then
the first candidate of that length counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from iced_x86 import Code

from inference.isa.code.block import BlockError
from inference.isa.x86.assembly.instructions import codes, jump_bytes
from inference.isa.x86.assembly.matching import candidates, filled
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
"""Instructions that had EVEX encodings before they got VEX ones: assemblers take VEX only if told to."""

_OF_REGISTERS = frozenset(
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
"""Moves between general and vector registers; for memory there are others, as short at times."""

_LAST_FIRST = ("vfmadd", "vfmsub", "vfnmadd", "vfnmsub")
"""Of FMA4's two encodings of registers alone, assemblers take the second."""

_USUAL_WIDTHS = {"nop": 32, "push": 64, "pop": 64, "call": 64, "jmp": 64, "ptwrite": 32}
"""Bits of memory of which nothing says how wide it is, in assemblers."""

_LATER = 1 << 20
_SHOWN = 4


class Encoded(NamedTuple):
    """Machine code, the opcode that it is of, and `width`: bits of memory of which nobody said how wide."""

    code: bytes
    opcode: Opcode
    width: int = 0

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Less is what assemblers rather take."""
        opcode = self.opcode
        second = opcode.is_evex != (opcode.mnemonic in _EVEX_FIRST)
        order = opcode.order + _LATER * (opcode.code in _OF_REGISTERS or opcode.is_length_changing)
        return second, len(self.code), -order if opcode.mnemonic.startswith(_LAST_FIRST) else order


def encode(written: WrittenInstruction, length: int | None = None) -> bytes:
    """The machine code of an instruction that is no jump to a label. Raises `BlockError`.

    `length` in bytes, where a listing tells it: the first encoding of that length is taken if there is one.
    """
    found = _first_that_fit(written)
    if len(found) == 1 and length is None:
        return found[0].code
    found = _of_usual_width(found)
    widths = {one.width for one in found}
    if len(widths) > 1:
        raise BlockError(_ambiguous(written, sorted(widths)))
    best = min(found, key=lambda one: one.rank)
    return best.code if length is None else _of_length(written, best, length)


def _of_length(written: WrittenInstruction, best: Encoded, length: int) -> bytes:
    """The best encoding of the length that a listing tells; the best of all where there is none."""
    code = best.code
    if len(code) != length:
        others = [
            one for one in _all_that_fit(written) if len(one.code) <= length and one.width == best.width
        ]
        if fitting := [one for one in others if len(one.code) == length]:
            code = min(fitting, key=lambda one: one.rank).code
        elif best.opcode.mnemonic == "nop" and others:  # not all prefixes of padding are shown
            code = max((one.code for one in others), key=len)
    return as_padding(code, length) if best.opcode.mnemonic == "nop" else code


@lru_cache(maxsize=1 << 12)
def encode_jump(mnemonic: str, distance: int, bits: int, prefixes: tuple[str, ...] = ()) -> bytes | None:
    """A jump or call so many bytes beyond its own end, the distance in so many bits; None without one."""
    for reading in (*readings(mnemonic), *att_readings(mnemonic)):
        for opcode in opcodes_of(reading.mnemonic):
            if [place.branch for place in opcode.places] == [bits]:
                code = jump_bytes(opcode, distance)
                return None if code is None else with_prefixes(code, prefixes)
    return None


def _of_usual_width(found: list[Encoded]) -> list[Encoded]:
    """Those of the width that assemblers take where nothing says it; all where there is no such width."""
    usual = _USUAL_WIDTHS.get(found[0].opcode.mnemonic)
    return [one for one in found if one.width == usual] or found


def _ambiguous(written: WrittenInstruction, widths: Sequence[int]) -> str:
    what = f"{written.mnemonic} with this memory can be of {', '.join(map(str, widths))} bits"
    if written.is_att:
        return f"{what}: put a letter for the size behind the mnemonic, as in {written.mnemonic}l"
    return f"{what}: write 'byte ptr', 'word ptr', 'dword ptr', 'qword ptr' … before the ["


def _first_that_fit(written: WrittenInstruction) -> list[Encoded]:
    """The encodings of the first meaning of the text that has any, one for each opcode."""
    for meaning in meanings(written):
        if found := list(_encodings(written, meaning, everything=False)):
            return found
    raise BlockError(_complaint(written))


def _all_that_fit(written: WrittenInstruction) -> list[Encoded]:
    for meaning in meanings(written):
        if found := list(_encodings(written, meaning, everything=True)):
            return found
    return []


def _encodings(
    written: WrittenInstruction, meaning: MnemonicMeaning, *, everything: bool
) -> Iterator[Encoded]:
    """One for each opcode, or `everything`; names stand for small immediates where nothing else fits."""
    operands = meaning.operands
    opcodes = candidates(meaning, written)
    is_found = False
    has_names = any(isinstance(one, ImmediateOperand) and one.symbol for one in operands)
    for small_symbols in (False, True) if has_names else (False,):
        for opcode, ways in opcodes:
            positions = filled(opcode, ways, operands, small_symbols=small_symbols)
            if positions is None:
                continue
            for code in codes(opcode, positions, operands, written, everything=everything):
                is_found = True
                yield Encoded(code, opcode, _open_width(opcode, meaning))
        if is_found:
            return


def _open_width(opcode: Opcode, meaning: MnemonicMeaning) -> int:
    """The width of a memory operand that nothing written determines; 0 where something does."""
    memory = next((one for one in meaning.operands if isinstance(one, MemoryOperand)), None)
    if memory is None or memory.width is not None or meaning.reading.size or meaning.reading.source:
        return 0
    if opcode.any_width or not any(place.memory for place in opcode.places):
        return 0
    return opcode.element_width if memory.broadcast else opcode.memory_width


def _complaint(written: WrittenInstruction) -> str:
    """That no form fits, with those that come nearest."""
    names = dict.fromkeys(
        one.mnemonic for one in (att_readings if written.is_att else readings)(written.mnemonic)
    )
    kinds = [_kind(one) for one in written.operands]
    found: dict[str, tuple[int, int, bool]] = {}
    for mnemonic in names:
        for form, text in texts_of_forms(mnemonic).items():
            if form.narrows is None:
                alike = sum(hole.kind == kind for hole, kind in zip(form.holes, kinds, strict=False))
                found[text] = (abs(len(form.holes) - len(kinds)), -alike, "{" in text)
    nearest = sorted(found, key=lambda text: found[text])[:_SHOWN]
    forms = f"; forms of it are: {'; '.join(nearest)}" if nearest else ""
    return f"{written.mnemonic} does not take these operands{forms}"


def _kind(operand: Operand) -> str:
    if isinstance(operand, RegisterOperand):
        return "register"
    return "immediate" if isinstance(operand, ImmediateOperand) else "memory"
