"""The codecs of A64's fields, and decoding of words by the table of `schemes.json`."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from inference.isa.aarch64 import instruction_set
from inference.isa.aarch64.spelling import spelled
from inference.isa.code.control_flow import Flow
from inference.isa.encodings import CODECS, Codec, CodecMaker
from inference.isa.words.accesses import DecodedInstruction
from inference.isa.words.table import WordTable

CONDITIONS = ("eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv")
"""By number; an even one and the next are opposites."""


def mask(width: int) -> Codec:
    """Constants that repeat a rotated run of ones: N, immr, imms, as in `and x0, x1, #0xff00`."""
    bits = 13 if width == 64 else 11

    def decode(field: int) -> int | None:
        return _masks(width)[0].get(field)

    def encode(value: Any) -> int | None:
        return _masks(width)[1].get(value)

    return Codec(bits, encode, decode)


@cache
def _masks(width: int) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """{field: constant} and {constant: its usual field}."""
    constants: dict[int, int] = {}
    for field in range(1 << (13 if width == 64 else 11)):
        n, rotation, run = field >> 12, field >> 6 & 63, field & 63
        size = 1 << ((n << 6 | ~run & 63).bit_length() - 1) if n or run != 63 else 0
        length = (run & (size - 1)) + 1
        if size < 2 or length == size:
            continue
        rotation &= size - 1
        element = (1 << length) - 1
        element = (element >> rotation | element << (size - rotation)) & ((1 << size) - 1)
        constants[field] = sum(element << at for at in range(0, width, size))
    fields: dict[int, int] = {}
    for field, constant in constants.items():
        fields.setdefault(constant, field)  # of several, the one without bits that are ignored
    return constants, fields


def floating() -> Codec:
    """Sign, three bits of exponent, four of fraction: `fmov d0, #20.0`."""

    def decode(field: int) -> float:
        exponent = (field >> 4 & 7 ^ 4) - 3
        value = (16 + (field & 15)) / 16 * 2.0**exponent
        return -value if field >> 7 else value

    values = {decode(field): field for field in range(256)}
    return Codec(8, values.get, decode)


def byte_mask() -> Codec:
    """A bit for each byte, which is 0 or 255: `movi d0, #0xff00ff00ff00ff00`."""

    def spread(field: int) -> int:
        return sum(255 << (8 * byte) for byte in range(8) if field >> byte & 1)

    fields = {spread(field): field for field in range(256)}
    return Codec(8, fields.get, spread)


def condition(inverse: int = 0) -> Codec:
    """The number of a condition, or of its opposite (1); there is none of "always"."""

    def encode(value: Any) -> int | None:
        if not isinstance(value, int) or not 0 <= value < 16 or (inverse and value >= 14):
            return None
        return value ^ inverse

    return Codec(4, encode, encode)


def left_shift(width: int) -> Codec:
    """The amount as rotation and last bit of a bit field: `lsl x0, x1, #3`."""
    bits = width.bit_length() - 1

    def encode(value: Any) -> int | None:
        if not isinstance(value, int) or not 0 <= value < width:
            return None
        return -value % width << bits | (width - 1 - value)

    def decode(field: int) -> int | None:
        rotation, last = field >> bits, field & (width - 1)
        return width - 1 - last if last != width - 1 and last + 1 == rotation else None

    return Codec(2 * bits, encode, decode)


def extraction(width: int) -> Codec:
    """(lowest bit, width) as rotation and last bit: `ubfx x0, x1, #3, #8`."""
    bits = width.bit_length() - 1

    def encode(value: Any) -> int | None:
        low, size = value
        return low << bits | (low + size - 1) if 0 <= low < width and 1 <= size <= width - low else None

    def decode(field: int) -> tuple[int, int] | None:
        low, last = field >> bits, field & (width - 1)
        return (low, last - low + 1) if last >= low else None

    return Codec(2 * bits, encode, decode)


def insertion(width: int) -> Codec:
    """(lowest bit, width) of the destination as rotation and last bit: `bfi x0, x1, #3, #8`."""
    bits = width.bit_length() - 1

    def encode(value: Any) -> int | None:
        low, size = value
        return -low % width << bits | (size - 1) if 0 < low < width and 1 <= size <= width - low else None

    def decode(field: int) -> tuple[int, int] | None:
        rotation, last = field >> bits, field & (width - 1)
        return (width - rotation, last + 1) if last < rotation else None

    return Codec(2 * bits, encode, decode)


A64_CODECS: Mapping[str, CodecMaker] = {
    **CODECS,
    "mask": mask,
    "floating": floating,
    "bytes": byte_mask,
    "condition": condition,
    "left": left_shift,
    "extraction": extraction,
    "insertion": insertion,
}


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
