"""Listings of AArch64 code as programs: by the words where they are shown, else by the texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from inference.isa.aarch64.assembly import MARKERS
from inference.isa.aarch64.blocks import step_at
from inference.isa.aarch64.decoding import WORD_BYTES, decode
from inference.isa.aarch64.statements import ReadInstruction, is_mnemonic, read_instruction
from inference.isa.code.block import BlockError
from inference.isa.code.control_flow import CodeStep
from inference.isa.code.listed_program import ListedPlace, program_of_listing
from inference.isa.code.listing_reader import listing_of
from inference.isa.code.listings import LineLanguage, ListedLine
from inference.isa.code.pieces import AssemblyProgram, ProgramInstruction
from inference.isa.code.skipped_lines import LineKinds
from inference.isa.code.source import refuse_control_characters
from inference.isa.words.accesses import RegisterPart

_COMMENT = re.compile(r"(?<!\s)\s*<[^<>]*>|(?<!\s)\s+(?://|;|#\s).*")
_JUMP = re.compile(r"((?:b[a-z.]*|[ct]bn?z)\s++(?:[^,]*+,)*+\s*+)([^\s,]+)", re.IGNORECASE)
"""A direct jump: all but its target, and the target."""

_IN_CODE = re.compile(r"\b((?:adrp?|ldr\w*)\s+\w+,)\s*(?:0x)?[0-9a-f]+", re.IGNORECASE)
"""What names an address of the program, without `#`."""

_RELATIVE = re.compile(r"#?(?:\.\s*)?([+-]\d+|(?<=#)\d+)")
_ADDRESS = re.compile(r"#?(?:0x|(?:LAB|FUN|SUB|loc|sub)_)?([0-9a-f]+)h?", re.IGNORECASE)
_NO_CODE = (".word", ".inst", ".long", ".byte", ".short", "...", "udf", "undefined", "<un", "(bad)")
_REGISTER = re.compile(
    r"\b(?:[xw]zr|[xw](?:[12]?\d|30)|[vq](?:[12]?\d|3[01])(?:\.\d*[bhsd])?)\b", re.IGNORECASE
)
_RELOCATION = re.compile(r"^\s*(?:R_AARCH64_|ARM64_RELOC_)")


def _begins_instruction(text: str) -> bool:
    words = text.split(None, 1)
    return bool(words) and (is_mnemonic(words[0]) or words[0].lower().startswith(_NO_CODE))


def is_instruction(text: str) -> bool:
    """Whether a text without address and bytes is an instruction, not a sentence with such a first word."""
    try:
        instruction, _ = _read(_without_comment(text))
    except BlockError:
        return False
    return not any(" " in symbol for symbol in instruction.symbols)


def _shows_syntax(text: str) -> bool:
    return _REGISTER.search(text) is not None


LANGUAGE = LineLanguage(
    _begins_instruction,
    is_instruction,
    LineKinds(_begins_instruction, is_instruction, _shows_syntax, _REGISTER, _RELOCATION).classify,
    lambda _text: False,
    _RELOCATION,
)


def listed_program(
    lines: Sequence[tuple[int, str]], is_foreign: Callable[[str], bool]
) -> AssemblyProgram | None:
    """The program of a listing, from numbered lines; None where they are none. Raises `BlockError`."""
    listing = listing_of(lines, LANGUAGE, is_foreign)
    if listing is None:
        return None
    reader = _ListingReader(_are_numbers(listing.lines))
    return program_of_listing(listing, listing.lines, reader, MARKERS)


def _are_numbers(lines: Sequence[ListedLine]) -> bool:
    """Whether the digits of words are those of numbers, as objdump prints them, and not bytes in order."""
    votes = 0
    for line in lines:
        if len(line.code) == WORD_BYTES and line.text:
            name = line.text.split()[0].lower()
            votes += decode(int.from_bytes(line.code, "big")).mnemonic == name
            votes -= decode(int.from_bytes(line.code, "little")).mnemonic == name
    return votes > 0


class _ListingReader:
    """Reads instructions of a listing; a `LineReader`."""

    def __init__(self, are_numbers: bool) -> None:
        self.unresolved_jumps: list[int] = []
        self.contradictions: list[int] = []
        self.misfits: list[int] = []
        self._order: Literal["big", "little"] = "big" if are_numbers else "little"

    def instruction(
        self,
        line: ListedLine,
        length: int | None,
        labels: tuple[str, ...],
        places: Mapping[str, int],
        *,
        is_entry: bool,
    ) -> ProgramInstruction | None:
        """See `LineReader`. Raises `BlockError`."""
        assert line.address is not None
        text = _without_comment(line.text)
        if text.lower().startswith(_NO_CODE):
            return None
        if length is not None and length % WORD_BYTES:
            self.misfits.append(line.number)
        no_symbols: tuple[str, ...] = ()
        if line.code and not line.is_cut:
            step, symbols = step_at(self._word(line, text), line.address), no_symbols
        else:
            step, symbols = self._step(line, text, places)
        if step is None:
            if line.text:
                word = self._word(line, text)
                raise BlockError(f"{word:#010x} {decode(word).reason}")
            return None
        return ProgramInstruction(
            line.number,
            line.text,
            step,
            labels,
            symbols,
            count=line.count,
            is_entry=is_entry,
            source=line.source,
            latency=line.latency,
        )

    def without_addresses(self, part: Sequence[ListedPlace]) -> Sequence[ProgramInstruction]:
        """See `LineReader`. Raises `BlockError`."""
        rows = [
            (
                replace(place.line, address=WORD_BYTES * number),
                place.labels if place.line.address is None else (*place.labels, f"{place.line.address:x}"),
            )
            for number, place in enumerate(part)
        ]
        places = {label: line.address or 0 for line, labels in rows for label in labels}
        instructions: list[ProgramInstruction] = []
        for line, labels in rows:
            try:
                instruction = self.instruction(line, None, labels, places, is_entry=False)
            except BlockError as error:
                raise error.at(line.number) from None
            if instruction is None:
                raise BlockError("data among instructions without addresses", line.number)
            instructions.append(instruction)
        return instructions

    def _word(self, line: ListedLine, text: str) -> int:
        """The word of the bytes of a line; notes a text that is another instruction."""
        if len(line.code) != WORD_BYTES:
            raise BlockError(f"an instruction of AArch64 has {WORD_BYTES} bytes, not {len(line.code)}")
        word = int.from_bytes(line.code, self._order)
        if text and not line.is_own_syntax and _contradicts(text, word):
            self.contradictions.append(line.number)
        return word

    def _step(
        self, line: ListedLine, text: str, places: Mapping[str, int]
    ) -> tuple[CodeStep | None, tuple[str, ...]]:
        """The instruction of a text, and names in it that are taken for 0."""
        refuse_control_characters(text)
        instruction, jump = _read(text)
        address = line.address or 0
        target = _target(jump, address, places) if jump else None
        if jump and target is None:
            self.unresolved_jumps.append(line.number)
        distance = None if not jump else 0 if target is None else target - address
        word = instruction.word(distance)
        if word is None:
            raise BlockError(f"{text[:60]} does not lead to an address that it can reach")
        step = step_at(word, address)
        return step if step is None else step._replace(target=target), instruction.symbols


def _without_comment(text: str) -> str:
    return _COMMENT.sub("", text).strip()


@lru_cache(maxsize=1 << 13)
def _read(text: str) -> tuple[ReadInstruction, str]:
    """The instruction of a text, and the target of a direct jump as written, "" for another instruction.

    Raises `BlockError`.
    """
    if jump := _JUMP.fullmatch(text):
        instruction = read_instruction(f"{jump[1]}target")
        if instruction.target:
            return instruction._replace(target=""), jump[2]
    return read_instruction(_IN_CODE.sub(r"\1 0", text)), ""


def _target(written: str, address: int, places: Mapping[str, int]) -> int | None:
    """The address that a jump leads to; None where it cannot be known."""
    if written in places:
        return places[written]
    if relative := _RELATIVE.fullmatch(written):
        return address + int(relative[1])
    number = _ADDRESS.fullmatch(written)
    return int(number[1], 16) if number else None


def _contradicts(text: str, word: int) -> bool:
    """Whether a text that is an instruction names another one than the word, or other registers."""
    try:
        instruction, _ = _read(text)
    except BlockError:
        return False
    written = instruction.word()
    if written is None or written == word:
        return False
    decoded, other = decode(word), decode(written)
    registers = [
        [operand for operand in candidate.operands if isinstance(operand, RegisterPart)]
        for candidate in (decoded, other)
    ]
    return decoded.mnemonic != other.mnemonic or registers[0] != registers[1]
