"""Listings as lines with an address, maybe bytes, and an instruction: those of most programs.

| program | line |
|---|---|
| objdump, llvm-objdump | `  401126: 55   push %rbp`, with `--no-show-raw-insn` without bytes |
| `objdump --prefix-addresses` | `0000000000401126 <main+0x4> push %rbp` |
| gdb | `=> 0x0000000000401126 <+0>: push %rbp` |
| lldb | `->  0x401126 <+0>: pushq %rbp`, `a.out[0x401126] <+0>: pushq %rbp` |
| perf annotate | `  12.50 :   401126:  push %rbp`, `  3.40 │ 20: ↓ jne 40`, `  3.40        20: jne  40` |
| perf script | `  401126 main+0x4 (/tmp/a) insn: 55`, `401126 main+0x4 (/tmp/a) push %rbp` |
| JMH's perfasm | `  3.46%   ↗  0x00007f0d3c11a2c6: push %rbp` |
| xed | `XDIS 401126: PUSH BASE 55 push rbp` |
| IDA | `.text:0000000000401126 55 push rbp`, and of long code the rest below |
| Ghidra | `00401126 48 b8 11  MOV RAX,0x11`, and of long code the rest below |
| dumpbin, WinDbg | `  0000000140001000: 55  push rbp`, `00007ff7`3b8b1000 55  push rbp` |
| x64dbg | `0000000140001000 | 48:8BC1 | mov rax,rcx | comment` |
| LuaJIT | `0bcbffcf  addsd xmm7, [0x40015d78]`, `0bcbffde  jle 0x0bcbffcf ->LOOP` |
| Iced | `0004h push rbp` |
| radare2, rizin | `│ ┌─> 0x00401126  55  push rbp`, of long code only the first bytes: `48b8887766. mov` |
"""

from __future__ import annotations

import re
from typing import NamedTuple

from inference.isa.code.listings import LineLanguage, ListedLine
from inference.isa.code.source import LEADING_DRAWINGS, without_drawings

_PERF = re.compile(
    r"[ \t]*(?:(\d{1,12}(?:\.\d+)?)[ \t]*(?:%[ \t]*)?)?(?:(?<!\S):|(?<=\.\d\d):|[│┃|])(.*)", re.ASCII
)
_COLUMN_OF_SHARES = re.compile(r"[ \t]*(?:(\d{1,3}\.\d\d)[ \t]{2,})?(\S.*)")
"""`perf annotate --stdio2` without colours, where a blank stands for the bar."""

_SHARES = re.compile(r"[ \t]*(\d{1,3}(?:\.\d{1,9})?)%(?:[ \t]+\d{1,3}(?:\.\d{1,9})?%)*[ \t]*", re.ASCII)
"""JMH's shares of one or several events, before an address."""

_PERF_LINE = re.compile(r"^\s*\d+\s+(?=(?:0x)?[0-9a-f]+(?::|\s+<))")
"""Number of samples before an address: `12  401000:`."""

_ADDRESS_DIGITS = 16
_ADDRESS = re.compile(r"\s*(?:0x)?[0-9a-f]+\s*:")
_XED = re.compile(
    r"XDIS\s+(?P<address>[0-9a-f]+):\s+\S+\s+\S+\s+(?P<rest>(?:[0-9a-f]{2})+\s.*)", re.IGNORECASE
)
_MARK = r"\s*(?:[=-]>|[Bb*][+-]?>?|>)?\s*"
"""What debuggers put before the current instruction."""

_PLAIN = re.compile(  # bounded: a line of at most 1,000 characters
    rf"{_MARK}(?:0x)?(?P<address>[0-9a-f]+)\s*"
    r"(?:<(?P<label>[^>]*?(?:\([^)]*\)[^>]*)?)>)?\s*:(?P<rest>.*)",
    re.IGNORECASE,
)
_IN_MODULE = re.compile(  # bounded: a line of at most 1,000 characters
    rf"{_MARK}[^\s\[\]]+\[0x(?P<address>[0-9a-f]+)\](?:\s*<[+\d]+>)?:(?P<rest>.*)", re.IGNORECASE
)
"""`a.out[0x1260] <+0>: testl %edx, %edx` of lldb."""

_TRACED = re.compile(  # bounded: a line of at most 1,000 characters
    r"(?:.*:\s+|(?:[^(+]*\s)?)(?P<address>[0-9a-f]{4,16})\s.*?\binsn:(?P<rest>.*)", re.IGNORECASE
)
"""The address is the first behind the time and the event; without these, the last before the symbol."""

