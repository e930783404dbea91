"""Assembly text as a program, statement by statement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from inference.isa.code import directives
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
from inference.isa.code.markers import split_regions
from inference.isa.code.pieces import AssemblyProgram
from inference.isa.code.source import LinePart, SourceLine, refuse_control_characters
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
    syntax_of,
    visible_syntax,
)

_PREFIXED_REGISTER = re.compile(r"%(?=[a-z])")
_ENDING = frozenset({"ret", "retq", "retf", "lret", "jmp", "jmpq", "ljmp", "ud2", "hlt", "iret", "iretq"})
_MAX_NUMBERS = 4096  # bytes of data in a row: more are a table, not code


@dataclass
class TextState(AssemblyState):
    """The effects of directives on all following text; `syntax`: "" without."""

    syntax: str = ""


def program_of_text(lines: Sequence[SourceLine], state: TextState | None = None) -> AssemblyProgram:
    """The program of assembly; `state`: of previous lines, updated. Raises `BlockError` with its place."""
    state = state or TextState()
    state.begin_paragraph()
    reader = _TextReader(_likely_syntax(lines), state)
    for line in lines:
        reader.line(line)
    reader.end()
    notes = layout.lead_to_first(reader.statements)
    instructions, marked = split_regions(lay_out(reader.statements, state.functions), layout.MARKERS)
    return reader.program(instructions, marked, notes)


def _likely_syntax(lines: Sequence[SourceLine]) -> str:
    """The syntax of the first instruction that shows one, for instructions that are valid in both."""
    for line in lines:
        for part in line.parts:
            text = part.text[:MAX_STATEMENT_LENGTH]
            while labelled := LABEL.fullmatch(text):
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


class _TextReader(AssemblyReader[Statement]):
    """Reads the lines of assembly of x86-64 once, in order."""

    def __init__(self, likely_syntax: str, state: TextState) -> None:
        super().__init__(state)
        self.state = state
        self._likely_syntax = likely_syntax
        self._instructions: dict[str, _ReadInstruction] = {}
        self._prefixes: tuple[str, ...] = ()
        self._prefixed_at = (0, 0)
        self._distinct_count = 0

    def end(self) -> None:
        """Check for open prefixes and regions, and jumps to data. Raises `BlockError`."""
        if self._prefixes:
            raise BlockError(f"no instruction follows {' '.join(self._prefixes)}", *self._prefixed_at)
        self.regions.end()
        for jump in self.statements if self._data else ():
            if jump.jump is not None:
                self._refuse_jump_to_data(jump.text, jump.target.label, jump.line, jump.column)

    def _statement(self, part: LinePart, number: int) -> None:
        """Read a label, directive, constant or instruction; a repeated instruction comes from the cache."""
        text = part.text
        if text in self._instructions and not self._prefixes and self._sections.in_code:
            self._append(number, part.column, text, self._instructions[text])
            return
        refuse_control_characters(text)
        if len(text) > MAX_STATEMENT_LENGTH and text[0] != "." and part.first:
            raise BlockError(f"an instruction has at most {MAX_INSTRUCTION_LENGTH} characters")
        if not part.first and not self._can_be_statement(text):
            self.remarks.append(number)
            return
        if part.first and self._is_heading(text):
            return
        while ":" in text and not self._prefixes and (labelled := LABEL.fullmatch(text)):
            self._label(labelled[1].strip('"<>'), number)
            text = labelled[2]
        if not text:
            return
        if text[-1] == ":" and self._is_demangled_label(text):
            self._label(text[:-1].strip(), number)
        elif text[0] == "." and (directive := DIRECTIVE.fullmatch(text)):
            self._directive(directive[1].lower(), directive[2], part, number)
        elif "=" in text and (constant := CONSTANT.fullmatch(text)):
            self._constant(constant[1], constant[2])
        elif not begins_instruction(text) and directives.is_undotted(text):
            self._undotted_directive(text, number)
        else:
            self._instruction(text, part, number)

    def _can_be_statement(self, text: str) -> bool:
        """Whether the text behind a semicolon is a statement; else it is a comment."""
        if len(text) > MAX_STATEMENT_LENGTH:
            return False
        while labelled := LABEL.fullmatch(text):
            text = labelled[2]
            if not text:
                return True
        if directive := DIRECTIVE.fullmatch(text):
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

    def _begins_instruction(self, text: str) -> bool:
        return begins_instruction(text)

    # ------------------------------------------------------------------- directives

    def _directive(self, name: str, arguments: str, part: LinePart, number: int) -> None:
        if name in ("intel_syntax", "att_syntax"):
            self.state.syntax = name.partition("_")[0]
            self._instructions.clear()
        super()._directive(name, arguments, part, number)

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

    def _code_of_data(self, name: str, arguments: str) -> bytes:
        return bytes_of(arguments) if name == "byte" else b""

    def _take_data(self, name: str, arguments: str, code: bytes, part: LinePart, number: int) -> None:
        if code:
            self._numbers(code, f".byte {arguments}", part, number)
            return
        exception = "" if name != "byte" else " other than plain numbers"
        raise BlockError(
            f".{name}{exception} puts bytes into the code, which is not supported: write them as .byte 0x90, "
            "0x90 or as instructions"
        )

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
            is_code = "executable" in text.lower().split()  # FASM's have no names
            self._sections.directive("section", ".text" if is_code else text.partition(" ")[2])
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
