"""Assembly of AArch64 as a program: labels, directives, instructions and the comments on them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inference.isa.aarch64 import NAME
from inference.isa.aarch64.blocks import step_at
from inference.isa.aarch64.decoding import WORD_BYTES
from inference.isa.aarch64.statements import ReadInstruction, is_mnemonic, read_instruction
from inference.isa.code import directives
from inference.isa.code.annotations import LatencyComments, SourceComments, SourcePlace
from inference.isa.code.block import BlockError, DroppedLine, dropped_line
from inference.isa.code.markers import RegionMarkers, split_regions
from inference.isa.code.pieces import AssemblyProgram, ProgramInstruction
from inference.isa.code.sections import Sections
from inference.isa.code.source import LinePart, Regions, SourceLine, refuse_control_characters, source_lines

MAX_INSTRUCTIONS = 50_000  # of a text
MAX_DISTINCT = 10_000  # instructions, each of which is read in a tenth of a millisecond
_MAX_STATEMENT_LENGTH = 2000  # characters, labels included

_LABEL = re.compile(r"(\"[^\"]+\"|[\w.$?@]+)\s*:(?!:)\s*(.*)", re.DOTALL)
_BARE_LABEL = re.compile(r"([A-Za-z_.$][\w.$]*)\s+(\S.*)", re.DOTALL)
_DIRECTIVE = re.compile(r"\.([A-Za-z0-9_.]+)\s*(.*)", re.DOTALL)
_CONSTANT = re.compile(r"([A-Za-z_.$][\w.$]*)\s*==?\s*(.+)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_.$][\w.$]*")
_NUMBER = re.compile(r"-?(?:0x[0-9a-f]{1,16}|\d{1,20})", re.IGNORECASE)
_FUNCTION = re.compile(r"\s*([^\s,]+)\s*,\s*[@%]function")
_LOCAL_LABEL = re.compile(r"(\d+)([bf])")
_OFFSET = re.compile(r"(.*[^\s+-])\s*([+-])\s*(0x[0-9a-f]+|\d+)", re.IGNORECASE | re.DOTALL)

_HARMLESS = frozenset("cpu arch_extension variant_pcs tlsdesccall ltorg pool aeabi_subsection".split())  # noqa: SIM905
_CONSTANTS = ("set", "equ", "equiv", "eqv")
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


@dataclass
class AssemblyState:
    """The effects of directives on all following text, in other paragraphs too."""

    sections: Sections = field(default_factory=Sections)
    constants: dict[str, int] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    source: SourceComments = field(default_factory=SourceComments)
    latencies: LatencyComments = field(default_factory=LatencyComments)


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
    state.sections.begin_paragraph()
    state.latencies.notes.clear()
    reader = _TextReader(state)
    for line in source_lines(lines, first, numbers_have_hashes=True):
        reader.line(line)
    reader.regions.end()
    instructions, marked = split_regions(tuple(_lay_out(reader.statements, state.functions)), MARKERS)
    return AssemblyProgram(
        instructions,
        dict(reader.skipped),
        tuple(reader.remarks),
        reader.regions.names or marked,
        tuple(reader.dropped),
        tuple(state.latencies.notes),
    )


class _TextReader:
    """Reads the lines once, in order."""

    def __init__(self, state: AssemblyState) -> None:
        self.statements: list[_Statement] = []
        self.skipped: Counter[str] = Counter()
        self.remarks: list[int] = []
        self.dropped: list[DroppedLine] = []
        self.regions = Regions()
        self._state = state
        self._sections = state.sections
        self._labels: list[str] = []
        self._lines_of_labels: dict[str, int] = {}
        self._distinct: set[str] = set()

    def line(self, line: SourceLine) -> None:
        before, remarks = len(self.statements), len(self.remarks)
        for part in line.parts:
            try:
                self._statement(part, line.number)
            except BlockError as error:
                raise error.at(line.number, part.column) from None
        if line.comment:
            self.regions.read_comment(line.comment, line.number)
        if line.comment or len(self.remarks) > remarks:
            self._annotate(line, before, remarks)

    def _annotate(self, line: SourceLine, before: int, remarks: int) -> None:
        """Read latencies and source lines in the comments of a line with statements from `before` on."""
        statements = self.statements[before:]
        if latency := self._state.latencies.read(line.raw, line.number, has_instruction=bool(statements)):
            del self.remarks[remarks:]  # it is not ignored
            if latency.own is not None:
                statements[-1].latency = latency.own
            return
        comment = line.comment if line.comment and len(self.remarks) == remarks else line.raw.strip()
        if source := self._state.source.read(comment, has_instruction=bool(statements)):
            for statement in statements:
                statement.source = source

    def _statement(self, part: LinePart, number: int) -> None:
        """Read a label, directive, constant or instruction."""
        text = part.text
        refuse_control_characters(text)
        if not part.first and not _begins_statement(text):
            self.remarks.append(number)
            return
        if len(text) > _MAX_STATEMENT_LENGTH and not text.startswith("."):
            raise BlockError(f"a statement has at most {_MAX_STATEMENT_LENGTH:,} characters")
        while len(text) <= _MAX_STATEMENT_LENGTH and (labelled := _LABEL.fullmatch(text)):
            self._label(labelled[1].strip('"'), number)
            text = labelled[2]
        if not text:
            return
        if directive := _DIRECTIVE.fullmatch(text):
            self._directive(directive[1].lower(), directive[2], part, number)
        elif constant := _CONSTANT.fullmatch(text):
            self._constant(constant[1], constant[2])
        elif _ARMASM.fullmatch(text):
            self.skipped[text.split()[0]] += 1
        else:
            self._instruction(text, part, number)

    def _label(self, name: str, number: int) -> None:
        if not name.isdigit():
            if name in self._lines_of_labels:
                line = self._lines_of_labels[name]
                raise BlockError(f"the label {name[:40]} stands in line {line} already")
            self._lines_of_labels[name] = number
        self._labels.append(name)
        self._sections.reach_label()

    def _directive(self, name: str, arguments: str, part: LinePart, number: int) -> None:
        """Obey a directive that changes symbols or sections, and count it as skipped otherwise."""
        kind = "harmless" if name in _HARMLESS else directives.kind_of(name)
        if kind == "refused":
            raise BlockError(
                f".{name} repeats, includes or guards code, which is not supported: paste the resulting code"
            )
        if not kind:
            raise BlockError(f"unknown directive .{name[:40]}")
        if kind == "data":
            self._data(name, arguments, part, number)
            return
        if name in _CONSTANTS:
            constant, _, value = arguments.partition(",")
            self._constant(constant.strip(), value)
            return
        if name == "type" and (function := _FUNCTION.match(arguments)):
            self._state.functions.add(function[1])
        else:
            self._state.source.directive(name, arguments)
            self._sections.directive(name, arguments)
        self.skipped[f".{name}"] += 1

    def _constant(self, name: str, value: str) -> None:
        if _NUMBER.fullmatch(value.strip()):
            self._state.constants[name] = _number(value)
        self.skipped["="] += 1

    def _data(self, name: str, arguments: str, part: LinePart, number: int) -> None:
        """Skip data that no instruction runs into; take plain words between instructions as code."""
        words = _words(arguments, _WORDS[name]) if name in _WORDS else []
        if name != "inst" and self._sections.data_is_unreachable(bool(self._labels)):
            if words and self._sections.in_code:
                self.dropped.append(dropped_line(number, part.text, "is data that no instruction runs into"))
            else:
                self.skipped[f".{name}"] += 1
            self._labels.clear()
            return
        if not words:
            raise BlockError(
                f".{name} puts bytes into the code, which is not supported: "
                "write whole words, such as .inst 0xd503201f"
            )
        for word in words:
            self._append(number, part, None, word)

    def _instruction(self, text: str, part: LinePart, number: int) -> None:
        if not self._sections.in_code:
            raise BlockError("an instruction in a section of data: a .text before it is missing")
        bare = _BARE_LABEL.fullmatch(text)
        if bare and part.column == 1 and not is_mnemonic(bare[1]) and is_mnemonic(bare[2].split()[0]):
            self._label(bare[1], number)  # a label of armasm
            text = bare[2]
        if self._state.constants:
            text = _NAME.sub(self._constant_text, text)
        self._distinct.add(text)
        if len(self._distinct) > MAX_DISTINCT:
            raise BlockError(f"a text has at most {MAX_DISTINCT:,} different instructions: paste less of it")
        self._append(number, part, read_instruction(text), 0)

    def _constant_text(self, match: re.Match[str]) -> str:
        value = self._state.constants.get(match[0])
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
                self._state.source.place,
                self._state.latencies.usual,
            )
        )
        self._labels.clear()
        falls_through = instruction is None or instruction.form.encoding.flow not in ("jump", "end")
        self._sections.reach_instruction(falls_through=falls_through)


def _begins_statement(text: str) -> bool:
    """Whether the text behind a semicolon is a statement; for Apple and armasm it is a comment."""
    if len(text) > _MAX_STATEMENT_LENGTH:
        return False
    while labelled := _LABEL.fullmatch(text):
        text = labelled[2]
        if not text:
            return True
    if directive := _DIRECTIVE.fullmatch(text):
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


def _words(arguments: str, size: int) -> list[int]:
    """The words of plain numbers of `size` bytes; empty for anything else."""
    parts = [part.strip() for part in arguments.split(",")]
    if not all(_NUMBER.fullmatch(part) for part in parts):
        return []
    numbers = [_number(part) for part in parts]
    if any(not 0 <= number < 1 << 8 * size for number in numbers):
        return []
    code = b"".join(number.to_bytes(size, "little") for number in numbers)
    if len(code) % WORD_BYTES:
        return []
    return [int.from_bytes(code[at : at + WORD_BYTES], "little") for at in range(0, len(code), WORD_BYTES)]


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
