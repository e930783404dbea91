"""Machine code as dumps of files and as arrays of programming languages.

| form | example |
|---|---|
| bytes with offsets | `hexdump -C`, `xxd`, `xxd -b`, `od -t x1`; in words: `hexdump`, `xxd -e`, `od -t x2` |
| array | `{0x48, 0x01, 0xd8}`, `[]byte{72, 1, 216}`, `bytes([0x48, 1])`, `(byte) 0x48` |
| string | `"\\x48\\x01" "\\xd8"`, `b'H\\x01\\xd8'` |
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from inference.isa.code.block import BlockError

_DUMP = re.compile(
    r"(?P<offset>[0-9a-f]{6,16})(?P<bytes>(?: {1,2}[0-9a-f]{2})+)\s*(?:\|(?P<text>.*)\|)?", re.IGNORECASE
)
"""A line of `hexdump -C`, or of `od -t x1`, which has no characters behind its bytes."""

_XXD = re.compile(  # bounded: lines of at most 300 characters
    r"(?P<offset>[0-9a-f]{6,16}):(?P<bytes>(?: +(?:[0-9a-f]{2}){1,8})+)  (?P<text>.*)", re.IGNORECASE
)
"""A line of `xxd`; one of `xxd -e` differs only in the order of the bytes of each word."""

_BITS = re.compile(  # bounded: lines of at most 300 characters
    r"(?P<offset>[0-9a-f]{6,16}):(?P<bytes>(?: [01]{8})+) *(?P<text>.*)", re.IGNORECASE
)
"""A line of `xxd -b`, with as many characters as groups of digits."""

_WORDS = re.compile(
    r"(?P<offset>[0-9a-f]{6,16})(?P<bytes>(?: +(?:[0-9a-f]{4}){1,4})+)(?P<text>)", re.IGNORECASE
)
"""Words with their last byte first: `hexdump` without -C, `od -t x2`."""

_DUMP_END = re.compile(r"[0-9a-f]{6,16}", re.IGNORECASE)
_OTHER_DUMP = re.compile(r"([0-9a-f]{6,8}):?(?:\s+[0-9a-f]+)+", re.IGNORECASE)
_REPETITION = "*"
_MAX_BYTES_OF_LINE, _MAX_LINE_LENGTH = 64, 300


def bytes_of_hex(text: str) -> bytes:
    """Machine code from hexadecimal digits, with or without spaces, a dump, or an array. Raises `BlockError`.

    >>> bytes_of_hex("48 01 d8").hex()
    '4801d8'
    """
    lines = text.splitlines()
    text = "".join(digits_of_dump(lines) or [digits for _, digits in digits_of_arrays(lines)]) or text
    digits = re.sub(r"\s|0x|\\x|,", "", text.lower())
    invalid = re.search(r"[^0-9a-f]", digits)
    if invalid:
        raise BlockError(f"machine code is written in hexadecimal digits; {invalid.group()!r} is none")
    if len(digits) % 2:
        raise BlockError(f"machine code has two hexadecimal digits per byte; these are {len(digits)}")
    return bytes.fromhex(digits)


def digits_of_dump(lines: Sequence[str]) -> list[str] | None:
    """The digits of each line of a dump, "" for lines without; None for other texts.

    Each offset has to be the one before plus its bytes, so that no listing is taken for a dump.

    Raises:
        BlockError: Where the dump leaves out repeated lines, or has another form.

    >>> digits_of_dump(["00000000  48 01 d8 90  |H...|", "00000004"])
    ['4801d890', '']
    """
    first = next((line.strip() for line in lines if line.strip()), "")
    if not (_match(first) or _OTHER_DUMP.fullmatch(first)):
        return None  # nearly all texts
    matches = [_match(line.strip()) for line in lines]
    is_swapped = any(
        match and match.re is _XXD and not _fits(_bytes(match), match["text"]) for match in matches
    )
    digits = [""] * len(lines)
    ends: dict[str, int] = {}  # {offset behind the last line: bytes that fill up its last word}
    last = 0
    for place, (line, match) in enumerate(zip(lines, matches, strict=True)):
        text = line.strip().lower()
        if text == _REPETITION and ends:
            raise BlockError("the dump leaves out repeated lines (*): make it with hexdump -Cv", place + 1)
        if match is None:
            if text and not (_DUMP_END.fullmatch(text) and text in ends):
                _refuse_other_dump(lines)
                return None
            if text and (padding := ends[text]):
                digits[last] = digits[last][: -2 * padding]
            continue
        code = _bytes(match, is_swapped=match.re is _WORDS or (is_swapped and match.re is _XXD))
        offset, width = match["offset"].lower(), len(match["offset"])
        if (
            len(code) > _MAX_BYTES_OF_LINE
            or not _fits(code, match["text"])
            or (ends and ends.get(offset) != 0)
        ):
            _refuse_other_dump(lines)
            return None
        paddings = range(1 if match.re is _BITS else len(match["bytes"].split()[0]) // 2)
        ends = {f"{int(offset, 16) + len(code) - padding:0{width}x}": padding for padding in paddings}
        if re.fullmatch("[0-7]+", offset):  # od counts in octal digits
            ends |= {f"{int(offset, 8) + len(code) - padding:0{width}o}": padding for padding in paddings}
        digits[place], last = code.hex(), place
    return digits if ends else None


def _match(line: str) -> re.Match[str] | None:
    if len(line) > _MAX_LINE_LENGTH:
        return None
    if (bits := _BITS.fullmatch(line)) and _fits(_bytes(bits), bits["text"]):
        return bits
    return _DUMP.fullmatch(line) or _XXD.fullmatch(line) or _WORDS.fullmatch(line)


def _bytes(line: re.Match[str], *, is_swapped: bool = False) -> bytes:
    """The bytes of a line of a dump. `is_swapped`: the last byte of each word stands first."""
    if line.re is _BITS:
        return bytes(int(word, 2) for word in line["bytes"].split())
    words = [bytes.fromhex(word) for word in line["bytes"].split()]
    return b"".join(word[::-1] if is_swapped else word for word in words)


def _fits(code: bytes, characters: str | None) -> bool:
    """Whether the characters beside a dump's line are those of its bytes."""
    if not characters:
        return True
    characters = characters.strip() if len(characters) > len(code) else characters
    return len(characters) <= len(code) and all(
        character == chr(byte) if 32 < byte < 127 else not (character.isascii() and character.isalnum())
        for byte, character in zip(code, characters, strict=False)
    )


