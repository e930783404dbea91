"""Tables of insn_bench_aarch64 (Markdown or tab-separated): throughputs as experiments, and latencies.

    | add (reg) | 1.00 | 6.01 |        instruction, latency in cycles, instructions per cycle

The tool names forms, not operands; see docs/formats.md for what is understood. A form that fits several
schemes, or a special case (unaligned, an idiom, a sequence), is left out with its reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from inference.formats.document import (
    ENTRY_LIMIT,
    Document,
    ExperimentEntry,
    LatencyEntry,
    PairEntry,
    partial_document,
)
from inference.formats.printed_instructions import ONE_REGISTER
from inference.formats.source import Signature, Source
from inference.formats.yaml_documents import facts_of_part
from inference.isa.scheme import TIMED_BY_VALUES, Operand, Scheme
from inference.isa.targets import AARCH64, target_of

_PARTS = THROUGHPUTS, LATENCIES = "throughputs", "latencies"
_HEADER = re.compile(r"^(?:\| )?instruction(?: \| |\t)latency(?: \| |\t)throughput(?: \|)?\r?$", re.MULTILINE)
SIGNATURE = Signature(patterns=(_HEADER,), within=1 << 16)
_ROW = re.compile(
    r"\|? ?(?P<name>[^|\t]{1,120}?) ?[|\t] ?(?P<latency>\d+\.\d+|-|n/a) ?[|\t] ?(?P<ipc>\d+\.\d+|-|n/a) ?\|?"
)
_NAME = re.compile(r"(?P<mnemonic>[a-z]\w*)(?:\.(?P<element>[bhsdq]))?(?: / \w+)?(?: \((?P<form>[^()]*)\))?")
_BITS = {"b": 8, "h": 16, "s": 32, "d": 64, "q": 128}
_LANES = {"b": "16B", "h": "8H", "s": "4S", "d": "2D"}
_HALF = {"b": "8B", "h": "4H", "s": "2S", "d": "1D"}
_PLAIN = re.compile(r"|imm|reg|vec|scl|[xw]|ofs = \d+|1st elem|2nd elem|eq|lt|x -> x")
"""Parts of a form that need nothing but what `_fits` looks at."""

_ADDRESSES = {"pre": ",pre]", "post": ",post]", "literal": ",pc]", "<<3": ",base+index*"}
_NARROW = ("ldrsb", "ldrsh", "ldursb", "ldursh")
"""Loads that the tool does into 32 bits, though there is a form of 64."""


_SEQUENCES = ("pmull2.d",)
"""Names of one instruction for which the tool measures two."""


class _UnknownFormError(Exception):
    """A name stands for no scheme, or for several; the message says why."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A row: line, from 1; cycles, and instructions per cycle, None for none."""

    line: int
    name: str
    latency: float | None
    ipc: float | None
    scheme: Scheme | None
    why: str


def reads_throughputs(source: Source) -> bool:
    """Whether the requested part is throughputs, which is the default, not latencies."""
    return source.part != LATENCIES


def read_insn_bench_throughput(source: Source) -> Document:
    rows = _rows(source)
    dropped: dict[str, str] = {}
    experiments: dict[str, ExperimentEntry] = {}
    for row in rows:
        if row.scheme is None or not row.ipc:
            dropped[row.name] = row.why or "it has no throughput"
        elif row.scheme.text in experiments:
            dropped[row.name] = f"{row.scheme.text} is {experiments[row.scheme.text].column}"
        else:
            terms = ((row.scheme.text, 1),)
            experiments[row.scheme.text] = ExperimentEntry(row.line, row.name, terms, 1 / row.ipc)
    facts = _facts(source, rows)
    return partial_document(source.problems, facts, dropped, experiments=experiments.values())


def read_insn_bench_latency(source: Source) -> Document:
    rows = _rows(source)
    dropped: dict[str, str] = {}
    latencies: dict[str, LatencyEntry] = {}
    for row in rows:
        pairs = () if row.scheme is None or row.latency is None else tuple(_pairs(row.scheme, row.latency))
        if row.scheme is None or not pairs:
            dropped[row.name] = row.why or "it shows no latency from an operand to the first one"
        elif row.scheme.text in latencies:
            dropped[row.name] = f"{row.scheme.text} is {latencies[row.scheme.text].column}"
        else:
            latencies[row.scheme.text] = LatencyEntry(row.line, row.name, row.scheme.text, pairs)
    facts = _facts(source, rows)
    return partial_document(source.problems, facts, dropped, latencies=latencies.values())


def _pairs(scheme: Scheme, cycles: float) -> Iterator[PairEntry]:
    """The latencies that the tool's chains show: from an address, or from sources in one register."""
    explicit = _explicit(scheme)
    written = [operand for operand in explicit if "W" in operand.access]
    flags = any(operand.kind == "flags" and "W" in operand.access for operand in scheme.operands)
    chains = target_of(AARCH64).chains
    if chains is None or flags or len(written) != 1 or scheme.category in TIMED_BY_VALUES:
        return
    links = [link for link in chains.links_of(scheme.text) if link.destination == "1"]
    if scheme.memory:
        plain = explicit[0].name.startswith("GPR") and _fits_address(explicit[-1].name, ())
        sources = [link.source for link in links if plain and link.source.endswith("address")]
    else:
        sources = [link.source for link in links if link.source.isdecimal()]
    if len(sources) == 1:
        yield PairEntry(sources[0], "1", cycles, cycles)
    else:
        yield from (PairEntry(source, "1", at_most=cycles, why=ONE_REGISTER) for source in sources)


