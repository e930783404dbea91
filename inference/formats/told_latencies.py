"""Latencies that a file tells of schemes in one number, or by operands in the words of another tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from inference.formats.document import PairEntry
from inference.isa.scheme import Operand, Scheme


def register_pairs(scheme: Scheme) -> list[tuple[str, str]]:
    """(source, destination) of the explicit registers of a scheme; of a plain load, from its address."""
    sources = [str(n) for n, one in _explicit(scheme) if one.kind == "register" and "R" in one.access]
    if not sources:
        sources = [f"{n} address" for n, one in _explicit(scheme) if _is_loaded(one)]
    targets = [str(n) for n, one in _explicit(scheme) if one.kind == "register" and "W" in one.access]
    return [(source, target) for source in sources for target in targets]


def in_one_number(pairs: Sequence[tuple[str, str]], cycles: float) -> tuple[PairEntry, ...]:
    """All these pairs with one latency: files that have a single one mean the largest."""
    return tuple(PairEntry(*pair, cycles, cycles) for pair in pairs)


def as_bounds(pairs: Sequence[tuple[str, str]], cycles: float, why: str) -> tuple[PairEntry, ...]:
    """All these pairs with a number that they do not exceed."""
    return tuple(PairEntry(*pair, at_most=max(cycles, 0.0), why=why) for pair in pairs)


def pairs_told(words: str, text: str) -> tuple[PairEntry, ...]:
    """The pairs in what `ExportedCore.pairs` has said of a scheme, behind its text; () where it has not."""
    told = _TOLD.fullmatch(words)
    if told is None or told["scheme"] != text:
        return ()
    found = [_PAIR.fullmatch(each) for each in told["pairs"].split(", ")]
    return tuple(_pair(*match.groups()) for match in found if match) if all(found) else ()


_TOLD = re.compile(r"(?P<scheme>[^;]+);.*; latencies (?P<pairs>[^;]+)")
_PAIR = re.compile(r"([^:→]+) → ([^:→]+): (none|\d+(?:\.\d+)?)(?: \(([^)]+)\))?")


def _pair(source: str, destination: str, cycles: str, basis: str | None) -> PairEntry:
    if cycles == "none":
        return PairEntry(source, destination, breaks=True)
    number = float(cycles)
    if basis is None:
        return PairEntry(source, destination, number, number)
    return PairEntry(source, destination, at_most=number, why=basis)


def place_of(scheme: Scheme, written: str, flags: Sequence[str]) -> str | None:
    """What we call an operand: LLVM's number, from 0 and without memory, or the register; None for neither.

    `flags`: what the tool calls the flags.
    """
    if written.isdecimal():
        counted = [number for number, one in _explicit(scheme) if not one.registers]
        numbers = [number for number in counted if scheme.operands[number - 1].kind != "memory"]
        return str(numbers[int(written)]) if int(written) < len(numbers) else None
    if written in flags:
        return "flags" if any(one.kind == "flags" for one in scheme.operands) else None
    name = written.lower()
    for number, one in _explicit(scheme):
        if name in one.registers:
            return str(number)
    return name if any(one.implicit and one.name == name for one in scheme.operands) else None


def _explicit(scheme: Scheme) -> Iterator[tuple[int, Operand]]:
    """With their numbers, from 1."""
    shown = (one for one in scheme.operands if not one.implicit)
    return enumerate(shown, start=1)


def _is_loaded(one: Operand) -> bool:
    return one.kind == "memory" and one.access == "R"
