"""YAML of other tools, as plain values that know their lines: documents, lists, objects, texts and numbers.

References (`&a`, `*a`) are refused: no known tool writes any, and a small file can stand for a huge one by
them. Nothing in a file can name a Python object: tags mean nothing here.

Several tools have LLVM's names of instructions, parts of which one is read at a time, and latencies in one
number or by operands in words of their own: how these are understood is here as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from inference.core.texts import check_paragraphs
from inference.formats.document import PART, PairEntry
from inference.formats.problems import Problems, excerpt
from inference.formats.source import Source
from inference.isa.llvm_mc import AssemblerError
from inference.isa.llvm_schemes import LlvmSchemes, llvm_schemes
from inference.isa.scheme import Operand, Scheme
from inference.isa.targets import targets

MOST_VALUES = 3_000_000
"""Texts, numbers, lists and objects of one file."""
DEEPEST = 30
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's where this Python has it: many times as quick."""
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d{1,3})?")


class YamlObject(dict[str, Any]):
    """An object with the line that it begins in, from 1."""

    line = 0


@dataclass(frozen=True)
class YamlDocument:
    """A document of a file: its `number` and its `line`, from 1, and what it says."""

    number: int
    line: int
    value: Any


class FaultyFieldError(Exception):
    """What is wrong with a field of an object, what would be right, and the line if it has one of its own."""

    def __init__(self, message: str, right: str, field: str, line: int | None = None) -> None:
        super().__init__(message)
        self.right, self.field, self.line = right, field, line


class _NotReadableError(Exception):
    def __init__(self, message: str, right: str, line: int) -> None:
        super().__init__(message)
        self.right, self.line = right, line


def read_yaml(text: str, problems: Problems) -> list[YamlDocument]:
    """The documents of a file; none after noting what makes it unreadable."""
    try:
        return list(_documents(yaml.parse(text, Loader=_LOADER)))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = None if mark is None else mark.line + 1
        problems.add(f"not valid YAML: {error.problem}", "a YAML document is expected", row=where)
    except yaml.YAMLError as error:
        problems.add(f"not valid YAML: {str(error)[:200]}", "a YAML document is expected")
    except _NotReadableError as error:
        problems.add(str(error), error.right, row=error.line)
    return []


def _documents(events: Iterator[Any]) -> Iterator[YamlDocument]:
    reader = _Reader(events)
    number = 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            number += 1
            first = next(events)
            yield YamlDocument(number, first.start_mark.line + 1, reader.value(first, 0))


class _Reader:
    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._values = 0

    def value(self, event: Any, depth: int) -> Any:
        """What begins with this event."""
        self._check(event, depth)
        if isinstance(event, yaml.ScalarEvent):
            self._check_text(event)
            return _scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return list(self._inside(yaml.SequenceEndEvent, depth))
        result = YamlObject()
        result.line = event.start_mark.line + 1
        inside = self._inside(yaml.MappingEndEvent, depth)
        for key in inside:
            name = key if isinstance(key, str) else _written(key)
            if name is None or name in result:
                what = "a key that is no text" if name is None else f"the key {name[:60]!r} twice"
                raise _NotReadableError(what, "each key of an object is a text of its own", result.line)
            result[name] = next(inside)
        return result

    def _inside(self, end: type[Any], depth: int) -> Iterator[Any]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield self.value(event, depth + 1)

    def _check_text(self, event: Any) -> None:
        try:
            check_paragraphs(event.value)
        except ValueError as error:
            what, _, right = str(error).partition(": ")
            raise _NotReadableError(what, right, event.start_mark.line + 1) from None

    def _check(self, event: Any, depth: int) -> None:
        line = event.start_mark.line + 1
        self._values += 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _NotReadableError("a reference (& or *)", "write each value where it belongs", line)
        if depth > DEEPEST:
            raise _NotReadableError("the YAML is nested too deeply", f"{DEEPEST} levels at most", line)
        if self._values > MOST_VALUES:
            raise _NotReadableError(f"the YAML has more than {MOST_VALUES:,} values", "split the file", line)


def _scalar(event: Any) -> Any:
    text: str = event.value
    if not event.implicit[0]:  # quoted, or a block of text
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _written(key: Any) -> str | None:
    """A key that looks like a number or a word with a meaning, as a text."""
    if isinstance(key, bool) or key is None:
        return None if key is None else str(key).lower()
    return str(key) if isinstance(key, int | float) else None


@dataclass(frozen=True)
class NamedSchemes:
    """The schemes of an instruction set by LLVM's names."""

    isa: str
    schemes: LlvmSchemes