def _explicit(scheme: Scheme) -> list[Operand]:
    return [operand for operand in scheme.operands if not operand.implicit]


def _rows(source: Source) -> list[_Row]:
    rows = list(_read_rows(source.text))
    if len(rows) > ENTRY_LIMIT:
        source.at().add(f"{len(rows):,} rows", f"at most {ENTRY_LIMIT:,} are read")
    return rows[:ENTRY_LIMIT]


def _read_rows(text: str) -> Iterator[_Row]:
    for line, printed in enumerate(text.splitlines(), start=1):
        match = _ROW.fullmatch(printed.strip()) if len(printed) < 200 else None
        if match is None:
            continue
        scheme, why = None, ""
        try:
            scheme = _scheme_named(match["name"])
        except _UnknownFormError as error:
            why = str(error)
        yield _Row(line, match["name"], _number(match["latency"]), _number(match["ipc"]), scheme, why)


def _number(cell: str) -> float | None:
    return float(cell) if cell[0].isdecimal() else None


def _facts(source: Source, rows: Sequence[_Row]) -> Mapping[str, Any]:
    matched = sum(row.scheme is not None for row in rows)
    return {
        **facts_of_part(source, _PARTS),
        "isa": AARCH64,
        "instructions": len(rows),
        "matched": matched,
        "units": ["ipc"],
    }


@cache
def _schemes() -> Mapping[str, Sequence[Scheme]]:
    by_mnemonic: defaultdict[str, list[Scheme]] = defaultdict(list)
    for scheme in target_of(AARCH64).schemes.schemes():
        by_mnemonic[scheme.mnemonic].append(scheme)
    return by_mnemonic


def _scheme_named(name: str) -> Scheme:
    """The scheme of a form: `add (reg)`, `ldr (imm; pre, ofs = 16)`, `sqxtn.h (scl)`.

    Raises:
        _UnknownFormError: No scheme fits, or several do.
    """
    match = None if name in _SEQUENCES else _NAME.fullmatch(name)
    if match is None:
        raise _UnknownFormError("several instructions, or a form that is not understood")
    form = [part.strip() for part in re.split("[;,]", match["form"] or "")]
    special = [part for part in form if part not in _ADDRESSES and not _PLAIN.fullmatch(part)]
    if special and form != ["mask imm"]:
        raise _UnknownFormError(f"a special case, or not understood: {special[0]!r}")
    candidates = [
        scheme
        for scheme in _schemes().get(match["mnemonic"], ())
        if _fits(_explicit(scheme), match["element"] or "", form, match["mnemonic"])
    ]
    widest = max((_width(scheme) for scheme in candidates), default=0)
    if match["mnemonic"] in _NARROW or "w" in form:
        widest = min((_width(scheme) for scheme in candidates), default=0)
    chosen = [scheme for scheme in candidates if _width(scheme) == widest]
    if len(chosen) != 1:
        fault = "several schemes fit" if chosen else "no scheme fits"
        raise _UnknownFormError(f"{fault}: {', '.join(scheme.text for scheme in chosen[:3])}".rstrip(": "))
    return chosen[0]


def _width(scheme: Scheme) -> int:
    return sum(operand.width for operand in _explicit(scheme) if operand.kind == "register")


def _fits(operands: Sequence[Operand], element: str, form: Sequence[str], mnemonic: str) -> bool:
    """Whether operands are of the kind that a form says; of several widths all fit."""
    names = [operand.name for operand in operands]
    memory = next((name for name in names if name.startswith("MEM[")), "")
    registers = [operand.name for operand in operands if operand.kind == "register"]
    if memory and not _fits_address(memory, form):
        return False
    extras = [name for name in names if name not in (*registers, memory, "COND", "IMM[nzcv]")]
    if not _fits_extras(extras, form, bool(memory)):
        return False
    if not element:
        return all(name.startswith("GPR[") for name in registers)
    if memory or "scl" in form:
        last = f"FPR[{_BITS[element]}]"
        return bool(registers) and registers[-1] == last and all(name.startswith("FPR") for name in registers)
    lanes = [_LANES, _HALF] if _widens(mnemonic, names) else [_LANES]
    lasts = [f"VEC[{shapes.get(element)}]" for shapes in lanes]
    return bool(registers) and registers[-1] in lasts and all(name.startswith("VEC") for name in registers)


def _widens(mnemonic: str, names: Sequence[str]) -> bool:
    """Whether the first operand has wider elements than the last, of which half a register is read."""
    return not mnemonic.endswith("2") and names[0].startswith("VEC") and names[0] != names[-1]


def _fits_address(memory: str, form: Sequence[str]) -> bool:
    shapes = [_ADDRESSES[part] for part in form if part in _ADDRESSES]
    if shapes:
        return shapes[-1] in memory
    if "reg" in form:
        return memory.endswith(",base+index]")
    return "," not in memory or memory.endswith(",near]")


def _fits_extras(extras: Sequence[str], form: Sequence[str], has_memory: bool) -> bool:
    """Whether the operands besides registers and memory are those of a form: an immediate, or none."""
    if has_memory or "reg" in form:
        return not extras
    if "mask imm" in form:
        return len(extras) == 1 and extras[0].startswith("IMM[mask")
    return all(name.startswith("IMM[") and "mask" not in name for name in extras) and (
        "imm" not in form or bool(extras)
    )
