"""What assembly of all instruction sets has in common: labels, directives, comments, regions.

Subclasses of `AssemblyReader` read the instructions.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from inference.isa.code import directives
from inference.isa.code.annotations import LatencyComments, SourceComments, SourcePlace
from inference.isa.code.block import BlockError, DroppedLine, dropped_line
from inference.isa.code.pieces import AssemblyProgram, ProgramInstruction
from inference.isa.code.sections import Sections
from inference.isa.code.source import LinePart, Regions, SourceLine

MAX_INSTRUCTIONS = 50_000  # of a text
MAX_DISTINCT = 10_000  # instructions, each of which is encoded once
MAX_STATEMENT_LENGTH = 2000
"""Characters, except of directives, labels included; compilers' names of functions can be long."""

LABEL = re.compile(r"(\"[^\"]+\"|<[^<>\n]+>(?=:)|[\w.$?@]+)\s*:(?!:)\s*(.*)", re.DOTALL)
DIRECTIVE = re.compile(r"\.([A-Za-z0-9_.]+)\s*(.*)", re.DOTALL)
CONSTANT = re.compile(r"([A-Za-z_.$?@][\w.$?@]*)\s*==?\s*(.+)", re.DOTALL)
_HEADING = re.compile(r".*:\s+file format [\w-]+|Disassembly of section \S+:")
"""Of objdump without addresses and bytes."""

_DEMANGLED_LABEL = re.compile(r"[^.\s\"'][^\"'(:<~ ]*[(:<~ ].*:")
_ARGUMENTS = re.compile(r"[(<]")
_FUNCTION = re.compile(r"\s*\"?([^\s,\"]+)\"?\s*,\s*[@%\"]?(?:function|STT_FUNC|gnu_indirect_function)")


@dataclass
class AssemblyState:
    """The effects of directives on all following text, in other paragraphs too."""

    sections: Sections = field(default_factory=Sections)
    constants: dict[str, int] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    source: SourceComments = field(default_factory=SourceComments)
    latencies: LatencyComments = field(default_factory=LatencyComments)

    def begin_paragraph(self) -> None:
        self.sections.begin_paragraph()
        self.latencies.notes.clear()


class AssemblyStatement(Protocol):
    """An instruction whose comments may follow it; fields as in `ProgramInstruction`."""

    source: SourcePlace | None
    latency: float | None


StatementT = TypeVar("StatementT", bound=AssemblyStatement)


