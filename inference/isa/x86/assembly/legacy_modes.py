"""Recognises 32-bit and 16-bit code, which 64-bit mode would read as other instructions.

Memory at `[esp+8]` is valid in 64-bit code, with an address-size prefix: a text is 32-bit code where it has
an instruction that 64-bit mode lacks, or addresses by `esp` or `ebp` and no 64-bit register.
"""

from __future__ import annotations

import re

from inference.isa.code.block import BlockError
from inference.isa.code.listings import NumberedLines

_FORMAT = re.compile(
    r"file format (?:elf32-i386|pei?-i386|coff-i386|mach-o[- ]i386)|^[ \t]*\[?bits\s+(?:16|32)\b"
    r"|^[ \t]*\.[3-6]86p?\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What disassemblers and assemblers say of 32-bit code."""

_REGISTER = r"%?e(?:[abcd]x|[sd]i|[bs]p)"
_INSTRUCTION = re.compile(
    rf"(?:\b(?:push|pop|call|jmp)l?[ \t]+\*?{_REGISTER}|\b(?:push|pop)a[dl]?)[ \t]*(?=[#;/]|$)"
    rf"|\bpushl[ \t]+\S|\bpush[ \t]+dword\b|\bl[de]s[ \t]+{_REGISTER}\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Instructions that 64-bit mode does not have."""

_STACK = re.compile(r"\(%e[sb]p\b|\[[^\]\n]{0,60}\be[sb]p\b", re.IGNORECASE)
_NARROW_ADDRESS = re.compile(
    rf"\((?:%\w+)?,?{_REGISTER}\b|\[[^\]\n]{{0,60}}\b{_REGISTER[2:]}\b", re.IGNORECASE
)
_WIDE_REGISTER = re.compile(
    r"(?<![\w.$@])%?(?:r(?:[abcd]x|[sd]i|[bs]p|ip)|r(?:8|9|1[0-5])[dwb]?|[xyz]mm(?:[89]|[12]\d|3[01]))(?![\w@])"
    r"|\b67 [0-9a-f]{2}\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What 32-bit code does not have: these registers, and among its bytes a prefix for 32-bit addresses."""

_COMMENT = re.compile(r"(?:[#;]|//|/\*|\").*|<[^<>]*>")

NARROW = "all memory is addressed by 32-bit registers: is this 32-bit code? It is read as 64-bit code"


def refuse_legacy_modes(lines: NumberedLines) -> str:
    """A note on code that may be 32-bit, "" for other code.

    Raises:
        BlockError: For code that is certainly 32-bit, with the line that shows it.
    """
    text = "\n".join(line for _, line in lines)
    has_instruction = _FORMAT.search(text) or _INSTRUCTION.search(text)
    if not has_instruction and (_WIDE_REGISTER.search(text) or not _NARROW_ADDRESS.search(text)):
        return ""  # nearly all texts
    stack, narrow, is_wide = 0, 0, False
    for number, raw in lines:
        code = _COMMENT.sub("", raw) if any(mark in raw for mark in '#;/"<') else raw
        if _FORMAT.search(code) or _INSTRUCTION.search(code):
            raise _error(number, code)
        is_wide = is_wide or bool(_WIDE_REGISTER.search(code))
        if not is_wide:
            narrow = narrow or (number if _NARROW_ADDRESS.search(code) else 0)
            stack = stack or (number if _STACK.search(code) else 0)
    if is_wide or not narrow:
        return ""
    if stack:
        raise _error(stack, dict(lines)[stack])
    return NARROW


def _error(number: int, line: str) -> BlockError:
    code = " ".join(line.split())[:60]
    return BlockError(f"this is 32-bit x86 ({code}): code for x86-64 is read", number)
