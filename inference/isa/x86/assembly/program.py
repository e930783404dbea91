"""Assembly text or a listing as a program: its instructions with their machine code, and where jumps lead.

Text is laid out as an assembler would, with the shortest jumps; a listing says where everything lies, and where
it shows bytes, these count. Names of things that are not in the text are taken as 0 and kept for the notes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from iced_x86 import Decoder, Instruction

from inference.isa.x86.assembly import directives
from inference.isa.x86.assembly.encoding import encode, encode_jump
from inference.isa.x86.assembly.listings import ListedLine, listing_of
from inference.isa.x86.assembly.operands import (
    ImmediateOperand,
    MemoryOperand,
    TargetOperand,
    Written,
    number_of,
    sum_of,
)
from inference.isa.x86.assembly.source import (
    Part,
    SourceLine,
    lines_of,
    refuse_control_characters,
    source_lines,
)
from inference.isa.x86.assembly.statements import (
    begins_instruction,
    evidence,
    read_statement,
    split_operands,
)
from inference.isa.x86.assembly.errors import BlockError
from inference.isa.x86.control_flow import Step, step_of
from inference.isa.x86.instances import ADDRESS_OF_CODE

_LABEL = re.compile(r"(\"[^\"]+\"|[\w.$?@]+)\s*:(?!:)\s*(.*)", re.DOTALL)
_LONG_LABEL = re.compile(r"[^.\s\"'][^\"']*[(:<~ ].*:")
_CONSTANT = re.compile(r"([A-Za-z_.$?@][\w.$?@]*)\s*==?\s*(.+)", re.DOTALL)
_DIRECTIVE = re.compile(r"\.([A-Za-z0-9_.]+)\s*(.*)", re.DOTALL)
_DATA = re.compile(r"(?:[\w.$?@]+\s+)?(?:d[bwdqtoyz]|res[bwdqt])\b.*", re.IGNORECASE | re.DOTALL)
_LOCAL = re.compile(r"([0-9]+)([bf])")
_HEX = re.compile(r"(?:0x)?([0-9a-f]+)h?", re.IGNORECASE)
_REGION = re.compile(r"\W*(?:LLVM-MCA|OSACA)[-_](BEGIN|START|END|STOP)\b\s*(.*)", re.IGNORECASE)
_FUNCTION = re.compile(r"\s*\"?([^\s,\"]+)\"?\s*,\s*[@%\"]?(?:function|STT_FUNC|gnu_indirect_function)")
_ENDING = frozenset("ret retq retf lret jmp jmpq ud2 hlt iret iretq ljmp".split())  # noqa: SIM905
_MARKERS = {bytes.fromhex("bb6f000000"): True, bytes.fromhex("bbde000000"): False}
_MARKER_NOP = bytes.fromhex("646790")
_MOST_DATA = 4096


@dataclass(frozen=True, slots=True)
class ProgramInstruction:
    """An instruction: where it stands in the text and in memory, its machine code, and how it goes on.

    `symbols`: the names in it that are taken as 0. `regions`: numbers of the regions that it is in. `count`:
    of a profiler. `labels`: the names of its address. `is_entry`: a function begins with it.
    """

    line: int
    text: str
    step: Step
    labels: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    regions: frozenset[int] = frozenset()
    count: float | None = None
    is_entry: bool = False

    @property
    def address(self) -> int:
        """Where it lies."""
        return self.step.address

    @property
    def code(self) -> bytes:
        """Its machine code, that of jumps too."""
        return self.step.code


@dataclass(frozen=True)
class Program:
    """The instructions in the order of the text, what was passed over (how often each), and named regions."""

    instructions: tuple[ProgramInstruction, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    remarks: int = 0
    regions: tuple[str, ...] = ()


@dataclass(slots=True)
class _Item:
    """An instruction on its way: with its code, or a jump whose code depends on where everything lies."""

    line: int
    column: int
    text: str
    labels: list[str]
    code: bytes = b""
    jump: Written | None = None
    symbols: tuple[str, ...] = ()
    regions: frozenset[int] = frozenset()
    count: float | None = None
    is_entry: bool = False


def read_program(text: str) -> Program:
    """All instructions of assembly or of a listing, jumps included. Raises `BlockError`."""
    lines = lines_of(text)
    numbered = list(enumerate(lines, start=1))
    if listing := listing_of(numbered):
        return program_of_listing(*listing)
    return program_of_text(source_lines(lines, 1))


# --------------------------------------------------------------------------- from assembly text


def program_of_text(lines: Iterable[SourceLine]) -> Program:
    """Read assembly, statement by statement. Raises `BlockError` with line and column."""
    held = list(lines)
    reader = _TextReader(held)
    for line in held:
        reader.line(line)
    reader.end()
    instructions = _laid_out(reader.items, reader.functions)
    instructions, marked = _between_markers(instructions)
    regions = tuple(reader.regions) or marked
    return Program(tuple(instructions), dict(reader.skipped), reader.remarks, regions)


class _TextReader:
    """Goes through the lines once, keeping what later ones depend on."""

    def __init__(self, lines: Sequence[SourceLine]) -> None:
        self.items: list[_Item] = []
        self.skipped: Counter[str] = Counter()
        self.remarks = 0
        self.regions: list[str] = []
        self.functions: set[str] = set()
        self._open: dict[str, int] = {}
        self._syntax = ""  # as a directive said
        self._likely = _likely_syntax(lines)
        self._constants: dict[str, int] = {}
        self._in_code, self._sections = True, [True]
        self._labels: list[str] = []
        self._prefixes: list[str] = []
        self._prefixed_at = (0, 0)
        self._falls_through = False
        self._in_data = False
        self._lines_of_labels: dict[str, int] = {}

    def line(self, line: SourceLine) -> None:
        """Read a line."""
        for part in line.parts:
            try:
                refuse_control_characters(part.text)
                self._statement(part, line.number)
            except BlockError as error:
                raise error.at(line.number, part.column + max(error.column - 1, 0)) from None
        if line.comment and (mark := _REGION.match(line.comment)):
            self._mark(mark[1].upper(), mark[2].strip(), line.number)

    def end(self) -> None:
        """What must not be left open at the end. Raises `BlockError`."""
        if self._prefixes:
            raise BlockError(f"no instruction follows {' '.join(self._prefixes)}", *self._prefixed_at)
        if self._open:
            name = next(iter(self._open))
            raise BlockError(f"the region {name!r} has no end: '# LLVM-MCA-END {name}'".replace(" ''", "").replace(" '\n", "'"))

    def _mark(self, which: str, name: str, number: int) -> None:
        if which in ("BEGIN", "START"):
            if name in self._open:
                raise BlockError(f"the region {name!r} begins twice" if name else "a region begins within another one without a name", number)
            self.regions.append(name)
            self._open[name] = len(self.regions) - 1
            return
        if name not in self._open and not name and len(self._open) == 1:
            name = next(iter(self._open))
        if name not in self._open:
            raise BlockError(f"the region {name!r} ends here without having begun" if name else "a region ends here that has not begun", number)
        del self._open[name]

    def _statement(self, part: Part, number: int) -> None:
        text = part.text
        if not part.first and not self._can_be_statement(text):
            self.remarks += 1
            return
        while (labelled := _LABEL.fullmatch(text)) and not self._prefixes:
            self._label(labelled[1].strip('"'), number)
            text = labelled[2]
        if not text:
            return
        if _LONG_LABEL.fullmatch(text) and not begins_instruction(text.split("(")[0]):
            self._label(text[:-1].strip(), number)
            return
        if directive := _DIRECTIVE.fullmatch(text):
            self._directive(directive[1].lower(), directive[2])
        elif name := directives.refused_bare(text):
            raise BlockError(f"{name} repeats or reads in code, which is not done here: paste what it stands for")
        elif constant := _CONSTANT.fullmatch(text):
            self._constant(constant[1], constant[2])
        elif not begins_instruction(text) and (directives.is_bare(text) or _DATA.fullmatch(text)):
            self._bare(text)
        else:
            self._instruction(text, part, number)

    def _can_be_statement(self, text: str) -> bool:
        """Whether what follows a semicolon is a statement; otherwise it is a comment."""
        while labelled := _LABEL.fullmatch(text):
            text = labelled[2]
            if not text:
                return len(labelled[1].split()) == 1
        directive = _DIRECTIVE.fullmatch(text)
        if directive:
            return bool(directives.kind_of(directive[1].lower()))
        if directives.refused_bare(text) and '"' in text:
            return True
        if not begins_instruction(text):
            return False
        try:
            written = self._read(text)
            if written.mnemonic and not any(isinstance(one, TargetOperand) for one in written.operands):
                encode(written)
            return all(" " not in one.label for one in written.operands if isinstance(one, TargetOperand))
        except BlockError:
            return bool(evidence(text))  # it has registers or the like: an instruction, and a wrong one

    def _label(self, name: str, number: int) -> None:
        if not name.isdigit():
            if name in self._lines_of_labels:
                raise BlockError(f"the label {name[:40]} stands in line {self._lines_of_labels[name]} already")
            self._lines_of_labels[name] = number
        self._labels.append(name)
        self._in_data = False

    def _constant(self, name: str, written: str) -> None:
        try:
            found = sum_of(written, self._constants)
        except BlockError:
            found = None
        if found is not None and not found.symbol:
            self._constants[name] = found.value
        self.skipped["="] += 1

    def _directive(self, name: str, rest: str) -> None:
        kind = directives.kind_of(name)
        if kind == "refused":
            raise BlockError(
                f".{name} repeats, reads in or guards code, which is not done here: paste what comes of it"
            )
        if not kind:
            raise BlockError(f"there is no directive .{name[:40]} that is known here")
        if kind == "data":
            self._data(name, rest)
            return
        self.skipped[f".{name}"] += 1
        if name in ("intel_syntax", "att_syntax"):
            self._syntax = name.partition("_")[0]
        elif name in ("set", "equ", "equiv", "eqv"):
            parts = list(split_operands(rest))
            if len(parts) == 2:
                self._constant(parts[0].strip(), parts[1])
                self.skipped["="] -= 1
        elif name == "type" and (function := _FUNCTION.match(rest)):
            self.functions.add(function[1])
        else:
            self._section(name, rest)

    def _section(self, name: str, rest: str) -> None:
        if name == "pushsection":
            self._sections.append(self._in_code)
        if name == "popsection" and len(self._sections) > 1:
            self._in_code = self._sections.pop()
        elif name == "previous":
            self._in_code, self._sections[-1] = self._sections[-1], self._in_code
        else:
            holds_code = directives.holds_code(name, rest)
            if holds_code is not None:
                if name != "pushsection":
                    self._sections[-1] = self._in_code
                self._in_code = holds_code
        if not self._in_code:
            self._in_data = False

    def _data(self, name: str, rest: str) -> None:
        unreachable = not self._falls_through and (bool(self._labels) or self._in_data)
        if not self._in_code or unreachable:
            self.skipped[f".{name}"] += 1
            self._in_data = self._in_code
            return
        if name == "byte" and (code := _bytes_of(rest)):
            self._emit(code, f".byte {rest}")
            return
        what = "" if name != "byte" else " other than plain numbers"
        raise BlockError(
            f".{name}{what} puts bytes into the code, which is not done here: write them as .byte 0x90, 0x90 or as "
            "instructions"
        )

    def _bare(self, text: str) -> None:
        word = text.split()[0]
        if _DATA.fullmatch(text) and self._in_code and (self._falls_through or not (self._labels or self._in_data)) and not re.match(r"[\w.$?@]+\s+[dr]", text):
            raise BlockError(f"{word} puts bytes into the code, which is not done here: write them as .byte 0x90")
        if word.lower() in ("section", "segment"):
            self._section("section", text.partition(" ")[2])
        self.skipped[word] += 1

    def _emit(self, code: bytes, text: str) -> None:
        """Bytes that a text has in place of instructions: joined with those before, as far as they are open."""
        last = self.items[-1] if self.items else None
        if last is not None and last.text.startswith(".byte") and not self._labels and not last.jump:
            last.code += code
            last.text += f", {text.removeprefix('.byte').strip()}"
        else:
            self._append(_Item(*self._place, text, [], code))
        if len(self.items[-1].code) > _MOST_DATA:
            raise BlockError(f".byte has more than {_MOST_DATA:,} numbers in a row")
        self._falls_through = True

    _place = (0, 0)

    def _instruction(self, text: str, part: Part, number: int) -> None:
        if not self._in_code:
            raise BlockError("an instruction in a section of data: a .text before it is missing")
        self._place = (number, part.column)
        written = self._read(text)
        if not written.mnemonic:
            self._prefixes += written.prefixes
            self._prefixed_at = self._place
            return
        written = replace(written, prefixes=(*self._prefixes, *written.prefixes))
        self._prefixes = []
        item = _Item(number, part.column, text, [])
        _put(item, written)
        self._append(item)
        self._falls_through = written.mnemonic not in _ENDING

    def _append(self, item: _Item) -> None:
        item.labels = self._labels
        item.is_entry = any(name in self.functions for name in self._labels)
        item.regions = frozenset(self._open.values())
        self._labels = []
        self._in_data = False
        self.items.append(item)

    def _read(self, text: str) -> Written:
        syntax = self._syntax or evidence(text) or self._likely
        if self._syntax == "intel" and "%" in text:
            text = re.sub(r"%(?=[a-z])", "", text)  # .intel_syntax prefix
        return read_statement(text, syntax, self._constants)


def _likely_syntax(lines: Sequence[SourceLine]) -> str:
    """The syntax of the first instruction that shows one, for those that are alike in both."""
    for line in lines:
        for part in line.parts:
            text = part.text
            while labelled := _LABEL.fullmatch(text):
                text = labelled[2]
            if begins_instruction(text) and (found := evidence(text)):
                return found
    return "intel"


def _bytes_of(rest: str) -> bytes:
    """A list of plain numbers as bytes; empty where it is anything else."""
    found = bytearray()
    for part in rest.split(","):
        stripped = part.strip()
        value = number_of(stripped.removeprefix("-")) if stripped else None
        if value is None or value > 255 or (stripped.startswith("-") and value > 128):
            return b""
        found.append((-value if stripped.startswith("-") else value) % 256)
    return bytes(found)


def _put(item: _Item, written: Written, length: int | None = None) -> None:
    """Give an item its code, or the jump that it is."""
    if any(isinstance(one, TargetOperand) for one in written.operands):
        item.jump = written
        return
    item.code = encode(written, length)
    item.symbols = tuple(
        one.symbol
        for one in written.operands
        if isinstance(one, MemoryOperand | ImmediateOperand) and one.symbol
    )


def _laid_out(items: Sequence[_Item], functions: set[str]) -> list[ProgramInstruction]:
    """Give every jump the shortest code that reaches, and everything its address."""
    items = [one for item in items for one in _split_bytes(item)]
    bits = [8 if item.jump is not None else 0 for item in items]
    for number, item in enumerate(items):
        if item.jump is not None and _jump_code(item, 0, 8) is None:
            bits[number] = 32
    targets = _targets(items)
    while True:
        addresses = _addresses(items, bits)
        grown = False
        for number, item in enumerate(items):
            if item.jump is None:
                continue
            destination = _destination(number, targets, addresses)
            size = len(_jump_code(item, 0, bits[number]) or b"")
            distance = 2**30 if destination is None else destination - addresses[number] - size
            if bits[number] == 8 and not -128 <= distance <= 127 and _jump_code(item, 0, 32) is not None:
                bits[number] = 32
                grown = True
        if not grown:
            break
    found = []
    for number, item in enumerate(items):
        code, target = item.code, None
        if item.jump is not None:
            target = _destination(number, targets, addresses)
            size = len(_jump_code(item, 0, bits[number]) or b"")
            distance = 0 if target is None else target - addresses[number] - size
            code = _jump_code(item, distance, bits[number]) or b""
            if not code:
                raise BlockError(f"{item.text[:60]} cannot reach so far", item.line, item.column)
        is_entry = item.is_entry or any(name in functions for name in item.labels)
        found.append(_instruction_at(replace_item(item, is_entry), code, addresses[number], target))
    return found


def replace_item(item: _Item, is_entry: bool) -> _Item:  # noqa: FBT001
    item.is_entry = is_entry
    return item


def _split_bytes(item: _Item) -> list[_Item]:
    """The instructions that the numbers of `.byte` are; another item is one."""
    if not item.text.startswith(".byte"):
        return [item]
    found = []
    for one in Decoder(64, item.code, ip=0):
        if one.is_invalid:
            raise BlockError("the numbers of .byte are no instructions of x86-64", item.line, item.column)
        code = item.code[one.ip : one.ip + one.len]
        found.append(
            _Item(item.line, item.column, item.text, [], code, None, (), item.regions, None, is_entry=False)
        )
    found[0].labels, found[0].is_entry = item.labels, item.is_entry
    return found


def _jump_code(item: _Item, distance: int, bits: int) -> bytes | None:
    assert item.jump is not None
    return encode_jump(item.jump.mnemonic, distance, bits, item.jump.prefixes)


def _addresses(items: Sequence[_Item], bits: Sequence[int]) -> list[int]:
    found, at = [], ADDRESS_OF_CODE
    for item, size in zip(items, bits, strict=True):
        found.append(at)
        code = item.code if item.jump is None else _jump_code(item, 0, size)
        if not code:
            raise BlockError(f"{item.jump.mnemonic if item.jump else item.text} does not lead to a label", item.line, item.column)
        at += len(code)
    return found


_Target = tuple[int | None, int]
"""The number of an item (None: nobody knows) and bytes from its beginning."""


def _targets(items: Sequence[_Item]) -> dict[int, _Target]:
    """Where each jump leads."""
    places: dict[str, list[int]] = {}
    for number, item in enumerate(items):
        for name in item.labels:
            places.setdefault(name, []).append(number)
    found = {}
    for number, item in enumerate(items):
        if item.jump is not None:
            (target,) = (one for one in item.jump.operands if isinstance(one, TargetOperand))
            found[number] = _target(target, number, places)
    return found


def _target(target: TargetOperand, number: int, places: dict[str, list[int]]) -> _Target:
    name = target.label
    if local := _LOCAL.fullmatch(name):
        known = places.get(local[1], [])
        if local[2] == "b":
            return next((one for one in reversed(known) if one <= number), None), 0
        return next((one for one in known if one > number), None), 0
    if name in places:
        return places[name][0], target.offset
    stem, sign, offset = name, "", ""
    for mark in "+-":
        if mark in name:
            stem, sign, offset = name.rpartition(mark)
            break
    value = number_of(offset.strip()) if sign else None
    if value is not None and stem.strip() in (".", "$"):
        return number, -value if sign == "-" else value
    if value is not None and stem.strip() in places:
        return places[stem.strip()][0], -value if sign == "-" else value
    return (number, 0) if name in (".", "$") else (None, 0)


def _destination(number: int, targets: dict[int, _Target], addresses: Sequence[int]) -> int | None:
    at, offset = targets[number]
    return None if at is None else addresses[at] + offset


def _instruction_at(item: _Item, code: bytes, address: int, target: int | None) -> ProgramInstruction:
    step = step_of(_decoded(code, address, item), code)
    if item.jump is not None:
        step = replace(step, target=target)
    return ProgramInstruction(
        item.line, item.text, step, tuple(item.labels), item.symbols, item.regions, item.count, item.is_entry
    )


def _decoded(code: bytes, address: int, item: _Item) -> Instruction:
    one = Decoder(64, code, ip=address).decode()
    if one.is_invalid:
        raise BlockError("these bytes are no instruction of x86-64", item.line, item.column)
    return one


def _between_markers(
    instructions: list[ProgramInstruction],
) -> tuple[list[ProgramInstruction], tuple[str, ...]]:
    """Without IACA's markers, and the regions between them; unchanged where there are none."""
    found: list[ProgramInstruction] = []
    regions: list[str] = []
    is_open = False
    number = 0
    while number < len(instructions):
        one = instructions[number]
        begins = _MARKERS.get(one.code)
        following = instructions[number + 1].code if number + 1 < len(instructions) else b""
        if begins is None or following != _MARKER_NOP:
            inside = frozenset({len(regions) - 1}) if is_open else one.regions
            found.append(replace(one, regions=inside))
            number += 1
            continue
        if begins == is_open:
            what = "begins within another one" if begins else "ends without having begun"
            raise BlockError(f"the region between IACA's bytes {what}", one.line)
        if begins:
            regions.append("")
        is_open = begins
        number += 2
    if is_open:
        raise BlockError("the region between IACA's bytes has no end", found[-1].line if found else 0)
    return found, tuple(regions)


