"""A text as a listing of lines with addresses: which lines belong to it, and what the others are."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from inference.isa.code.addressed_lines import parse_addressed, parse_line
from inference.isa.code.annotations import LatencyComments, ListedSource, java_place
from inference.isa.code.block import dropped_line
from inference.isa.code.listings import IsForeign, LineLanguage, ListedLine, Listing, NumberedLines
from inference.isa.code.source import without_drawings

_PERF = re.compile(r"[ \t]*(?:\d+(?:\.\d+)?[ \t]*(?:%[ \t]*)?)?(?:(?<!\S):|(?<=\.\d\d):|[│┃|])(.*)", re.ASCII)
_PERF_NUMBER = re.compile(r"^\s*\d+\s{2,}")  # number of samples at the beginning of a line: `  123   `
_PERF_MARK = re.compile(
    r"│|^[ \t]*(?:\d+\.\d+|Percent|Samples|Period)[ \t]*[:|]|^[ \t]*\d+ :[ \t]+[0-9a-f]+:|^Percent[ \t]*$"
    r"|^[ \t]*\d{1,3}\.\d\d[ \t]{2,}[a-z]",
    re.MULTILINE,
)
"""What only lines of `perf annotate` have: a bar, a number before a colon, or a title above the numbers."""

_SHARE = re.compile(r"%\s")
_XED_SHORT = re.compile(r"SHORT:\s+(?P<text>\S.*)")
_LOCAL_TARGET = re.compile(
    r"\s(?:j\w+|call|loop\w*)[ \t]+(\d+)[bf][ \t]*(?:[#;]|//|$)", re.IGNORECASE | re.MULTILINE
)
_COLUMN_OF_ADDRESSES = re.compile(r"^[ \t]*[0-9a-f]{8,16}[ \t]+[^<\s]", re.IGNORECASE | re.MULTILINE)
_NUMBERED_SOURCE = re.compile(  # bounded: a line of at most 1,000 characters
    r"[ \t]{0,9}\d{1,5}:[ \t]+(?![0-9a-f]{2} )(.*)", re.IGNORECASE
)
"""`    12: s += n;` of Microsoft's debuggers, among addresses without colons."""

_ASCII_ARROWS = re.compile(
    r"^[ |:!]*+[.,`'][-=]+[<>]|^[|\\/][ |:!]++0x[0-9a-f]{8,16}\s", re.IGNORECASE | re.MULTILINE
)
"""Frames and arrows of radare2 in ASCII: `|   .-> 0x00401126`, `\\   `=< 0x0040112b`."""

_REGION = re.compile(r"\.{4}\[Hottest Region (\d{1,4})\]\.{4,}")
_METHOD = re.compile(  # bounded: a line of at most 1,000 characters
    r"[\w.$/]{1,200}::[\w$<>]{1,100}"
)
"""Title of a region of JMH's perfasm; the line below has the method."""

_ASCII_DRAWING = re.compile(r"^(?:[ |:!/\\.,`'<>=-]|`--)+")
_WIDE = re.compile(r"[ \t]{40,}")
_MAX_CODE_BYTES = 15  # of an instruction
_MAX_LINE_LENGTH = 1000  # characters of a line that are looked at


def listing_of(
    lines: NumberedLines, language: LineLanguage, is_foreign: IsForeign = lambda _line: False
) -> Listing | None:
    """The listing in a text; None where the text is none.

    Most instructions must have addresses.
    """
    text = "\n".join(line for _, line in lines)
    if _ASCII_ARROWS.search(text):
        lines = [(number, _ASCII_DRAWING.sub(" ", line)) for number, line in lines]
        text = "\n".join(line for _, line in lines)
    is_perf = bool(_PERF_MARK.search(text))
    rows = _Rows(language, text, is_perf=is_perf)
    parse = rows.parse_plain if not is_perf and text.isascii() and not _SHARE.search(text) else rows.parse
    for number, raw in lines:
        line = _WIDE.sub(" ", raw)
        if line.strip():
            rows.add(number, line if len(line) <= _MAX_LINE_LENGTH else _shorten(line), parse)
    entries = rows.entries
    bare = [entry for entry in entries if entry.text and entry.address is None]
    coded = sum(1 for entry in entries if entry.address is not None and (entry.text or entry.code))
    coded = coded or sum(entry.count is not None for entry in bare)
    if not coded or rows.unlisted >= coded or _addresses_are_labels(entries, text):
        return None
    kinds, dropped = language.classify(rows.other_lines, is_foreign)
    source_kinds, code = language.classify(rows.source_texts, is_foreign)
    kinds = +(kinds + source_kinds + Counter({"directive": rows.empty}))
    dropped += code
    if 0 < len(bare) < coded:  # else only targets of jumps have addresses
        entries = [entry for entry in entries if not entry.text or entry.address is not None]
        dropped += [dropped_line(entry.number, entry.text, "has no address") for entry in bare]
    notes: list[str] = []
    if "latency" in text.lower():
        entries, notes = _with_latencies(entries, lines)
    lost = {line.line for line in dropped}
    unlisted_lines = sorted((*rows.other_lines, *rows.source_lines))
    source = [(number, _without_share(line) if is_perf else line) for number, line in unlisted_lines]
    entries = with_source(entries, [row for row in source if row[0] not in lost])
    return Listing(entries, kinds, dropped, notes)


