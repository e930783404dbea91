"""Listings of instruction sets of words as programs: by the code where it is shown, else by the texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from typing import Literal, NamedTuple

from inference.isa.code.block import BlockError
from inference.isa.code.control_flow import CodeStep
from inference.isa.code.listed_program import ListedPlace, program_of_listing
from inference.isa.code.listing_reader import listing_of
from inference.isa.code.listings import LineLanguage, ListedLine
from inference.isa.code.pieces import AssemblyProgram, ProgramInstruction
from inference.isa.code.skipped_lines import LineKinds
from inference.isa.code.source import refuse_control_characters
from inference.isa.words.accesses import DecodedInstruction, RegisterPart
from inference.isa.words.assembly import AssemblySyntax, WordInstruction

_CACHED_TEXTS = 1 << 13


class ListingSyntax(NamedTuple):
    """What the listings of an instruction set look like.

    Attributes:
        assembly: The syntax of the texts.
        decode: The instruction of a number.
        sizes: Bytes of instructions.
        comment: What follows an instruction: a comment, the name of an address.
        jump: A direct jump: all but its target, and the target.
        in_code: All but an address of the program, and the address.
        relative: A distance as a target, the number as a group.
        address: A target as an address, its hexadecimal digits as a group.
        no_code: Beginnings of texts that stand for data.
        register: A register that occurs in no sentence.
        relocation: The beginning of a relocation.
    """

    assembly: AssemblySyntax
    decode: Callable[[int], DecodedInstruction]
    sizes: Collection[int]
    comment: re.Pattern[str]
    jump: re.Pattern[str]
    in_code: re.Pattern[str]
    relative: re.Pattern[str]
    address: re.Pattern[str]
    no_code: tuple[str, ...]
    register: re.Pattern[str]
    relocation: re.Pattern[str]


class WordListings:
    """Reads listings in a syntax."""

    def __init__(self, syntax: ListingSyntax) -> None:
        self.syntax = syntax
        self.read = lru_cache(_CACHED_TEXTS)(self._read)
        kinds = LineKinds(
            self._begins_instruction,
            self.is_instruction,
            lambda text: syntax.register.search(text) is not None,
            syntax.register,
            syntax.relocation,
        )
        self.language = LineLanguage(
            self._begins_instruction,
            self.is_instruction,
            kinds.classify,
            lambda _text: False,
            syntax.relocation,
        )

    def listed_program(
        self, lines: Sequence[tuple[int, str]], is_foreign: Callable[[str], bool]
    ) -> AssemblyProgram | None:
        """The program of a listing, from numbered lines; None where they are none. Raises `BlockError`."""
        listing = listing_of(lines, self.language, is_foreign)
        if listing is None:
            return None
        reader = _ListingReader(self, are_numbers=self._are_numbers(listing.lines))
        return program_of_listing(listing, listing.lines, reader, self.syntax.assembly.markers)

    def is_instruction(self, text: str) -> bool:
        """Whether a text without address and bytes is an instruction, and no sentence."""
        try:
            instruction, _ = self.read(self.without_comment(text), True)
        except BlockError:
            return False
        return not any(" " in symbol for symbol in instruction.symbols)

    def without_comment(self, text: str) -> str:
        return self.syntax.comment.sub("", text).strip()

    def contradicts(self, text: str, word: int) -> bool:
        """Whether a text that is an instruction names another one than the word, or other registers."""
        try:
            instruction, _ = self.read(text, True)
        except BlockError:
            return False
        written = instruction.code()
        if written is None:
            return False
        decoded, other = self.syntax.decode(word), self.syntax.decode(int.from_bytes(written, "little"))
        return decoded.mnemonic != other.mnemonic or _registers_of(decoded) != _registers_of(other)

    def _begins_instruction(self, text: str) -> bool:
        words, is_mnemonic = text.split(None, 1), self.syntax.assembly.is_mnemonic
        return bool(words) and (is_mnemonic(words[0]) or words[0].lower().startswith(self.syntax.no_code))

    def _are_numbers(self, lines: Sequence[ListedLine]) -> bool:
        """Whether the digits are those of numbers, as objdump prints them, and not bytes in order."""
        decode, votes = self.syntax.decode, 0
        for line in lines:
            if len(line.code) in self.syntax.sizes and line.text:
                name = line.text.split()[0].lower()
                votes += decode(int.from_bytes(line.code, "big")).mnemonic == name
                votes -= decode(int.from_bytes(line.code, "little")).mnemonic == name
        return votes > 0

    def _read(self, text: str, compressed: bool) -> tuple[WordInstruction, str]:
        """The instruction of a text, and the target of a direct jump as written, "" for another instruction.

        Raises `BlockError`.
        """
        if jump := self.syntax.jump.fullmatch(text):
            instruction = self._single(f"{jump[1]}target", compressed)
            if instruction.target:
                return instruction, jump[2]
        return self._single(self.syntax.in_code.sub(r"\1 0", text), compressed), ""

    def _single(self, text: str, compressed: bool) -> WordInstruction:
        instruction, *extra = self.syntax.assembly.read(text, compressed)
        if extra:
            raise BlockError(f"{text[:60]} stands for several instructions, which no disassembler prints")
        return instruction


def _registers_of(decoded: DecodedInstruction) -> list[RegisterPart]:
    return [operand for operand in decoded.operands if isinstance(operand, RegisterPart)]


class _ListingReader:
    """Reads instructions of a listing; a `LineReader`."""

    def __init__(self, listings: WordListings, *, are_numbers: bool) -> None:
        self.unresolved_jumps: list[int] = []
        self.contradictions: list[int] = []
        self.misfits: list[int] = []
        self._listings, self._syntax = listings, listings.syntax
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
        """The instruction of a line, None of one without code. Raises `BlockError`."""
        assert line.address is not None
        text = self._listings.without_comment(line.text)
        if text.lower().startswith(self._syntax.no_code):
            return None
        if length is not None and length % min(self._syntax.sizes):
            self.misfits.append(line.number)
        no_symbols: tuple[str, ...] = ()
        if line.code and not line.is_cut:
            word = self._word(line, text)
            step, symbols = self._step_at(word, len(line.code), line.address), no_symbols
            if step is None:
                if line.text:
                    raise BlockError(f"{word:#010x} {self._syntax.decode(word).reason}")
                return None
        else:
            step, symbols = self._step(line, text, length, places)
            if length in self._syntax.sizes and len(step.code) != length:
                self.misfits.append(line.number)
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
        """The instructions, laid out one behind another. Raises `BlockError`."""
        labels = [
            place.labels if place.line.address is None else (*place.labels, f"{place.line.address:x}")
            for place in part
        ]
        # A jump that reaches too far for its short form moves others apart, so lengths only grow.
        starts = [min(self._syntax.sizes) * number for number in range(len(part) + 1)]
        while True:
            self.unresolved_jumps, self.contradictions = [], []
            places = {label: start for names, start in zip(labels, starts, strict=False) for label in names}
            instructions = [
                self._place(place.line, names, places, start)
                for place, names, start in zip(part, labels, starts, strict=False)
            ]
            ends = list(accumulate((len(instruction.code) for instruction in instructions), initial=0))
            if ends == starts:
                return instructions
            starts = ends

    def _place(
        self, line: ListedLine, labels: tuple[str, ...], places: Mapping[str, int], address: int
    ) -> ProgramInstruction:
        try:
            entry = replace(line, address=address)
            instruction = self.instruction(entry, None, labels, places, is_entry=False)
        except BlockError as error:
            raise error.at(line.number) from None
        if instruction is None:
            raise BlockError("data among instructions without addresses", line.number)
        return instruction

    def _word(self, line: ListedLine, text: str) -> int:
        """The number of the bytes of a line; notes a text that is another instruction."""
        sizes = self._syntax.sizes
        if len(line.code) not in sizes:
            expected = " or ".join(map(str, sorted(sizes)))
            name = self._syntax.assembly.name
            raise BlockError(f"an instruction of {name} has {expected} bytes, not {len(line.code)}")
        word = int.from_bytes(line.code, self._order)
        if text and not line.is_own_syntax and self._listings.contradicts(text, word):
            self.contradictions.append(line.number)
        return word

    def _step_at(self, word: int, size: int, address: int) -> CodeStep | None:
        """The step of a word; None for one that is no instruction, or another number of bytes."""
        try:
            steps = self._syntax.assembly.steps_of(word.to_bytes(size, "little"), address)
        except BlockError:
            return None
        return steps[0] if len(steps) == 1 else None

    def _step(
        self, line: ListedLine, text: str, length: int | None, places: Mapping[str, int]
    ) -> tuple[CodeStep, tuple[str, ...]]:
        """The instruction of a text, and names in it that are taken for 0."""
        refuse_control_characters(text)
        instruction, jump = self._listings.read(text, length in (None, min(self._syntax.sizes)))
        address = line.address or 0
        target = self._target(jump, address, places) if jump else None
        if jump and target is None:
            self.unresolved_jumps.append(line.number)
        distance = None if not jump else 0 if target is None else target - address
        code = instruction.code(distance)
        if code is None:
            raise BlockError(f"{text[:60]} does not lead to an address that it can reach")
        (step,) = self._syntax.assembly.steps_of(code, address)
        if jump:
            step = step._replace(target=target)
        return step, instruction.symbols

    def _target(self, written: str, address: int, places: Mapping[str, int]) -> int | None:
        """The address that a jump leads to; None where it cannot be known."""
        if written in places:
            return places[written]
        if relative := self._syntax.relative.fullmatch(written):
            return address + int(relative[1], 0)
        number = self._syntax.address.fullmatch(written)
        return int(number[1], 16) if number else None
