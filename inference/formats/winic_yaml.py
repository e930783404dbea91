"""Databases of WINIC (YAML): throughputs as experiments, latencies operand by operand; see docs/formats.md.

A file is a list of instructions by LLVM's names. `throughput` is the smallest measured, in cycles per
instruction; operands are numbered from 0 in assembler order, implicit ones are named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from inference.formats.document import (
    CYCLES_RANGE,
    ENTRY_LIMIT,
    NAME_LENGTH,
    Document,
    ExperimentEntry,
    LatencyEntry,
    PairEntry,
    partial_document,
    with_contradictions,
    with_second_values,
)
from inference.formats.doubts import DoubtList, difference
from inference.formats.json_fields import printable_text
from inference.formats.problems import FilePlace, excerpt
from inference.formats.source import Signature, Source
from inference.formats.yaml_documents import YamlObject, facts_of_part, named_schemes, operand_name, read_yaml
from inference.isa.llvm_schemes import LlvmScheme
from inference.isa.scheme import Scheme

_PARTS = THROUGHPUTS, LATENCIES = "throughputs", "latencies"
SIGNATURE = Signature(patterns=(re.compile(r"^- +llvmName:", re.MULTILINE),), within=4096)
_FLAGS = ("EFLAGS", "NZCV")
_FOREIGN = 0.1  # share of LLVM's names that are known, up to which a file is of another instruction set
_DIGITS = 4  # of an operand's number


@dataclass(frozen=True, slots=True)
class _Entry:
    place: FilePlace
    opcode: str
    scheme: Scheme | None
    fields: YamlObject

    @property
    def text(self) -> str:
        """The scheme, or, for a new instruction set, LLVM's name with the operands of the file."""
        if self.scheme is not None:
            return self.scheme.text
        listed = self.fields.get("operands")
        operands = (_operand_text(operand) for operand in (listed if isinstance(listed, list) else ()))
        return f"{self.opcode} {', '.join(operands)}".strip()[:NAME_LENGTH]


def reads_throughputs(source: Source) -> bool:
    """Whether the requested part is throughputs, which is the default, not latencies."""
    return source.part != LATENCIES


def read_winic_throughput(source: Source) -> Document:
    dropped: dict[str, str] = {}
    experiments: dict[str, list[ExperimentEntry]] = {}
    facts = facts_of_part(source, _PARTS)
    for entry in _entries(source, dropped, facts):
        lowest, highest = (
            _number(entry.fields, name, entry.place) for name in ("throughput", "throughputMax")
        )
        low, high = CYCLES_RANGE
        if lowest is None or not low <= lowest <= high:
            dropped[entry.opcode] = "it has no throughput"
        elif (earlier := experiments.get(entry.text)) and earlier[0].column != entry.opcode:
            measured = f"{entry.text} was measured as {earlier[0].column}"
            dropped[entry.opcode] = measured + difference(lowest, earlier[0].cycles)
        else:
            note = f"{lowest:g} to {highest:g} cycles" if highest is not None and highest > lowest else ""
            terms = ((entry.text, 1),)
            row = ExperimentEntry(entry.place.row or 0, entry.opcode, terms, lowest, note=note)
            experiments.setdefault(entry.text, []).append(row)
    rows = with_contradictions(chain.from_iterable(experiments.values()))
    return partial_document(source.problems, facts, dropped, experiments=rows)


def read_winic_latency(source: Source) -> Document:
    """Read the latencies between operands that the instruction's scheme has."""
    dropped: dict[str, str] = {}
    latencies: dict[str, LatencyEntry] = {}
    doubts = DoubtList()
    facts = facts_of_part(source, _PARTS)
    for entry in _entries(source, dropped, facts):
        pairs, row = tuple(_pairs(entry)), entry.place.row or 0
        if not pairs:
            dropped[entry.opcode] = "it has no latency between operands that its scheme has"
        elif (earlier := latencies.get(entry.text)) is None:
            latencies[entry.text] = LatencyEntry(row, entry.opcode, entry.text, pairs)
        elif earlier.column == entry.opcode:
            latencies[entry.text] = with_second_values(earlier, pairs, row, doubts)
        else:
            dropped[entry.opcode] = f"{entry.text} was measured as {earlier.column}"
    return partial_document(
        source.problems, facts, dropped, latencies=latencies.values(), doubts=doubts.kinds()
    )


