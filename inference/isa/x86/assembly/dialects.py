"""Assembly of other programs as the text reader knows it, line by line.

| program | what is rewritten |
|---|---|
| Julia, cargo asm | prompts, progress, places in inlined functions, Rust behind its places |
| NASM -E | `[section .text]`, `%line 6+1 n.asm`, `times 4 nop`, `db 0x90`; local labels of functions |
| MASM, MSVC | `@@:` with `@F` and `@B`, `.code`, `include listing.inc` |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from inference.isa.x86.assembly.skipped_lines import is_instruction

_MAX_LINE_LENGTH = 1000  # characters of a line that is rewritten
_NO_CODE = re.compile(
    r"[ \t]*(?:julia> .*|In \[\d+\]: .*|[$%] cargo .*|(?:Compiling|Finished|Running|Updating)\s.*"
    r"|%line\b.*|include\s+listing\.inc\b.*|(?:Filename|Source line): .*)",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"julia>|In \[|cargo|Compiling|Finished|Running|Updating|%line|listing\.inc|Filename|Source line"
    r"|\.rs\b|offset\s+flat|\[[a-z]{4,9}\b|\btimes\b|\bdb\b|\.code\b|@[@bf]|, ptr, \[|\[\w+, [+-], "
    r"|;[ \t]*[│┌└]",
    re.IGNORECASE,
)
"""Occurs in every text that is rewritten, but for labels."""

_JULIA_PLACE = re.compile(r";\s*(?P<frames>[│┌└]+)\s*(?:@ (?P<place>\S+:\d+) within\b.*)?")
"""`; ││┌ @ float.jl:405 within `*'`: a bar per function, the last inlined into the others."""

_RUST_PLACE = re.compile(r"\s*//\s*(\S{1,500}\.rs)\s*:\s*(\d+)\s*")
_BRACKETED = re.compile(
    r"\s*\[((?:section|segment|global|extern|static|bits|default|align|sectalign|cpu)\b[^\]]*)\]\s*",
    re.IGNORECASE,
)
_TIMES = re.compile(r"(\s*(?:[\w.$?@]+:\s*)?)times\s+(\d{1,3})\s+([a-z].*)", re.IGNORECASE)
_PADDING = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*times\s+\(.*\$-\$\$.*\)\s*nop\s*$", re.IGNORECASE
)
_BYTES = re.compile(
    r"(\s*(?:[\w.$?@]+:\s*)?)db\s+([0-9][0-9a-fxh]*(?:\s*,\s*[0-9][0-9a-fxh]*)*)\s*", re.IGNORECASE
)
_ADDRESS_OF = re.compile(r"(\blea\s+\w+\s*,\s*)offset\s+(?:flat:)?(\S+)", re.IGNORECASE)
_ANONYMOUS = re.compile(  # bounded: a line of at most 1,000 characters
    r"\s*@@:"
)
_ANONYMOUS_TARGET = re.compile(r"(?<=\s)@([bf])\b", re.IGNORECASE)
_ANONYMOUS_NUMBER = "88"  # of the numeric label that stands for @@
_LABEL = re.compile(r"\s*(\.?[A-Za-z_$?@][\w.$?@]*)\s*:(?!:)")
_LOCAL = re.compile(r"(?<![\w.$?@])\.[A-Za-z_]\w*")
_CODE_SECTION = re.compile(r"\s*\.code\s*$", re.IGNORECASE)
_OLD_CARGO = re.compile(r", ptr, \[|\[\w+, [+-], ")
"""The first cargo asm has commas between all parts of an operand: `dword, ptr, [rdi, +, 8*rcx]`."""

_RUST_END = re.compile(  # bounded: a line of at most 1,000 characters
    r".*[;{}(),](?:\s*//.*)?"
)
"""What ends a line of Rust, and of this cargo asm no instruction."""

_PLAIN_LINES = ((_NO_CODE, ""), (_PADDING, "align 16"), (_CODE_SECTION, ".text"))


def plain_assembly(lines: Sequence[str]) -> list[str]:
    """The same number of lines, without what only other programs understand.

    >>> plain_assembly(["julia> @code_native f(1)", "times 2 nop"])
    ['', 'nop; nop']
    """
    text = "\n".join(lines)
    if not _MARK.search(text):
        return _with_global_labels(lines)  # nearly all texts
    has_rust = _OLD_CARGO.search(text)
    plain: list[str] = []
    place = ""
    functions: list[str] = []  # places in Julia's functions, the outermost first
    for line in lines:
        if len(line) > _MAX_LINE_LENGTH:
            plain.append(line)
        elif place and line.strip() and not is_instruction(line.strip()):
            plain.append(f"// {place}: {line.strip()}")
        elif has_rust and _RUST_END.fullmatch(line) and not is_instruction(line.strip()):
            plain.append(f"// {line.strip()}")
        elif julia := _JULIA_PLACE.match(line.strip()):
            depth = len(julia["frames"].rstrip("└"))
            functions = [*functions[: depth - 1], julia["place"]] if julia["place"] else functions[:depth]
            plain.append(f"; @ {functions[0]} within" if functions else "")
        elif rust := _RUST_PLACE.fullmatch(line):
            plain.append(f"// {rust[1]}:{rust[2]}")
        else:
            plain.append(_plain_line(line))
        rust = _RUST_PLACE.fullmatch(line)
        place = f"{rust[1]}:{rust[2]}" if rust else ""
    return _with_global_labels(plain)


def _plain_line(line: str) -> str:
    """A line whose meaning does not depend on the lines before it."""
    for pattern, plain in _PLAIN_LINES:
        if pattern.match(line):
            return plain
    if bracketed := _BRACKETED.fullmatch(line):
        return bracketed[1].replace("sectalign", "align")
    statement = line.partition(";")[0]
    if times := _TIMES.fullmatch(statement):
        return times[1] + _repeat_instruction(times[3].strip(), int(times[2]))
    if data := _BYTES.fullmatch(statement):
        return f"{data[1]}.byte {data[2]}"
    code = _ANONYMOUS.sub(f"{_ANONYMOUS_NUMBER}:", line) if "@@" in line else line
    code = _ANONYMOUS_TARGET.sub(lambda name: f"{_ANONYMOUS_NUMBER}{name[1].lower()}", code)
    code = _ADDRESS_OF.sub(r"\1[rip+\2]", code)
    return (
        re.sub(r", ([+-]), ", r"\1", code.replace(", ptr, [", " ptr [")) if _OLD_CARGO.search(code) else code
    )


def _repeat_instruction(statement: str, times: int) -> str:
    data = _BYTES.fullmatch(statement)
    return f".byte {', '.join([data[2]] * times)}" if data else "; ".join([statement] * times)


def _with_global_labels(lines: Sequence[str]) -> list[str]:
    """NASM's local labels behind the name of their function, where several functions have the same ones."""
    labels = [match[1] for line in lines if (match := _LABEL.match(line))]
    local = {name for name, count in Counter(labels).items() if count > 1 and name[0] == "."}
    if not local:
        return list(lines)
    function = ""
    renamed = []
    for line in lines:
        if (match := _LABEL.match(line)) and match[1][0] != ".":
            function = match[1]
        renamed.append(_qualify_operand(line, function, local))
    return renamed


def _qualify_operand(line: str, function: str, names: Collection[str]) -> str:
    return _LOCAL.sub(lambda name: function + name[0] if name[0] in names else name[0], line)
