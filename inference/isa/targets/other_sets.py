"""Recognises code of instruction sets that are not supported, for an error that names them.

A text is asked only when it could not be read. Half of its lines with code must be instructions of one set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from inference.isa.code.block import BlockError
from inference.isa.targets import DEFAULT, RISCV

_MAX_LINES = 20_000  # that are looked at
_MAX_LINE_LENGTH = 300  # characters that are looked at
_LEADING = re.compile(  # bounded: lines of at most 300 characters
    r"\s*(?:\d+(?:\.\d+)?%?\s*[:|│]?\s+)?(?:(?:0x)?[0-9a-f]+:\s*)?(?:(?=[a-f]*\d)[0-9a-f]{2,8}\s+)*(?:[\w.$]+:\s*)?",
    re.ASCII,
)
"""Shares of samples, addresses, bytes and labels before an instruction."""

_COMMENT = re.compile(r"(?://|;|#(?!-?\d)|\s@\s|/\*).*|<[^<>]*>.*")


_X86_REGISTER = re.compile(r"\b(?:[re](?:[abcd]x|[sd]i|[bsi]p)|r(?:8|9|1[0-5])[dwb]|[xyz]mm\d+)\b")


class _Set(NamedTuple):
    """`instruction`: a whole line of code without comment, in small letters unless all are capitals."""

    name: str
    instruction: re.Pattern[str]


_X = r"(?:zero|[sgt]p|ra|[vx](?:[12]?\d|3[01])|[ast]\d{1,2}|f[ast]?\d{1,2})"
_R = r"(?:r(?:1[0-5]|\d)|sp|lr|pc|ip|fp|[qds]\d{1,2})"


def _set(name: str, *alternatives: str) -> _Set:
    return _Set(name, re.compile("|".join(alternatives)))  # bounded: lines of at most 300 characters


_SETS = (
    _set(
        RISCV,
        r"(?:c\.)?(?:add|sub|mul|div|rem|and|or|xor|sll|srl|sra|slt|l[bhwd]u?|s[bhwd]|li|lui|auipc|la|mv|neg"
        r"|not|seqz|snez|beq|bne|blt|bge|bgt|ble|beqz|bnez|bltz|bgez|jal?r?|fl[wdh]|fs[wdh]|f[a-z]+\.[\w.]+"
        r"|v\w+\.[\w.]+|vsetv?i?vli?|(?:lr|sc|amo\w+)\.[\w.]+|sh[123]add|andn|orn|xnor|clz|ctz|cpop|max|min"
        r"|sext|zext|rev8|orc|ro[lr]|b(?:clr|ext|inv|set)|czero|clmul[hr]?|th\.\w+|aes64\w+|sha(?:256|512)\w+)"
        rf"[iuwhs]{{0,3}}(?:\.(?:[bhw]|uw|eqz|nez))?\s+(?=.*\b{_X}\b)[\w\s,.()%+<>-]+",
    ),
    _set(
        "AArch64 with SVE",
        r"[a-z]\w+\s+(?=.*(?:\bz\d+\b|\bp\d+(?:/[mz]|\.[bhsd]))).*",
        r"(?:inc[bhwd]|cnt[bhwd]|ptrue)\b.*",
    ),
    _set(
        "32-bit Arm",
        rf"(?!push|pop)[a-z][\w.]*\s+(?=.*(?:\[{_R}\b|#-?\d|\{{{_R}|{_R}\s*,\s*{_R}\s*,\s*{_R}\b))"
        rf"[\[{{]*{_R}[\]}}!]*(?:\s*,.*)?",
        r"bx\s+lr",
        r"(?:v?push|v?pop)\s+\{.*\}",
    ),
    _set(
        "PowerPC",
        r"(?:l[bhwd](?:z|a|ar)?u?x?|l?fs?t?[sd]u?x?|st[bhwd]u?x?|addi?s?|mulli|lis?|m[ft](?:lr|ctr)"
        r"|bdn?z\+?|cmp[lwd]+i?|rlwinm|rldicl|f?n?m(?:add|sub)s?|fmadd|stf[sd]|lx?v\w*|stxv\w*|xv\w+|std|mr"
        r"|clrldi|sldi|ori)\s+(?:[rfv]|vs|cr)?[\d.].*",
        r"blr|bctrl?",
    ),
    _set(
        "LoongArch",
        r"(?:x?v?f?(?:ld|st|add|sub|mul|div|madd|sl[lt]|sr[la]|b[a-z]+)\w*\.[\w.]+|b\w+|jirl|move|or)\s+\$[a-z]\w*.*",
    ),
    _set("MIPS", r"(?!mov[lqbw]\b)[a-z][\w.]*\s+\$(?:[avtskf]\d{1,2}|zero|[sfgr][pa]|\d+)\s*,.*"),
    _set(
        "IBM Z",
        r"(?:l[gthbr]*r?|lay?|larl|st[gm]*|a[gh]*[ir]?|n?grk?|br(?:asl|ct|c)?g?|j\w*|c[gl]*[ir]?j?\w*|v\w+)"
        r"\s+(?:%[rv]\d|[^%]*\(%r).*",
    ),
    _set(
        "LLVM IR",
        r"%[\w.]+ = \w.*",
        r"define .*",
        r"br (?:label|i1) .*",
        r"store .*, ptr .*",
        r"ret (?:void|i\d+ .*)",
    ),
    _set(
        "WebAssembly",
        r"\(?(?:local|global|memory|[if](?:32|64)|v128|[if](?:8|16|32|64)x\d+)\.[\w.]+.*",
        r"br_if .*",
    ),
    _set(
        "Java bytecode",
        r"[ilfda](?:load|store|const)_\w+|[ilfda](?:load|store|return)(?:\s+\d+)?",
        r"[ild](?:add|sub|mul|div)|iinc\s+\d+,.*|[bs]ipush\s+\d+",
        r"(?:invoke|get|put)\w+\s+#.*",
        r"if_?\w+\s+\d+",
        r"goto\s+\d+",
    ),
    _set(
        "a GPU",
        r"(?:@!?%?p\d+\s+)?(?:ld|st|mad|fma|add|mul|setp|cvt|mov|bra)\.[\w.]+\s.*",
        r"(?:@!?%?p\d+\s+)?bra\b.*",
        r"(?:@!?P\d\s+)?(?:IMAD|FFMA|LDG|STG|ISETP|BRA|DFMA|HFMA2|LDS|MOV|S2R|IADD3)\b[\w.]*\s.*",
        r"[vs]_\w+_[bfiu]\d+\s.*",
        r"global_load_.*",
    ),
)
"""The instruction of one line, of each set."""

_EXTENSIONS = {
    "Zbc": re.compile(r"clmul[hr]?\s.*"),
    "Zbkb": re.compile(r"(?:brev8|pack[hw]?|(?:un)?zip)\s.*"),
    "Zk": re.compile(r"(?:aes64|sha256|sha512|sm3p|sm4|xperm)\w*\s.*"),
    "Zfa": re.compile(r"(?:fli|fround|froundnx|fm(?:in|ax)m|fl[et]q|fcvtmod)\.\w.*"),
    "Zacas": re.compile(r"amocas\..*"),
    "Zabha": re.compile(r"amo\w+\.[bh]\b.*"),
    "Zvk": re.compile(r"v(?:aes|sha2|sm[34]|gmul|ghsh|clmul|andn|brev|rev8|ro[lr]|wsll|c[lt]z|cpop)\w*\..*"),
    "XThead": re.compile(r"th\.\w+\s.*"),
}
"""{extension of RISC-V that is not supported: its instructions}."""


def other_set_of(text: str) -> str:
    """The instruction set of a text that is not supported, or its extensions that are not; "" for none.

    >>> other_set_of("clmul t0, a2, a3\\nadd a1, a1, t0")
    'RISC-V with its extension Zbc'
    """
    lines = list(_code_lines(text))
    if any(map(_X86_REGISTER.search, lines)):
        return ""
    used = [key for key, pattern in _EXTENSIONS.items() if any(map(pattern.fullmatch, lines))]
    counts = {kind.name: sum(bool(kind.instruction.fullmatch(line)) for line in lines) for kind in _SETS}
    name, count = max(counts.items(), key=lambda item: item[1])
    if not count or count < min(2, len(lines)) or 2 * count < len(lines):
        return ""
    if name != RISCV:
        return name
    return f"{name} with its extension{'s' if len(used) > 1 else ''} {', '.join(used)}" if used else ""


def _code_lines(text: str) -> Iterator[str]:
    """The lines of a text with code, without comments and what stands before the instruction."""
    for line in text.splitlines()[:_MAX_LINES]:
        code = _COMMENT.sub("", line[:_MAX_LINE_LENGTH])
        code = _LEADING.sub("", code, count=1).strip()
        if code and not code.startswith(".") and not code.endswith(":"):
            yield code.lower() if not code.isupper() else code


def refuse_other_sets(text: str, isa: str = DEFAULT) -> None:
    """Raise `BlockError` with the instruction set of a text, where it is known and not supported.

    `isa`: what the text was read as, whose own extensions alone count where it is not `DEFAULT`.
    """
    name = other_set_of(text)
    if name and (isa == DEFAULT or name.startswith(isa)):
        raise BlockError(f"this is code of {name}, which is not supported")
