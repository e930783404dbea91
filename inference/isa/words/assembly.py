"""Assembly of instruction sets of words as a program: labels, directives, instructions, comments on them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, Protocol

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
from inference.isa.code.control_flow import CodeStep, Flow
from inference.isa.code.markers import RegionMarkers, split_regions
from inference.isa.code.pieces import AssemblyProgram, ProgramInstruction
from inference.isa.code.source import LinePart, SourceLine, refuse_control_characters, source_lines

_BARE_LABEL = re.compile(r"([A-Za-z_.$][\w.$]*)\s+(\S.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_.$][\w.$]*")
_NUMBER = re.compile(r"-?(?:0x[0-9a-f]{1,16}|\d{1,20})", re.IGNORECASE)
_LOCAL_LABEL = re.compile(r"(\d+)([bf])")
_OFFSET = re.compile(r"(.*[^\s+-])\s*([+-])\s*(0x[0-9a-f]+|\d+)", re.IGNORECASE | re.DOTALL)


LONG_FORM = "4 bytes"
"""Beginning of a comment on an instruction that is not compressed although it could be."""


class WordInstruction(Protocol):
    """An instruction that is read from a text."""

    @property
    def flow(self) -> Flow: ...

    @property
    def target(self) -> str:
        """The label that it jumps to, "" for another instruction or where the distance is written."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names that are taken for 0."""

    def code(self, distance: int | None = None) -> bytes | None:
        """The shortest machine code; `distance`: of the jump to its target, in bytes. None where too far."""


class AssemblySyntax(NamedTuple):
    """The assembly of an instruction set.

    Attributes:
        name: Name of the instruction set.
        read: The instructions of a statement without label and comment, usually one; with False for the
            second argument none is compressed. Raises `BlockError`.
        is_mnemonic: Whether a word is a mnemonic.
        steps_of: Decodes machine code at an address. Raises `BlockError`.
        markers: Markers of regions.
        data_bytes: {data directive whose plain numbers may be instructions: bytes of a number}.
        code_directive: The one of these that is never data.
        harmless: Further directives without effect.
        undotted: Directives of other assemblers, without a dot.
        numbers_have_hashes: Whether a `#` may begin a number and not a comment.
    """

    name: str
    read: Callable[[str, bool], Sequence[WordInstruction]]
    is_mnemonic: Callable[[str], bool]
    steps_of: Callable[[bytes, int], list[CodeStep]]
    markers: RegionMarkers
    data_bytes: Mapping[str, int]
    code_directive: str
    harmless: Collection[str] = ()
    undotted: re.Pattern[str] | None = None
    numbers_have_hashes: bool = False


@dataclass(slots=True)
class _Statement:
    """An instruction of the text, or one of a directive's `code`; fields as in `ProgramInstruction`."""

    line: int
    column: int
    text: str
    instruction: WordInstruction | None
    code: bytes
    labels: tuple[str, ...]
    regions: frozenset[int]
    source: SourcePlace | None
    latency: float | None


def program_of_lines(
    lines: list[str], first: int, syntax: AssemblySyntax, *, state: AssemblyState | None = None
) -> AssemblyProgram:
    """The program of lines with numbers from `first`. Raises `BlockError` with the place."""
    state = state or AssemblyState()
    state.begin_paragraph()
    reader = _TextReader(state, syntax)
    for line in source_lines(lines, first, numbers_have_hashes=syntax.numbers_have_hashes):
        reader.line(line)
    reader.end()
    instructions = tuple(_lay_out(reader.statements, state.functions, syntax))
    return reader.program(*split_regions(instructions, syntax.markers))