def _refuse_other_dump(lines: Sequence[str]) -> None:
    """Raise `BlockError` for a dump with offsets in another form, whose digits would be taken for code."""
    matches = [_OTHER_DUMP.fullmatch(line.strip()) for line in lines if line.strip()]
    for base in (16, 8):
        offsets = [int(match[1], base) for match in matches if match and (base == 16 or max(match[1]) < "8")]
        steps = {after - before for before, after in pairwise(offsets)}
        if (
            len(offsets) > 2
            and len(offsets) >= len(matches) - 1
            and len(steps) == 1
            and min(steps) in (8, 16, 32)
        ):
            raise BlockError(
                "this is a dump with offsets, in a form that is not read: make it with hexdump -C"
            )


_ARRAY_TYPE = re.compile(
    r"\bchar\b|\bu?int8_t\b|\bstd::byte\b|\b[ui]8\b|\[\]byte\b|\bbyte\s?\[|\bbytes\(|\bbytearray\b|\bUint8Array\b"
    r"|\bBYTE\s\w{1,80}\[|\bb(?=[\"'])|\A[{\[\"]"
)
"""What only texts with arrays have, or the beginning of one."""

_ARRAY = re.compile(r"[{\[]([^{}\[\]]*)[}\]]")
_ELEMENT = re.compile(
    r"(?:\((?:unsigned )?(?:s?byte|char)\)\s?)?"
    r"(?:(-?(?:0x[0-9a-fA-F]+|\d+))(?:u8|[uU])?|'\\x([0-9a-fA-F]{2})')"
)
_STRING = re.compile(  # bounded: a match ends with its line at the latest, and none fails
    r"b?(?:\"((?:[^\"\\\n]|\\.)*)(?:\"|\\?$)|'((?:[^'\\\n]|\\.)*)(?:'|\\?$))", re.MULTILINE
)
_DECLARATION = re.compile(r"\s*(?:package|import|return|unsigned|static|const|let|var)\b")
_LINE_COMMENT = re.compile(r"//[^\n]*")
_VISIBLE = re.compile(r"[^\n]")
_BEFORE_LIST = "=(&:,"
"""What stands before a list in brackets; behind a name, brackets have the size or an index."""