# --------------------------------------------------------------------------- from listings


def program_of_listing(lines: Sequence[ListedLine], skipped: int) -> Program:
    """Read a listing. Raises `BlockError` with the line."""
    if any(one.text and one.address is None for one in lines):
        return _program_of_offsets(lines, skipped)
    items, labels, entries = [], [], False
    passed = Counter({"line": skipped}) if skipped else Counter()
    for number, one in enumerate(lines):
        if one.address is None or (one.label and not one.text and not one.code):
            labels.append(one.label)
            entries = entries or one.address is not None
            continue
        following = next((other.address for other in lines[number + 1 :] if other.address is not None), None)
        length = None if following is None else following - one.address
        try:
            instruction = _listed(one, length, tuple(labels), is_entry=entries)
        except BlockError as error:
            raise error.at(one.number) from None
        labels, entries = [], False
        if instruction is None:
            passed["(bad)"] += 1
        else:
            items.append(instruction)
    instructions, regions = _between_markers(_with_named_targets(items))
    return Program(tuple(instructions), dict(passed), 0, regions)


def _listed(
    one: ListedLine, length: int | None, labels: tuple[str, ...], *, is_entry: bool
) -> ProgramInstruction | None:
    assert one.address is not None
    refuse_control_characters(one.text)
    item = _Item(one.number, 0, one.text, list(labels), count=one.count, is_entry=is_entry)
    if one.code:
        decoded = Decoder(64, one.code, ip=one.address).decode()
        if decoded.is_invalid or decoded.len != len(one.code):
            if "(bad)" in one.text or one.text.startswith((".byte", "...")) or not one.text:
                return None
            raise BlockError(f"the bytes {one.code.hex(' ')} are not one instruction of x86-64")
        return _instruction_at(item, one.code, one.address, None)
    text = _without_comment(one.text)
    if "(bad)" in text or text.startswith((".byte", "...", ".long", ".word", ".short")):
        return None
    written = read_statement(text, evidence(text) or "intel", {})
    known = length if length is not None and 0 < length <= 15 else None
    if not written.mnemonic:
        if known is None:
            raise BlockError(f"no instruction follows {text}")
        return None
    _put(item, written, known)
    target = None
    if item.jump is not None:
        target = _address_of(item.jump)
        item.code = _listed_jump(item, one.address, target, known)
    return _instruction_at(item, item.code, one.address, target)


