"""What .NET prints of compiled methods: JitDisasm, BenchmarkDotNet, and SOS and WinDbg.

| program | line |
|---|---|
| JitDisasm | `       mov      rcx, gword ptr [rdi+08H]`, maybe behind bytes, or behind address and bytes |
| BenchmarkDotNet | `       mov       rcx,[rdi+10]`: all numbers are hexadecimal; maybe behind an address |
| SOS, WinDbg | ``00007ffa`45410621 4883ec40        sub     rsp,40h`` |

Each method has labels of its own, whose names repeat in the next method.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from iced_x86 import Decoder

from inference.isa.code.annotations import SourcePlace
from inference.isa.code.listings import IsForeign, ListedLine, Listing, ListingKind, NumberedLines
from inference.isa.x86.assembly.prefixes import is_prefix
from inference.isa.x86.assembly.skipped_lines import classify
from inference.isa.x86.assembly.statements import begins_instruction

_MAX_LINE_LENGTH = 1000  # characters of a line that are looked at
_LINE = re.compile(
    r"[\s>]*(?:(?:\d{1,6} +)?(?P<address>[0-9a-f]{16}|7F[0-9A-F]{10})\s+)?"
    r"(?:(?P<bytes>(?:[0-9A-F]{2}){1,15}|(?:[0-9a-f]{2}){1,15}(?=\s+[a-z]\w{1,16}(?:\s|$)(?!ptr)))\s+)?"
    r"(?P<text>[a-z][^;]*)(?:;.*)?"
)
_WINDBG_ADDRESS = re.compile(r"\b([0-9a-f]{8})`([0-9a-f]{8})\b")
_LABEL = re.compile(r"\s*(?P<label>G_M\w+_IG\d+|M\d+_L\d+):\s*(?:;.*)?")
_LABEL_NAME = re.compile(r"\b(?:G_M\w+_IG\d+|M\d+_L\d+)\b")
_METHOD = re.compile(  # bounded: a line of at most 1,000 characters
    r"; (?:Assembly listing for method )?(?P<method>[^\s;(]+[.:][^\s;(]+)\(.*"
)
_METHOD_END = re.compile(r"; Total bytes of code\b.*")
_ALIGNMENT = re.compile(r"align\s+\[.*")
_SOURCE = re.compile(r"(?P<file>\S.*?) @ (?P<line>\d+):?")  # `C:\\Program.cs @ 8:`
_HEADING = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*(?:[;#*].*|```.*|\d:\d{3}(?::x86)?> .*|\w*\s+d[bwdqt]\s.*|[-=.*]{3,}.*|\.NET .*)"
)
"""Comments, data and the headings of reports: `RWD00  dq  0000000200000000h`, `## .NET 8.0.4`."""

_PREFIXED_DIGITS = re.compile(r"G_M\w{1,40}_IG\d|[0-9a-f]{8}`|\b(?:0x[0-9a-fA-F]|[0-9][0-9A-F]*[hH]\b)")
"""What no text has whose hexadecimal numbers are written like decimal ones: BenchmarkDotNet's."""

_FIRST_ADDRESS = 0x1000  # of a text that shows bytes without addresses


