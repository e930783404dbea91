"""Classifies lines of a text that are not part of its listing, and detects lost code among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from inference.isa.code.block import DroppedLine, dropped_line
from inference.isa.code.directives import kind_of
from inference.isa.code.source import without_drawings

MAX_LENGTH = 500  # characters of a line that are looked at
_MAX_WORDS = 8
"""Words before an instruction: file, line, address, bytes, share of samples."""

_MAX_WORD_LENGTH = 30  # characters of a mnemonic
_CACHED_WORDS = 1 << 12

_COMMENT = re.compile(r"[;#]|//|/\*|\*")
_DIRECTIVE = re.compile(r"(?:[0-9a-fx]+:\s*|/\*[^*]*\*/\s*)?\.([a-z]\w*)(?=[\s\"'(]|$)", re.IGNORECASE)
"""`.align 16`, perhaps behind an address or a comment."""

_LABEL = re.compile(r"[^\s:]+:")
_ADDRESSED = re.compile(r"\W*(?:0x)?[0-9a-f]+:(?!:)", re.IGNORECASE)  # `401000:`
_LEADING_ADDRESS = re.compile(r"^[0-9a-f]+:", re.IGNORECASE)
_ADDRESS = re.compile(  # bounded: a line of at most 500 characters
    r"\b(?:0x)?(?=[a-f]*\d)[0-9a-f]{5,16}(?:\s*<[^>]*>)?:\s|\b(?=[a-f]*\d)[0-9a-f]{16}\s", re.IGNORECASE
)
_LONE_ADDRESS = re.compile(r"(?:0x)?(?=[a-f]*\d)[0-9a-f]{4,16}:", re.IGNORECASE)
"""An address without instruction, and no label."""

_EXAMINED = re.compile(r"\d+: x/\d*i \$?\w+")
"""`1: x/i $pc`, the title of what gdb displays."""

_BYTES = re.compile(r"(?:\b[0-9a-f]{2} ){2}|\A[0-9a-f]{2} [0-9a-f]{2}\Z", re.IGNORECASE)
_PLACE = re.compile(r"[0-9a-fx\W]+", re.IGNORECASE)
"""An address, a share or bytes before an instruction."""


class LineKinds(NamedTuple):
    """How an instruction set's code is recognised in lines outside a listing.

    Attributes:
        begins_instruction: Whether the first words of a text are prefixes or a mnemonic.
        is_instruction: Whether a whole text is an instruction, and no sentence with such a first word.
        shows_syntax: Whether a text has signs of assembly, so that it is none in spite of words before it.
        register: A register that occurs in no sentence.
        relocation: The beginning of a relocation, which stands between the instructions.
    """

    begins_instruction: Callable[[str], bool]
    is_instruction: Callable[[str], bool]
    shows_syntax: Callable[[str], bool]
    register: re.Pattern[str]
    relocation: re.Pattern[str]

    def classify(
        self, lines: Iterable[tuple[int, str]], is_foreign: Callable[[str], bool]
    ) -> tuple[Counter[str], list[DroppedLine]]:
        """{kind: number of lines}, and the lines that look like code.

        `is_foreign`: whether a line is code of another instruction set.
        """
        kinds: Counter[str] = Counter()
        dropped: list[DroppedLine] = []
        kind_by_line: dict[str, str] = {}  # a source line stands before each part of its code
        for number, raw in lines:
            line = raw[:MAX_LENGTH]
            if line not in kind_by_line:
                kind_by_line[line] = self._kind_of(without_drawings(line).strip(), is_foreign)
            if kind := kind_by_line[line]:
                kinds[kind] += 1
            else:
                dropped.append(dropped_line(number, line, "looks like code"))
        return kinds, dropped

    def _kind_of(self, text: str, is_foreign: Callable[[str], bool]) -> str:
        """The kind of a line outside the listing; "" where it looks like code."""
        if not any(map(str.isalnum, text)):
            return "rule"
        if _COMMENT.match(text) and not text.startswith("*%"):
            return "directive" if _DIRECTIVE.match(text) else "comment"
        if self.relocation.match(text) or self.relocation.match(_LEADING_ADDRESS.sub("", text, count=1)):
            return "relocation"
        if (directive := _DIRECTIVE.match(text)) and (kind := kind_of(directive[1].lower())):
            return "" if kind == "data" else f".{directive[1].lower()}"
        if _LABEL.fullmatch(text) and not _LONE_ADDRESS.fullmatch(text):
            return "label"
        is_code = self._looks_like_code(text) or is_foreign(text)
        return "" if is_code and not _EXAMINED.fullmatch(text) else "heading or source line"

    def _looks_like_code(self, text: str) -> bool:
        patterns = (_ADDRESS, _BYTES, self.register)
        if _ADDRESSED.match(text) or any(pattern.search(text) for pattern in patterns):
            return True
        words = text.split(None, _MAX_WORDS)
        for at, word in enumerate(words[:_MAX_WORDS]):
            if len(word) < _MAX_WORD_LENGTH and _begins(self.begins_instruction, word):
                code = " ".join(words[at:])
                # a sentence has another word before, and no registers behind
                is_code = not at or _PLACE.fullmatch(words[at - 1]) or self.shows_syntax(code)
                if is_code and self.is_instruction(code):
                    return True
        return False


@lru_cache(maxsize=_CACHED_WORDS)
def _begins(begins_instruction: Callable[[str], bool], word: str) -> bool:
    return begins_instruction(word)