def _without_comment(text: str) -> str:
    """The text of a listing up to its comment."""
    return re.split(r"\s+(?:#|;|//)|(?<=[\])\w])\s*#", text, maxsplit=1)[0].strip()


def _address_of(written: Written) -> int | None:
    (target,) = (one for one in written.operands if isinstance(one, TargetOperand))
    if target.address is not None:
        return target.address
    found = _HEX.fullmatch(target.label.strip())
    return int(found[1], 16) if found else None


def _listed_jump(item: _Item, address: int, target: int | None, length: int | None) -> bytes:
    best = b""
    for bits in (8, 32, 16):
        size = len(_jump_code(item, 0, bits) or b"")
        if not size:
            continue
        distance = 0 if target is None else target - address - size
        if not -(2 ** (bits - 1)) <= distance < 2 ** (bits - 1):
            continue
        code = _jump_code(item, distance, bits) or b""
        if len(code) == length:
            return code
        best = best or code
    if not best:
        raise BlockError(f"{item.text[:60]} does not lead to an address")
    return best


def _with_named_targets(items: list[ProgramInstruction]) -> list[ProgramInstruction]:
    """Nothing more is known of jumps whose address is not in the listing."""
    return items


def _program_of_offsets(lines: Sequence[ListedLine], skipped: int) -> Program:
    """A listing in which only targets of jumps have addresses: these are labels."""
    items: list[_Item] = []
    labels: list[str] = []
    for one in lines:
        if one.address is not None:
            labels.append(f"{one.address:x}")
        if one.label:
            labels.append(one.label)
        if not one.text:
            continue
        item = _Item(one.number, 0, one.text, labels, one.code, count=one.count)
        if not one.code:
            try:
                text = _without_comment(one.text)
                _put(item, read_statement(text, evidence(text) or "intel", {}))
            except BlockError as error:
                raise error.at(one.number) from None
        labels = []
        items.append(item)
    return Program(tuple(_laid_out(items, set())), {"line": skipped} if skipped else {})
