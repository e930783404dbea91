"""The search syntax of the scheme table, parsed to plain terms. Filters on the command line use the same.

    add "GPR[64]" mnemonic:imul ext:AVX2 category:shift memory:R width:256 is:default -is:starter

Terms are separated by blanks and all of them must hold; a leading `-` negates one. A bare word or a "quoted
phrase" is looked for in the scheme text. Values may be quoted as well: `ext:"SSE4.2"`.

| key | meaning |
|---|---|
| `mnemonic:` | the mnemonic, without prefixes |
| `ext:` | a CPU feature that the scheme needs |
| `category:` | kind of operation |
| `memory:` | `none`, `R`, `W` or `RW`: how memory is accessed |
| `width:` | widest explicit operand in bits |
| `is:` | `starter`, `default` (offered for inference), `excluded` (all others), or one of `IS_VALUES` below |

Of the schemes that are not in the default set, `is:measurable` ones are measured when they are asked for, by
groups `legacy-sse`, `mmx`, `x87` and `avx512`, and `breakable` ones when other instructions may break their
dependencies. AVX-512 has more schemes than everything else together: they are found only by a search that
names it (`names_avx512`) or where a switch says so.

A word may be a name that others have for an instruction, and then finds that as well: of assemblers
(`cmovnz`, `vcmpltps`, AT&T's `addq`), of uops.info (`ADD_R64_R64`, `ADD (R64, R64)`) or LLVM's opcode
(`VADDPDYrr`); see `inference.isa.x86.naming`. So may the value of `mnemonic:`.

Search does not tell upper from lower case.
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
MAX_LENGTH = 500
MAX_TERMS = 30
MAX_WIDTH = 32_767  # what the database column holds

_TERM = re.compile(
    r"""(?P<minus>-)?
        (?: (?P<key>[A-Za-z]+) : (?: "(?P<quoted_value>[^"]*)" | (?P<value>[^\s"]*) )
          | "(?P<phrase>[^"]*)"
          | (?P<listed>[A-Za-z]\w*[ ]?\([\w, ]*\))
          | (?P<word>[^\s"]+) )
        (?=\s|$)""",
    re.VERBOSE,
)


_ONLY_AVX512 = ("zmm", "{evex}", "{k}", "{1to", "{er}", "{sae}")


class SearchError(ValueError):
    """The search text cannot be understood; the message says which part and what would be right."""


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """One condition: `key` must (or, negated, must not) have `value`.

    The values of `memory` are canonical (`none` or upper case), those of `is` lower case, and `width` is a
    decimal number without leading zeros. `text` stands for words and phrases.
    """

    key: Key
    value: str
    negated: bool = False


def parse_search(query: str) -> tuple[SearchTerm, ...]:
    """The terms of a search text, in order; () for a blank one. Raises SearchError."""
    if len(query) > MAX_LENGTH:
        raise SearchError(f"the search has {len(query)} characters; at most {MAX_LENGTH} are allowed")
    terms: list[SearchTerm] = []
    position = 0
    while rest := query[position:].lstrip():
        position = len(query) - len(rest)
        match = _TERM.match(query, position)
        if match is None:
            raise SearchError(_complaint(rest))
        terms.append(_term(match))
        position = match.end()
    if len(terms) > MAX_TERMS:
        raise SearchError(f"the search has {len(terms)} terms; at most {MAX_TERMS} are allowed")
    return tuple(terms)


def names_avx512(terms: Iterable[SearchTerm]) -> bool:
    """Whether a search is about AVX-512, as no other one is."""
    return any(not term.negated and _is_avx512(term) for term in terms)


def _is_avx512(term: SearchTerm) -> bool:
    value = term.value.lower()
    if term.key == "ext":
        return value.startswith("avx512")
    if term.key in ("text", "mnemonic") and any(one.names.is_avx512(value) for one in targets()):
        return True
    if term.key == "text":
        return any(mark in value for mark in _ONLY_AVX512)
    return (term.key, value) in {("is", "avx512"), ("width", "512")}


def _complaint(rest: str) -> str:
    if rest.count('"') % 2:
        return f"a quotation mark is not closed at: {rest[:40]}"
    return f"cannot read the search at: {rest[:40]} (put a blank between terms, quotes around whole values)"


def _term(match: re.Match[str]) -> SearchTerm:
    negated = match["minus"] is not None
    if match["key"] is None:
        word = match["word"] or match["listed"]
        return SearchTerm("text", word if match["phrase"] is None else _filled(match["phrase"]), negated)
    key = match["key"].lower()
    value = match["value"] if match["quoted_value"] is None else match["quoted_value"]
    if key not in KEYS:
        raise SearchError(
            f"unknown search key {match['key']}: the keys are {', '.join(f'{name}:' for name in KEYS)}; "
            "put quotes around text that contains a colon"
        )
    return SearchTerm(cast(Key, key), _checked(key, value.strip()), negated)


def _filled(phrase: str) -> str:
    if not phrase.strip():
        raise SearchError('an empty phrase "" matches everything: leave it out')
    return phrase.strip()


def _checked(key: str, value: str) -> str:
    if not value:
        raise SearchError(f"{key}: needs a value right after the colon")
    if key == "memory":
        return _one_of(key, value, MEMORY_VALUES)
    if key == "is":
        return _one_of(key, value, IS_VALUES)
    if key == "width":
        if not (value.isascii() and value.isdigit() and len(value) <= 6 and int(value) <= MAX_WIDTH):
            raise SearchError(f"width:{value} is not a number of bits; try width:256")
        return str(int(value))
    return value


def _one_of(key: str, value: str, allowed: tuple[str, ...]) -> str:
    for choice in allowed:
        if value.lower() == choice.lower():
            return choice
    raise SearchError(f"{key}:{value} is not one of {', '.join(f'{key}:{choice}' for choice in allowed)}")