_TRACED_TEXT = re.compile(  # bounded: a line of at most 1,000 characters
    r"(?:.*:\s+|\s*)(?P<address>[0-9a-f]{4,16})\s+\S+\+0x[0-9a-f]+\s+\([^()\s]+\)\s+(?P<rest>[a-z].*)",
    re.IGNORECASE,
)
_TRACED_REMARK = re.compile(r"(?:\t|\s{2}).*")
_HEADING = re.compile(r"\s*(?P<mark>0x)?(?P<address>[0-9a-f]+)\s+<(?P<label>.+)>:\s*", re.IGNORECASE)
"""`0000000000001139 <main>:` of objdump; `0x1139 <main+4>:` of gdb is a line without its instruction."""

_FUNCTION = re.compile(r"\s*\d+:\s(?:[^()]{0,200}[\s*&])?(?P<label>[\w.:~<>]+)\s*\(.*\)\s*;\s*")
"""`35: int main (int argc);` of radare2, with the function's size."""

_NAMED = re.compile(r"\s*(?:<|->)?(?P<label>[A-Za-z_.$][^\s<>]*)>?:\s*")
"""`main:`, `<main>:` of llvm-objdump, `->LOOP:` of LuaJIT."""

_SECTIONED = re.compile(r"\s*(?:[.\w]+:)(?P<address>[0-9a-f]{8,16})(?:\s+(?P<rest>\S.*))?", re.IGNORECASE)
"""`.text:0000000140001000  sub rsp, 28h` of IDA."""

_COLUMNS = re.compile(  # bounded: a line of at most 1,000 characters
    rf"{_MARK}(?P<address>(?:0x[0-9a-f]{{4,7}}|(?:0x)?[0-9a-f]{{8,16}}|[0-9a-f]{{4,16}}(?=h\s)))h?"
    r"(?:\s+<[^>]*>)?[\s|]++(?P<rest>\S.*)",
    re.IGNORECASE,
)
"""Address and text in columns, without a colon."""

_HALVES = re.compile(r"\b([0-9a-f]{8})`([0-9a-f]{8})\b", re.IGNORECASE)
"""An address of WinDbg."""

_BYTES = re.compile(
    r"\s*((?:[0-9a-f]{2} )*[0-9a-f]{2})(\+?)(?:[\s|]+(.*))?"  # `48 89 e5   mov rbp, rsp`
    r"|\s*((?:[0-9a-f]{2}){1,15})([.+]?)(?:[\s|]++(\S.*)|\s*)",  # `4889e5   mov rbp, rsp`
    re.IGNORECASE | re.DOTALL,
)
_GROUPED_BYTES = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*((?:[0-9a-f]{2}){1,15}(?:[: ](?:[0-9a-f]{2}){1,15}){1,14})\s*\|\s*(.*)", re.IGNORECASE
)
"""`69C9 93010001 | imul ecx,ecx,1000193` of x64dbg."""
_JUMP_ART = re.compile(r"\s*(?:[|/\\+>-]|X(?=[\s|/\\+>-]))(?:[\s|/\\+>-]|X(?=[\s|/\\+>-]))*")
"""Lines that `objdump --visualize-jumps` draws between an address and its bytes."""

_BARRED = re.compile(r"\s*(?:0x)?[0-9a-f]+\s*\|", re.IGNORECASE)
_COLUMN_OF_REMARKS = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s\|(?:\s.*)?$"
)
_REMARK = re.compile(r"(?:^|\s);.*")
_LABEL = re.compile(r"(.+):|(\S+)\s+proc\b.*", re.IGNORECASE)
_OFFSET = re.compile(r"\+(?:0x)?[0-9a-f]+$", re.IGNORECASE)

_NO_INSTRUCTION = ("(bad)", "<unknown>", ".byte", ".long", "...")
_PLAUSIBLE = re.compile(  # bounded: a line of at most 1,000 characters
    r"(?!\S*\+0x[0-9a-f]+(?:\s*\(.*\))?$)\w[\w\s,.()<>%$*+\-\[\]:]*", re.IGNORECASE
)
"""Text that may be an instruction of an unknown name, and is no place like `f+0x93 (/tmp/a)`."""


class _Content(NamedTuple):
    """Bytes and text behind an address; `is_cut`: there are more bytes than the line shows."""

    code: bytes
    text: str
    is_cut: bool = False


def parse_line(number: int, line: str, language: LineLanguage, *, is_perf: bool) -> ListedLine | None:
    """A line of a listing; None for one without code.

    perf writes samples or their share before the code, objdump an address: both are tried, as texts are
    often cut out of such output.
    """
    count = None
    if is_perf and not line.isascii():
        line = f" {LEADING_DRAWINGS.sub('', line)}"
    perf = _PERF.fullmatch(line) if is_perf else None
    if is_perf and perf is None:
        perf = _PERF.fullmatch(without_drawings(line)) or _COLUMN_OF_SHARES.fullmatch(without_drawings(line))
    code = without_drawings(line if perf is None else perf[2])
    if perf is not None and perf[1]:
        count = float(perf[1])
    if count is None and "%" in code and (shares := _SHARES.match(code)):
        count, code = float(shares[1]), code[shares.end() :]
    if count is None and not is_perf:
        return parse_addressed(number, code, language)
    code = _PERF_LINE.sub("", code)
    text = code.strip()
    if (
        not _ADDRESS.match(code)
        and language.begins_instruction(text)
        and (count is not None or language.is_instruction(text))
    ):
        return ListedLine(number, None, b"", text, "", count)
    return parse_addressed(number, code, language, count)


