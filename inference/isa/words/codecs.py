"""Codecs: how the values of operands become the bits of fields, and back.

A document names them by a word and numbers, such as `unsigned 12 8`:

| codec | a field of so many bits holds |
|---|---|
| `unsigned BITS [SCALE [LEAST [MOST]]]` | (value - LEAST) / SCALE; values above MOST are not possible |
| `signed BITS [SCALE]` | value / SCALE in two's complement |
| `difference BITS TOTAL` | TOTAL - value |
| `zero BITS` | a register's number; the last one is the register that is always 0 |
| `pointer BITS` | a register's number; the last one is the stack pointer |
| `register BITS` | a register's number |

Instruction sets add their own. A codec of several operands has a tuple as its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

ZERO_REGISTER, STACK_REGISTER = "zr", "sp"
"""Values of registers without a number of their own."""


class Codec(NamedTuple):
    """`encode` and `decode` are inverse to each other; None means that there is no such value or field."""

    bits: int
    encode: Callable[[Any], int | None]
    decode: Callable[[int], Any]


CodecMaker = Callable[..., Codec]


def unsigned(bits: int, scale: int = 1, least: int = 0, most: int | None = None) -> Codec:
    last = least + scale * ((1 << bits) - 1)
    limit = last if most is None else most

    def encode(value: Any) -> int | None:
        if not isinstance(value, int) or not least <= value <= limit or (value - least) % scale:
            return None
        return (value - least) // scale

    def decode(field: int) -> int | None:
        value = least + field * scale
        return value if value <= limit else None

    return Codec(bits, encode, decode)


def signed(bits: int, scale: int = 1) -> Codec:
    half = 1 << (bits - 1)

    def encode(value: Any) -> int | None:
        if not isinstance(value, int) or value % scale or not -half <= value // scale < half:
            return None
        return value // scale & (2 * half - 1)

    return Codec(bits, encode, lambda field: ((field ^ half) - half) * scale)


def difference(bits: int, total: int) -> Codec:
    def encode(value: Any) -> int | None:
        return total - value if isinstance(value, int) and 0 <= total - value < 1 << bits else None

    return Codec(bits, encode, lambda field: total - field)


def register(bits: int, last: str = "") -> Codec:
    """Numbers of registers; `last`: the meaning of the largest one, "" for an ordinary register."""
    highest = (1 << bits) - 1

    def encode(value: Any) -> int | None:
        if value == last:
            return highest
        return value if isinstance(value, int) and 0 <= value <= highest - bool(last) else None

    return Codec(bits, encode, lambda field: last if last and field == highest else field)


CODECS: Mapping[str, CodecMaker] = {
    "unsigned": unsigned,
    "signed": signed,
    "difference": difference,
    "register": register,
    "zero": lambda bits: register(bits, ZERO_REGISTER),
    "pointer": lambda bits: register(bits, STACK_REGISTER),
}


def codec_of(text: str, codecs: Mapping[str, CodecMaker] = CODECS) -> Codec:
    """The codec of its name in a document. Raises `ValueError`.

    >>> codec_of("signed 7 8").decode(127)
    -8
    """
    name, *numbers = text.split()
    try:
        return codecs[name](*map(int, numbers))
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"there is no codec {text!r:.60}; there are {', '.join(codecs)}") from None
