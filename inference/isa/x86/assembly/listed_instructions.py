"""One line of a listing as an instruction: by its bytes where they are shown, else by its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

from iced_x86 import Decoder, Instruction, OpKind, Register, RegisterExt

from inference.isa.code.assembly_reader import MAX_DISTINCT
from inference.isa.code.block import BlockError
from inference.isa.code.listed_program import ListedPlace
from inference.isa.code.listings import ListedLine, NumberedLines
from inference.isa.code.pieces import ProgramInstruction
from inference.isa.code.source import refuse_control_characters
from inference.isa.x86.assembly.layout import (
    NEAR,
    SHORT,
    Statement,
    StatementContent,
    content_of,
    lay_out,
    place_at,
)
from inference.isa.x86.assembly.mnemonics import att_readings, exchange_reversed, readings
from inference.isa.x86.assembly.operands import MemoryOperand, WrittenInstruction, is_vector, registers
from inference.isa.x86.assembly.prefixes import is_prefix
from inference.isa.x86.assembly.statements import read_statement, visible_syntax
from inference.isa.x86.forms import MNEMONICS
from inference.isa.x86.iced_types import RegisterValue

_IN_IDA = re.compile(  # bounded: a line of at most 1,000 characters
    r"(?P<name>[A-Za-z_]\w*)\s*=\s*(?:\w+\s+)?ptr\s+(?P<place>-?[0-9A-Fa-f]+)h?\s*(?:;.*)?"
)
_IN_RADARE2 = re.compile(
    r"\W*;\s*(?:var|arg)\b.{0,200}?\b(?P<name>\w+)\s*@\s*(?P<place>r[bs]p\s*[+-]\s*(?:0x[0-9a-f]+|\d+))\s*"
)
_MAX_LINE_LENGTH = 1000  # characters of a line that are looked at
_STACK_NAME = re.compile(r"(?P<plus>\+\s*)?\b(?P<name>[A-Za-z_]\w*)\b")
_UNPLACED = re.compile(r"(?:var|arg|local|stack)_[0-9a-f]+h?(?:_\d+)?", re.IGNORECASE)


def is_definition(text: str) -> bool:
    """Whether a text behind an address is IDA's definition of a name."""
    return _IN_IDA.fullmatch(text) is not None


def is_unplaced(name: str) -> bool:
    """Whether a name is of a place on the stack, by disassemblers' conventions."""
    return _UNPLACED.fullmatch(name) is not None


def with_places(lines: NumberedLines) -> NumberedLines:
    """The lines with the names of places on the stack replaced; the given ones where none is defined.

    IDA defines such names at the beginning of a function (`var_508 = qword ptr -508h`), radare2 in comments
    there (`; var int64_t var_4h @ rbp-0x4`). With a name in it, an instruction would be another one.

    >>> with_places([(1, "; var int64_t var_4h @ rbp-0x4"), (2, "0x401126  dec dword [var_4h]")])[1][1]
    '0x401126  dec dword [rbp-0x4]'
    """
    if not any("@" in line or "= " in line for _, line in lines):
        return lines
    places: dict[str, str] = {}
    replaced = []
    for number, raw in lines:
        line = raw
        if len(raw) > _MAX_LINE_LENGTH:
            pass
        elif "=" in line and (match := _IN_IDA.search(line)):
            value = int(match["place"], 16)
            places[match["name"]] = f"{value:+#x}"
        elif "@" in line and (match := _IN_RADARE2.fullmatch(line)):
            places[match["name"]] = "".join(match["place"].split())
        elif places:
            code, semicolon, comment = line.partition(";")
            line = f"{_STACK_NAME.sub(lambda word: _replace_symbols(word, places), code)}{semicolon}{comment}"
        replaced.append((number, line))
    return replaced


def _replace_symbols(word: re.Match[str], places: dict[str, str]) -> str:
    place = places.get(word["name"])
    if place is None:
        return word[0]
    return place if place[0] in "+-" or not word["plus"] else f"+{place}"


_COMMENT = re.compile(r"\s(?:#|;|//|->)|(?<=[\])\w])#")
"""A comment, or LuaJIT's name of a target: `jle 0x0bcbffcf ->LOOP`."""

_HEX = re.compile(r"(?:0x)?([0-9a-f]+)h?", re.IGNORECASE)
_IN_PARENTHESES = re.compile(r".*\(\s*(?:0x)?([0-9a-f]{6,16})h?\s*\)", re.IGNORECASE)
"""`f+20h (07FF73B8B1020h)` of Microsoft's debuggers."""

_NO_CODE = ("(bad)", "<unknown>", ".byte", "...", ".long", ".word", ".short")
_WORD = 16
"""Bits of a jump's distance with an operand-size prefix."""

_REGISTER = re.compile(
    r"\b(?:[re]?[abcd]x|[abcd][lh]|[re]?[sd]il?|[re]?[sb]pl?|r(?:8|9|1\d)[dwbl]?|[xyz]mm\d+)\b"
)
_IMPLIED = frozenset({Register.RAX, Register.XMM0})
"""Registers that some programs print with instructions which imply them, and others do not."""

