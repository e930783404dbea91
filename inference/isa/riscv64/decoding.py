"""Decodes instructions of RISC-V, of 2 and 4 bytes, by the tables of its documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, lru_cache

from inference.isa.code.control_flow import Flow
from inference.isa.document import FurtherForm
from inference.isa.riscv64 import instruction_set, vector
from inference.isa.riscv64.codecs import RISCV_CODECS
from inference.isa.riscv64.spelling import spelled
from inference.isa.words.accesses import DecodedInstruction
from inference.isa.words.table import WordTable

_CHANGES = "changes the control flow: a basic block ends before it, so leave it out"
_WITHOUT_MODE = "has no scheme without the mode that a `vsetvli` before it sets"
_UNKNOWN = "is no instruction that is known here"
_SYSTEM = "talks to the operating system or the whole processor"
_WITH_TARGET: tuple[Flow, ...] = ("jump", "branch", "call")
_LONG = 3  # lowest bits of an instruction of four bytes
_OPCODES = (0x7F | 7 << 12, 0x7F << 25)
"""Bits that choose among forms: of all instructions, and of those without a long immediate."""


@cache
def table() -> WordTable:
    """The forms of the document, and those of V, whose schemes need a mode beside the instruction."""
    scalars, vectors = instruction_set(), vector.forms()
    both = replace(
        scalars,
        forms={**vectors.forms, **scalars.forms},
        further=(*scalars.further, *map(FurtherForm, vectors.schemes)),
        encodings={**vectors.encodings, **scalars.encodings},
    )
    return WordTable(both, RISCV_CODECS, _OPCODES)


def size_of(word: int) -> int:
    """Bytes of an instruction by its first 16 bits."""
    return 4 if word & _LONG == _LONG else 2


@lru_cache(maxsize=1 << 16)
def decode(word: int) -> DecodedInstruction:
    """The instruction of a word of 32 or 16 bits; one that is not known has no mnemonic, and a reason.

    >>> decode(0x00C58533).scheme, decode(0x952E).scheme
    ('add GPR[64]:W, GPR[64]:R, GPR[64]:R', 'add GPR[64]:W, GPR[64]:R, GPR[64]:R')
    """
    size = size_of(word)
    decoded_form = table().decode(word)
    if decoded_form is None:
        reason = reason_without_form(word)
        return DecodedInstruction(word, "", None, None, (), "end", None, _UNKNOWN, reason, size)
    form, operands = decoded_form
    scheme, flow = form.form, form.encoding.flow
    distance = operands[-1] if flow in _WITH_TARGET and operands else None
    has_target = isinstance(distance, int) and scheme.operands[len(operands) - 1].kind == "branch"
    obstacle = _CHANGES if flow != "next" else _SYSTEM if scheme.category == "system" else ""
    return DecodedInstruction(
        word,
        spelled(scheme, operands)[0],
        form.scheme or None,
        scheme,
        operands,
        flow,
        distance if isinstance(distance, int) and has_target else None,
        obstacle,
        "" if form.scheme else scheme.exclusion or _WITHOUT_MODE,
        size,
    )


def decoded(code: bytes) -> list[DecodedInstruction]:
    """The instructions of machine code; a last one that is cut short is left out."""
    return [decode(word) for word in words_of(code)]


def words_of(code: bytes) -> tuple[int, ...]:
    """The instructions of machine code as numbers; a last one that is cut short is left out."""
    return tuple(_words(code))


def _words(code: bytes) -> Iterator[int]:
    at = 0
    while at + 2 <= len(code):
        size = size_of(code[at])
        if at + size > len(code):
            return
        yield int.from_bytes(code[at : at + size], "little")
        at += size


_GROUPS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (lambda word: word & 0x7F == 0x57, "is an instruction of the extension V that has no scheme here"),
    (lambda word: word & 0x1F == 0x1F, "is an instruction of more than 32 bits, which is not supported"),
    (lambda word: word & 0x7F in (0x0B, 0x2B, 0x5B, 0x7B), "is an instruction of a vendor's own extension"),
)


def reason_without_form(word: int) -> str:
    """What a word without a form belongs to, by its opcode; the end of a sentence."""
    return next((reason for fits, reason in _GROUPS if fits(word)), "has no scheme here")
