"""Listings of disassemblers, debuggers and profilers: lines with an address, maybe bytes, an instruction.

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
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inference.isa.code.block import DroppedLine, dropped_line
from inference.isa.code.source import without_drawings
from inference.isa.x86.assembly.statements import begins_instruction
from inference.isa.x86.assembly.unread import classified, is_instruction

_PERF = re.compile(
    r"[ \t]*(?:(\d+(?:\.\d+)?)[ \t]*(?:%[ \t]*)?)?(?:(?<!\S):|(?<=\.\d\d):|[│┃|])(.*)", re.ASCII
)
_PERF_SIGN = re.compile(r"│|^[ \t]*(?:\d+\.\d+|Percent)[ \t]*[:|]", re.MULTILINE)
_SHARES = re.compile(r"[ \t]*(\d{1,3}(?:\.\d{1,9})?)%(?:[ \t]+\d{1,3}(?:\.\d{1,9})?%)*[ \t]*", re.ASCII)
"""What JMH writes before an address: of one event or of several."""

_PERF_LINE = re.compile(r"^\s*\d+\s+(?=(?:0x)?[0-9a-f]+(?::|\s+<))")
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
_NAMED = re.compile(r"\s*(?:<|->)?(?P<label>[A-Za-z_.$][^\s<>]*)>?:\s*")
_SECTIONED = re.compile(r"\s*(?:[.\w]+:)(?P<address>[0-9a-f]{8,16})\s+(?P<rest>\S.*)", re.IGNORECASE)
_COLUMNS = re.compile(r"\s*(?:0x)?(?P<address>[0-9a-f]{8,16})[\s|]++(?P<rest>\S.*)", re.IGNORECASE)
_SPACED_BYTES = re.compile(r"\s*((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:[\s|]+(.*))?", re.IGNORECASE | re.DOTALL)
_JOINED_BYTES = re.compile(r"\s*((?:[0-9a-f]{2}){1,15})[\s|]++(\S.*)", re.IGNORECASE)
_RELOCATION = re.compile(r"\s*(?:R_X86_64_|IMAGE_REL_|X86_64_RELOC_)")
_JUMP_ART = re.compile(r"\s*(?:[|/\\+>-]|X(?=[\s|/\\+>-]))(?:[\s|/\\+>-]|X(?=[\s|/\\+>-]))*")
"""The lines that `objdump --visualize-jumps` draws between an address and its bytes."""

_OFFSET = re.compile(r"\+(?:0x)?[0-9a-f]+$", re.IGNORECASE)
_LOCAL_TARGET = re.compile(
    r"\s(?:j\w+|call|loop\w*)[ \t]+(\d+)[bf][ \t]*(?:[#;]|//|$)", re.IGNORECASE | re.MULTILINE
)
_SIGN = re.compile(r":|│|^[^\w\n]*(?:0x)?[0-9a-f]{8}", re.IGNORECASE | re.MULTILINE)
"""Something that every listing has."""

_WIDE = re.compile(r"[ \t]{40,}")
_LONGEST_LINE = 1000


@dataclass(frozen=True, slots=True)
class ListedLine:
    """A line of a listing: an address and what is there, or a `label` alone; `count` is a profiler's number.

    `code` is empty where the listing shows no bytes.
    """

    number: int
    address: int | None = None
    code: bytes = b""
    text: str = ""
    label: str = ""
    count: float | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """Its lines, how many others there are of which kind, and those of them that look like code."""

    lines: list[ListedLine]
    skipped: Counter[str]
    dropped: list[DroppedLine]


def listing_of(
    lines: Sequence[tuple[int, str]], is_foreign: Callable[[str], bool] = lambda _line: False
) -> Listing | None:
    """The listing that a text is; None where it is none.

    `lines`: (number from 1, text). Most lines with instructions must have addresses, which do not go back
    within a function. `is_foreign`: whether a line is code of another instruction set.
    """
    text = "\n".join(line for _, line in lines)
    if not _SIGN.search(text):
        return None
    is_perf = bool(_PERF_SIGN.search(text))
    is_plain = not is_perf and text.isascii() and not ("% " in text or "%\t" in text)
    found: list[ListedLine] = []
    rest: list[tuple[int, str]] = []
    unlisted = 0
    pending = b""
    for number, written in lines:
        line = _WIDE.sub(" ", written)
        if not line.strip():
            continue
        if len(line) > _LONGEST_LINE:
            line = _shortened(line)
        if (short := _XED_SHORT.match(line)) and pending:
            found.append(ListedLine(number, _end(found), pending, short["text"]))
            pending = b""
            continue
        one = _addressed(number, line, None) if is_plain else _listed(number, line, is_perf=is_perf)
        if one is None:
            if not (digits := _bytes_alone(line)):
                rest.append((number, line))
            pending = digits or pending
            unlisted += begins_instruction(line.strip())
        elif one.code and not one.text and found and _continues(found[-1], one):
            before = found[-1]
            found[-1] = ListedLine(
                before.number, before.address, before.code + one.code, before.text, "", before.count
            )
        else:
            found.append(one)
    listed = sum(1 for one in found if one.address is not None and (one.text or one.code))
    if not listed or unlisted >= listed or _are_labels(found, text):
        return None
    kinds, dropped = classified(rest, is_foreign)
    bare = [] if is_plain else [one for one in found if one.text and one.address is None]
    if 0 < len(bare) < listed:  # else only targets of jumps have addresses
        found = [one for one in found if not one.text or one.address is not None]
        dropped += [dropped_line(one.number, one.text, "has no address") for one in bare]
    return Listing(found, kinds, dropped)


def _shortened(line: str) -> str:
    """A line with a name that is too long, as templates have them: what is before it is the instruction."""
    end = ">:" if line.rstrip().endswith(">:") else ""
    return f"{line[:_LONGEST_LINE]}{end}"


def _listed(number: int, line: str, *, is_perf: bool) -> ListedLine | None:
    count = None
    perf = _PERF.fullmatch(line) if is_perf else None
    if is_perf and perf is None:
        perf = _PERF.fullmatch(without_drawings(line))
    rest = without_drawings(line if perf is None else perf[2])
    if perf is not None and perf[1]:
        count = float(perf[1])
    if count is None and "%" in rest and (shares := _SHARES.match(rest)):
        count, rest = float(shares[1]), rest[shares.end() :]
    if count is None and not is_perf:
        return _addressed(number, rest, None)
    rest = _PERF_LINE.sub("", rest)
    text = rest.strip()
    if not _ADDRESS.match(rest) and begins_instruction(text) and (count is not None or is_instruction(text)):
        return ListedLine(number, None, b"", text, "", count)
    return _addressed(number, rest, count)


def _addressed(number: int, line: str, count: float | None) -> ListedLine | None:
    """A line that begins with an address or is a heading."""
    if ":" not in line and not _COLUMNS.fullmatch(line):
        return None
    if ">:" in line and (heading := _HEADING.fullmatch(line)):
        label = heading["label"]
        return None if _OFFSET.search(label) else ListedLine(number, int(heading["address"], 16), label=label)
    if "XDIS" in line and (found := _XED.fullmatch(line.strip())):
        return ListedLine(number, int(found["address"], 16), bytes.fromhex(found["bytes"]), found["text"])
    for pattern in (_PLAIN, _SECTIONED, _COLUMNS):
        if (found := pattern.fullmatch(line)) is not None:
            return _placed(number, int(found["address"], 16), found["rest"], count)
    named = _NAMED.fullmatch(line)
    return ListedLine(number, label=named["label"]) if named else None


def _placed(number: int, address: int, rest: str, count: float | None) -> ListedLine | None:
    if _RELOCATION.match(rest):
        return None
    code, text = b"", rest
    if found := _SPACED_BYTES.fullmatch(rest):
        code, text = bytes.fromhex(found[1]), found[2] or ""
    elif (found := _JOINED_BYTES.fullmatch(rest)) and begins_instruction(found[2]):
        code, text = bytes.fromhex(found[1]), found[2]
    text = text.strip().strip("|").strip()
    if not code and not begins_instruction(text) and not text.startswith(("(bad)", ".byte", ".long", "...")):
        if text.endswith(":"):
            return ListedLine(number, address, label=text[:-1].strip())
        if art := _JUMP_ART.match(rest):
            return _placed(number, address, rest[art.end() :], count)
        if text and not re.fullmatch(r"\w[\w\s,.()<>%$*+\-\[\]:]*", text):
            return None
        return ListedLine(number, address, b"", text, "", count) if text else None
    return ListedLine(number, address, code, text, "", count)


def _continues(before: ListedLine, one: ListedLine) -> bool:
    """Whether the bytes belong to the instruction before, as disassemblers break long ones."""
    if before.address is None or not (before.code and before.text):
        return False
    return one.address == before.address + len(before.code)


def _end(found: Sequence[ListedLine]) -> int:
    last = found[-1] if found else None
    return 0 if last is None or last.address is None else last.address + len(last.code)


def _bytes_alone(line: str) -> bytes:
    """The bytes that xed is asked about, which stand on a line of their own."""
    packed = "".join(line.split())
    is_hex = len(packed) % 2 == 0 and re.fullmatch(r"[0-9A-Fa-f]{2,30}", packed)
    return bytes.fromhex(packed) if is_hex else b""


def _are_labels(found: Sequence[ListedLine], text: str) -> bool:
    """Whether the numbers are labels of the kind `1:`, which jumps call `1b` and `1f`."""
    wanted = set(_LOCAL_TARGET.findall(text))
    return any(one.address is not None and f"{one.address:x}" in wanted for one in found)
