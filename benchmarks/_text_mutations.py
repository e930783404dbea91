"""Changes to the bytes of files, and texts, numbers and pieces that do harm."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

_PIECES = json.loads((Path(__file__).parent / "_corpus" / "hostile_texts.json").read_text())
TEXTS: list[str] = _PIECES["texts"]
NUMBERS: list[str] = _PIECES["numbers"]
"""As they are written in JSON, also those that it does not have."""

SNIPPETS: list[bytes] = [snippet.encode("latin-1") for snippet in _PIECES["snippets"]]
"""Signs of the formats that are read, and halves of characters."""

ENTITIES: list[bytes] = [entity.encode() for entity in _PIECES["entities"]]
"""Declarations of XML that grow, or read what they should not."""

NAMES_IN_ARCHIVES: list[str] = _PIECES["names in archives"]
PUMPED_WORDS: list[str] = _PIECES["pumped words"]
"""Those by which `.ci/patterns` has shown a pattern of this program to be ambiguous, and a few more."""


RARE = 0.004
"""How often each of the kinds that take a hundred times as long is drawn."""

Text = Callable[[bytes, random.Random], bytes]


def replaced_piece(content: bytes, drawn: random.Random) -> bytes:
    start = drawn.randint(0, len(content))
    end = start + drawn.choice((0, 0, 1, 1, 2, 8, 40))
    return content[:start] + drawn.choice(SNIPPETS) + content[end:]


def flipped_bytes(content: bytes, drawn: random.Random) -> bytes:
    changed = bytearray(content or b" ")
    for _ in range(drawn.choice((1, 1, 2, 4, 16))):
        changed[drawn.randrange(len(changed))] = drawn.choice((drawn.randrange(256), 0, 255, 127))
    return bytes(changed)


def cut_text(content: bytes, drawn: random.Random) -> bytes:
    return content[: drawn.randint(0, len(content))]


def _repeated(content: bytes, drawn: random.Random) -> bytes:
    start = drawn.randint(0, len(content))
    piece = content[start : start + drawn.choice((1, 8, 60))]
    return content[:start] + piece * drawn.choice((2, 3, 50)) + content[start:]


def _moved(content: bytes, drawn: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    line = lines.pop(drawn.randrange(len(lines)))
    lines.insert(drawn.randint(0, len(lines)), line * drawn.choice((0, 1, 2)))
    return b"".join(lines)


def _cell(content: bytes, drawn: random.Random) -> bytes:
    """Another cell, attribute or value, wherever something like a separator stands."""
    places = [at for at, sign in enumerate(content) if sign in b',"\n\t=>;*']
    if not places:
        return content
    start = drawn.choice(places) + 1
    end = next((at for at in places if at >= start), len(content))
    text = drawn.choice(drawn.choice((TEXTS, NUMBERS)))
    return content[:start] + text.encode("utf-8", "surrogatepass") + content[end:]


def _entities(content: bytes, drawn: random.Random) -> bytes:
    if b"<" not in content:
        return drawn.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\n\n", b"# \n", b"sep=;\n")) + content
    at = content.find(b"?>") + 2 if content.startswith(b"<?") else 0
    used = drawn.choice((b"", b"&c;", b"&x;"))
    return content[:at] + drawn.choice(ENTITIES) + content[at:].replace(b">", b">" + used, 1)


def _large_text(content: bytes, drawn: random.Random) -> bytes:
    """A file that grows: rows or fields without end, deep nesting, long numbers."""
    n = drawn.choice((1_000, 50_000, 400_000))
    makers: tuple[Callable[[], bytes], ...] = (
        lambda: content + content[-200:] * (n // 200),
        lambda: drawn.choice((b"[", b'{"a":', b"<a>", b'"', b"(", b"<a b='")) * n,
        lambda: content.partition(b"\n")[0] + b"," * n + b"\n" + content,
        lambda: content + b"x" * n,
        lambda: content.replace(b"1", b"1" * n, 1),
        lambda: content + b"\n" + b"1," * n + b"\n",
    )
    return drawn.choice(makers)()


_MUTATIONS: tuple[Text, ...] = (
    *(replaced_piece, flipped_bytes, cut_text, _repeated, _moved),
    *(_cell, _cell, _entities),
)


def mutated_text(content: bytes, drawn: random.Random) -> bytes:
    if drawn.random() < RARE:
        return _large_text(content, drawn)
    for _ in range(drawn.choice((1, 1, 1, 2, 3, 5))):
        content = drawn.choice(_MUTATIONS)(content, drawn)
    return content
