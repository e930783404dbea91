"""Which characters a line and a paragraph may hold, and how any text becomes a line.

Quoting and comments of file formats are in `inference.formats.quoting`.
"""

from __future__ import annotations

import re

UNSAFE = re.compile(
    r"[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
"""Control characters, line and paragraph separators, marks that turn the direction of writing, lone
surrogates, and the code points that XML and YAML forbid."""

_IN_PARAGRAPHS = frozenset("\t\n\r")
_NOT_IN_XML = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
REPLACEMENT = "�"
ORIGIN_LIMIT = 300
"""Largest number of characters in the line with a block's origin."""


def is_line(text: str) -> bool:
    """Whether a text is one line without invisible characters or marks of writing direction."""
    return UNSAFE.search(text) is None


def as_single_line(text: str) -> str:
    r"""Any text as one line: blanks and line breaks become single blanks, other unsafe characters `�`.

    >>> as_single_line("two\n  lines\0")
    'two lines�'
    """
    return UNSAFE.sub(REPLACEMENT, " ".join(text.split()))


def paragraphs(text: str) -> str:
    """Any text with its tabs and line breaks kept and other unsafe characters replaced by `�`."""
    if text.isprintable():
        return text
    return UNSAFE.sub(lambda match: match[0] if match[0] in _IN_PARAGRAPHS else REPLACEMENT, text)


def xml_text(text: str) -> str:
    """The text with `�` for characters that no XML document can hold, not even as references."""
    return _NOT_IN_XML.sub(REPLACEMENT, text)


def check_line(text: str) -> str:
    """Return the text; raise `ValueError`, naming the place, for a character that a line cannot hold."""
    if (match := UNSAFE.search(text)) is not None:
        raise ValueError(f"{_location(text, match)}: a line of printable characters is expected")
    return text


def check_paragraphs(text: str) -> str:
    """Return the text.

    Raises:
        ValueError: It has an unsafe character other than tab and line break; the message names the
            place.
    """
    for match in UNSAFE.finditer(text):
        if match[0] not in _IN_PARAGRAPHS:
            raise ValueError(f"{_location(text, match)}: printable characters and line breaks are expected")
    return text


def _location(text: str, match: re.Match[str]) -> str:
    return f"{text[:40]!a} has U+{ord(match[0]):04X} at character {match.start() + 1}"


def count_of(count: int, singular: str, plural: str = "") -> str:
    """A number with its noun: `1 port`, `1,024 ports`. `plural`: "" for the singular with an s.

    >>> count_of(2, "entry", "entries")
    '2 entries'
    """
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"
