"""Tells assembly of AArch64 from that of x86-64.

A line is recognised if it is an instruction of AArch64 with valid operands, among them a register, and
impossible in x86-64. A register of x86-64 anywhere prevents recognition. Listings of disassemblers are
recognised as well; a text of lines that are valid in both (`ret`) is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

from inference.isa.aarch64.statements import is_mnemonic
from inference.isa.code.block import BlockError
from inference.isa.code.source import lines_without_drawings, without_colours
from inference.isa.targets import AARCH64, DEFAULT
from inference.isa.x86.forms import MNEMONICS

_SIGN = re.compile(r"[BDHQSVWXZbdhqsvwxz]\d|\b(?:sp|[wx]zr|SP|[WX]ZR)\b|\b[Bb]\.[A-Za-z]{2}\b")
"""Occurs in every text that is recognised: a register, or a conditional branch."""

_MAX_LINE_LENGTH = 500  # characters that are looked at
_MAX_LINES = 20_000  # that are looked at
_COMMENT = re.compile(r"//|;|/\*|#(?![-+]?\d)")
_SYMBOL_OF_LISTING = re.compile(r"<[^<>]*>")
_LEADING_WORD = re.compile(r"[0-9a-f]+:?|0x[0-9a-f]+:?|[\w.$]+:(?:[0-9a-f]{8,16})?|=>|\d+\.\d+%?|[:|│]")
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
    if not _SIGN.search(text):
        return False
    for number, code in enumerate(_code_lines(text)):
        if number >= _MAX_LINES or _X86_REGISTER.search(code):
            return False
        has_certain_line = has_certain_line or _is_certain(code)
    return has_certain_line


def _code_lines(text: str) -> Iterator[str]:
    """The lines in small letters, without comments and directives."""
    for line in lines_without_drawings(without_colours(text).lower().splitlines()):
        code = _SYMBOL_OF_LISTING.sub("", _COMMENT.split(line[:_MAX_LINE_LENGTH], maxsplit=1)[0]).strip()
        is_directive = code.startswith((".", "#")) and ":" not in code.split()[0]
        if code and not is_directive:
            yield code


def _is_certain(code: str) -> bool:
    """Whether one line is an instruction of AArch64 and impossible in x86-64."""
    mnemonic, _, written = _instruction(code).partition(" ")
    if not _is_mnemonic(mnemonic):
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
    while words and not _is_mnemonic(words[0]) and _LEADING_WORD.fullmatch(words[0]):
        words.pop(0)
    return " ".join(words)


@lru_cache(maxsize=1 << 12)
def _is_mnemonic(word: str) -> bool:
    return is_mnemonic(word)


@cache
def _mnemonics_of_x86() -> frozenset[str]:
    return frozenset(MNEMONICS.values())


def isa_of_text(text: str, usual: str = DEFAULT) -> str:
    """The instruction set of assembly or a listing; `usual` for digits and texts that show none.

    >>> isa_of_text("ldr x0, [x1]"), isa_of_text("4801d8"), isa_of_text("nop", "AArch64")
    ('AArch64', 'x86-64', 'AArch64')
    """
    if looks_like_aarch64(text):
        return AARCH64
    return DEFAULT if usual != DEFAULT and any(map(_X86_REGISTER.search, _code_lines(text))) else usual


def foreign_line_test(isa: str) -> Callable[[str], bool]:
    """A test whether one line of a longer text is code of another set than this; quick for other lines."""
    return _is_x86_line if isa == AARCH64 else looks_like_aarch64


def _is_x86_line(text: str) -> bool:
    line = text.lower()[:_MAX_LINE_LENGTH]
    if not _X86_REGISTER.search(line):
        return False
    words = line.split()
    while len(words) > 1 and words[0] not in _mnemonics_of_x86() and _LEADING_WORD.fullmatch(words[0]):
        words.pop(0)
    return bool(words) and (words[0] in _mnemonics_of_x86() or words[0][:-1] in _mnemonics_of_x86())


def refuse_foreign_text(text: str, isa: str) -> None:
    """Raise `BlockError` for a text that is recognised as assembly of another instruction set than this."""
    actual = isa_of_text(text, isa)
    if actual != isa:
        raise BlockError(f"this is assembly of {actual}, and code of {isa} is expected")