class AssemblyReader(ABC, Generic[StatementT]):
    """Reads the lines once, in order."""

    def __init__(self, state: AssemblyState) -> None:
        self.statements: list[StatementT] = []
        self.skipped: Counter[str] = Counter()
        self.remarks: list[int] = []
        self.dropped: list[DroppedLine] = []
        self.regions = Regions()
        self._functions = state.functions
        self._source, self._latencies = state.source, state.latencies
        self._sections = state.sections
        self._labels: list[str] = []
        self._data: dict[str, int] = {}  # {label of data among code: its line}
        self._lines_of_labels: dict[str, int] = {}

    @abstractmethod
    def _statement(self, part: LinePart, number: int) -> None:
        """Read the statements of a part of a line. Raises `BlockError`."""

    @abstractmethod
    def _begins_instruction(self, text: str) -> bool:
        """Whether the first word of a statement is a mnemonic."""

    @abstractmethod
    def _constant(self, name: str, value: str) -> None:
        """Read the assignment of a number to a name."""

    @abstractmethod
    def _code_of_data(self, name: str, arguments: str) -> bytes:
        """The code that plain numbers of a directive may stand for, b"" for none."""

    @abstractmethod
    def _take_data(self, name: str, arguments: str, code: bytes, part: LinePart, number: int) -> None:
        """Take the numbers of a directive as instructions. Raises `BlockError` for other data."""

    def line(self, line: SourceLine) -> None:
        before, remarks = len(self.statements), len(self.remarks)
        for part in line.parts:
            try:
                self._statement(part, line.number)
            except BlockError as error:
                raise error.at(line.number, part.column + max(error.column - 1, 0)) from None
        if line.comment:
            self.regions.read_comment(line.comment, line.number)
        if line.comment or len(self.remarks) > remarks:
            self._annotate(line, before, remarks)

    def program(
        self, instructions: Sequence[ProgramInstruction], marked: Sequence[str], notes: Sequence[str] = ()
    ) -> AssemblyProgram:
        """The program; `marked`: the regions between marking instructions."""
        return AssemblyProgram(
            tuple(instructions),
            dict(self.skipped),
            tuple(self.remarks),
            self.regions.names or tuple(marked),
            tuple(self.dropped),
            (*self._latencies.notes, *notes),
        )

    def _annotate(self, line: SourceLine, before: int, remarks: int) -> None:
        """Read latencies and source lines in the comments of a line.

        Args:
            before, remarks: Numbers of statements and remarks before the line.
        """
        statements = self.statements[before:]
        if latency := self._latencies.read(line.raw, line.number, has_instruction=bool(statements)):
            del self.remarks[remarks:]  # it is not ignored
            if latency.own is not None:
                statements[-1].latency = latency.own
            return
        comment = line.comment if line.comment and len(self.remarks) == remarks else line.raw.strip()
        if source := self._source.read(comment, has_instruction=bool(statements)):
            for statement in statements:
                statement.source = source

    def _is_heading(self, text: str) -> bool:
        """Count and skip a heading of a disassembler."""
        if ":" not in text or not _HEADING.fullmatch(text):
            return False
        self.skipped["heading"] += 1
        return True

    def _is_demangled_label(self, text: str) -> bool:
        name = _ARGUMENTS.split(text, maxsplit=1)[0]
        return (
            bool(_DEMANGLED_LABEL.fullmatch(text)) and "," not in name and not self._begins_instruction(name)
        )

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
        kind = self._kind_of(name)
        if kind == "refused":
            raise BlockError(
                f".{name} repeats, includes or guards code, which is not supported: paste the resulting code"
            )
        if not name.strip("."):
            raise BlockError("dots stand for missing code: paste all of it, or less")
        if not kind:
            raise BlockError(f"unknown directive .{name[:40]}")
        if kind == "data":
            self._data_directive(name, arguments, part, number)
            return
        if name in ("set", "equ", "equiv", "eqv"):
            constant, *values = arguments.split(",")
            if len(values) == 1:
                self._constant(constant.strip(), values[0])
            else:
                self.skipped["="] += 1
            return
        if name == "type" and (function := _FUNCTION.match(arguments)):
            self._functions.add(function[1])
        else:
            self._source.directive(name, arguments)
            self._sections.directive(name, arguments)
        self.skipped[f".{name}"] += 1

    def _kind_of(self, name: str) -> str:
        """The kind of a directive; instruction sets have harmless ones of their own."""
        return directives.kind_of(name)

    def _data_directive(self, name: str, arguments: str, part: LinePart, number: int) -> None:
        """Skip data that no instruction runs into; take plain numbers between instructions as code."""
        code = self._code_of_data(name, arguments)
        begins_code = bool(code) and not self.statements and self._sections.in_code
        if not begins_code and self._sections.data_is_unreachable(bool(self._labels)):
            if code and self._sections.in_code:
                self.dropped.append(dropped_line(number, part.text, "is data that no instruction runs into"))
            else:
                self.skipped[f".{name}"] += 1
            self._skip_data(number)
            return
        self._take_data(name, arguments, code, part, number)

    def _skip_data(self, number: int) -> None:
        """Data that is never executed; jumps to it are errors."""
        if self._sections.in_code:
            self._data.update((label, number) for label in self._labels)
        self._labels.clear()

    def _refuse_jump_to_data(self, text: str, target: str, line: int, column: int) -> None:
        if target in self._data:
            raise BlockError(f"{text} leads to the data in line {self._data[target]}", line, column)
