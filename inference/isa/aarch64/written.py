"""Operands of AArch64 as written, before the form of the instruction is known."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from inference.isa.aarch64 import STACK_POINTER
from inference.isa.aarch64.decoding import CONDITIONS
from inference.isa.code.block import BlockError
from inference.isa.words.accesses import GENERAL, VECTOR, ZERO, RegisterPart

_SHIFT = re.compile(r"(lsl|lsr|asr|ror|msl|[su]xt[bhwx])(?:\s*+#?\s*+(0x[0-9a-f]+|\d+))?")
_GENERAL = re.compile(r"([xw])([12]?\d|30)")
_SCALAR = re.compile(r"([bhsdq])([12]?\d|3[01])")
_VECTOR = re.compile(r"v([12]?\d|3[01])(?:\.(\d*[bhsdq]))?(?:\[(\d+)\])?")
_LIST = re.compile(r"\{(.+)\}(?:\[(\d+)\])?")
_RANGE = re.compile(r"(v\d+(?:\.\w+)?)\s*-\s*(v\d+(?:\.\w+)?)")
_SVE = re.compile(r"[zp]\d+(?:\.[bhsdq]|/[mz])?|za(?:\d.*)?")
_NAMED = {"sp": (GENERAL, 64), "wsp": (GENERAL, 32), "xzr": (ZERO, 64), "wzr": (ZERO, 32)}
_ALIASES = {"fp": "x29", "lr": "x30", "ip0": "x16", "ip1": "x17"}
_BITS = {"b": 8, "h": 16, "s": 32, "d": 64, "q": 128}
_OFFSET = r"(?:\s*[+-]\s*\w+)*"
_SYMBOL = re.compile(rf":[a-z0-9_]+:.+|=.+|[a-z_.$@?][\w.$@?]*{_OFFSET}|\d+[bf]{_OFFSET}", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(?:0x[0-9a-f]+|0b[01]+|\d+)")
_FLOAT = re.compile(r"[-+]?\d+\.\d*(?:e[-+]?\d+)?|[-+]?\d+e[-+]?\d+")

CONDITION_NUMBERS = {name: number for number, name in enumerate(CONDITIONS)} | {"cs": 2, "cc": 3, "ul": 3}


class WrittenVector(NamedTuple):
    """A vector or a list of them; `arrangement`: "" where it stands behind the mnemonic."""

    number: int
    arrangement: str
    element: int | None = None
    span: int = 0


class WrittenShift(NamedTuple):
    word: str
    amount: int | None


class WrittenSymbol(NamedTuple):
    """A name: a label, a condition, a system register."""

    name: str


class WrittenAddress(NamedTuple):
    """`parts`: base, and index or offset, and its extension; `moves`: `pre`, `post` or ""."""

    parts: tuple[Written, ...]
    moves: str = ""


Written = RegisterPart | WrittenVector | WrittenShift | WrittenSymbol | WrittenAddress | int | float


@lru_cache(maxsize=1 << 12)
def written_operands(text: str) -> tuple[Written, ...]:
    """The operands of a statement behind its mnemonic. Raises `BlockError`."""
    written: list[Written] = []
    for part in _split(text):
        operand = _written(part)
        last = written[-1] if written else None
        if isinstance(last, WrittenAddress) and last.moves == "" and len(last.parts) == 1:
            written[-1] = WrittenAddress((*last.parts, operand), "post")
        else:
            written.append(operand)
    return tuple(written)


def _split(text: str) -> list[str]:
    """The parts between commas outside brackets."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        if character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == "," and not depth:
            parts.append(text[start:place])
            start = place + 1
    if depth:
        raise BlockError(f"the brackets of {text[:40]!r} do not match")
    parts.append(text[start:])
    if parts == [""]:
        return []
    if not all(part.strip() for part in parts):
        raise BlockError(f"an operand of {text[:40]!r} is missing")
    return [part.strip() for part in parts]


def _written(text: str) -> Written:
    lowered = text.lower()
    plain = lowered.removeprefix("#").strip()
    if plain.startswith("["):
        return _address(text)
    if register := _register(plain):
        return register
    if match := _SHIFT.fullmatch(plain):
        return WrittenShift(match[1], None if match[2] is None else int(match[2], 0))
    if _NUMBER.fullmatch(plain) or _FLOAT.fullmatch(plain):
        return _number(plain)
    if match := _LIST.fullmatch(plain):
        return _list(match[1], match[2])
    if _SVE.fullmatch(plain):
        raise BlockError(f"{text[:40]} is a register of SVE or SME, which is not supported")
    name = text.removeprefix("#").strip()
    if _SYMBOL.fullmatch(name):
        return WrittenSymbol(name)
    raise BlockError(f"{text[:40]!r} is no operand of AArch64")


def _number(text: str) -> int | float:
    if _FLOAT.fullmatch(text):
        return float(text)
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    return sign * int(digits, 0 if digits.startswith(("0x", "0b")) else 10)


def _register(text: str) -> RegisterPart | WrittenVector | None:
    text = _ALIASES.get(text, text)
    if named := _NAMED.get(text):
        return RegisterPart(named[0], STACK_POINTER, named[1])
    if match := _GENERAL.fullmatch(text):
        return RegisterPart(GENERAL, int(match[2]), 64 if match[1] == "x" else 32)
    if match := _SCALAR.fullmatch(text):
        return RegisterPart(VECTOR, int(match[2]), _BITS[match[1]])
    if match := _VECTOR.fullmatch(text):
        return WrittenVector(int(match[1]), match[2] or "", None if match[3] is None else int(match[3]))
    return None


def _list(text: str, element: str | None) -> WrittenVector:
    """The vectors within braces: all of them, or the first and the last, `v0.4s-v3.4s`."""
    names = [part.strip() for part in text.split(",")]
    if span := _RANGE.fullmatch(text.strip()):
        first, last = (_register(name.strip()) for name in span.groups())
        if not isinstance(first, WrittenVector) or not isinstance(last, WrittenVector):
            raise BlockError(f"{{{text[:40]}}} is no list of vectors")
        vectors = [
            first._replace(number=(first.number + k) % 32)
            for k in range((last.number - first.number) % 32 + 1)
        ]
    else:
        vectors = [vector for name in names if isinstance(vector := _register(name), WrittenVector)]
        if len(vectors) != len(names):
            raise BlockError(f"{{{text[:40]}}} is no list of vectors")
    first = vectors[0]
    for place, vector in enumerate(vectors):
        if vector != first._replace(number=(first.number + place) % 32):
            raise BlockError(f"the vectors of {{{text[:40]}}} do not follow each other")
    return WrittenVector(
        first.number, first.arrangement, None if element is None else int(element), len(vectors)
    )


def _address(text: str) -> WrittenAddress:
    moves = "pre" if text.endswith("!") else ""
    inner = text.removesuffix("!").strip()
    if not inner.endswith("]"):
        raise BlockError(f"{text[:40]!r} is no address")
    parts = tuple(_written(part) for part in _split(inner[1:-1]))
    if not 1 <= len(parts) <= 3 or any(isinstance(part, WrittenAddress) for part in parts):
        raise BlockError(f"{text[:40]!r} is no address")
    return WrittenAddress(parts, moves)
