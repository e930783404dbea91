"""Databases of WINIC (YAML): throughputs as experiments, latencies operand by operand; see docs/formats.md.

A list of instructions by LLVM's names. `throughput` is in cycles per instruction, the least that was
measured; operands are numbered from 0 as the assembler writes them, implicit ones named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from inference.formats.document import (
    CYCLES_RANGE,
    ENTRY_LIMIT,
    Document,
    ExperimentEntry,
    LatencyEntry,
    PairEntry,
    nothing_left,
)
from inference.formats.file_parts import facts_of_part
from inference.formats.file_units import FileUnit
from inference.formats.llvm_entries import named_schemes
from inference.formats.problems import Problems, excerpt
from inference.formats.source import Signature, Source
from inference.formats.told_latencies import place_of
from inference.formats.yaml_documents import YamlObject, read_yaml
from inference.isa.llvm_schemes import LlvmScheme
from inference.isa.scheme import Scheme

_PARTS = THROUGHPUTS, LATENCIES = "throughputs", "latencies"
SIGNATURE = Signature(patterns=(re.compile(r"^- +llvmName:", re.MULTILINE),), within=4096)
_FLAGS = ("EFLAGS", "NZCV")


@dataclass(frozen=True, slots=True)
class _Entry:
    """An instruction of the list with its scheme; `place`: which of the list."""

    line: int
    place: str
    opcode: str
    scheme: Scheme
    fields: YamlObject


def reads_throughputs(source: Source) -> bool:
    """Whether throughputs are to be read of a file, which is the usual, not latencies."""
    return source.wanted != LATENCIES


def read_winic_throughput(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    del unit
    dropped: dict[str, str] = {}
    found: dict[str, ExperimentEntry] = {}
    facts = facts_of_part(source, _PARTS, problems)
    for one in _entries(source, problems, dropped, facts):
        least, most = (_number(one, name, problems) for name in ("throughput", "throughputMax"))
        low, high = CYCLES_RANGE
        if least is None or not low <= least <= high:
            dropped[one.opcode] = "it has no throughput"
        elif one.scheme.text in found:
            dropped[one.opcode] = f"{one.scheme.text} was measured in another encoding before"
        else:
            note = f"{least:g} to {most:g} cycles" if most is not None and most > least else ""
            terms = ((one.scheme.text, 1),)
            found[one.scheme.text] = ExperimentEntry(one.line, one.place, terms, least, note=note)
    if not found and not problems:
        nothing_left(dropped, problems)
    if problems:
        return Document(facts=facts)
    total = {"instructions": len(found) + len(dropped), "units": ["cycles"]}
    return Document(experiments=tuple(found.values()), partial=True, dropped=dropped, facts=facts | total)


def read_winic_latency(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    """The latencies of each instruction between the operands that its scheme has as well."""
    del unit
    dropped: dict[str, str] = {}
    found: dict[str, LatencyEntry] = {}
    facts = facts_of_part(source, _PARTS, problems)
    for one in _entries(source, problems, dropped, facts):
        pairs = tuple(_pairs(one, problems))
        if not pairs:
            dropped[one.opcode] = "it has no latency between operands that its scheme has"
        elif one.scheme.text in found:
            dropped[one.opcode] = f"{one.scheme.text} was measured in another encoding before"
        else:
            found[one.scheme.text] = LatencyEntry(one.line, one.place, one.scheme.text, pairs)
    if not found and not problems:
        nothing_left(dropped, problems)
    if problems:
        return Document(facts=facts)
    total = {"instructions": len(found) + len(dropped)}
    return Document(latencies=tuple(found.values()), partial=True, dropped=dropped, facts=facts | total)


def _entries(
    source: Source, problems: Problems, dropped: dict[str, str], facts: dict[str, Any]
) -> Iterator[_Entry]:
    """The instructions with a scheme, the plainest encodings first; `facts` gets the instruction set."""
    read = [
        each for document in read_yaml(source.text, problems) for each in _listed(document.value, problems)
    ]
    if len(read) > ENTRY_LIMIT:
        problems.add(f"{len(read):,} instructions", f"at most {ENTRY_LIMIT:,} are read")
    if problems:
        return
    named = named_schemes([fields["llvmName"] for _, fields in read], problems)
    if named is None:
        return
    facts |= {"isa": named.isa, "llvm": named.schemes.told_by}
    for number, fields in sorted(read, key=lambda each: len(each[1]["llvmName"])):
        opcode = fields["llvmName"]
        scheme = named.schemes.find([opcode])
        if isinstance(scheme, LlvmScheme):
            yield _Entry(fields.line, f"instruction {number}", opcode, scheme.scheme, fields)
        else:
            dropped[opcode] = scheme


def _listed(value: object, problems: Problems) -> Iterator[tuple[int, YamlObject]]:
    """(number from 1, fields) of the instructions of a document."""
    if not isinstance(value, list):
        problems.add(f"{excerpt(value)} is no list", "a list of instructions with llvmName is expected")
        return
    for number, fields in enumerate(value, start=1):
        opcode = fields.get("llvmName") if isinstance(fields, YamlObject) else None
        if isinstance(opcode, str) and opcode.isidentifier():
            yield number, fields
        else:
            problems.add(
                f"{excerpt(opcode)} is no name of an instruction",
                "LLVM's name is expected, e.g. ADD64rr",
                row=getattr(fields, "line", None),
                column=f"instruction {number}, llvmName",
            )


def _number(one: _Entry, name: str, problems: Problems) -> float | None:
    """None where the file has no number, and after noting that it is none."""
    value = one.fields.get(name)
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    column = f"{one.place}, {name}"
    problems.add(
        f"{excerpt(value)} is no number of cycles",
        "a number or null is expected",
        row=one.line,
        column=column,
    )
    return None


def _pairs(one: _Entry, problems: Problems) -> Iterator[PairEntry]:
    listed = one.fields.get("operandLatencies")
    if listed is None:
        return
    column = f"{one.place}, operandLatencies"
    if not isinstance(listed, list) or not all(isinstance(each, YamlObject) for each in listed):
        problems.add(
            f"{excerpt(listed)} is no list", "a list of latencies is expected", row=one.line, column=column
        )
        return
    for told in listed:
        inside = _Entry(told.line, column, one.opcode, one.scheme, told)
        least, most = (_number(inside, name, problems) for name in ("latencyMin", "latencyMax"))
        ends = [_place(inside, name, problems) for name in ("sourceOperand", "targetOperand")]
        if least is None or most is None or None in ends:
            continue
        if 0 <= least <= most <= CYCLES_RANGE[1]:  # a few that were measured are less than none
            yield PairEntry(str(ends[0]), str(ends[1]), least, most)


def _place(one: _Entry, name: str, problems: Problems) -> str | None:
    """What we call an operand, None where its scheme does not have it, or it is no name."""
    written = one.fields.get(name)
    if not isinstance(written, str | int) or isinstance(written, bool):
        right = "the number of an operand, from 0, or a register is expected"
        problems.add(f"{excerpt(written)} is no operand", right, row=one.line, column=f"{one.place}, {name}")
        return None
    return place_of(one.scheme, str(written), _FLAGS)
