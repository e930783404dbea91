"""Decodes words of A64 by the table of `schemes.json`."""

from __future__ import annotations

import struct
from functools import cache, lru_cache

from inference.isa.aarch64 import instruction_set
from inference.isa.aarch64.codecs import A64_CODECS
from inference.isa.aarch64.spelling import spelled
from inference.isa.code.control_flow import Flow
from inference.isa.words.accesses import DecodedInstruction
from inference.isa.words.table import WordTable

WORD_BYTES = 4

_CHANGES = "changes the control flow: a basic block ends before it, so leave it out"
_UNKNOWN = "is no instruction that is known here"
_OBSTACLES = {
    "interrupt": "calls the operating system, or stops the program",
    "system": "talks to the operating system or the whole processor",
}
"""By category."""


@cache
def table() -> WordTable:
    return WordTable(instruction_set(), A64_CODECS)


@lru_cache(maxsize=1 << 16)
def decode(word: int) -> DecodedInstruction:
    """The instruction of a word; one that is not known has no mnemonic, and a reason.

    >>> decode(0x8B020020).scheme
    'add GPR[64]:W, GPR[64]:R, GPR[64]:R'
    """
    decoded_form = table().decode(word)
    if decoded_form is None:
        return DecodedInstruction(word, "", None, None, (), "end", None, _UNKNOWN, reason_without_form(word))
    form, operands = decoded_form
    scheme, flow = form.form, form.encoding.flow
    reason = "" if form.scheme else scheme.exclusion
    distance = (
        operands[-1] if flow in _WITH_TARGET and scheme.operands[len(operands) - 1].kind == "branch" else None
    )
    obstacle = _CHANGES if flow != "next" else _OBSTACLES.get(scheme.category, "")
    return DecodedInstruction(
        word,
        spelled(scheme, operands)[0],
        form.scheme or None,
        scheme,
        operands,
        flow,
        distance if isinstance(distance, int) else None,
        obstacle,
        reason,
    )


_WITH_TARGET: tuple[Flow, ...] = ("jump", "branch", "call")


def decoded(code: bytes) -> list[DecodedInstruction]:
    """The instructions of machine code; `code` has a multiple of four bytes."""
    return [decode(word) for word in words_of(code)]


def words_of(code: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(code) // WORD_BYTES}I", code)


def reason_without_form(word: int) -> str:
    """What a word without a form belongs to, by its upper bits; the end of a sentence."""
    group = word >> 25 & 15
    if group == 0b0010:
        return "is an instruction of SVE, which is not supported"
    if group == 0 and word >> 31:
        return "is an instruction of SME, which is not supported"
    return "has no scheme here" if group in _ALLOCATED else "is no instruction of Armv8"


_ALLOCATED = frozenset(range(16)) - {0, 1, 2, 3}
