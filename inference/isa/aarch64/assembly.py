"""Assembly of AArch64 as a program: labels, directives, instructions and the comments on them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from inference.isa.aarch64 import NAME
from inference.isa.aarch64.blocks import step_at
from inference.isa.aarch64.decoding import WORD_BYTES, words_of
from inference.isa.aarch64.statements import ReadInstruction, is_mnemonic, read_instruction
from inference.isa.code import directives
from inference.isa.code.annotations import SourcePlace
from inference.isa.code.assembly_reader import (
    CONSTANT,
    DIRECTIVE,
    LABEL,
    MAX_DISTINCT,
    MAX_INSTRUCTIONS,
    MAX_STATEMENT_LENGTH,
    AssemblyReader,
    AssemblyState,
)
from inference.isa.code.block import BlockError
from inference.isa.code.markers import RegionMarkers, split_regions
from inference.isa.code.pieces import AssemblyProgram, ProgramInstruction
from inference.isa.code.source import LinePart, refuse_control_characters, source_lines

_BARE_LABEL = re.compile(r"([A-Za-z_.$][\w.$]*)\s+(\S.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_.$][\w.$]*")
_NUMBER = re.compile(r"-?(?:0x[0-9a-f]{1,16}|\d{1,20})", re.IGNORECASE)
_LOCAL_LABEL = re.compile(r"(\d+)([bf])")
_OFFSET = re.compile(r"(.*[^\s+-])\s*([+-])\s*(0x[0-9a-f]+|\d+)", re.IGNORECASE | re.DOTALL)

_HARMLESS = frozenset("cpu arch_extension variant_pcs tlsdesccall ltorg pool aeabi_subsection".split())  # noqa: SIM905
_WORDS = {"inst": 4, "word": 4, "long": 4, "4byte": 4, "byte": 1}
"""Directives whose plain numbers may stand for instructions, and the bytes of a number."""

_ARMASM = re.compile(
    r"(?:area|export|import|extern|global|align|endp|end|entry|preserve8|get|ttl|thumb|arm|ltorg)\b.*"
    r"|[\w.$|]+\s+(?:proc|endp|function|equ)\b.*",
    re.IGNORECASE,
)
"""Directives of armasm."""

MARKERS = RegionMarkers(
    bytes.fromhex("e10d80d2"),
    bytes.fromhex("c11b80d2"),
    (bytes.fromhex("d503201f"), bytes.fromhex("1f2003d5")),
)
"""OSACA's: `mov x1, #111`, `mov x1, #222`, and a `nop` whose bytes it writes in either order."""


@dataclass(slots=True)
class _Statement:
    """An instruction of the text, or a word of a directive; fields as in `ProgramInstruction`."""

    line: int
    column: int
    text: str
    instruction: ReadInstruction | None
    word: int
    labels: tuple[str, ...]
    regions: frozenset[int]
    source: SourcePlace | None
    latency: float | None


def program_of_lines(lines: list[str], first: int, *, state: AssemblyState | None = None) -> AssemblyProgram:
    """The program of lines with numbers from `first`. Raises `BlockError` with the place."""
    state = state or AssemblyState()
    state.begin_paragraph()
    reader = _TextReader(state)
    for line in source_lines(lines, first, numbers_have_hashes=True):
        reader.line(line)
    reader.end()
    return reader.program(*split_regions(tuple(_lay_out(reader.statements, state.functions)), MARKERS))


class _TextReader(AssemblyReader[_Statement]):
    """Reads the lines of assembly of AArch64 once, in order."""

    def __init__(self, state: AssemblyState) -> None:
        super().__init__(state)
        self._constants = state.constants
        self._distinct: set[str] = set()

    def end(self) -> None:
        """Check for open regions, and jumps to data. Raises `BlockError`."""
        self.regions.end()
        for jump in self.statements if self._data else ():
            if jump.instruction is not None:
                self._refuse_jump_to_data(jump.text, jump.instruction.target, jump.line, jump.column)

    def _statement(self, part: LinePart, number: int) -> None:
        """Read a label, directive, constant or instruction."""
        text = part.text
        refuse_control_characters(text)
        if not part.first and not _begins_statement(text):
            self.remarks.append(number)
            return
        if len(text) > MAX_STATEMENT_LENGTH and not text.startswith("."):
            raise BlockError(f"a statement has at most {MAX_STATEMENT_LENGTH:,} characters")
        while len(text) <= MAX_STATEMENT_LENGTH and (labelled := LABEL.fullmatch(text)):
            self._label(labelled[1].strip('"'), number)
            text = labelled[2]
        if not text or self._is_heading(part.text):
            return
        if text[-1] == ":" and self._is_demangled_label(text):
            self._label(text[:-1].strip(), number)
        elif directive := DIRECTIVE.fullmatch(text):
            self._directive(directive[1].lower(), directive[2], part, number)
        elif constant := CONSTANT.fullmatch(text):
            self._constant(constant[1], constant[2])
        elif _ARMASM.fullmatch(text):
            self.skipped[text.split()[0]] += 1
        else:
            self._instruction(text, part, number)

    def _begins_instruction(self, text: str) -> bool:
        return is_mnemonic(text.partition(" ")[0])

    def _kind_of(self, name: str) -> str:
        return "harmless" if name in _HARMLESS else directives.kind_of(name)

    def _constant(self, name: str, value: str) -> None:
        if _NUMBER.fullmatch(value.strip()):
            self._constants[name] = _number(value)
        self.skipped["="] += 1

    def _code_of_data(self, name: str, arguments: str) -> bytes:
        return _bytes_of(arguments, _WORDS[name]) if name in _WORDS else b""

    def _data_directive(self, name: str, arguments: str, part: LinePart, number: int) -> None:
        if name == "inst":  # never data
            self._take_data(name, arguments, self._code_of_data(name, arguments), part, number)
        else:
            super()._data_directive(name, arguments, part, number)

    def _take_data(self, name: str, arguments: str, code: bytes, part: LinePart, number: int) -> None:
        if not code:
            raise BlockError(
                f".{name} puts bytes into the code, which is not supported: "
                "write whole words, such as .inst 0xd503201f"
            )
        for word in words_of(code):
            self._append(number, part, None, word)

    def _instruction(self, text: str, part: LinePart, number: int) -> None:
        if not self._sections.in_code:
            raise BlockError("an instruction in a section of data: a .text before it is missing")
        bare = _BARE_LABEL.fullmatch(text)
        if bare and part.column == 1 and not is_mnemonic(bare[1]) and is_mnemonic(bare[2].split()[0]):
            self._label(bare[1], number)  # a label of armasm
            text = bare[2]
        if self._constants:
            text = _NAME.sub(self._constant_text, text)
        self._distinct.add(text)
        if len(self._distinct) > MAX_DISTINCT:
            raise BlockError(f"a text has at most {MAX_DISTINCT:,} different instructions: paste less of it")
        self._append(number, part, read_instruction(text), 0)

    def _constant_text(self, match: re.Match[str]) -> str:
        value = self._constants.get(match[0])
        return match[0] if value is None else str(value)

    def _append(self, line: int, part: LinePart, instruction: ReadInstruction | None, word: int) -> None:
        if len(self.statements) >= MAX_INSTRUCTIONS:
            raise BlockError(f"a text has at most {MAX_INSTRUCTIONS:,} instructions: paste less of it")
        self.statements.append(
            _Statement(
                line,
                part.column,
                part.text,
                instruction,
                word,
                tuple(self._labels),
                self.regions.inside,
                self._source.place,
                self._latencies.usual,
            )
        )
        self._labels.clear()
        falls_through = instruction is None or instruction.form.encoding.flow not in ("jump", "end")
        self._sections.reach_instruction(falls_through=falls_through)


