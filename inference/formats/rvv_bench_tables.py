"""Instruction timings of rvv-bench (HTML): throughputs of RISC-V's vectors, by mode; see docs/formats.md.

    <table id="tblMaa"><thead><tr><th>instruction</th><th>e32m1</th>…
    <tr><td>vadd.vv v8,v16,v24</td><td>1.00</td>…

A page has a table for each number of elements (`vl`) and each policy, which are parts of the file, and
sometimes tables of scalar instructions. Columns are modes; some have no scheme here.
"""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from inference.core.texts import as_single_line, count_of
from inference.formats.document import Document
from inference.formats.measured_rows import MeasuredRow, throughputs_of
from inference.formats.source import Signature, Source
from inference.isa.scheme import Scheme
from inference.isa.targets import RISCV, target_of

SCALAR = "scalar instructions"
"""The part of tables without modes."""

_HEADER = re.compile(r"<tr><th>instruction</th><th>(?:cycles</th></tr>|e\d+mf?\d</th>)")
SIGNATURE = Signature(patterns=(_HEADER,))
_TITLE = re.compile(r"<title>(?:RVV (?:benchmark|Instruction Timings)(?: -)? )?([^<]{1,80})</title>")
_LENGTH = re.compile(r"VLEN=(\d{2,5})")
_LABEL = re.compile(r"switchTbl\(event, '(\w{1,20})'\)\">([^<]{1,80})<")
_TABLE = re.compile(r'<table(?: id="(\w{1,20})")?')
_TITLES = re.compile(r"<th>([^<]{1,40})</th>")
_CELLS = re.compile(r"<td>([^<]{0,80})</td>")
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,6})?")
_MODE = re.compile(r"(e\d+)(m\d)")
_MASK = "v0.t"
_STRIDE = re.compile(r",\s*(?:x0|t1/\*-1\*/)")
"""A stride of 0 or of one element backwards, which some cores treat otherwise than others."""

_DRAFT = ("vmpopc.m", "vext.x.v")
"""Instructions of the draft 0.7.1, which some cores have in place of version 1.0."""


@dataclass
class _Part:
    """A table. `rows`: (line in the file, instruction, cells)."""

    name: str
    columns: Sequence[str]
    rows: list[tuple[int, str, Sequence[str]]] = field(default_factory=list)


def read_rvv_bench(source: Source) -> Document:
    """The throughputs of one table; `source.part` chooses it by its label."""
    parts = _parts(source.text)
    names = list(parts) or [""]
    part = parts.get(source.part or names[0])
    rows = list(_measured_rows(part)) if part is not None else []
    return throughputs_of(source, rows, {"isa": RISCV, "arch": _core(source.text, part)}, parts=names)


def _core(text: str, part: _Part | None) -> str:
    title, length = _TITLE.search(text), _LENGTH.search(text)
    words = [as_single_line(html.unescape(title[1]))] if title else []
    words += [f"VLEN {length[1]}"] if length else []
    if part is not None and any(label.startswith(_DRAFT) for _, label, _ in part.rows):
        words.append("V 0.7.1")
    return ", ".join(words)


def _parts(text: str) -> Mapping[str, _Part]:
    """The tables of instructions by name; those of scalar instructions are one part."""
    labels = {key: as_single_line(html.unescape(label)) for key, label in _LABEL.findall(text)}
    parts: dict[str, _Part] = {}
    part: _Part | None = None
    key = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if table := _TABLE.search(line):
            key, part = table[1] or "", None
        if _HEADER.search(line):
            columns = _TITLES.findall(line)[1:]
            name = SCALAR if columns == ["cycles"] else labels.get(key, key)
            part = parts.setdefault(name, _Part(name, columns))
        elif part is not None and "<td>" in line:
            instruction, *cells = [html.unescape(cell).strip() for cell in _CELLS.findall(line)] or [""]
            if instruction and len(cells) <= len(part.columns):
                part.rows.append((number, instruction, cells))
    return parts


def _measured_rows(part: _Part) -> Iterator[MeasuredRow]:
    """The numbers of a table; a row without one for each instruction and each mode that has no scheme."""
    unread: Counter[str] = Counter()
    for line, instruction, cells in part.rows:
        mnemonic, _, operands = instruction.partition(" ")
        by_mode = _schemes().get((mnemonic, _MASK in operands), {})
        why = ""
        if part.name != SCALAR and not mnemonic.startswith("v"):
            why = "a scalar instruction among vectors"
        elif _STRIDE.search(operands):
            why = "a special stride"
        elif not by_mode:
            why = "no scheme here has this name"
        if why:
            yield MeasuredRow(line, instruction, None, why_no_cycles=why)
            continue
        for column, cell in zip(part.columns, cells, strict=False):
            if not _NUMBER.fullmatch(cell) or not float(cell):
                continue
            width, group = match.groups() if (match := _MODE.fullmatch(column)) else ("", column)
            schemes = by_mode.get(f"{width},{group}") or by_mode.get(group) or by_mode.get("", ())
            if len(schemes) == 1:
                yield MeasuredRow(line, f"{instruction} ({column})", schemes[0], float(cell))
            else:
                unread[column] += 1
    for column, count in unread.items():
        why = f"{count_of(count, 'number')} of instructions that have no scheme here in this mode"
        yield MeasuredRow(1, column, None, why_no_cycles=why, is_sequence=True)


@cache
def _schemes() -> Mapping[tuple[str, bool], Mapping[str, Sequence[Scheme]]]:
    """{(mnemonic, whether it is masked): {mode: schemes}} of RISC-V."""
    schemes: defaultdict[tuple[str, bool], defaultdict[str, list[Scheme]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for scheme in target_of(RISCV).schemes.schemes():
        is_masked = any(operand.name == _MASK for operand in scheme.operands)
        schemes[scheme.mnemonic, is_masked][scheme.mode].append(scheme)
    return schemes
