"""Recognises assembly of AArch64, for an error that says so instead of "x86-64 has no such instruction".

A line is recognised if it is an instruction of AArch64 with valid operands, among them a register, and
impossible in x86-64. A register of x86-64 anywhere prevents recognition. Listings of disassemblers are
recognised as well; a text of lines that are valid in both (`ret`) is not.
"""

from __future__ import annotations

import re
from functools import cache

from inference.isa.aarch64 import NAME, by_text
from inference.isa.x86.forms import MNEMONICS

_REGISTER_OF_AARCH64 = re.compile(r"[BDHQSVWXbdhqsvwx]\d|\b(?:sp|[wx]zr|SP|[WX]ZR)\b")

NOT_SUPPORTED = f"this is assembly of {NAME}, and blocks of {NAME} are not supported yet"

_MAX_LINE_LENGTH = 500  # characters that are looked at
_MAX_LINES = 20_000  # that are looked at
_COMMENT = re.compile(r"//|;|/\*|#(?![-+]?\d)")
_SYMBOL_OF_LISTING = re.compile(r"<[^<>]*>")
_LEADING_WORD = re.compile(r"[0-9a-f]+:?|0x[0-9a-f]+:?|[\w.$]+:|=>|\d+\.\d+%?|[:|│]")
"""Words before an instruction: addresses, its bytes, labels, shares of samples."""

_X86_REGISTER = re.compile(
    r"%[a-z]|\b(?:ptr|[re](?:[abcd]x|[sd]i|[bsi]p)|r(?:8|9|1[0-5])[dwb]?|[xyz]mm\d+|st\(\d\))\b"
)
_NUMBER = r"[-+]?(?:0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
_REGISTER = re.compile(
    r"[xw](?:[12]?\d|30|zr)|[bhsdq](?:[12]?\d|3[01])|[vz](?:[12]?\d|3[01])(?:\.\d*[bhsdq])?(?:\s+\d+)?"
    r"|p(?:\d|1[0-5])(?:/[mz]|\.[bhsd])"
)
_PLAIN = re.compile(
    rf"w?sp|\#?{_NUMBER}|(?:lsl|lsr|asr|ror|msl|[su]xt[bhwx])(?:\s*\#?\d+)?|:[\w]+:[\w.$+-]+|[.$a-z_][\w.$@+-]*"
)
_BRACKETS = re.compile(r"[\[\]{}!]")
_BRANCH = re.compile(r"b\.[a-z]{2}")


def looks_like_aarch64(text: str) -> bool:
    """Whether a text is assembly of AArch64 and cannot be of x86-64.

    >>> looks_like_aarch64("add x0, x1, x2"), looks_like_aarch64("add rax, rbx")
    (True, False)
    """
    has_certain_line = False
    for number, line in enumerate(text.lower().splitlines()):
        code = _SYMBOL_OF_LISTING.sub("", _COMMENT.split(line[:_MAX_LINE_LENGTH], maxsplit=1)[0]).strip()
        if not code or (code.startswith((".", "#")) and not code.endswith(":")):
            continue
        if number >= _MAX_LINES or _X86_REGISTER.search(code):
            return False
        has_certain_line = has_certain_line or _is_certain(code)
    return has_certain_line


def _is_certain(code: str) -> bool:
    """Whether one line is an instruction of AArch64 and impossible in x86-64."""
    mnemonic, _, written = _instruction(code).partition(" ")
    if mnemonic not in _mnemonics():
        return False
    operands = [_BRACKETS.sub(" ", part).strip() for part in written.split(",")]
    registers = sum(_REGISTER.fullmatch(part) is not None for part in operands)
    if not all(part and (_REGISTER.fullmatch(part) or _PLAIN.fullmatch(part)) for part in operands):
        return False
    if mnemonic not in _mnemonics_of_x86():
        return registers > 0 or _BRANCH.fullmatch(mnemonic) is not None
    # With x86-64, these would be symbols: it has no instruction with two of them, nor a number after a `#`.
    return registers > 1 or (registers > 0 and operands[-1].startswith("#"))


def _instruction(code: str) -> str:
    """The line from its first word that is neither an address nor a label."""
    words = code.split()
    while words and words[0] not in _mnemonics() and _LEADING_WORD.fullmatch(words[0]):
        words.pop(0)
    return " ".join(words)


@cache
def _mnemonics() -> frozenset[str]:
    return frozenset(scheme.mnemonic for scheme in by_text().values())


@cache
def _mnemonics_of_x86() -> frozenset[str]:
    return frozenset(MNEMONICS.values())


def is_foreign_line(text: str) -> bool:
    """Whether one line of a longer text is AArch64; quick for other lines."""
    return bool(_REGISTER_OF_AARCH64.search(text)) and looks_like_aarch64(text)
