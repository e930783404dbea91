"""Listings as lines with an address, maybe bytes, and an instruction: those of most programs.

| program | line |
|---|---|
| objdump, llvm-objdump | `  401126: 55   push %rbp`, with `--no-show-raw-insn` without bytes |
| gdb | `=> 0x0000000000401126 <+0>: push %rbp` |
| perf annotate | `  12.50 :   401126:  push %rbp`, `  3.40 │ 20: ↓ jne 40` |
| JMH's perfasm | `  3.46%   ↗  0x00007f0d3c11a2c6: push %rbp` |
| xed | `XDIS 401126: PUSH BASE 55 push rbp` |
| IDA, Ghidra, x64dbg | `.text:0000000000401126 55 push rbp` |
| LuaJIT | `0bcbffcf  addsd xmm7, [0x40015d78]`, `0bcbffde  jle 0x0bcbffcf ->LOOP` |
| radare2 | `│ ┌─> 0x00401126  55  push rbp` |
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from inference.isa.code.annotations import LatencyComments, ListedSource, java_place
from inference.isa.code.block import dropped_line
from inference.isa.code.listings import IsForeign, LineLanguage, ListedLine, Listing, NumberedLines
from inference.isa.code.source import without_drawings

_PERF = re.compile(
    r"[ \t]*(?:(\d+(?:\.\d+)?)[ \t]*(?:%[ \t]*)?)?(?:(?<!\S):|(?<=\.\d\d):|[│┃|])(.*)", re.ASCII
)
_PERF_MARK = re.compile(r"│|^[ \t]*(?:\d+\.\d+|Percent)[ \t]*[:|]", re.MULTILINE)
"""What only lines of `perf annotate` have: a bar, or a share before a colon."""

_SHARES = re.compile(r"[ \t]*(\d{1,3}(?:\.\d{1,9})?)%(?:[ \t]+\d{1,3}(?:\.\d{1,9})?%)*[ \t]*", re.ASCII)
"""JMH's shares of one or several events, before an address."""

_PERF_NUMBER = re.compile(r"^\s*\d+\s{2,}")  # number of samples at the beginning of a line: `  123   `
_PERF_LINE = re.compile(r"^\s*\d+\s+(?=(?:0x)?[0-9a-f]+(?::|\s+<))")
"""Number of samples before an address: `12  401000:`."""

_ADDRESS = re.compile(r"\s*(?:0x)?[0-9a-f]+\s*:")
_XED = re.compile(
    r"XDIS\s+(?P<address>[0-9a-f]+):\s+\S+\s+\S+\s+(?P<bytes>(?:[0-9a-f]{2})+)\s++(?P<text>.*)", re.IGNORECASE
)
_XED_SHORT = re.compile(r"SHORT:\s+(?P<text>\S.*)")
_PLAIN = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*(?:[=-]>\s*)?(?:0x)?(?P<address>[0-9a-f]+)\s*"
    r"(?:<(?P<label>[^>]*?(?:\([^)]*\)[^>]*)?)>)?\s*:(?P<rest>.*)",
    re.IGNORECASE,
)
_HEADING = re.compile(r"\s*(?:0x)?(?P<address>[0-9a-f]+)\s+<(?P<label>.+)>:\s*", re.IGNORECASE)
"""`0000000000001139 <main>:` of objdump."""

_NAMED = re.compile(r"\s*(?:<|->)?(?P<label>[A-Za-z_.$][^\s<>]*)>?:\s*")
"""`main:`, `<main>:` of llvm-objdump, `->LOOP:` of LuaJIT."""

_SECTIONED = re.compile(r"\s*(?:[.\w]+:)(?P<address>[0-9a-f]{8,16})\s+(?P<rest>\S.*)", re.IGNORECASE)
"""`.text:0000000140001000  sub rsp, 28h` of IDA."""

_COLUMNS = re.compile(r"\s*(?:0x)?(?P<address>[0-9a-f]{8,16})[\s|]++(?P<rest>\S.*)", re.IGNORECASE)
"""Address and text in columns, without a colon."""