def parse_addressed(
    number: int, line: str, language: LineLanguage, count: float | None = None
) -> ListedLine | None:
    """A line that begins with an address, or is a heading."""
    if "`" in line:
        line = _HALVES.sub(r"\1\2", line)
    if ":" not in line and not _COLUMNS.fullmatch(line):
        return None
    if ">:" in line and (heading := _HEADING.fullmatch(line)):
        if len(heading["address"].lstrip("0")) > _ADDRESS_DIGITS:
            return None
        label, is_cut = heading["label"], heading["mark"] and _OFFSET.search(heading["label"])
        return None if is_cut else ListedLine(number, int(heading["address"], 16), label=label)
    if line.rstrip().endswith(");") and (function := _FUNCTION.fullmatch(line)):
        return ListedLine(number, label=function["label"])
    place = _place_of(line)
    if place and len(place["address"].lstrip("0")) <= _ADDRESS_DIGITS:
        return _entry(number, int(place["address"], 16), _content_behind(place, line), language, count)
    named = _NAMED.fullmatch(line)
    return ListedLine(number, label=named["label"]) if named else None


def _place_of(line: str) -> re.Match[str] | None:
    """The address of a line, and the `rest` behind it."""
    if "XDIS" in line and (match := _XED.fullmatch(line.strip())):
        return match
    if "insn:" in line and (match := _TRACED.fullmatch(line)):
        return match
    if "+0x" in line and ")" in line and (match := _TRACED_TEXT.fullmatch(line)):
        return match
    patterns = (_PLAIN, _SECTIONED, _COLUMNS, _IN_MODULE)
    return next(filter(None, (pattern.fullmatch(line) for pattern in patterns)), None)


def _content_behind(place: re.Match[str], line: str) -> str:
    """What follows the address, without remarks in a column of their own."""
    content = place["rest"] or ""
    if place.re is _TRACED:
        return _TRACED_REMARK.sub("", content.strip())
    if "|" not in content or not _BARRED.match(line):
        return content
    code, bar, remark = content.strip(" \t|").partition("|")
    return f"{code}|{_COLUMN_OF_REMARKS.sub('', remark)}" if bar else code


def _entry(
    number: int, address: int, content: str, language: LineLanguage, count: float | None
) -> ListedLine | None:
    """What follows the address of a line: bytes, an instruction, both, or a label; None for a relocation."""
    code, text, is_cut = _content(content, language)
    bare = _REMARK.sub("", text).strip()
    is_instruction = language.begins_instruction(text)
    if not is_instruction and ((text and not (bare or code)) or language.is_directive(bare)):
        return ListedLine(number, address)
    if code or is_instruction or text.startswith(_NO_INSTRUCTION):
        return ListedLine(number, address, code, text, "", count, is_cut=is_cut)
    if label := _LABEL.fullmatch(bare):
        return ListedLine(number, address, label=(label[1] or label[2]).strip())
    if art := _JUMP_ART.match(content):
        return _entry(number, address, content[art.end() :], language, count)
    if not _PLAUSIBLE.fullmatch(text) or language.relocation.match(content):
        return None
    return ListedLine(number, address, b"", text, "", count)


def _content(content: str, language: LineLanguage) -> _Content:
    """The bytes and the text behind an address, in one of the forms in which programs print them."""
    if "|" in content and (grouped := _GROUPED_BYTES.fullmatch(content)):
        return _Content(bytes.fromhex(re.sub("[: ]", "", grouped[1])), grouped[2].strip("| "))
    match = _BYTES.fullmatch(content)
    if match is None or _begins_with_word(match, language):
        return _Content(b"", content.strip().strip("|").strip())
    spaced, plus, text, joined, cut, joined_text = match.groups()
    text = (text or joined_text or "").strip().strip("|").strip()
    return _Content(bytes.fromhex(spaced or joined), text, bool(plus or cut))


def _begins_with_word(bytes_and_text: re.Match[str], language: LineLanguage) -> bool:
    """Whether the digits are a word of such letters: `fadd st`."""
    spaced, joined, cut, text = bytes_and_text.group(1, 4, 5, 6)
    if len(spaced or "") == 2 and language.is_directive(spaced):
        return True  # `db 66h`
    if not joined or cut:
        return False
    return not language.begins_instruction(text) if text else language.begins_instruction(joined)