class _TextReader(AssemblyReader[_Statement]):
    """Reads the lines of assembly once, in order."""

    def __init__(self, state: AssemblyState, syntax: AssemblySyntax) -> None:
        super().__init__(state)
        self._syntax = syntax
        self._constants = state.constants
        self._distinct: set[str] = set()
        self._compression = [True]  # as `.option push` and `pop` keep it
        self._is_long = False

    def line(self, line: SourceLine) -> None:
        self._is_long = line.comment.startswith(LONG_FORM)
        super().line(line)

    def end(self) -> None:
        """Check for open regions, and jumps to data. Raises `BlockError`."""
        self.regions.end()
        for jump in self.statements if self._data else ():
            if jump.instruction is not None:
                self._refuse_jump_to_data(jump.text, jump.instruction.target, jump.line, jump.column)

    def _statement(self, part: LinePart, number: int) -> None:
        """Read a label, directive, constant or instruction."""
        text, syntax = part.text, self._syntax
        refuse_control_characters(text)
        if not part.first and not _begins_statement(text, syntax):
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
        elif syntax.undotted is not None and syntax.undotted.fullmatch(text):
            self.skipped[text.split()[0]] += 1
        else:
            self._instruction(text, part, number)

    def _begins_instruction(self, text: str) -> bool:
        return self._syntax.is_mnemonic(text.partition(" ")[0])

    def _kind_of(self, name: str) -> str:
        if name in self._syntax.harmless:
            return "harmless"
        return "data" if name in self._syntax.data_bytes else directives.kind_of(name)

    def _directive(self, name: str, arguments: str, part: LinePart, number: int) -> None:
        super()._directive(name, arguments, part, number)
        option = arguments.strip() if name == "option" else ""
        if option in ("rvc", "norvc"):
            self._compression[-1] = option == "rvc"
        elif option == "push":
            self._compression.append(self._compression[-1])
        elif option == "pop" and len(self._compression) > 1:
            self._compression.pop()

    def _constant(self, name: str, value: str) -> None:
        if _NUMBER.fullmatch(value.strip()):
            self._constants[name] = _number(value)
        self.skipped["="] += 1

    def _code_of_data(self, name: str, arguments: str) -> bytes:
        sizes = self._syntax.data_bytes
        return _bytes_of(arguments, sizes[name]) if name in sizes else b""

    def _data_directive(self, name: str, arguments: str, part: LinePart, number: int) -> None:
        if name == self._syntax.code_directive:
            self._take_data(name, arguments, self._code_of_data(name, arguments), part, number)
        else:
            super()._data_directive(name, arguments, part, number)

    def _take_data(self, name: str, arguments: str, code: bytes, part: LinePart, number: int) -> None:
        try:
            steps = self._syntax.steps_of(code, 0) if code else []
        except BlockError as error:
            raise BlockError(f".{name} puts bytes into the code that are no instructions: {error}") from None
        if not steps:
            raise BlockError(
                f".{name} puts bytes into the code, which is not supported: write whole instructions"
            )
        for step in steps:
            self._append(number, part, None, step.code)

    def _instruction(self, text: str, part: LinePart, number: int) -> None:
        if not self._sections.in_code:
            raise BlockError("an instruction in a section of data: a .text before it is missing")
        is_mnemonic = self._syntax.is_mnemonic
        bare = _BARE_LABEL.fullmatch(text)
        if bare and part.column == 1 and not is_mnemonic(bare[1]) and is_mnemonic(bare[2].split()[0]):
            self._label(bare[1], number)  # a label of armasm
            text = bare[2]
        if self._constants:
            text = _NAME.sub(self._constant_text, text)
        self._distinct.add(text)
        if len(self._distinct) > MAX_DISTINCT:
            raise BlockError(f"a text has at most {MAX_DISTINCT:,} different instructions: paste less of it")
        for instruction in self._syntax.read(text, self._compression[-1] and not self._is_long):
            self._append(number, part, instruction, b"")

    def _constant_text(self, match: re.Match[str]) -> str:
        value = self._constants.get(match[0])
        return match[0] if value is None else str(value)

    def _append(self, line: int, part: LinePart, instruction: WordInstruction | None, code: bytes) -> None:
        if len(self.statements) >= MAX_INSTRUCTIONS:
            raise BlockError(f"a text has at most {MAX_INSTRUCTIONS:,} instructions: paste less of it")
        self.statements.append(
            _Statement(
                line,
                part.column,
                part.text,
                instruction,
                code,
                tuple(self._labels),
                self.regions.inside,
                self._source.place,
                self._latencies.usual,
            )
        )
        self._labels.clear()
        falls_through = instruction is None or instruction.flow not in ("jump", "end")
        self._sections.reach_instruction(falls_through=falls_through)


