"""The encoding of a form: the bits that identify it, the fields of its operands with codecs; documents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from inference.isa.code.control_flow import Flow

ZERO_REGISTER = "zr"
"""Value of the register that is always 0."""


class Codec(NamedTuple):
    """`encode` and `decode` are inverse to each other; None means that there is no such value or field."""

    bits: int
    encode: Callable[[Any], int | None]
    decode: Callable[[int], Any]


CodecMaker = Callable[..., Codec]


def unsigned(bits: int, scale: int = 1, minimum: int = 0, maximum: int | None = None) -> Codec:
    last = minimum + scale * ((1 << bits) - 1)
    limit = last if maximum is None else maximum

    def encode(value: Any) -> int | None:
        if not isinstance(value, int) or not minimum <= value <= limit or (value - minimum) % scale:
            return None
        return (value - minimum) // scale

    def decode(field: int) -> int | None:
        value = minimum + field * scale
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
    "pointer": register,
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


WORD_BITS = 32


class Field(NamedTuple):
    """Bits that hold a part of an operand, or of several ones.

    Attributes:
        place: The operand's number, from 1, and behind a blank the part of it: `2 base`, `2 index`,
            `2 offset`, `3 element`; `3,4` for a codec of two operands.
        codec: See `codec_of`.
        pieces: (lowest bit in the word, number of bits), from the field's lowest bits on; empty for a value
            that is fixed by the form.
    """

    place: str
    codec: str
    pieces: tuple[tuple[int, int], ...]

    @property
    def bits(self) -> int:
        """The bits of the word that it covers."""
        return sum((1 << width) - 1 << low for low, width in self.pieces)

    def extracted(self, word: int) -> int:
        value = at = 0
        for low, width in self.pieces:
            value |= (word >> low & (1 << width) - 1) << at
            at += width
        return value

    def placed(self, value: int) -> int:
        """The bits of the word for a value of the field."""
        word = 0
        for low, width in self.pieces:
            word |= (value & (1 << width) - 1) << low
            value >>= width
        return word


class WordEncoding(NamedTuple):
    """A word has the form if `word & mask == match` and its fields have values.

    Several fields of one place must have the same value. `bits`: 32, or 16 of a compressed instruction.
    """

    match: int
    mask: int
    fields: tuple[Field, ...]
    flow: Flow = "next"
    bits: int = WORD_BITS


_FIELD = re.compile(r"(\d+(?: [a-z]+|,\d+)?): ([a-z]+(?: -?\d+)*)(?: @((?: \d+:\d+)+))?")
_WORD = re.compile(r"[0-9a-f]{4}(?:[0-9a-f]{4})?")


def word_of_text(text: str) -> int:
    """A word of eight hexadecimal digits, or of four. Raises `ValueError`."""
    if not _WORD.fullmatch(text):
        raise ValueError(f"a word has four or eight hexadecimal digits, unlike {text!r:.40}")
    return int(text, 16)


def field_of_text(text: str) -> Field:
    """A field from its text in a document. Raises `ValueError`.

    >>> field_of_text("2 offset: signed 7 8 @ 15:7").pieces
    ((15, 7),)
    """
    match = _FIELD.fullmatch(text)
    if match is None:
        raise ValueError(f"a field is written like '2 offset: signed 7 8 @ 15:7', unlike {text!r:.60}")
    pieces = tuple(
        (int(low), int(width)) for low, width in (part.split(":") for part in (match[3] or "").split())
    )
    if any(width < 1 or low + width > WORD_BITS for low, width in pieces):
        raise ValueError(
            f"a piece is the lowest of the {WORD_BITS} bits and their number, unlike {match[3]!r:.60}"
        )
    return Field(match[1], match[2], pieces)


def text_of_field(field: Field) -> str:
    """A field as in a document, `2 offset: signed 7 8 @ 15:7`; without bits of its own, `2: fixed 2`."""
    at = " @ " if field.pieces else ""
    return f"{field.place}: {field.codec}{at}{' '.join(f'{low}:{width}' for low, width in field.pieces)}"


_VERSION = 2  # the first one with encodings
_ENCODED = ("match", "mask", "fields")


class LearntDocument(NamedTuple):
    """A document with learnt encodings.

    Attributes:
        content: The whole document, of version 2.
        forms: Number of schemes and other forms with an encoding.
        checked: Instances with drawn operands whose code the encodings reproduce.
        changes: The texts of forms whose encoding is another one than before.
        failures: {text of a form: why it has no encoding}.
    """

    content: bytes
    forms: int
    checked: int
    changes: Sequence[str]
    failures: Mapping[str, str]


def with_encodings(content: bytes, encodings: Mapping[str, WordEncoding]) -> bytes:
    """The document with these encodings of its schemes and forms, by text, in place of those it has."""
    document: dict[str, Any] = json.loads(content)
    document["version"] = _VERSION
    for row in (*document["schemes"], *document.get("forms", ())):
        flow = row.pop("flow", "")
        for key in _ENCODED:
            row.pop(key, None)
        if (encoding := encodings.get(row["text"])) is not None:
            digits = encoding.bits // 4
            row["match"], row["mask"] = f"{encoding.match:0{digits}x}", f"{encoding.mask:0{digits}x}"
            if encoding.fields:
                row["fields"] = [text_of_field(field) for field in encoding.fields]
        if flow:
            row["flow"] = flow
    parts = [f"  {json.dumps(key)}: {_value(value)}" for key, value in document.items()]
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


def _value(value: Any) -> str:
    """A list or an object with a line for each of its entries; another value in one line."""
    if isinstance(value, dict):
        lines = [
            f"    {json.dumps(key)}: {json.dumps(entry, ensure_ascii=False)}" for key, entry in value.items()
        ]
        return "{\n" + ",\n".join(lines) + "\n  }"
    if isinstance(value, list):
        lines = [f"    {json.dumps(entry, ensure_ascii=False)}" for entry in value]
        return "[\n" + ",\n".join(lines) + "\n  ]"
    return json.dumps(value, ensure_ascii=False)