_SPACED_BYTES = re.compile(r"\s*((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:[\s|]+(.*))?", re.IGNORECASE | re.DOTALL)
"""`48 89 e5   mov rbp, rsp`."""

_JOINED_BYTES = re.compile(r"\s*((?:[0-9a-f]{2}){1,15})[\s|]++(\S.*)", re.IGNORECASE)
"""`4889e5   mov rbp, rsp`."""

_JUMP_ART = re.compile(r"\s*(?:[|/\\+>-]|X(?=[\s|/\\+>-]))(?:[\s|/\\+>-]|X(?=[\s|/\\+>-]))*")
"""Lines that `objdump --visualize-jumps` draws between an address and its bytes."""

_OFFSET = re.compile(r"\+(?:0x)?[0-9a-f]+$", re.IGNORECASE)
_LOCAL_TARGET = re.compile(
    r"\s(?:j\w+|call|loop\w*)[ \t]+(\d+)[bf][ \t]*(?:[#;]|//|$)", re.IGNORECASE | re.MULTILINE
)
_WIDE = re.compile(r"[ \t]{40,}")
_MAX_LINE_LENGTH = 1000  # characters of a line that are looked at


def listing_of(
    lines: NumberedLines, language: LineLanguage, is_foreign: IsForeign = lambda _line: False
) -> Listing | None:
    """The listing in a text; None where the text is none.

    Most instructions must have addresses, which do not decrease within a function.
    """
    text = "\n".join(line for _, line in lines)
    is_perf = bool(_PERF_MARK.search(text))
    is_plain = not is_perf and text.isascii() and not ("% " in text or "%\t" in text)
    entries: list[ListedLine] = []
    other_lines: list[tuple[int, str]] = []
    unlisted = 0
    pending = b""
    for number, raw in lines:
        line = _WIDE.sub(" ", raw)
        if not line.strip():
            continue
        if len(line) > _MAX_LINE_LENGTH:
            line = _shortened(line)
        if (short := _XED_SHORT.match(line)) and pending:
            entries.append(ListedLine(number, _end_address(entries), pending, short["text"]))
            pending = b""
            continue
        entry = (
            _parse_addressed(number, line, language)
            if is_plain
            else _parse_line(number, line, language, is_perf=is_perf)
        )
        if entry is None:
            if not (digits := _bytes_alone(line)):
                other_lines.append((number, line))
            pending = digits or pending
            unlisted += language.begins_instruction(line.strip())
        elif entry.code and not entry.text and entries and _continues(entries[-1], entry):
            last = entries[-1]
            entries[-1] = replace(last, code=last.code + entry.code)
        else:
            entries.append(entry)
    coded = sum(1 for entry in entries if entry.address is not None and (entry.text or entry.code))
    if not coded or unlisted >= coded or _addresses_are_labels(entries, text):
        return None
    kinds, dropped = language.classify(other_lines, is_foreign)
    bare = [] if is_plain else [entry for entry in entries if entry.text and entry.address is None]
    if 0 < len(bare) < coded:  # else only targets of jumps have addresses
        entries = [entry for entry in entries if not entry.text or entry.address is not None]
        dropped += [dropped_line(entry.number, entry.text, "has no address") for entry in bare]
    notes: list[str] = []
    if "latency" in text.lower():
        entries, notes = _with_latencies(entries, lines)
    lost = {line.line for line in dropped}
    source = [(number, _without_share(line) if is_perf else line) for number, line in other_lines]
    entries = _with_source(entries, [row for row in source if row[0] not in lost])
    return Listing(entries, kinds, dropped, notes)


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
    return line if match is None else _PERF_NUMBER.sub("", match[2])


def _with_source(entries: Sequence[ListedLine], other_lines: Sequence[tuple[int, str]]) -> list[ListedLine]:
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


def _shortened(line: str) -> str:
    """A line with a too long name, as of templates, cut; the instruction is before it."""
    end = ">:" if line.rstrip().endswith(">:") else ""
    return f"{line[:_MAX_LINE_LENGTH]}{end}"