def _begins_statement(text: str) -> bool:
    """Whether the text behind a semicolon is a statement; for Apple and armasm it is a comment."""
    if len(text) > MAX_STATEMENT_LENGTH:
        return False
    while labelled := LABEL.fullmatch(text):
        text = labelled[2]
        if not text:
            return True
    if directive := DIRECTIVE.fullmatch(text):
        return bool(directives.kind_of(directive[1].lower()))
    word = text.split()[0]
    if not is_mnemonic(word):
        return False
    try:
        instruction = read_instruction(text)
    except BlockError:
        return False
    return not instruction.symbols and " " not in instruction.target


def _number(text: str) -> int:
    digits = text.strip().lower()
    return int(digits, 16 if "0x" in digits else 10)


def _bytes_of(arguments: str, size: int) -> bytes:
    """The whole words that plain numbers of `size` bytes are; b"" for anything else."""
    parts = [part.strip() for part in arguments.split(",")]
    if not all(_NUMBER.fullmatch(part) for part in parts):
        return b""
    numbers = [_number(part) for part in parts]
    if any(not 0 <= number < 1 << 8 * size for number in numbers):
        return b""
    code = b"".join(number.to_bytes(size, "little") for number in numbers)
    return b"" if len(code) % WORD_BYTES else code


def _lay_out(statements: Sequence[_Statement], functions: Collection[str]) -> Iterator[ProgramInstruction]:
    """The instructions at their addresses, jumps with their distances. Raises `BlockError` with the place."""
    places: dict[str, list[int]] = {}
    for number, statement in enumerate(statements):
        for name in statement.labels:
            places.setdefault(name, []).append(number)
    for number, statement in enumerate(statements):
        address = number * WORD_BYTES
        word, instruction, target = statement.word, statement.instruction, None
        symbols: tuple[str, ...] = ()
        if instruction is not None:
            symbols = instruction.symbols
            distance = None
            if instruction.target:
                target = _target(instruction.target, number, places)
                distance = 0 if target is None else target - address
            encoded = instruction.word(distance)
            if encoded is None:
                raise BlockError(
                    f"{statement.text[:60]} cannot reach so far", statement.line, statement.column
                )
            word = encoded
        step = step_at(word, address)
        if step is None:
            raise BlockError(
                f"{word:#010x} is no instruction of {NAME} that is known here",
                statement.line,
                statement.column,
            )
        if instruction is not None and instruction.target:
            step = step._replace(target=target)
        yield ProgramInstruction(
            statement.line,
            statement.text,
            step,
            statement.labels,
            symbols,
            statement.regions,
            None,
            any(label in functions for label in statement.labels),
            statement.source,
            statement.latency,
        )


def _target(name: str, number: int, places: Mapping[str, Sequence[int]]) -> int | None:
    """The address of a label; None for one outside the text.

    A number with `f` or `b` is the next or previous label of that number, a dot the jump itself.
    """
    offset = 0
    if name not in places and (match := _OFFSET.fullmatch(name)):
        name, offset = match[1].strip(), _number(match[3]) * (-1 if match[2] == "-" else 1)
    if local := _LOCAL_LABEL.fullmatch(name):
        label_places = places.get(local[1], [])
        index = bisect_right(label_places, number) - (local[2] == "b")
        place = label_places[index] if 0 <= index < len(label_places) else None
    else:
        place = number if name == "." else next(iter(places.get(name, ())), None)
    return None if place is None else place * WORD_BYTES + offset
