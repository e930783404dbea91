"""Parses YAML of other tools into plain values with line numbers, and fields that several tools share.

References (`&a`, `*a`) are refused: no known tool writes them, and with them a small file can expand to a
huge one. Tags are ignored, so that no file can name a Python object.

Shared by the readers of several tools: LLVM's names of instructions, files of which one part is read at a
time, and latencies in one number or by operands.
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

MAX_VALUES = 3_000_000
"""Texts, numbers, lists and objects that a file may have."""

DEEPEST = 30  # levels of nesting
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's where it is installed: many times faster."""

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d{1,3})?")  # `1.5`, `.5`, `1e3`


class YamlObject(dict[str, Any]):
    """An object with the line that it begins in, from 1."""

    line = 0


@dataclass(frozen=True)
class YamlDocument:
    """A document of a file. `number` and `line` from 1."""

    number: int
    line: int
    value: Any


class FaultyFieldError(Exception):
    """An invalid field.

    Args:
        right: What is expected.
        line: Line of the field, None for that of its document.
    """

    def __init__(self, message: str, right: str, field: str, line: int | None = None) -> None:
        super().__init__(message)
        self.right, self.field, self.line = right, field, line


class _NotReadableError(Exception):
    def __init__(self, message: str, right: str, line: int) -> None:
        super().__init__(message)
        self.right, self.line = right, line


def read_yaml(text: str, problems: Problems) -> list[YamlDocument]:
    """The documents of a file; [] after noting why it cannot be read."""
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
    """Builds values from YAML events with limits on depth and number, which PyYAML's loaders lack."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._values = 0

    def value(self, event: Any, depth: int) -> Any:
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
                flaw = "a key that is no text" if name is None else f"the key {name[:60]!r} twice"
                raise _NotReadableError(flaw, "each key of an object is a text of its own", result.line)
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
            flaw, _, right = str(error).partition(": ")
            raise _NotReadableError(flaw, right, event.start_mark.line + 1) from None

    def _check(self, event: Any, depth: int) -> None:
        line = event.start_mark.line + 1
        self._values += 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _NotReadableError("a reference (& or *)", "write each value where it belongs", line)
        if depth > DEEPEST:
            raise _NotReadableError("the YAML is nested too deeply", f"{DEEPEST} levels at most", line)
        if self._values > MAX_VALUES:
            raise _NotReadableError(f"the YAML has more than {MAX_VALUES:,} values", "split the file", line)


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
    """A key that was parsed as a number or boolean, as text; None for null and for lists or objects."""
    if isinstance(key, bool) or key is None:
        return None if key is None else str(key).lower()
    return str(key) if isinstance(key, int | float) else None


@dataclass(frozen=True)
class NamedSchemes:
    """The schemes of an instruction set by LLVM's names."""

    isa: str
    schemes: LlvmSchemes


def named_schemes(opcodes: Collection[str], problems: Problems) -> NamedSchemes | None:
    """LLVM's names in the instruction set that has most of the opcodes.

    None after noting that LLVM is missing.
    """
    names = set(opcodes)
    candidates: list[tuple[int, NamedSchemes]] = []
    try:
        for isa in (target.name for target in targets()):
            named = NamedSchemes(isa, llvm_schemes(isa))
            n_known = sum(map(named.schemes.knows, names))
            if n_known * 2 > len(names):
                return named
            candidates.append((n_known, named))
    except AssemblerError as error:
        problems.add(
            f"LLVM's names of instructions are needed: {error}",
            "install LLVM's tools (Debian: apt install llvm), and import the file again",
        )
        return None
    return max(candidates, key=lambda candidate: candidate[0])[1]


def register_pairs(scheme: Scheme) -> list[tuple[str, str]]:
    """(source, destination) of a scheme's explicit registers; for a plain load, the source is its address."""
    sources = [str(n) for n, item in _explicit(scheme) if item.kind == "register" and "R" in item.access]
    if not sources:
        sources = [f"{n} address" for n, item in _explicit(scheme) if _is_loaded(item)]
    targets = [str(n) for n, item in _explicit(scheme) if item.kind == "register" and "W" in item.access]
    return [(source, target) for source in sources for target in targets]


def pairs_with_latency(pairs: Sequence[tuple[str, str]], cycles: float) -> tuple[PairEntry, ...]:
    """All pairs with one latency, for files with a single number per instruction."""
    return tuple(PairEntry(*pair, cycles, cycles) for pair in pairs)


def pairs_with_bound(pairs: Sequence[tuple[str, str]], cycles: float, why: str) -> tuple[PairEntry, ...]:
    """All pairs with an upper bound in cycles, at least 0."""
    return tuple(PairEntry(*pair, at_most=max(cycles, 0.0), why=why) for pair in pairs)


def stated_pairs(line: str, text: str) -> tuple[PairEntry, ...]:
    """The pairs in a line of `ExportedCore.line` about this scheme; () for any other line."""
    stated = _LATENCIES.fullmatch(line)
    if stated is None or stated["scheme"] != text:
        return ()
    matches = [_PAIR.fullmatch(pair) for pair in stated["pairs"].split(", ")]
    return tuple(_pair(*match.groups()) for match in matches if match) if all(matches) else ()


_LATENCIES = re.compile(r"(?P<scheme>[^;]+);.*; latencies (?P<pairs>[^;]+)")
"""The comment on an instruction: its scheme, any facts, and its latencies."""

_PAIR = re.compile(r"([^:→]+) → ([^:→]+): (none|\d+(?:\.\d+)?)(?: \(([^)]+)\))?")
"""`source → destination: 3 (basis)`."""


def _pair(source: str, destination: str, cycles: str, basis: str | None) -> PairEntry:
    if cycles == "none":
        return PairEntry(source, destination, breaks=True)
    number = float(cycles)
    if basis is None:
        return PairEntry(source, destination, number, number)
    return PairEntry(source, destination, at_most=number, why=basis)


def operand_name(scheme: Scheme, written: str, flags: Sequence[str]) -> str | None:
    """Our name of an operand that a tool names by LLVM's number (from 0, without memory) or as a register.

    `flags`: the tool's names of the flags. None for an operand that the scheme lacks.
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
    """(number from 1, operand) of the explicit operands."""
    operands = (operand for operand in scheme.operands if not operand.implicit)
    return enumerate(operands, start=1)


def _is_loaded(operand: Operand) -> bool:
    return operand.kind == "memory" and operand.access == "R"


def facts_of_part(source: Source, parts: Sequence[str]) -> dict[str, Any]:
    """Facts about a file with several parts; notes a problem for an unknown `source.part` ("": the first)."""
    part = source.part or parts[0]
    if part not in parts:
        source.at().add(
            f"the file has no part {excerpt(part)}",
            f"choose one (--microarchitecture in the shell): {', '.join(parts)}",
        )
    return {PART: part, "microarchitectures": list(parts) if len(parts) > 1 else []}