_Array = tuple[int, int, list[tuple[str, int]]]
"""Begin, end, [(element, value)]."""


def digits_of_arrays(lines: Sequence[str]) -> list[tuple[int, str]]:
    """(number of its first line from 1, digits) of each array of a text; empty for other texts.

    Raises:
        BlockError: For elements that are larger than a byte.

    >>> digits_of_arrays(["char code[] = {0x48, 0x01, 0xd8};"])
    [(1, '4801d8')]
    """
    text = "\n".join(lines)
    if not _ARRAY_TYPE.search(text):
        return []
    text = _without_comments(text)
    arrays = list(_arrays(text))
    text = _without(text, arrays)
    strings = list(_strings(text))
    if not all(map(_is_declaration, _without(text, strings).split("\n"))):
        return []
    digits: list[tuple[int, str]] = []
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for begin, _, elements in sorted([*arrays, *strings]):
        line = bisect_right(starts, begin)
        for element, value in elements:
            if not -128 <= value <= 255:
                raise BlockError(f"{element} in the array is no byte: write the code as bytes", line)
        digits.append((line, bytes(value % 256 for _, value in elements).hex()))
    return digits


def _is_declaration(line: str) -> bool:
    """Whether a line without its arrays is only what stands around them."""
    if "=" in line or "#" in line or not any(map(str.isalnum, line)):
        return True
    return bool(_DECLARATION.match(line) or _ARRAY_TYPE.search(line))


def _without(text: str, spans: Sequence[_Array]) -> str:
    """The text with blanks in place of some spans, in order."""
    parts: list[str] = []
    end = 0
    for begin, stop, _ in spans:
        parts += [text[end:begin], _VISIBLE.sub(" ", text[begin:stop])]
        end = stop
    return "".join([*parts, text[end:]])


def _without_comments(text: str) -> str:
    spans: list[_Array] = []
    end = 0
    while (begin := text.find("/*", end)) >= 0 and (end := text.find("*/", begin + 2) + 2) >= 2:
        spans.append((begin, end, []))
    return _LINE_COMMENT.sub(lambda comment: " " * len(comment[0]), _without(text, spans))


def _arrays(text: str) -> Iterator[_Array]:
    for array in _ARRAY.finditer(text):
        before = text[max(0, array.start() - 20) : array.start()].rstrip()
        if text[array.start()] == "[" and before and before[-1] not in _BEFORE_LIST:
            continue
        elements = [_ELEMENT.fullmatch(element.strip()) for element in array[1].rstrip(" \t\n,").split(",")]
        values = [(e[1] or e[2], int(e[1], 0) if e[1] else int(e[2], 16)) for e in elements if e]
        if len(values) == len(elements):
            yield array.start(), array.end(), values


def _strings(text: str) -> Iterator[_Array]:
    """The strings with escaped bytes; adjacent ones are one."""
    run: list[re.Match[str]] = []
    for string in [*_STRING.finditer(text), None]:
        if run and (string is None or text[run[-1].end() : string.start()].strip(" \t\n+\\")):
            if any("\\x" in literal[0] for literal in run):
                code = b"".join(_unescape(literal[1] or literal[2] or "") for literal in run)
                yield run[0].start(), run[-1].end(), [(f"{byte:#x}", byte) for byte in code]
            run = []
        if string is not None:
            run.append(string)


_ESCAPED = re.compile(r"\\(?:x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))|([^\\])")
_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "e": 27}


def _unescape(literal: str) -> bytes:
    """The bytes of a string as C and Python write it."""
    code = bytearray()
    for hexadecimal, octal, escape, character in _ESCAPED.findall(literal):
        value = int(hexadecimal, 16) if hexadecimal else int(octal, 8) if octal else 0
        if escape or character:
            value = _ESCAPES.get(escape, ord(escape or character))
        code.append(value % 256)
    return bytes(code)