def named_schemes(opcodes: Collection[str], problems: Problems) -> NamedSchemes | None:
    """Those of the instruction set that knows most of these; None after noting what is missing here."""
    names = set(opcodes)
    candidates: list[tuple[int, NamedSchemes]] = []
    try:
        for isa in (target.name for target in targets()):
            named = NamedSchemes(isa, llvm_schemes(isa))
            known = sum(map(named.schemes.knows, names))
            if known * 2 > len(names):
                return named
            candidates.append((known, named))
    except AssemblerError as error:
        problems.add(
            f"LLVM's names of instructions are needed: {error}",
            "install LLVM's tools (Debian: apt install llvm), and import the file again",
        )
        return None
    return max(candidates, key=lambda candidate: candidate[0])[1]


def register_pairs(scheme: Scheme) -> list[tuple[str, str]]:
    """(source, destination) of the explicit registers of a scheme; of a plain load, from its address."""
    sources = [
        str(n) for n, operand in _explicit(scheme) if operand.kind == "register" and "R" in operand.access
    ]
    if not sources:
        sources = [f"{n} address" for n, operand in _explicit(scheme) if _is_loaded(operand)]
    targets = [
        str(n) for n, operand in _explicit(scheme) if operand.kind == "register" and "W" in operand.access
    ]
    return [(source, target) for source in sources for target in targets]


def pairs_with_latency(pairs: Sequence[tuple[str, str]], cycles: float) -> tuple[PairEntry, ...]:
    """All these pairs with one latency: files that have a single one mean the largest."""
    return tuple(PairEntry(*pair, cycles, cycles) for pair in pairs)


def pairs_with_bound(pairs: Sequence[tuple[str, str]], cycles: float, why: str) -> tuple[PairEntry, ...]:
    """All these pairs with a number that they do not exceed."""
    return tuple(PairEntry(*pair, at_most=max(cycles, 0.0), why=why) for pair in pairs)


def stated_pairs(line: str, text: str) -> tuple[PairEntry, ...]:
    """The pairs in what `ExportedCore.pairs` has said of a scheme, behind its text; () where it has not."""
    stated = _LATENCIES.fullmatch(line)
    if stated is None or stated["scheme"] != text:
        return ()
    matches = [_PAIR.fullmatch(pair) for pair in stated["pairs"].split(", ")]
    return tuple(_pair(*match.groups()) for match in matches if match) if all(matches) else ()


_LATENCIES = re.compile(r"(?P<scheme>[^;]+);.*; latencies (?P<pairs>[^;]+)")
_PAIR = re.compile(r"([^:→]+) → ([^:→]+): (none|\d+(?:\.\d+)?)(?: \(([^)]+)\))?")


def _pair(source: str, destination: str, cycles: str, basis: str | None) -> PairEntry:
    if cycles == "none":
        return PairEntry(source, destination, breaks=True)
    number = float(cycles)
    if basis is None:
        return PairEntry(source, destination, number, number)
    return PairEntry(source, destination, at_most=number, why=basis)


def operand_name(scheme: Scheme, written: str, flags: Sequence[str]) -> str | None:
    """What we call an operand: LLVM's number, from 0 and without memory, or the register; None for neither.

    `flags`: what the tool calls the flags.
    """
    if written.isdecimal():
        counted = [number for number, operand in _explicit(scheme) if not operand.registers]
        numbers = [number for number in counted if scheme.operands[number - 1].kind != "memory"]
        return str(numbers[int(written)]) if int(written) < len(numbers) else None
    if written in flags:
        return "flags" if any(operand.kind == "flags" for operand in scheme.operands) else None
    name = written.lower()
    for number, operand in _explicit(scheme):
        if name in operand.registers:
            return str(number)
    return name if any(operand.implicit and operand.name == name for operand in scheme.operands) else None


def _explicit(scheme: Scheme) -> Iterator[tuple[int, Operand]]:
    """With their numbers, from 1."""
    operands = (operand for operand in scheme.operands if not operand.implicit)
    return enumerate(operands, start=1)


def _is_loaded(operand: Operand) -> bool:
    return operand.kind == "memory" and operand.access == "R"


def facts_of_part(source: Source, parts: Sequence[str]) -> dict[str, Any]:
    """What a document tells of its parts; the first is read unless one is wanted. Notes a part it lacks."""
    part = source.part or parts[0]
    if part not in parts:
        source.at().add(
            f"the file has no part {excerpt(part)}",
            f"choose one (--microarchitecture in the shell): {', '.join(parts)}",
        )
    return {PART: part, "microarchitectures": list(parts) if len(parts) > 1 else []}
