"""Assembly text as a program, statement by statement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from inference.isa.code import directives
from inference.isa.code.annotations import LatencyComments, SourceComments
from inference.isa.code.block import BlockError, DroppedLine, dropped_line
from inference.isa.code.markers import split_regions
from inference.isa.code.pieces import AssemblyProgram
from inference.isa.code.sections import Sections
from inference.isa.code.source import LinePart, Regions, SourceLine, refuse_control_characters
from inference.isa.x86.assembly import layout
from inference.isa.x86.assembly.layout import Statement, StatementContent, content_of, lay_out
from inference.isa.x86.assembly.operands import (
    TargetOperand,
    WrittenInstruction,
    bytes_of,
    mentions_register,
    sum_of,
)
from inference.isa.x86.assembly.statements import (
    MAX_INSTRUCTION_LENGTH,
    begins_instruction,
    read_statement,
    split_operands,
    syntax_of,
    visible_syntax,
)

MAX_INSTRUCTIONS = 50_000  # of a text
MAX_DISTINCT = 10_000  # instructions, each of which is encoded once

_LABEL = re.compile(r"(\"[^\"]+\"|<[^<>\n]+>(?=:)|[\w.$?@]+)\s*:(?!:)\s*(.*)", re.DOTALL)
_HEADING = re.compile(r".*:\s+file format [\w-]+|Disassembly of section \S+:")
"""Of objdump without addresses and bytes."""

_DEMANGLED_LABEL = re.compile(r"[^.\s\"'][^\"'(:<~ ]*[(:<~ ].*:")
_ARGUMENTS = re.compile(r"[(<]")
_CONSTANT = re.compile(r"([A-Za-z_.$?@][\w.$?@]*)\s*==?\s*(.+)", re.DOTALL)
_DIRECTIVE = re.compile(r"\.([A-Za-z0-9_.]+)\s*(.*)", re.DOTALL)
_FUNCTION = re.compile(r"\s*\"?([^\s,\"]+)\"?\s*,\s*[@%\"]?(?:function|STT_FUNC|gnu_indirect_function)")
_PREFIXED_REGISTER = re.compile(r"%(?=[a-z])")
_ENDING = frozenset({"ret", "retq", "retf", "lret", "jmp", "jmpq", "ljmp", "ud2", "hlt", "iret", "iretq"})
_MAX_STATEMENT_LENGTH = 2000
"""Characters, except of directives, labels included; compilers' names of functions can be long."""

_MAX_NUMBERS = 4096  # bytes of data in a row: more are a table, not code


@dataclass
class TextState:
    """The effects of directives on all following text, in other paragraphs too. `syntax`: "" without."""

    syntax: str = ""
    sections: Sections = field(default_factory=Sections)
    constants: dict[str, int] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    source: SourceComments = field(default_factory=SourceComments)
    latencies: LatencyComments = field(default_factory=LatencyComments)


def program_of_text(lines: Sequence[SourceLine], state: TextState | None = None) -> AssemblyProgram:
    """The program of assembly; `state`: of previous lines, updated. Raises `BlockError` with its place."""
    state = state or TextState()
    state.sections.begin_paragraph()
    state.latencies.notes.clear()
    reader = _TextReader(_likely_syntax(lines), state)
    for line in lines:
        reader.line(line)
    reader.end()
    notes = layout.lead_to_first(reader.statements)
    instructions, marked = split_regions(lay_out(reader.statements, state.functions), layout.MARKERS)
    regions = reader.regions.names or marked
    return AssemblyProgram(
        instructions,
        dict(reader.skipped),
        tuple(reader.remarks),
        regions,
        tuple(reader.dropped),
        (*state.latencies.notes, *notes),
    )


def _likely_syntax(lines: Sequence[SourceLine]) -> str:
    """The syntax of the first instruction that shows one, for instructions that are valid in both."""
    for line in lines:
        for part in line.parts:
            text = part.text[:_MAX_STATEMENT_LENGTH]
            while labelled := _LABEL.fullmatch(text):
                text = labelled[2]
            if begins_instruction(text) and (syntax := visible_syntax(text)):
                return syntax
    return "intel"


