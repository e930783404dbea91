"""Codecs of A64: constants in few bits, bit fields, conditions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from inference.isa.encodings import CODECS, Codec, CodecMaker

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
