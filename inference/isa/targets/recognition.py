"""Tells assembly of instruction sets of words from that of x86-64, and from each other.

A line is recognised if it is an instruction of the set with valid operands, among them a register, and
impossible in x86-64. A register of x86-64 anywhere prevents recognition. Listings of disassemblers are
recognised as well; a text of lines that are valid in several sets (`ret`, `add x1, x2, x3`) is not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from inference.isa.aarch64 import statements as aarch64
from inference.isa.code.block import BlockError
from inference.isa.code.source import lines_without_drawings, without_colours
from inference.isa.riscv64 import statements as riscv64
from inference.isa.targets import AARCH64, DEFAULT, RISCV
from inference.isa.x86.forms import MNEMONICS

_MAX_LINE_LENGTH = 500  # characters that are looked at
_MAX_LINES = 20_000  # that are looked at
_COMMENT = re.compile(r"//|;|/\*|#(?![-+]?\d)")
_SYMBOL_OF_LISTING = re.compile(r"<[^<>]*>")
_LEADING_WORD = re.compile(r"[0-9a-f]+:?|0x[0-9a-f]+:?|[\w.$]+:(?:[0-9a-f]{8,16})?|=>|\d+\.\d+%?|[:|│]")
"""Words before an instruction: addresses, its bytes, labels, shares of samples."""

_X86_REGISTER = re.compile(
    r"%(?!(?:hi|lo|pcrel|got|tprel|tls)\w*\()[a-z]"
    r"|\b(?:ptr|[re](?:[abcd]x|[sd]i|[bsi]p)|r(?:8|9|1[0-5])[dwb]?|[xyz]mm\d+|st\(\d\))\b"
)
"""Behind a `%` relocations of RISC-V may stand, too."""

_NUMBER = r"[-+]?(?:0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
_SYMBOL = r"[.$a-z_][\w.$@+-]*"
_RISCV_REGISTER = r"(?:zero|[sgt]p|ra|[xfv](?:[12]?\d|3[01])|f?[ast]\d{1,2}|v0\.t)"


class _Signs(NamedTuple):
    """How assembly of a set looks, in small letters.

    Attributes:
        isa: Name of the set.
        sign: Occurs in every text that is recognised: a register, or a branch.
        register: An operand with a register.
        plain: Another operand.
        brackets: What surrounds operands.
        branch: A mnemonic of this set alone, which needs no register.
        is_mnemonic: Whether a word is a mnemonic, in any spelling.
        read: Reads an instruction. Raises `BlockError`.
    """

    isa: str
    sign: re.Pattern[str]
    register: re.Pattern[str]
    plain: re.Pattern[str]
    brackets: re.Pattern[str]
    branch: re.Pattern[str]
    is_mnemonic: Callable[[str], bool]
    read: Callable[[str], object]


_SETS = (
    _Signs(
        AARCH64,
        re.compile(r"[BDHQSVWXZbdhqsvwxz]\d|\b(?:sp|[wx]zr|SP|[WX]ZR)\b|\b[Bb]\.[A-Za-z]{2}\b"),
        re.compile(
            r"[xw](?:[12]?\d|30|zr)|[bhsdq](?:[12]?\d|3[01])|[vz](?:[12]?\d|3[01])(?:\.\d*[bhsdq])?(?:\s+\d+)?"
            r"|p(?:\d|1[0-5])(?:/[mz]|\.[bhsd])"
        ),
        re.compile(
            rf"w?sp|\#?{_NUMBER}|(?:lsl|lsr|asr|ror|msl|[su]xt[bhwx])(?:\s*\#?\d+)?|:[\w]+:[\w.$+-]+|{_SYMBOL}"
        ),
        re.compile(r"[\[\]{}!]"),
        re.compile(r"b\.[a-z]{2}"),
        aarch64.is_mnemonic,
        aarch64.read_instruction,
    ),
    _Signs(
        RISCV,
        re.compile(r"\b(?:[xast]\d|f[ast]?\d|v\d|zero|ra|[sgt]p)", re.IGNORECASE),
        re.compile(  # bounded: lines of at most 500 characters
            rf"{_RISCV_REGISTER}|(?:{_NUMBER}|%\w+\([\w.$+-]+\))?\s*\({_RISCV_REGISTER}\)"
        ),
        re.compile(rf"{_NUMBER}|%\w+\([\w.$+-]+\)|{_SYMBOL}"),
        re.compile(r"$^"),
        re.compile(r"$^"),
        riscv64.is_mnemonic,
        riscv64.read_instruction,
    ),
)


def _recognise_set(text: str, usual: str) -> str:
    """The set whose lines are most; "" where no line is certain, or one of x86-64 is among them.

    `usual`: decides where all lines are valid in several sets.
    """
    candidates = [signs for signs in _SETS if signs.sign.search(text)]
    if not candidates:
        return ""
    lines: Counter[str] = Counter()
    possible_isas: set[str] = set()
    for number, code in enumerate(_code_lines(text)):
        if _X86_REGISTER.search(code):
            return ""
        if number < _MAX_LINES:
            possible = _possible_sets(code, candidates)
            if len(possible) == 1:
                lines[possible[0]] += 1
            possible_isas.update(possible)
    if lines:
        return max(lines, key=lambda isa: (lines[isa], isa == usual))
    return (
        usual
        if usual in possible_isas
        else next((signs.isa for signs in candidates if signs.isa in possible_isas), "")
    )


def _possible_sets(code: str, candidates: Sequence[_Signs]) -> list[str]:
    """The sets whose instruction a line is and that is impossible in x86-64: one where only one reads it."""
    possible = [signs for signs in candidates if _is_certain(code, signs)]
    if len(possible) > 1:
        possible = [signs for signs in possible if _reads(code, signs)] or possible
    return [signs.isa for signs in possible]


def _reads(code: str, signs: _Signs) -> bool:
    try:
        signs.read(_instruction(code, signs))
    except BlockError:
        return False
    return True


def _code_lines(text: str) -> Iterator[str]:
    """The lines in small letters, without comments and directives."""
    for line in lines_without_drawings(without_colours(text).lower().splitlines()):
        code = _SYMBOL_OF_LISTING.sub("", _COMMENT.split(line[:_MAX_LINE_LENGTH], maxsplit=1)[0]).strip()
        is_directive = code.startswith((".", "#")) and ":" not in code.split()[0]
        if code and not is_directive:
            yield code


def _is_certain(code: str, signs: _Signs) -> bool:
    """Whether one line is an instruction of the set and impossible in x86-64."""
    mnemonic, _, written = _instruction(code, signs).partition(" ")
    if not _is_mnemonic(mnemonic, signs):
        return False
    operands = [signs.brackets.sub(" ", part).strip() for part in written.split(",")]
    registers = sum(signs.register.fullmatch(part) is not None for part in operands)
    if not all(part and (signs.register.fullmatch(part) or signs.plain.fullmatch(part)) for part in operands):
        return False
    if mnemonic not in _mnemonics_of_x86():
        return registers > 0 or signs.branch.fullmatch(mnemonic) is not None
    # With x86-64, these would be symbols: it has no instruction with two of them, nor a number after a `#`.
    return registers > 1 or (registers > 0 and operands[-1].startswith("#"))


def _instruction(code: str, signs: _Signs) -> str:
    """The line from its first word that is neither an address nor a label."""
    words = code.split()
    while words and not _is_mnemonic(words[0], signs) and _LEADING_WORD.fullmatch(words[0]):
        words.pop(0)
    return " ".join(words)


@lru_cache(maxsize=1 << 13)
def _is_mnemonic(word: str, signs: _Signs) -> bool:
    return signs.is_mnemonic(word)


@cache
def _mnemonics_of_x86() -> frozenset[str]:
    return frozenset(MNEMONICS.values())


def isa_of_text(text: str, usual: str = DEFAULT) -> str:
    """The instruction set of assembly or a listing; `usual` for digits and texts that show none.

    >>> isa_of_text("ldr x0, [x1]"), isa_of_text("lw a0, 8(sp)"), isa_of_text("4801d8")
    ('AArch64', 'RISC-V', 'x86-64')
    """
    if isa := _recognise_set(text, usual):
        return isa
    return DEFAULT if usual != DEFAULT and any(map(_X86_REGISTER.search, _code_lines(text))) else usual


def foreign_line_test(isa: str) -> Callable[[str], bool]:
    """A test whether one line of a longer text is code of another set than this; quick for other lines."""

    def is_foreign(line: str) -> bool:
        return (isa != DEFAULT and _is_x86_line(line)) or _recognise_set(line, isa) not in ("", isa)

    return is_foreign


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
