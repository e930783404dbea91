"""Parses protocol buffers in text format without their schema, one top-level field at a time.

A message is {field: [values]}, a text is bytes, and every other scalar is the word as written: `1.5`, `-8`,
`true`. Names of types in extensions and `Any` values, `[…]`, are not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

Message = dict[str, list["Value"]]
Value = Message | bytes | str

DEEPEST = 30  # messages in each other
MAX_VALUES = 200_000
"""Values of one top-level field, which is in memory as a whole."""

_TOKEN = re.compile(
    r"""(?:\s|\#[^\n]*)*+(?:(?P<word>[-+\w.]++)|(?P<text>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')|(?P<sign>[{}<>\[\]:;,]))""",
    re.VERBOSE,
)
_BLANK = re.compile(r"(?:\s|#[^\n]*)*+")
_NAME = re.compile(r"[A-Za-z_]\w*")
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_LETTERS = {"n": 10, "r": 13, "t": 9, "a": 7, "b": 8, "f": 12, "v": 11}
_CLOSING = {"{": "}", "<": ">"}


class TextProtoError(ValueError):
    """A text that is no such message. `line`: from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class TopField:
    """A field of the outermost message. `line`: where its name stands, from 1."""

    line: int
    name: str
    value: Value


def top_fields(text: str) -> Iterator[TopField]:
    """The fields of a text. Raises `TextProtoError` where it is no message in text format."""
    reader = _Reader(text)
    while reader.sign or reader.word or reader.text is not None:
        line, name = reader.line, reader.name()
        reader.values = 0
        for value in reader.field_values(0):
            yield TopField(line, name, value)


class _Reader:
    """One token ahead: exactly one of `word`, `text` and `sign` is set, none at the end."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._end = 0
        self.line = 1
        self.values = 0
        self._advance()

    def _advance(self) -> None:
        start = self._end
        match = _TOKEN.match(self._source, start)
        blank = match.start(match.lastgroup or 0) if match else _BLANK.match(self._source, start).end()  # type: ignore[union-attr]
        self.line += self._source.count("\n", start, blank)
        if match is None and blank < len(self._source):
            raise TextProtoError(f"{self._source[blank : blank + 20]!r} is no part of a message", self.line)
        self._end = match.end() if match else blank
        parts: tuple[str | None, ...] = match.group("word", "text", "sign") if match else (None, None, None)
        self.word, self.text, self.sign = parts

    def name(self) -> str:
        if self.word is None or not _NAME.fullmatch(self.word):
            raise self._unexpected_token("the name of a field")
        name = self.word
        self._advance()
        return name

    def field_values(self, depth: int) -> list[Value]:
        """The values behind a name: `: 1`, `{…}`, `: [1, 2]`."""
        if self.sign == ":":
            self._advance()
        elif self.sign not in _CLOSING:
            raise self._unexpected_token("a colon or {")
        if self.sign != "[":
            values = [self._value(depth)]
        else:
            self._advance()
            values = []
            while self.sign != "]":
                values.append(self._value(depth))
                if self.sign == ",":
                    self._advance()
                elif self.sign != "]":
                    raise self._unexpected_token("a comma or ]")
            self._advance()
        if self.sign in (";", ","):
            self._advance()
        return values

    def _value(self, depth: int) -> Value:
        self.values += 1
        if self.values > MAX_VALUES:
            raise TextProtoError(f"one field with more than {MAX_VALUES:,} values", self.line)
        if self.word is not None:
            word = self.word
            self._advance()
            return word
        parts: list[bytes] = []
        while self.text is not None:
            parts.append(_unescape(self.text[1:-1]))
            self._advance()
        return b"".join(parts) if parts else self._message(depth + 1)

    def _message(self, depth: int) -> Message:
        closing = _CLOSING.get(self.sign or "")
        if closing is None:
            raise self._unexpected_token("a value")
        if depth > DEEPEST:
            raise TextProtoError(f"messages are nested more than {DEEPEST} deep", self.line)
        self._advance()
        message: Message = {}
        while self.sign != closing:
            name = self.name()
            message.setdefault(name, []).extend(self.field_values(depth))
        self._advance()
        return message

    def _unexpected_token(self, right: str) -> TextProtoError:
        token = self.word or self.text or self.sign
        return TextProtoError(
            f"{'the end' if token is None else repr(token[:40])} where {right} belongs", self.line
        )


def _unescape(text: str) -> bytes:
    if "\\" not in text:
        return text.encode(errors="surrogateescape")
    parts: list[bytes] = []
    end = 0
    for match in _ESCAPE.finditer(text):
        octal, digits, letter = match.groups()
        parts.append(text[end : match.start()].encode(errors="surrogateescape"))
        if letter is None:
            parts.append(bytes([int(octal, 8) & 255 if octal else int(digits, 16)]))
        else:
            parts.append(bytes([_LETTERS[letter]]) if letter in _LETTERS else letter.encode())
        end = match.end()
    parts.append(text[end:].encode(errors="surrogateescape"))
    return b"".join(parts)