def _read(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    entries: list[ListedLine] = []
    other_lines: list[tuple[int, str]] = []
    skipped: Counter[str] = Counter()
    methods, source = 1, None
    has_bare_digits = not _PREFIXED_DIGITS.search("\n".join(line.partition(";")[0] for _, line in lines))
    for number, raw in lines:
        line = _WINDBG_ADDRESS.sub(r"\1\2", raw[:_MAX_LINE_LENGTH])
        text = line.strip()
        if label := _LABEL.fullmatch(line):
            entries.append(ListedLine(number, label=_in_method(label["label"], methods)))
        elif _METHOD_END.fullmatch(text):
            methods += 1
        elif method := _METHOD.fullmatch(text):
            entries.append(ListedLine(number, label=method["method"]))
        elif place := _SOURCE.fullmatch(text):
            source = SourcePlace(place["file"], int(place["line"]))
        elif (match := _LINE.fullmatch(line)) and _ALIGNMENT.match(match["text"]) and not match["bytes"]:
            skipped["align"] += 1
        elif match and (_ALIGNMENT.match(match["text"]) or begins_instruction(_plain(match["text"]))):
            code = _in_method(_plain(match["text"]), methods)
            entries.append(
                ListedLine(
                    number,
                    int(match["address"], 16) if match["address"] else None,
                    bytes.fromhex(match["bytes"] or ""),
                    _BARE_DIGITS.sub(r"0x\1", code) if has_bare_digits else code,
                    source=source,
                )
            )
        elif _HEADING.fullmatch(line):
            skipped["comment"] += 1
        elif text:
            other_lines.append((number, line))
    instructions = [entry for entry in entries if entry.text]
    if not instructions or any(is_foreign(entry.text) for entry in instructions):
        return None
    kinds, dropped = classify(other_lines, is_foreign)
    if all(entry.code for entry in instructions):
        entries = _with_addresses(entries)
    elif not all(entry.address is not None for entry in instructions):
        entries = _with_prefixes([replace(entry, address=None, code=b"") for entry in entries])
    return Listing(entries, skipped + kinds, dropped)


def _in_method(text: str, number: int) -> str:
    """The text with the labels of the method with this number, those of the first one unchanged."""
    return text if number == 1 else _LABEL_NAME.sub(lambda name: f"{name[0]}.{number}", text)


def _with_prefixes(entries: list[ListedLine]) -> list[ListedLine]:
    """The lines; a prefix on a line of its own, as in `lock` before `xadd`, belongs to the next one."""
    joined: list[ListedLine] = []
    prefix = ""
    for entry in entries:
        text = f"{prefix} {entry.text}" if prefix else entry.text
        prefix = text if is_prefix(entry.text) else ""
        if not prefix or entry is entries[-1]:
            joined.append(replace(entry, text=text))
    return joined


def _with_addresses(entries: list[ListedLine]) -> list[ListedLine]:
    """Lines with bytes at consecutive addresses; several instructions that fill up a line are divided."""
    placed: list[ListedLine] = []
    address = _FIRST_ADDRESS
    for entry in entries:
        if not entry.code:
            placed.append(entry)
            continue
        address = address if entry.address is None else entry.address
        sizes = [decoded.len for decoded in Decoder(64, entry.code)]
        if len(sizes) == 1:
            placed.append(replace(entry, address=address))
        else:
            begin = 0
            for size in sizes:
                code = entry.code[begin : begin + size]
                placed.append(ListedLine(entry.number, address + begin, code))
                begin += size
        address += len(entry.code)
    return placed


_NAMED_MEMORY = re.compile(  # bounded: a line of at most 1,000 characters
    r"\[(?:\(?reloc\s+|@)[^\]]*?(?P<name>RWD\d+)?\]|\[[0-9A-F]{9,16}\]"
)
"""Memory at a constant's name or address: `[reloc @RWD00]`, `[7FFEE0E39D90]`."""

_CALL = re.compile(  # bounded: a line of at most 1,000 characters
    r"(call|jmp)\s+(?:qword ptr )?(\[?).*"
)
_TAIL = re.compile(r"(?:tail|rex)\.(?=jmp)")
_PAIR = re.compile(r"\b[er]dx:[er]ax,\s*")
"""The implied destination of `mul` and `div`."""

_TYPE = re.compile(r"mov(\s+r\w+,\s*)offset .*")
_BARE_DIGITS = re.compile(r"(?<![\w.$@])([0-9][0-9A-F]+)(?![\w.$@])")
_NARROW = re.compile(r"(?:xor\s+r(\w+),\s*r\1|v?p?movmsk\w+\s+r\w+,.*)")
"""Instructions with 32-bit operands that JitDisasm prints with the names of 64 bits."""

_WIDE_REGISTER = re.compile(r"\br(?:(\d+)|([a-z]{2}))\b")


def _plain(text: str) -> str:
    """The instruction as assemblers know it."""
    code = _TAIL.sub("", text.strip())
    if (call := _CALL.fullmatch(code)) and not _LABEL_NAME.search(code):
        return f"{call[1]} {'qword ptr [rip+target]' if call[2] else 'target'}"
    if _NARROW.fullmatch(code):
        return _WIDE_REGISTER.sub(lambda name: f"r{name[1]}d" if name[1] else f"e{name[2]}", code)
    code = _NAMED_MEMORY.sub(lambda memory: f"[rip+{memory['name'] or 'constant'}]", code)
    return _TYPE.sub(r"movabs\1offset type", _PAIR.sub("", code))


DOTNET = ListingKind(
    ".NET",
    re.compile(
        r"^[ \t]*(?:G_M\w+_IG\d+|M\d+_L\d+):|; Total bytes of code"
        r"|^[> ]*(?:\d{1,6} +)?[0-9a-f]{8}`[0-9a-f]{8}\s",
        re.MULTILINE,
    ),
    _read,
)