_WITH_IMPLIED = frozenset({"monitor", "monitorx", "mwait", "mwaitx", "umonitor", "umwait", "tpause"})
_STRINGS = frozenset(
    {
        *(OpKind.MEMORY_SEG_SI, OpKind.MEMORY_SEG_ESI, OpKind.MEMORY_SEG_RSI, OpKind.MEMORY_SEG_DI),
        *(OpKind.MEMORY_SEG_EDI, OpKind.MEMORY_SEG_RDI, OpKind.MEMORY_ESDI, OpKind.MEMORY_ESEDI),
        OpKind.MEMORY_ESRDI,
    }
)
_SYMBOL = re.compile(r"<[^<>]*>")
_EQUAL = tuple(
    map(
        frozenset,
        (
            *(("nop", "xchg", "pause"), ("sal", "shl"), ("pushf", "pushfq"), ("popf", "popfq")),
            *(("iret", "iretd", "iretq"), ("pcmpestri", "pcmpestri64"), ("pcmpestrm", "pcmpestrm64")),
            *(("vpcmpestri", "vpcmpestri64"), ("vpcmpestrm", "vpcmpestrm64")),
        ),
    )
)
"""Names that programs give to the same code: of 90 with prefixes, and with widths or without."""


class ListingReader:
    """Reads instructions of a listing, equal ones once; a `LineReader`."""

    def __init__(self, syntax: str) -> None:
        self.unresolved_jumps: list[int] = []
        self.contradictions: list[int] = []
        self.misfits: list[int] = []
        self._contents: dict[tuple[str, int | None], StatementContent] = {}
        self._syntax = syntax

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
        if line.code and not line.is_cut:
            decoded = Decoder(64, line.code).decode()
            if not _is_instruction(line, decoded):
                return None
            if not line.is_own_syntax and _contradicts(without_comment(line.text), decoded):
                self.contradictions.append(line.number)
            statement = statement_of(line, labels, StatementContent(line.code))
            return place_at(statement, line.code, line.address, None, is_entry=is_entry)
        text = without_comment(line.text)
        if not text or "(bad)" in text or text.startswith(_NO_CODE):
            return None
        content = self._content(line, text, length)
        statement = statement_of(line, labels, content)
        if content.jump is None:
            return place_at(statement, content.code, line.address, None, is_entry=is_entry)
        target = _address_of(statement, places)
        if target is None:
            self.unresolved_jumps.append(line.number)
        code = _jump_at(statement, line.address, target, length)
        return place_at(statement, code, line.address, target, is_entry=is_entry)

    def without_addresses(self, part: Sequence[ListedPlace]) -> Sequence[ProgramInstruction]:
        """See `LineReader`. Raises `BlockError`."""
        return lay_out([self._statement(place) for place in part], ())

    def _statement(self, place: ListedPlace) -> Statement:
        line = place.line
        labels = place.labels if line.address is None else (*place.labels, f"{line.address:x}")
        content = StatementContent(line.code)
        if not line.code:
            try:
                text = without_comment(line.text)
                content = content_of(read_statement(text, visible_syntax(text) or self._syntax, {}))
            except BlockError as error:
                raise error.at(line.number) from None
        return statement_of(line, labels, content)

    def _content(self, line: ListedLine, text: str, length: int | None) -> StatementContent:
        if (content := self._contents.get((text, length))) is None:
            if len(self._contents) >= MAX_DISTINCT:
                raise BlockError(
                    f"a listing without bytes has at most {MAX_DISTINCT:,} different instructions: "
                    "paste less of it"
                )
            refuse_control_characters(text)
            written = read_statement(text, visible_syntax(text) or self._syntax, {})
            _refuse_unplaced(written)
            content = content_of(written, length)
            if not _fits(content, length, line) and (nearby := _relative(written, line, length)):
                return nearby
            self._contents[text, length] = content
        if not _fits(content, length, line):
            if line.is_cut:
                raise BlockError(
                    f"the bytes of {text[:40]} begin with {line.code.hex(' ')}, but the text is "
                    f"{content.code.hex(' ')}: print all bytes"
                )
            self.misfits.append(line.number)
        return content


def _refuse_unplaced(written: WrittenInstruction) -> None:
    """Raise `BlockError` for memory by a name alone that stands for a register and a distance."""
    for operand in written.operands:
        if isinstance(operand, MemoryOperand) and not operand.base and is_unplaced(operand.symbol):
            raise BlockError(
                f"{operand.symbol[:40]} is a place on the stack, and the listing does not say where: print "
                "the bytes, or registers instead of names"
            )


def _fits(content: StatementContent, length: int | None, line: ListedLine) -> bool:
    """Whether the code is of this length and begins with the bytes that the line shows."""
    if content.jump is not None:
        return True
    beginning = line.code if line.is_cut else b""
    return length in (None, len(content.code)) and content.code.startswith(beginning)


