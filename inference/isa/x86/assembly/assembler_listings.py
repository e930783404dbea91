"""Listings of assemblers and compilers, with macros expanded: addresses and bytes beside lines of source.

| program | line |
|---|---|
| NASM, YASM | `    14 00000010 0F28048F  <2>  movaps xmm0, [rdi]`, `10 00000004 90<rep Ch>  align 16` |
| GNU as | `  23 0023 48B9FCFF \\tmovabsq $1, %rcx`, with further bytes in `  23      FFFFFFFF` |
| MASM | ` 00000011  48/ 83 C0 08\\t     1\\tadd rax, 8`, with the last byte of a word first |
| MSVC /FAc | `  00010\\tf2 42 0f 10 0c`, with further bytes and the instruction in `\\td1\\t movsd xmm1, …` |

Lines without bytes are labels, comments, directives and definitions of macros.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from iced_x86 import Decoder

from inference.isa.code.directives import is_undotted_data, kind_of
from inference.isa.code.listings import IsForeign, ListedLine, Listing, ListingKind, NumberedLines
from inference.isa.x86.assembly.skipped_lines import classify, is_instruction

_MAX_LINE_LENGTH = 1000  # characters of a line that are looked at
_NUMBERED = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*\d+ (?P<address>[0-9A-Fa-f]{4,16}) (?P<bytes>[0-9A-Fa-f()\[\]]{2,})"
    r"(?:<rep(?: (?P<times>[0-9A-F]+)h|t)>|(?P<continued>-))?(?:\s+(?:<\d+>)?(?P<text>.*))?"
)
_NUMBERED_BYTES = re.compile(r"\s*\d+\s+(?P<bytes>(?:[0-9A-F]{2}){1,8})\s*")
_NUMBERED_TEXT = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*\d+(?:\s+(?:<\d+>)?(?P<text>.*))?"
)
_COLUMNS = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*(?P<address>[0-9a-fA-F]{5,8})(?:\t| {2})"
    r"(?P<bytes>(?:[0-9a-fA-F]{2})+(?:/? (?:[0-9a-fA-F]{2})+\b)*)(?: [RE])?(?:\s{2,}\d+)?\s*(?P<text>.*)"
)
_COLUMN_BYTES = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s+(?P<bytes>(?:[0-9a-f]{2} )*[0-9a-f]{2})(?:\s+(?P<text>.*))?"
)
_COLUMN_TEXT = re.compile(  # bounded: a line of at most 1,000 characters
    r"(?: [0-9a-fA-F]{8}\s|\s*(?=[;\w.$?@]))\s*(?P<text>.*)"
)
_LABEL = re.compile(r"\s*(?P<label>[\w.$?@]+)(?::|\s+PROC\b)(?P<text>.*)", re.IGNORECASE)
_DIRECTIVE = re.compile(r"\.(\w+)\b.*")


_LEVEL = re.compile(r"\s<(\d+)>|\t(>+) ")
"""The depth of an expanded macro: a number by NASM, signs by GNU as."""

_SYMBOL = re.compile(r"\s+\S+:\d+\s+[.*]\w+[:*][0-9a-f]{16} \S+")
"""A line of GNU as's table below the listing."""

_TIMES = re.compile(r"times\s+\S+\s+(?=d)", re.IGNORECASE)
_DEFINITION = re.compile(r"\s*(?:%i?macro|%rep|\.macro|\.rept|rept|\w+\s+macro)\b.*", re.IGNORECASE)
_DEFINITION_END = re.compile(r"\s*(?:%end(?:macro|rep)|\.?endm|\.endr)\b.*", re.IGNORECASE)


@dataclass
class _Row:
    """A line with an address. `times`: copies of its bytes, 0 for as many as reach the next row."""

    number: int
    address: int
    code: bytes
    text: str
    labels: list[tuple[int, str]]
    times: int = 1