class _ReadInstruction(NamedTuple):
    """A parsed instruction, and whether the next one can be reached from it."""

    written: WrittenInstruction
    content: StatementContent
    falls_through: bool = True


@lru_cache(maxsize=1 << 14)
def _read_once(text: str, syntax: str) -> _ReadInstruction:
    """A cached instruction without constants. Raises `BlockError`."""
    return _read(text, syntax, {})


def _read(text: str, syntax: str, constants: dict[str, int]) -> _ReadInstruction:
    written = read_statement(text, syntax, constants)
    if not written.mnemonic:
        return _ReadInstruction(written, StatementContent())
    return _ReadInstruction(written, content_of(written), written.mnemonic not in _ENDING)


class _TextReader:
    """Reads the lines once, in order."""

    def __init__(self, likely_syntax: str, state: TextState) -> None:
        self.state = state
        self.statements: list[Statement] = []
        self.skipped: Counter[str] = Counter()
        self.remarks: list[int] = []
        self.dropped: list[DroppedLine] = []
        self.regions = Regions()
        self._source, self._latencies = state.source, state.latencies
        self._sections = state.sections
        self._likely_syntax = likely_syntax
        self._instructions: dict[str, _ReadInstruction] = {}
        self._labels: list[str] = []
        self._data: dict[str, int] = {}  # {label of data among code: its line}
        self._lines_of_labels: dict[str, int] = {}
        self._prefixes: tuple[str, ...] = ()
        self._prefixed_at = (0, 0)
        self._distinct_count = 0

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

    def _annotate(self, line: SourceLine, before: int, remarks: int) -> None:
        """Read latencies and source lines in the comments of a line.

        `before`, `remarks`: numbers of statements and remarks before the line.
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

    def end(self) -> None:
        """Check for open prefixes and regions, and jumps to data. Raises `BlockError`."""
        if self._prefixes:
            raise BlockError(f"no instruction follows {' '.join(self._prefixes)}", *self._prefixed_at)
        self.regions.end()
        for jump in self.statements if self._data else ():
            if jump.jump is not None and (line := self._data.get(jump.target.label)):
                raise BlockError(f"{jump.text} leads to the data in line {line}", jump.line, jump.column)

    def _statement(self, part: LinePart, number: int) -> None:
        """Read a label, directive, constant or instruction; a repeated instruction comes from the cache."""
        text = part.text
        if text in self._instructions and not self._prefixes and self._sections.in_code:
            self._append(number, part.column, text, self._instructions[text])
            return
        refuse_control_characters(text)
        if len(text) > _MAX_STATEMENT_LENGTH and text[0] != "." and part.first:
            raise BlockError(f"an instruction has at most {MAX_INSTRUCTION_LENGTH} characters")
        if not part.first and not self._can_be_statement(text):
            self.remarks.append(number)
            return
        if ":" in text and part.first and _HEADING.fullmatch(text):
            self.skipped["heading"] += 1
            return
        while ":" in text and not self._prefixes and (labelled := _LABEL.fullmatch(text)):
            self._label(labelled[1].strip('"<>'), number)
            text = labelled[2]
        if not text:
            return
        if text[-1] == ":" and self._is_demangled_label(text):
            self._label(text[:-1].strip(), number)
        elif text[0] == "." and (directive := _DIRECTIVE.fullmatch(text)):
            self._directive(directive[1].lower(), directive[2], part, number)
        elif "=" in text and (constant := _CONSTANT.fullmatch(text)):
            self._constant(constant[1], constant[2])
        elif not begins_instruction(text) and directives.is_undotted(text):
            self._undotted_directive(text, number)
        else:
            self._instruction(text, part, number)

    def _can_be_statement(self, text: str) -> bool:
        """Whether the text behind a semicolon is a statement; else it is a comment."""
        if len(text) > _MAX_STATEMENT_LENGTH:
            return False
        while labelled := _LABEL.fullmatch(text):
            text = labelled[2]
            if not text:
                return True
        if directive := _DIRECTIVE.fullmatch(text):
            return bool(directives.kind_of(directive[1].lower()))
        if directives.is_refused_undotted(text) and '"' in text:
            return True
        return begins_instruction(text) and self._can_be_instruction(text)

    def _can_be_instruction(self, text: str) -> bool:
        try:
            jump = self._read(text).content.jump
        except BlockError:
            return bool(visible_syntax(text))  # it has registers or the like: an instruction, and a wrong one
        return jump is None or not any(
            " " in operand.label for operand in jump.operands if isinstance(operand, TargetOperand)
        )

    def _is_demangled_label(self, text: str) -> bool:
        name = _ARGUMENTS.split(text, maxsplit=1)[0]
        return bool(_DEMANGLED_LABEL.fullmatch(text)) and "," not in name and not begins_instruction(name)

    def _label(self, name: str, number: int) -> None:
        if not name.isdigit():
            if name in self._lines_of_labels:
                line = self._lines_of_labels[name]
                raise BlockError(f"the label {name[:40]} stands in line {line} already")
            self._lines_of_labels[name] = number
        self._labels.append(name)
        self._sections.reach_label()

    # ------------------------------------------------------------------- directives

    def _directive(self, name: str, arguments: str, part: LinePart, number: int) -> None:
        """Obey a directive that changes syntax, symbols or sections, and count it as skipped otherwise."""
        kind = directives.kind_of(name)
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
        if name in ("intel_syntax", "att_syntax"):
            self.state.syntax = name.partition("_")[0]
            self._instructions.clear()
        elif name in ("set", "equ", "equiv", "eqv"):
            self._set(arguments)
            return
        elif name == "type" and (function := _FUNCTION.match(arguments)):
            self.state.functions.add(function[1])
        else:
            self._source.directive(name, arguments)
            self._sections.directive(name, arguments)
        self.skipped[f".{name}"] += 1

    def _set(self, arguments: str) -> None:
        name, *values = split_operands(arguments)
        if len(values) == 1:
            self._constant(name.strip(), values[0])
        else:
            self.skipped["="] += 1

    def _constant(self, name: str, value: str) -> None:
        if mentions_register(f"{name} {value}"):
            raise BlockError(f"{name} = {value[:40]}: registers cannot be renamed or assigned")
        try:
            total = sum_of(value, self.state.constants)
        except BlockError:
            total = None
        if total is not None and not total.symbol:
            self.state.constants[name] = total.value
            self._instructions.clear()
        self.skipped["="] += 1

    def _data_directive(self, name: str, arguments: str, part: LinePart, number: int) -> None:
        """Skip data that no instruction runs into; take plain bytes between instructions as code."""
        code = bytes_of(arguments) if name == "byte" else b""
        begins_code = bool(code) and not self.statements and self._sections.in_code
        if not begins_code and self._sections.data_is_unreachable(bool(self._labels)):
            if code and self._sections.in_code:
                self.dropped.append(dropped_line(number, part.text, "is data that no instruction runs into"))
            else:
                self.skipped[f".{name}"] += 1
            self._skip_data(number)
            return
        if code:
            self._numbers(code, f".byte {arguments}", part, number)
            return
        exception = "" if name != "byte" else " other than plain numbers"
        raise BlockError(
            f".{name}{exception} puts bytes into the code, which is not supported: write them as .byte 0x90, "
            "0x90 or as instructions"
        )

    def _skip_data(self, number: int) -> None:
        """Data that is never executed; jumps to it are errors."""
        if self._sections.in_code:
            self._data.update((label, number) for label in self._labels)
        self._labels.clear()

    def _undotted_directive(self, text: str, number: int) -> None:
        """A directive in the syntax of NASM, MASM or IDA."""
        word, *arguments = text.split(maxsplit=2)
        if directives.is_refused_undotted(text):
            word = " ".join([word, *arguments]) if arguments[:1] and arguments[0].lower() == "proc" else word
            raise BlockError(
                f"{word.lower()[:40]} repeats or includes code, which is not supported: "
                "paste the resulting code"
            )
        if directives.is_undotted_data(text):
            is_labelled = bool(self._labels) or directives.is_named_data(text)
            if mentions_register(text) or not self._sections.data_is_unreachable(is_labelled):
                raise BlockError(
                    f"{word} puts bytes into the code, which is not supported: write them as .byte 0x90"
                )
            self._skip_data(number)
        elif word.lower() in ("section", "segment"):
            self._sections.directive("section", text.partition(" ")[2])
        elif arguments and arguments[0].lower() == "segment":
            self._sections.directive("section", word)
        self.skipped[word] += 1

    # ------------------------------------------------------------------- code

    def _numbers(self, code: bytes, text: str, part: LinePart, number: int) -> None:
        """Bytes in place of instructions, joined with previous ones, whose last instruction may continue."""
        if self._prefixes:
            words = " ".join(self._prefixes)
            raise BlockError(f"{words} stands before numbers: write the prefix as a number, too")
        last = self.statements[-1] if self.statements else None
        if last is not None and last.is_numbers and not self._labels:
            last.code += code
            last.text += f", {text.removeprefix('.byte').strip()}"
        else:
            numbers = _ReadInstruction(WrittenInstruction(""), StatementContent(code))
            self._append(number, part.column, text, numbers)
            last = self.statements[-1]
            last.is_numbers = True
        if len(last.code) > _MAX_NUMBERS:
            raise BlockError(f".byte has more than {_MAX_NUMBERS:,} numbers in a row")

    def _instruction(self, text: str, part: LinePart, number: int) -> None:
        """Encode an instruction; a prefix on a line of its own belongs to the next instruction."""
        if not self._sections.in_code:
            raise BlockError("an instruction in a section of data: a .text before it is missing")
        self._distinct_count += 1
        if self._distinct_count > MAX_DISTINCT:
            raise BlockError(f"a text has at most {MAX_DISTINCT:,} different instructions: paste less of it")
        parsed = self._read(f"{text} {layout.FIRST}" if layout.BARE_JUMP.fullmatch(text) else text)
        if not parsed.written.mnemonic:
            self._prefixes += parsed.written.prefixes
            self._prefixed_at = (number, part.column)
            return
        if self._prefixes:
            written = parsed.written._replace(prefixes=(*self._prefixes, *parsed.written.prefixes))
            self._prefixes = ()
            parsed = parsed._replace(written=written, content=content_of(written))
        else:
            self._instructions[text] = parsed
        self._append(number, part.column, text, parsed)

    def _append(self, line: int, column: int, text: str, parsed: _ReadInstruction) -> None:
        if len(self.statements) >= MAX_INSTRUCTIONS:
            raise BlockError(f"a text has at most {MAX_INSTRUCTIONS:,} instructions: paste less of it")
        content = parsed.content
        self.statements.append(
            Statement(
                line,
                column,
                text,
                tuple(self._labels),
                content.code,
                content.jump,
                content.symbols,
                self.regions.inside,
                source=self._source.place,
                latency=self._latencies.usual,
            )
        )
        self._labels.clear()
        self._sections.reach_instruction(falls_through=parsed.falls_through)

    def _read(self, text: str) -> _ReadInstruction:
        if self.state.syntax == "intel" and "%" in text:
            text = _PREFIXED_REGISTER.sub("", text)  # .intel_syntax prefix
        syntax = self.state.syntax or syntax_of(text, self._likely_syntax)
        return _read(text, syntax, self.state.constants) if self.state.constants else _read_once(text, syntax)
