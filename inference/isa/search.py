"""The search syntax of the scheme table, parsed to terms. Filters on the command line use the same syntax.

    add "GPR[64]" mnemonic:imul ext:AVX2 category:shift memory:R width:256 is:default -is:starter

Terms are separated by blanks and all of them must apply; a leading `-` negates one. A word or a "quoted
phrase" is searched in the scheme text. Values may be quoted as well: `ext:"SSE4.2"`.

| key | meaning |
|---|---|
| `mnemonic:` | the mnemonic, without prefixes |
| `ext:` | a CPU feature that the scheme needs |
| `category:` | kind of operation |
| `memory:` | `none`, `R`, `W` or `RW`: how memory is accessed |
| `width:` | widest explicit operand in bits |
| `is:` | `starter`, `default` (offered for inference), `excluded` (all others), or one of `IS_VALUES` below |

Of the schemes outside the default set, `is:measurable` ones are measured on request, by groups `legacy-sse`,
`mmx`, `x87` and `avx512`, and `breakable` ones when other instructions may break their dependencies. AVX-512
has more schemes than all other extensions together: only a search that names it (`names_avx512`) or a switch
includes them.

A word may be another name of an instruction, and then finds that as well: of assemblers (`cmovnz`,
`vcmpltps`, AT&T's `addq`), of uops.info (`ADD_R64_R64`, `ADD (R64, R64)`) or LLVM's opcode (`VADDPDYrr`); see
`inference.isa.x86.naming`. So may the value of `mnemonic:`. A word may abbreviate an operand, with a comma
behind it: `imul r64, m64`, `vpaddd xmm, xmm/m128`, `shl r32, imm8`.

Search is case-insensitive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast

from inference.isa.targets import targets

Key = Literal["text", "mnemonic", "ext", "category", "memory", "width", "is"]
KEYS = ("mnemonic", "ext", "category", "memory", "width", "is")
MEMORY_VALUES = ("none", "R", "W", "RW")
IS_VALUES = (
    "starter",
    "default",
    "excluded",
    "measurable",
    "breakable",
    "legacy-sse",
    "mmx",
    "x87",
    "avx512",
)
MAX_LENGTH = 500  # characters of a query
MAX_TERMS = 30  # of a query
MAX_WIDTH = 32_767  # what the database column holds

_TERM = re.compile(
    r"""(?P<minus>-)?
        (?: (?P<key>[A-Za-z]+) : (?: "(?P<quoted_value>[^"]*)" | (?P<value>[^\s"]*) )
          | "(?P<phrase>[^"]*)"
          | (?P<listed>[A-Za-z]\w*[ ]?\([\w, ]*\))
          | (?P<word>[^\s"]+?) )
        (?=,?(?:\s|$)),?""",
    re.VERBOSE,
)


_AVX512_MARKS = ("zmm", "{evex}", "{k}", "{1to", "{er}", "{sae}")


class SearchError(ValueError):
    """An invalid search text; the message says which part and what would be right."""


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """One condition: `key` has `value` or, negated, has not.

    Values of `memory` are `none` or upper case, those of `is` lower case, and `width` is a decimal number
    without leading zeros. `text` stands for words and phrases.
    """

    key: Key
    value: str
    negated: bool = False


def parse_search(query: str) -> tuple[SearchTerm, ...]:
    """The terms of a search text, in order; () for a blank one. Raises `SearchError`.

    >>> [term.key for term in parse_search("add -is:starter")]
    ['text', 'is']
    """
    if len(query) > MAX_LENGTH:
        raise SearchError(f"the search has {len(query)} characters; at most {MAX_LENGTH} are allowed")
    terms: list[SearchTerm] = []
    position = 0
    while remaining := query[position:].lstrip():
        position = len(query) - len(remaining)
        match = _TERM.match(query, position)
        if match is None:
            raise SearchError(_syntax_error(remaining))
        terms.append(_term(match))
        position = match.end()
    if len(terms) > MAX_TERMS:
        raise SearchError(f"the search has {len(terms)} terms; at most {MAX_TERMS} are allowed")
    return tuple(terms)


def names_avx512(terms: Iterable[SearchTerm]) -> bool:
    """Whether a search is about AVX-512."""
    return any(not term.negated and _is_avx512(term) for term in terms)


def _is_avx512(term: SearchTerm) -> bool:
    value = term.value.lower()
    if term.key == "ext":
        return value.startswith("avx512")
    if term.key in ("text", "mnemonic") and any(target.names.is_avx512(value) for target in targets()):
        return True
    if term.key == "text":
        return any(mark in value for mark in _AVX512_MARKS)
    return (term.key, value) in {("is", "avx512"), ("width", "512")}


def _syntax_error(text: str) -> str:
    if text.count('"') % 2:
        return f"a quotation mark is not closed at: {text[:40]}"
    return f"cannot read the search at: {text[:40]} (put a blank between terms, quotes around whole values)"


def _term(match: re.Match[str]) -> SearchTerm:
    negated = match["minus"] is not None
    if match["key"] is None:
        word = match["word"] or match["listed"]
        return SearchTerm("text", word if match["phrase"] is None else _phrase(match["phrase"]), negated)
    key = match["key"].lower()
    value = match["value"] if match["quoted_value"] is None else match["quoted_value"]
    if key not in KEYS:
        raise SearchError(
            f"unknown search key {match['key']}: the keys are {', '.join(f'{name}:' for name in KEYS)}; "
            "put quotes around text that contains a colon"
        )
    return SearchTerm(cast(Key, key), _valid_value(key, value.strip()), negated)


def _phrase(phrase: str) -> str:
    if not phrase.strip():
        raise SearchError('an empty phrase "" matches everything: leave it out')
    return phrase.strip()


def _valid_value(key: str, value: str) -> str:
    if not value:
        raise SearchError(f"{key}: needs a value right after the colon")
    if key == "memory":
        return _allowed_value(key, value, MEMORY_VALUES)
    if key == "is":
        return _allowed_value(key, value, IS_VALUES)
    if key == "width":
        if not (value.isascii() and value.isdigit() and len(value) <= 6 and int(value) <= MAX_WIDTH):
            raise SearchError(f"width:{value} is not a number of bits; try width:256")
        return str(int(value))
    return value


def _allowed_value(key: str, value: str, allowed: tuple[str, ...]) -> str:
    for choice in allowed:
        if value.lower() == choice.lower():
            return choice
    raise SearchError(f"{key}:{value} is not one of {', '.join(f'{key}:{choice}' for choice in allowed)}")