def _relative(written: WrittenInstruction, line: ListedLine, length: int | None) -> StatementContent | None:
    """The content with memory beside the instruction, of which some programs print the address alone."""
    if length is None or line.address is None:
        return None
    end = line.address + length
    operands = tuple(
        replace(operand, base=Register.RIP, displacement=operand.displacement and operand.displacement - end)
        if isinstance(operand, MemoryOperand) and not (operand.base or operand.index or operand.segment)
        else operand
        for operand in written.operands
    )
    try:
        content = content_of(written._replace(operands=operands), length)
    except BlockError:  # not so far
        return None
    return content if _fits(content, length, line) else None


def statement_of(line: ListedLine, labels: tuple[str, ...], content: StatementContent) -> Statement:
    return Statement(
        line.number,
        0,
        line.text,
        labels,
        content.code,
        content.jump,
        content.symbols,
        count=line.count,
        source=line.source,
        latency=line.latency,
    )


def without_comment(text: str) -> str:
    comment = _COMMENT.search(text)
    return (text if comment is None else text[: comment.start()]).strip()


def _is_instruction(line: ListedLine, decoded: Instruction) -> bool:
    """Whether the bytes are one instruction; False where the listing says so. Raises `BlockError`."""
    if not decoded.is_invalid and decoded.len == len(line.code):
        return True
    if "(bad)" in line.text or line.text.startswith(_NO_CODE) or not line.text:
        return False
    raise BlockError(f"the bytes {line.code.hex(' ')} are not one instruction of x86-64")


def _contradicts(text: str, decoded: Instruction) -> bool:
    """Whether a text that it knows names another instruction than the bytes are, or other registers.

    Operands are not compared further: programs print addresses, names and implied operands as they like. Some
    AT&T texts mix up x87's subtractions and divisions with their reverses.
    """
    words = _words_of(text)
    if not words.mnemonics:
        return False
    mnemonic = MNEMONICS[decoded.mnemonic]
    if mnemonic not in words.mnemonics and exchange_reversed(mnemonic) not in words.mnemonics:
        return not any(mnemonic in names and words.mnemonics & names for names in _EQUAL)
    kinds = [decoded.op_kind(number) for number in range(decoded.op_count)]
    if mnemonic in _WITH_IMPLIED or _STRINGS.intersection(kinds):
        return False
    registers_of_kind = (
        decoded.op_register(number) for number, kind in enumerate(kinds) if kind == OpKind.REGISTER
    )
    direct = _families(registers_of_kind)
    addressed = _families((decoded.memory_base, decoded.memory_index))
    return bool((words.registers - direct - addressed - _IMPLIED) or (direct - words.registers - _IMPLIED))


def _families(of: Iterable[RegisterValue]) -> frozenset[RegisterValue]:
    """The vector registers among these, and the 64-bit ones that contain general-purpose ones."""
    families = frozenset(map(_family, of))
    return frozenset(
        family for family in families if is_vector(family) or Register.RAX <= family <= Register.R15
    )


class _Words(NamedTuple):
    """What a text names: all mnemonics that its own may stand for, and registers by their families."""

    mnemonics: frozenset[str]
    registers: frozenset[RegisterValue]


@lru_cache(maxsize=1 << 13)
def _words_of(text: str) -> _Words:
    words = text.lower().split(None, 6)
    while words and is_prefix(words[0]):
        words.pop(0)
    if not words:
        return _Words(frozenset(), frozenset())
    name = words[0].partition(",")[0]
    names = (reading.mnemonic for reading in (*readings(name), *att_readings(name)))
    numbers = (registers().get(word) for word in _REGISTER.findall(_SYMBOL.sub("", " ".join(words[1:]))))
    return _Words(frozenset(names), _families(number for number in numbers if number))


@cache
def _family(register: RegisterValue) -> RegisterValue:
    """The register that contains a general-purpose one; others unchanged."""
    return register if is_vector(register) else RegisterExt.full_register(register)


def _address_of(statement: Statement, places: Mapping[str, int]) -> int | None:
    target = statement.target
    if target.address is not None:
        return target.address
    if target.label in places:
        return places[target.label] + target.offset
    if address := _IN_PARENTHESES.fullmatch(target.label):
        return int(address[1], 16)
    words = target.label.split(None, 1)  # what stands behind an address is about it
    number = _HEX.fullmatch(words[0]) if words else None
    return int(number[1], 16) if number else None


def _jump_at(statement: Statement, address: int, target: int | None, length: int | None) -> bytes:
    """The code of a jump: of this length if possible, else the shortest. Raises `BlockError`."""
    encodings = []
    for bits in (SHORT, NEAR, _WORD):
        size = len(statement.jump_code(0, bits) or b"")
        distance = 0 if target is None else _signed(target - address - size)
        if size and -(2 ** (bits - 1)) <= distance < 2 ** (bits - 1):
            encodings.append(statement.jump_code(distance, bits) or b"")
    if not encodings:
        raise BlockError(f"{statement.text[:60]} does not lead to an address")
    return next((code for code in encodings if len(code) == length), encodings[0])


def _signed(distance: int) -> int:
    """The distance modulo 2^64, from −2^63."""
    return (distance + 2**63) % 2**64 - 2**63