def _parse_line(number: int, line: str, language: LineLanguage, *, is_perf: bool) -> ListedLine | None:
    """A line of a listing; None for one without code.

    perf writes samples or their share before the code, objdump an address: both are tried, as texts are
    often cut out of such output.
    """
    count = None
    perf = _PERF.fullmatch(line) if is_perf else None
    if is_perf and perf is None:
        perf = _PERF.fullmatch(without_drawings(line))
    code = without_drawings(line if perf is None else perf[2])
    if perf is not None and perf[1]:
        count = float(perf[1])
    if count is None and "%" in code and (shares := _SHARES.match(code)):
        count, code = float(shares[1]), code[shares.end() :]
    if count is None and not is_perf:
        return _parse_addressed(number, code, language)
    code = _PERF_LINE.sub("", code)
    text = code.strip()
    if (
        not _ADDRESS.match(code)
        and language.begins_instruction(text)
        and (count is not None or language.is_instruction(text))
    ):
        return ListedLine(number, None, b"", text, "", count)
    return _parse_addressed(number, code, language, count)


def _parse_addressed(
    number: int, line: str, language: LineLanguage, count: float | None = None
) -> ListedLine | None:
    """A line that begins with an address, or is a heading."""
    if ":" not in line and not _COLUMNS.fullmatch(line):
        return None
    if ">:" in line and (heading := _HEADING.fullmatch(line)):
        label = heading["label"]
        return None if _OFFSET.search(label) else ListedLine(number, int(heading["address"], 16), label=label)
    if "XDIS" in line and (match := _XED.fullmatch(line.strip())):
        return ListedLine(number, int(match["address"], 16), bytes.fromhex(match["bytes"]), match["text"])
    for pattern in (_PLAIN, _SECTIONED, _COLUMNS):
        if (match := pattern.fullmatch(line)) is not None:
            return _parse_content(number, int(match["address"], 16), match["rest"], language, count)
    named = _NAMED.fullmatch(line)
    return ListedLine(number, label=named["label"]) if named else None


def _parse_content(
    number: int, address: int, content: str, language: LineLanguage, count: float | None
) -> ListedLine | None:
    """What follows the address of a line: bytes, an instruction, both, or a label; None for a relocation."""
    if language.relocation.match(content):
        return None
    code, text = b"", content
    if match := _SPACED_BYTES.fullmatch(content):
        code, text = bytes.fromhex(match[1]), match[2] or ""
    elif (match := _JOINED_BYTES.fullmatch(content)) and language.begins_instruction(match[2]):
        code, text = bytes.fromhex(match[1]), match[2]
    text = text.strip().strip("|").strip()
    if (
        not code
        and not language.begins_instruction(text)
        and not text.startswith(("(bad)", ".byte", ".long", "..."))
    ):
        if text.endswith(":"):
            return ListedLine(number, address, label=text[:-1].strip())
        if art := _JUMP_ART.match(content):
            return _parse_content(number, address, content[art.end() :], language, count)
        if text and not re.fullmatch(r"\w[\w\s,.()<>%$*+\-\[\]:]*", text):
            return None
        return ListedLine(number, address, b"", text, "", count) if text else None
    return ListedLine(number, address, code, text, "", count)


def _continues(previous: ListedLine, line: ListedLine) -> bool:
    """Whether the bytes belong to the previous instruction, as disassemblers split long ones."""
    if previous.address is None or not (previous.code and previous.text):
        return False
    return line.address == previous.address + len(previous.code)


def _end_address(lines: Sequence[ListedLine]) -> int:
    last = lines[-1] if lines else None
    return 0 if last is None or last.address is None else last.address + len(last.code)


def _bytes_alone(line: str) -> bytes:
    """The bytes on a line of their own in xed's input; b"" for another line."""
    packed = "".join(line.split())
    is_hex = len(packed) % 2 == 0 and re.fullmatch(r"[0-9A-Fa-f]{2,30}", packed)
    return bytes.fromhex(packed) if is_hex else b""


def _addresses_are_labels(lines: Sequence[ListedLine], text: str) -> bool:
    """Whether the numbers are labels such as `1:`, the targets of `1b` and `1f`."""
    targets = set(_LOCAL_TARGET.findall(text))
    return any(line.address is not None and f"{line.address:x}" in targets for line in lines)