def _begins_statement(text: str, syntax: AssemblySyntax) -> bool:
    """Whether the text behind a semicolon is a statement; for some assemblers it is a comment."""
    if len(text) > MAX_STATEMENT_LENGTH:
        return False
    while labelled := LABEL.fullmatch(text):
        text = labelled[2]
        if not text:
            return True
    if directive := DIRECTIVE.fullmatch(text):
        return bool(directives.kind_of(directive[1].lower()))
    if not syntax.is_mnemonic(text.split()[0]):
        return False
    try:
        instructions = syntax.read(text, True)
    except BlockError:
        return False
    return not any(instruction.symbols or " " in instruction.target for instruction in instructions)


def _number(text: str) -> int:
    digits = text.strip().lower()
    return int(digits, 16 if "0x" in digits else 10)


def _bytes_of(arguments: str, size: int) -> bytes:
    """The bytes of plain numbers of `size` bytes; b"" for anything else."""
    parts = [part.strip() for part in arguments.split(",")]
    if not all(_NUMBER.fullmatch(part) for part in parts):
        return b""
    numbers = [_number(part) for part in parts]
    if any(not 0 <= number < 1 << 8 * size for number in numbers):
        return b""
    return b"".join(number.to_bytes(size, "little") for number in numbers)


def _lay_out(
    statements: Sequence[_Statement], functions: Collection[str], syntax: AssemblySyntax
) -> Iterator[ProgramInstruction]:
    """The instructions at their addresses, jumps with their distances. Raises `BlockError` with the place."""
    places: dict[str, list[int]] = {}
    for number, statement in enumerate(statements):
        for name in statement.labels:
            places.setdefault(name, []).append(number)
    targets = [_target(statement, number, places) for number, statement in enumerate(statements)]
    codes = [_encode(statement, 0) for statement in statements]
    is_changed = True
    while is_changed:  # a jump that reaches too far for its short form moves others apart
        addresses = list(accumulate(map(len, codes), initial=0))
        is_changed = False
        for number, (statement, target) in enumerate(zip(statements, targets, strict=True)):
            if target is not None:
                place, offset = target
                code = _encode(statement, addresses[place] + offset - addresses[number])
                is_changed = is_changed or len(code) != len(codes[number])
                codes[number] = code
    for number, (statement, target) in enumerate(zip(statements, targets, strict=True)):
        try:
            (step,) = syntax.steps_of(codes[number], addresses[number])
        except BlockError as error:
            raise BlockError(str(error), statement.line, statement.column) from None
        instruction = statement.instruction
        if instruction is not None and instruction.target:
            step = step._replace(target=None if target is None else addresses[target[0]] + target[1])
        yield ProgramInstruction(
            statement.line,
            statement.text,
            step,
            statement.labels,
            () if instruction is None else instruction.symbols,
            statement.regions,
            None,
            any(label in functions for label in statement.labels),
            statement.source,
            statement.latency,
        )


def _encode(statement: _Statement, distance: int) -> bytes:
    """The code of a statement whose target is so far away. Raises `BlockError` with the place."""
    instruction = statement.instruction
    if instruction is None:
        return statement.code
    code = instruction.code(distance if instruction.target else None)
    if code is None:
        raise BlockError(f"{statement.text[:60]} cannot reach so far", statement.line, statement.column)
    return code


def _target(
    statement: _Statement, number: int, places: Mapping[str, Sequence[int]]
) -> tuple[int, int] | None:
    """The statement that one leads to, and the bytes behind it; None for one outside the text.

    A number with `f` or `b` is the next or previous label of that number, a dot the jump itself.
    """
    name, offset = statement.instruction.target if statement.instruction else "", 0
    if name not in places and (match := _OFFSET.fullmatch(name)):
        name, offset = match[1].strip(), _number(match[3]) * (-1 if match[2] == "-" else 1)
    if local := _LOCAL_LABEL.fullmatch(name):
        label_places = places.get(local[1], [])
        index = bisect_right(label_places, number) - (local[2] == "b")
        place = label_places[index] if 0 <= index < len(label_places) else None
    else:
        place = number if name == "." else next(iter(places.get(name, ())), None)
    return None if place is None else (place, offset)
