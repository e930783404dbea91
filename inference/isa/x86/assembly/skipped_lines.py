"""Classifies lines of a text that are not part of its listing, and detects lost code among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache

from inference.isa.code.block import BlockError, DroppedLine, dropped_line
from inference.isa.code.directives import kind_of
from inference.isa.code.source import without_drawings
from inference.isa.x86.assembly.layout import content_of
from inference.isa.x86.assembly.operands import SIZES, TargetOperand, registers
from inference.isa.x86.assembly.statements import begins_instruction, read_statement, visible_syntax

_MAX_LENGTH = 500  # characters of a line that are looked at
_MAX_WORDS = 8
"""Words before an instruction: file, line, address, bytes, share of samples."""

_MAX_WORD_LENGTH = 30  # characters of a mnemonic

_COMMENT = re.compile(r"[;#]|//|/\*|\*")
_DIRECTIVE = re.compile(r"(?:[0-9a-fx]+:\s*|/\*[^*]*\*/\s*)?\.([a-z]\w*)(?=[\s\"'(]|$)", re.IGNORECASE)
"""`.align 16`, perhaps behind an address or a comment."""

_RELOCATION = re.compile(r"(?:[0-9a-f]+:\s*)?(?:R_X86_64_|IMAGE_REL_|X86_64_RELOC_)")
"""Of ELF, COFF and Mach-O, between the instructions."""

_LABEL = re.compile(r"[^\s:]+:")
_ADDRESSED = re.compile(r"\W*(?:0x)?[0-9a-f]+:(?!:)", re.IGNORECASE)  # `401000:`
_ADDRESS = re.compile(  # bounded: a line of at most 500 characters
    r"\b(?:0x)?(?=[a-f]*\d)[0-9a-f]{5,16}(?:\s*<[^>]*>)?:\s|\b(?=[a-f]*\d)[0-9a-f]{16}\s", re.IGNORECASE
)
_LONE_ADDRESS = re.compile(r"(?:0x)?(?=[a-f]*\d)[0-9a-f]{4,16}:", re.IGNORECASE)
"""An address without instruction, and no label."""

_BYTES = re.compile(r"(?:\b[0-9a-f]{2} ){2}", re.IGNORECASE)
_PLACE = re.compile(r"[0-9a-fx\W]+", re.IGNORECASE)
"""An address, a share or bytes before an instruction."""

_REGISTER = re.compile(
    r"\b(?:[re](?:[abcd]x|[sd]i|[sbi]p)|r(?:8|9|1[0-5])[dwb]?|[xyz]mm\d{1,2})\b", re.IGNORECASE
)
_ENDS_OPERAND = re.compile(r"[\s,]")


def classify(
    lines: Iterable[tuple[int, str]], is_foreign: Callable[[str], bool]
) -> tuple[Counter[str], list[DroppedLine]]:
    """{kind: number of lines}, and the lines that look like code.

    `is_foreign`: whether a line is code of another instruction set.
    """
    kinds: Counter[str] = Counter()
    dropped: list[DroppedLine] = []
    kind_by_line: dict[str, str] = {}  # a source line stands before each part of its code
    for number, raw in lines:
        line = raw[:_MAX_LENGTH]
        if line not in kind_by_line:
            kind_by_line[line] = _kind_of(without_drawings(line).strip(), is_foreign)
        if kind := kind_by_line[line]:
            kinds[kind] += 1
        else:
            dropped.append(dropped_line(number, line, "looks like code"))
    return kinds, dropped


def is_instruction(text: str) -> bool:
    """Whether a text without address and bytes is an instruction, not a sentence with such a first word."""
    if len(text) > _MAX_LENGTH or not begins_instruction(text):
        return False
    code = text.partition(";")[0].partition("#")[0].strip()
    try:
        written = read_statement(code, visible_syntax(code) or "intel", {})
        targets = [operand.label for operand in written.operands if isinstance(operand, TargetOperand)]
        if targets or not written.mnemonic:  # a prefix on a line of its own
            return not any(" " in label for label in targets)
        content_of(written)
    except BlockError:
        return _has_register_first(code)
    return True


def _has_register_first(code: str) -> bool:
    """Whether a register or memory follows the mnemonic, unlike in a sentence."""
    operand = _ENDS_OPERAND.split((*code.split(None, 1), "")[1], maxsplit=1)[0].lower()
    return operand.lstrip("%") in registers() or operand in SIZES or operand.startswith(("[", "$", "(%", "%"))


def _kind_of(text: str, is_foreign: Callable[[str], bool]) -> str:
    """The kind of a line outside the listing; "" where it looks like code."""
    if not any(map(str.isalnum, text)):
        return "rule"
    if _COMMENT.match(text) and not text.startswith("*%"):
        return "directive" if _DIRECTIVE.match(text) else "comment"
    if _RELOCATION.match(text):
        return "relocation"
    if (directive := _DIRECTIVE.match(text)) and (kind := kind_of(directive[1].lower())):
        return "" if kind == "data" else f".{directive[1].lower()}"
    if _LABEL.fullmatch(text) and not _LONE_ADDRESS.fullmatch(text):
        return "label"
    return "" if _looks_like_code(text) or is_foreign(text) else "heading or source line"


def _looks_like_code(text: str) -> bool:
    if _ADDRESSED.match(text) or any(pattern.search(text) for pattern in (_ADDRESS, _BYTES, _REGISTER)):
        return True
    words = text.split(None, _MAX_WORDS)
    for at, word in enumerate(words[:_MAX_WORDS]):
        if _begins_instruction(word):
            code = " ".join(words[at:])
            # a sentence has another word before, and no registers behind
            if (not at or _PLACE.fullmatch(words[at - 1]) or visible_syntax(code)) and is_instruction(code):
                return True
    return False


@lru_cache(maxsize=1 << 12)
def _begins_instruction(word: str) -> bool:
    return len(word) < _MAX_WORD_LENGTH and begins_instruction(word)
