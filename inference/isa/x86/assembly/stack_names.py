"""Names that disassemblers give to places on the stack, replaced by what they stand for.

IDA defines them at the beginning of a function (`var_508 = qword ptr -508h`), radare2 in comments there
(`; var int64_t var_4h @ rbp-0x4`). Without that, an instruction with such a name would be another one.
"""

from __future__ import annotations

import re

from inference.isa.code.listings import NumberedLines

_IN_IDA = re.compile(  # bounded: a line of at most 1,000 characters
    r"(?P<name>[A-Za-z_]\w*)\s*=\s*(?:\w+\s+)?ptr\s+(?P<place>-?[0-9A-Fa-f]+)h?\s*(?:;.*)?"
)
_IN_RADARE2 = re.compile(
    r"\W*;\s*(?:var|arg)\b.{0,200}?\b(?P<name>\w+)\s*@\s*(?P<place>r[bs]p\s*[+-]\s*(?:0x[0-9a-f]+|\d+))\s*"
)
_MAX_LINE_LENGTH = 1000  # characters of a line that are looked at
_WORD = re.compile(r"(?P<plus>\+\s*)?\b(?P<name>[A-Za-z_]\w*)\b")
_UNPLACED = re.compile(r"(?:var|arg|local|stack)_[0-9a-f]+h?(?:_\d+)?", re.IGNORECASE)


def is_definition(text: str) -> bool:
    """Whether a text behind an address is IDA's definition of a name."""
    return _IN_IDA.fullmatch(text) is not None


def is_unplaced(name: str) -> bool:
    """Whether a name is of a place on the stack, by disassemblers' conventions."""
    return _UNPLACED.fullmatch(name) is not None


def with_places(lines: NumberedLines) -> NumberedLines:
    """The lines with defined names replaced; the given ones where none is defined.

    >>> with_places([(1, "; var int64_t var_4h @ rbp-0x4"), (2, "0x401126  dec dword [var_4h]")])[1][1]
    '0x401126  dec dword [rbp-0x4]'
    """
    if not any("@" in line or "= " in line for _, line in lines):
        return lines
    places: dict[str, str] = {}
    replaced = []
    for number, raw in lines:
        line = raw
        if len(raw) > _MAX_LINE_LENGTH:
            pass
        elif "=" in line and (match := _IN_IDA.search(line)):
            value = int(match["place"], 16)
            places[match["name"]] = f"{value:+#x}"
        elif "@" in line and (match := _IN_RADARE2.fullmatch(line)):
            places[match["name"]] = "".join(match["place"].split())
        elif places:
            code, semicolon, comment = line.partition(";")
            line = f"{_WORD.sub(lambda word: _replaced(word, places), code)}{semicolon}{comment}"
        replaced.append((number, line))
    return replaced


def _replaced(word: re.Match[str], places: dict[str, str]) -> str:
    place = places.get(word["name"])
    if place is None:
        return word[0]
    return place if place[0] in "+-" or not word["plus"] else f"+{place}"