def _entries(source: Source, dropped: dict[str, str], facts: dict[str, Any]) -> Iterator[_Entry]:
    """The instructions, shortest names first; adds the instruction set to `facts`.

    Those whose opcode no scheme has come with the file's own operands, for a new instruction set. Those whose
    opcode several schemes have are added to `dropped`. The shortest of LLVM's names of a scheme is the plain
    encoding.
    """
    documents = read_yaml(source.text, source.problems)
    read = [entry for document in documents for entry in _listed_instructions(document.value, source)]
    if len(read) > ENTRY_LIMIT:
        source.at().add(f"{len(read):,} instructions", f"at most {ENTRY_LIMIT:,} are read")
    if source.problems:
        return
    named = named_schemes([fields["llvmName"] for _, fields in read], source.problems)
    if named is None:
        return
    n_known = sum(named.schemes.knows(fields["llvmName"]) for _, fields in read)
    if n_known > len(read) * _FOREIGN:
        facts |= {"isa": named.isa, "llvm": named.schemes.tool_version}
    for place, fields in sorted(read, key=lambda item: len(item[1]["llvmName"])):
        opcode = fields["llvmName"]
        scheme = named.schemes.find([opcode]) if n_known > len(read) * _FOREIGN else None
        if scheme is None or not named.schemes.knows(opcode):
            yield _Entry(place, opcode, None, fields)
        elif isinstance(scheme, LlvmScheme):
            yield _Entry(place, opcode, scheme.scheme, fields)
        else:
            dropped[opcode] = scheme


def _listed_instructions(value: object, source: Source) -> Iterator[tuple[FilePlace, YamlObject]]:
    """(place, fields) of the instructions of a document, numbered from 1."""
    if not isinstance(value, list):
        source.at().add(f"{excerpt(value)} is no list", "a list of instructions with llvmName is expected")
        return
    for number, fields in enumerate(value, start=1):
        opcode = fields.get("llvmName") if isinstance(fields, YamlObject) else None
        place = source.at(f"instruction {number}", getattr(fields, "line", None))
        if isinstance(opcode, str) and opcode.isidentifier():
            yield place, fields
        else:
            fault = f"{excerpt(opcode)} is no name of an instruction"
            place.at(f"{place.column}, llvmName").add(fault, "LLVM's name is expected, e.g. ADD64rr")


def _number(fields: YamlObject, name: str, place: FilePlace) -> float | None:
    """The number of a field; None where it is missing, or after noting a problem."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    at = place.at(f"{place.column}, {name}")
    at.add(f"{excerpt(value)} is no number of cycles", "a number or null is expected")
    return None


def _pairs(entry: _Entry) -> Iterator[PairEntry]:
    """The latencies between operands of an entry; negative ones, which occur, are left out."""
    listed = entry.fields.get("operandLatencies")
    if listed is None:
        return
    place = entry.place.at(f"{entry.place.column}, operandLatencies")
    if not isinstance(listed, list) or not all(isinstance(fields, YamlObject) for fields in listed):
        place.add(f"{excerpt(listed)} is no list", "a list of latencies is expected")
        return
    for latency in listed:
        inside = replace(place, row=latency.line)
        lowest, highest = (_number(latency, name, inside) for name in ("latencyMin", "latencyMax"))
        ends = [_operand(entry.scheme, latency, name, inside) for name in ("sourceOperand", "targetOperand")]
        if lowest is None or highest is None or None in ends:
            continue
        if 0 <= lowest <= highest <= CYCLES_RANGE[1]:  # a few that were measured are less than none
            yield PairEntry(str(ends[0]), str(ends[1]), lowest, highest)


def _operand_text(operand: object) -> str:
    """`GPR64:RW` of an operand in the file."""
    fields = operand if isinstance(operand, YamlObject) else {}
    name = printable_text(fields.get("name")) or printable_text(fields.get("class")) or "?"
    access = "R" * (fields.get("read") is True) + "W" * (fields.get("write") is True)
    return f"{name}:{access}".removesuffix(":")


def _operand(scheme: Scheme | None, fields: YamlObject, name: str, place: FilePlace) -> str | None:
    """Our name of an operand; None where the scheme lacks it, or after noting a problem."""
    written = fields.get(name)
    if not isinstance(written, str | int) or isinstance(written, bool):
        right = "the number of an operand, from 0, or a register is expected"
        place.at(f"{place.column}, {name}").add(f"{excerpt(written)} is no operand", right)
        return None
    if scheme is None:
        number = str(written)
        return str(int(number) + 1) if number.isdecimal() and len(number) < _DIGITS else number.lower()
    return operand_name(scheme, str(written), _FLAGS)