def _read(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    rows: list[_Row] = []
    other_lines: list[tuple[int, str]] = []
    labels: list[tuple[int, str]] = []
    definitions = depth = 0
    is_continued = False
    is_numbered = any(_NUMBERED.fullmatch(line[:_MAX_LINE_LENGTH]) for _, line in lines)
    patterns = _NUMBERED, _NUMBERED_BYTES, _NUMBERED_TEXT
    row_of, bytes_of, text_of = patterns if is_numbered else (_COLUMNS, _COLUMN_BYTES, _COLUMN_TEXT)
    levels = [_level(line) for _, line in lines]
    for (number, raw), level, following in zip(lines, levels, [*levels[1:], 0], strict=True):
        line = raw[:_MAX_LINE_LENGTH]
        if (match := row_of.fullmatch(line)) and not sum(map(str.isalnum, match["bytes"])) % 2:
            if is_continued:
                rows[-1].code += _bytes(match["bytes"])
            else:
                text = _without_labels(match["text"] or "", number, labels)
                times = int(match["times"] or "0", 16) if is_numbered and "<rep" in line else 1
                rows.append(
                    _Row(number, int(match["address"], 16), _bytes(match["bytes"]), text, labels, times)
                )
                labels = []
            is_continued = is_numbered and match["continued"] is not None
            continue
        source = bytes_of.fullmatch(line) if rows else None
        code_text = (source.groupdict().get("text") or "") if source else ""
        if source and not (code_text and rows[-1].text):
            rows[-1].code += _bytes(source["bytes"])
            rows[-1].text = rows[-1].text or code_text
        else:  # also the end of an instruction whose line was cut: the row has its own
            source = source or text_of.fullmatch(line)
            text = _without_labels((source["text"] or "") if source else line, number, labels)
            depth = max(0, depth + bool(_DEFINITION.match(text)) - bool(_DEFINITION_END.match(text)))
            if depth or (following > level and not is_instruction(text)):
                definitions += 1
            elif text and not _SYMBOL.fullmatch(line):
                other_lines.append((number, text))
    if not rows or sum(is_instruction(text) for _, text in other_lines) >= len(rows):
        return None
    kinds, dropped = classify(other_lines, is_foreign)
    places = defaultdict[str, set[int]](set)
    for row in rows:
        for _, label in row.labels:
            places[label].add(row.address)
    entries = [
        entry
        for row, following in pairwise([*rows, None])
        if row
        for entry in _entries(row, following, places)
    ]
    return Listing(entries, kinds + Counter({"line of a macro": definitions}), dropped)


def _level(line: str) -> int:
    match = _LEVEL.search(line)
    return 0 if match is None else int(match[1] or len(match[2]))


def _without_labels(text: str, number: int, labels: list[tuple[int, str]]) -> str:
    """The text behind its labels, which are appended to `labels`."""
    while match := _LABEL.fullmatch(text):
        labels.append((number, match["label"]))
        text = match["text"]
    return text.strip()


def _bytes(digits: str) -> bytes:
    """The bytes of a row; a group of more than two digits with blanks around is a word of MASM."""
    groups = re.sub(r"[()\[\]/]", " " if "/" in digits else "", digits).split()
    is_masm = len(groups) > 1
    return b"".join(bytes.fromhex(group)[:: -1 if is_masm else 1] for group in groups)


def _entries(row: _Row, following: _Row | None, places: Mapping[str, set[int]]) -> Iterator[ListedLine]:
    """The labels and instructions of a row. `places`: the addresses of labels."""
    yield from (ListedLine(number, label=label) for number, label in row.labels)
    times = row.times
    if not times and following is not None:
        times = (following.address - row.address) // len(row.code)
    code = row.code * max(times, 1)
    source = _TIMES.sub("", row.text)
    directive = _DIRECTIVE.fullmatch(source)
    if is_undotted_data(source) or (directive and kind_of(directive[1].lower()) == "data"):
        yield ListedLine(row.number, row.address, code, f".byte {row.text}")
        return
    decoded = list(Decoder(64, code, ip=row.address))
    target = places.get(row.text.split()[-1]) if row.text else None
    if target and len(decoded) == 1 and decoded[0].near_branch_target not in target:
        yield ListedLine(row.number, row.address, text=row.text)  # YASM prints jumps before they are final
        return
    for instruction in decoded:
        begin = instruction.ip - row.address
        line = ListedLine(row.number, instruction.ip, code[begin : begin + instruction.len], row.text)
        yield line if len(decoded) == 1 else replace(line, text=str(instruction))


ASSEMBLERS = ListingKind(
    "NASM",
    re.compile(
        r"^[ \t]*\d+ [0-9A-Fa-f]{4,16} [0-9A-F()\[\]]{2}|(?:^|\s)[0-9a-fA-F]{5,8}(?:\t| {2})[0-9a-fA-F]{2}\b",
        re.MULTILINE,
    ),
    _read,
)