class _Rows:
    """Sorts the lines of a text, in order, into those of the listing and others.

    `unlisted`: number of other lines that begin like instructions; `empty`: of addresses without code.
    """

    def __init__(self, language: LineLanguage, text: str, *, is_perf: bool) -> None:
        self.entries: list[ListedLine] = []
        self.other_lines: list[tuple[int, str]] = []
        self.unlisted = self.empty = 0
        self.source_lines: list[tuple[int, str]] = []
        self.source_texts: list[tuple[int, str]] = []
        self._language, self._is_perf, self._is_xed = language, is_perf, bool(_XED_SHORT.search(text))
        self._has_columns = bool(_COLUMN_OF_ADDRESSES.search(text))
        self._input = b""  # of xed, on a line before its instruction
        self._region = ""  # of perfasm, whose method the next line names

    def parse(self, number: int, line: str) -> ListedLine | None:
        return parse_line(number, line, self._language, is_perf=self._is_perf)

    def parse_plain(self, number: int, line: str) -> ListedLine | None:
        """The same for texts without samples and drawings."""
        return parse_addressed(number, line, self._language)

    def add(self, number: int, line: str, parse: Callable[[int, str], ListedLine | None]) -> None:
        previous = self.entries[-1] if self.entries else ListedLine(0)
        if self._region:
            method = _METHOD.search(line)
            name = method[0] if method else line.strip()[:80]
            self.entries.append(ListedLine(number, label=f"{name}, region {self._region}"))
            self._region = ""
        elif "Hottest" in line and (region := _REGION.fullmatch(line.strip())):
            self._region = region[1]
            self.other_lines.append((number, line))
        elif self._input and (short := _XED_SHORT.match(line)):
            address = (previous.address or 0) + len(previous.code)
            self.entries.append(ListedLine(number, address, self._input, short["text"]))
            self._input = b""
        elif self._has_columns and self._is_numbered_source(line):
            self.source_lines.append((number, line))
            self.source_texts.append((number, line.partition(":")[2]))
        elif (entry := parse(number, line)) is None:
            self._add_other(number, line, previous)
        elif entry.is_empty:
            self.empty += 1
        elif entry.code and not entry.text and _continues(previous, entry):
            self.entries[-1] = replace(previous, code=previous.code + entry.code, is_cut=False)
        else:
            self.entries.append(entry)

    def _is_numbered_source(self, line: str) -> bool:
        source = _NUMBERED_SOURCE.fullmatch(line)
        return source is not None and not self._language.begins_instruction(source[1])

    def _add_other(self, number: int, line: str, previous: ListedLine) -> None:
        """A line without address: the rest of long code, the input of xed, or none of the listing."""
        is_word = self._language.begins_instruction(line.strip())
        digits = b"" if is_word else _bytes_alone(without_drawings(line))
        if digits and self._is_xed:
            self._input = digits
        elif digits and _may_continue(previous, digits):
            self.entries[-1] = replace(previous, code=previous.code + digits)
        else:
            self.other_lines.append((number, line))
            self.unlisted += is_word


def _with_latencies(
    entries: Sequence[ListedLine], lines: Sequence[tuple[int, str]]
) -> tuple[list[ListedLine], list[str]]:
    """The lines with the latencies in their comments, and notes. Raises `BlockError`."""
    comments = LatencyComments()
    annotated = {entry.number: entry for entry in entries}
    for number, raw in lines:
        entry = annotated.get(number)
        has_instruction = entry is not None and bool(entry.text or entry.code)
        comment = comments.read(raw, number, has_instruction=has_instruction)
        own = comments.usual if comment is None or comment.own is None else comment.own
        if entry is not None and has_instruction and own is not None:
            annotated[number] = replace(entry, latency=own)
    return list(annotated.values()), comments.notes


def _without_share(line: str) -> str:
    """A line of `perf annotate` without its column of samples and its number."""
    match = _PERF.fullmatch(line)
    return line if match is None else _PERF_NUMBER.sub("", match[1])


def with_source(entries: Sequence[ListedLine], other_lines: Sequence[tuple[int, str]]) -> list[ListedLine]:
    """The lines with the source lines that stand before them."""
    source = ListedSource()
    annotated: list[ListedLine] = []
    remaining = deque(other_lines)
    for entry in entries:
        while remaining and remaining[0][0] < entry.number:
            line = remaining.popleft()[1]
            if (place := java_place(line)) is None:
                source.read(line)
            elif annotated and annotated[-1].source is None:
                annotated[-1] = replace(annotated[-1], source=place)
        if not (entry.text or entry.code):
            source.label(entry.label, entry.address)
        place = java_place(entry.text) or source.place
        annotated.append(replace(entry, source=place) if place else entry)
    return annotated


def _shorten(line: str) -> str:
    """A line with a too long name, as of templates, cut; the instruction is before it."""
    end = ">:" if line.rstrip().endswith(">:") else ""
    return f"{line[:_MAX_LINE_LENGTH]}{end}"


def _continues(previous: ListedLine, line: ListedLine) -> bool:
    """Whether the bytes belong to the previous instruction, as disassemblers split long ones."""
    if previous.address is None or not _may_continue(previous, line.code):
        return False
    # IDA repeats the address
    return line.address == previous.address + (0 if previous.is_cut else len(previous.code))


def _may_continue(previous: ListedLine, code: bytes) -> bool:
    return bool(previous.code and previous.text) and len(previous.code + code) <= _MAX_CODE_BYTES


def _bytes_alone(line: str) -> bytes:
    """The bytes on a line of their own in xed's input; b"" for another line."""
    packed = "".join(line.split())
    is_hex = len(packed) % 2 == 0 and re.fullmatch(r"[0-9A-Fa-f]{2,30}", packed)
    return bytes.fromhex(packed) if is_hex else b""


def _addresses_are_labels(lines: Sequence[ListedLine], text: str) -> bool:
    """Whether the numbers are labels such as `1:`, the targets of `1b` and `1f`."""
    targets = set(_LOCAL_TARGET.findall(text))
    return any(line.address is not None and f"{line.address:x}" in targets for line in lines)
