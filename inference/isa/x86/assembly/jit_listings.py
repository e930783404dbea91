"""What just-in-time compilers print besides code: LuaJIT, V8, and HotSpot without a disassembler.

| program | line |
|---|---|
| LuaJIT | `7f816496ffe4  mov r15d, ebp` between `---- TRACE 1 mcode 93` and the next such line |
| V8 | `0x7f0f6c005e19    19  488975e0             REX.W movq [rbp-0x20],rsi` |
| HotSpot | `  0x00007fbb99400ee0: 8984 2400 \\| c0fe ff55`, under `[MachCode]` |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from iced_x86 import Decoder

from inference.isa.code.listings import IsForeign, ListedLine, Listing, ListingKind, NumberedLines
from inference.isa.x86.assembly.skipped_lines import classify

_MAX_LINE_LENGTH = 1000  # characters of a line that are looked at
_TRACE = re.compile(  # bounded: a line of at most 1,000 characters
    r"---- TRACE (?P<number>\d+) (?P<part>\w+).*"
)
_TRACE_LINE = re.compile(r"(?P<address>[0-9a-f]{8,16})\s+(?P<text>\S.*)")
_TRACE_LABEL = re.compile(r"->(\w+):")
_TRACE_PARTS = {"start": "bytecode", "IR": "IR", "exit": "registers at an exit"}


def _read_luajit(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    """The machine code of traces; targets of jumps are addresses, also of other traces."""
    entries: list[ListedLine] = []
    other_lines: list[tuple[int, str]] = []
    skipped: Counter[str] = Counter()
    trace = part = ""
    for number, raw in lines:
        line = raw[:_MAX_LINE_LENGTH]
        text = line.strip()
        code = _TRACE_LINE.fullmatch(text)
        if head := _TRACE.fullmatch(text):
            trace, part = f"TRACE {head['number']}", head["part"]
            if part == "mcode":
                entries.append(ListedLine(number, label=trace))
        elif part == "mcode" and (label := _TRACE_LABEL.fullmatch(text)):
            entries.append(ListedLine(number, label=f"{trace} {label[1]}"))
        elif part == "mcode" and code:
            entries.append(ListedLine(number, int(code["address"], 16), text=code["text"]))
        elif part in _TRACE_PARTS and text and not (part == "start" and code):
            skipped[f"LuaJIT's {_TRACE_PARTS[part]}"] += 1
        elif text:
            other_lines.append((number, line))
    kinds, dropped = classify(other_lines, is_foreign)
    return Listing(entries, skipped + kinds, dropped) if any(entry.text for entry in entries) else None


LUAJIT = ListingKind("LuaJIT", re.compile(r"^[ \t]*---- TRACE \d+ mcode", re.MULTILINE), _read_luajit)

_V8_LINE = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*0x(?P<address>[0-9a-f]{1,16})\s+(?P<offset>[0-9a-f]{1,16})\s+(?P<code>(?:[0-9a-f]{2}){1,15})\s+"
    r"(?P<text>[A-Za-z]\S*.*)"
)
_LEAST_V8_LINES = 2  # whose offsets agree
_V8_NAME = re.compile(r"name = (\S+)")


def _read_v8(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    """Code by its bytes; V8 spells instructions in its own way."""
    entries: list[ListedLine] = []
    other_lines: list[tuple[int, str]] = []
    starts: list[int] = []  # address of the function, of each line
    for number, raw in lines:
        line = raw[:_MAX_LINE_LENGTH]
        if name := _V8_NAME.fullmatch(line.strip()):
            entries.append(ListedLine(number, label=name[1]))
        elif code := _V8_LINE.fullmatch(line):
            address, offset = int(code["address"], 16), int(code["offset"], 16)
            if offset and starts and address - offset != starts[-1]:
                return None
            starts.append(address - offset)
            entries.append(
                ListedLine(number, address, bytes.fromhex(code["code"]), code["text"], is_own_syntax=True)
            )
        elif line.strip():
            other_lines.append((number, line))
    if len(starts) < _LEAST_V8_LINES:
        return None
    kinds, dropped = classify(other_lines, is_foreign)
    return Listing(entries, kinds, dropped)


V8 = ListingKind(
    "V8", re.compile(r"^[ \t]*0x[0-9a-f]+[ \t]+[0-9a-f]+[ \t]+[0-9a-f]{2,30}[ \t]", re.MULTILINE), _read_v8
)

_WORDS = re.compile(
    r"\s*0x(?P<address>[0-9a-f]{1,16}): (?P<code>(?:[0-9a-f]{2}){1,2}(?:[\s|]+(?:[0-9a-f]{2}){1,2})*)[\s|]*"
)
_ENTRY = re.compile(r"\s*\[(?P<name>[A-Z][\w ]*)\]")
_CONSTANTS = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*0x[0-9a-f]+:(?:\s+0x[0-9a-f]+)+\s*|\s*0x[0-9a-f]+: *;.*|\s*[\w ]+\[0x[0-9a-f]+,0x[0-9a-f]+\].*"
)
"""Rows of tables around the code, and addresses of comments."""

_METHOD = re.compile(r"\s*# \{method\} .*'(?P<name>[^']+)' '[^']*' in '(?P<class>[^']+)'")


def _read_machine_code(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    """Code of HotSpot that had no disassembler: its words are joined, as lines end within instructions."""
    entries: list[ListedLine] = []
    other_lines: list[tuple[int, str]] = []
    part: list[tuple[int, int, bytes]] = []
    tables = 0
    for number, raw in lines:
        line = raw[:_MAX_LINE_LENGTH]
        if words := _WORDS.fullmatch(line):
            row = number, int(words["address"], 16), bytes.fromhex(words["code"].replace("|", ""))
            if part and row[1] != part[-1][1] + len(part[-1][2]):
                entries += _decode(part)
                part = []
            part.append(row)
        elif name := _METHOD.fullmatch(line):
            entries.append(ListedLine(number, label=f"{name['class']}::{name['name']}"))
        elif name := _ENTRY.match(line):
            entries += _decode(part)
            part = []
            if "Handler" in name["name"]:
                entries.append(ListedLine(number, label=name["name"]))
        elif _CONSTANTS.fullmatch(line):
            tables += 1
        elif line.strip():
            other_lines.append((number, line))
    entries += _decode(part)
    if not any(entry.code for entry in entries):
        return None
    kinds, dropped = classify(other_lines, is_foreign)
    return Listing(entries, kinds + Counter({"HotSpot's tables": tables}), dropped)


def _decode(rows: list[tuple[int, int, bytes]]) -> Iterator[ListedLine]:
    """The instructions of adjacent rows (number of the line, address, bytes)."""
    if not rows:
        return
    code = b"".join(row[2] for row in rows)
    lines = [row[0] for row in rows for _ in row[2]]
    begin = rows[0][1]
    for decoded in Decoder(64, code, ip=begin):
        place = decoded.ip - begin
        yield ListedLine(lines[place], decoded.ip, code[place : place + decoded.len], str(decoded))


HOTSPOT = ListingKind(
    "HotSpot",
    re.compile(r"^[ \t]*(?:\[MachCode\]|0x[0-9a-f]{8,16}: [0-9a-f]{4} [0-9a-f]{4} \|)", re.MULTILINE),
    _read_machine_code,
)
