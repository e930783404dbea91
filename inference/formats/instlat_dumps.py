"""Dumps of InstLatX64 (text): inverse throughputs as experiments, and latencies; see docs/formats.md.

    Inst   72 X86   : ADD r32, r32        L:   0.22ns=   1.0c  T:   0.06ns=   0.26c

All generations since 2007 have such rows: with or without `Inst`, with one to three decimals, and, where the
frequency changed meanwhile, with corrected cycles in parentheses. Rows of several instructions are left out:
they do not tell which instruction waits for which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference.formats.document import (
    ENTRY_LIMIT,
    Document,
    ExperimentEntry,
    LatencyEntry,
    PairEntry,
    partial_document,
)
from inference.formats.file_numbers import WIDEST
from inference.formats.printed_instructions import (
    InstructionReader,
    PrintedInstruction,
    SeveralInstructionsError,
    UnmatchedInstructionError,
)
from inference.formats.source import Signature, Source
from inference.formats.yaml_documents import facts_of_part
from inference.isa.scheme import BREAKABLE, TIMED_BY_VALUES, TOP_OF_STACK
from inference.isa.targets import X86

_PARTS = THROUGHPUTS, LATENCIES = "throughputs", "latencies"
_ROW = re.compile(
    r"^(?:Inst +)? {0,5}\d{1,5} +[\w.+/]{1,24} {0,24}:[^\n:]{1,90} L: {0,8}[\[\d-]", re.MULTILINE
)
SIGNATURE = Signature(patterns=(_ROW,))
_CYCLES = re.compile(r"= {0,8}(-?\d+\.\d+)c")
_CORRECTED = {letter: re.compile(rf"GHz {letter}: {{0,8}}(\d+\.\d+)") for letter in "LT"}
_CPU = re.compile(
    r'^(?:CPUID CPU Name {1,8}:(.{1,100})|CPU#\d{1,4} .{0,60}?Type: "(.{1,100})")', re.MULTILINE
)
_IDIOM = re.compile(
    r"sub|sbb|xor|cmp|xchg|v?(?:p?xor[dq]?|xorp[sd]|p?andn[dq]?|andnp[sd]|psub\w{1,3}|pcmp(?:eq|gt)[bwdq])|k\w+"
)
"""Mnemonics that some cores execute without reading their sources, where these are one register."""

_NEAR = 0.98
"""Share of its latency from which a throughput may be that of copies that wait for each other."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A row: line in the file, from 1, and cycles; None where the dump has none, with its reason."""

    line: int
    number: str
    text: str
    latency: float | None
    throughput: float | None
    why_no_latency: str
    instruction: PrintedInstruction | None
    why_unknown: str = ""
    is_sequence: bool = False

    @property
    def label(self) -> str:
        return f"{self.text} (row {self.number})"


def reads_throughputs(source: Source) -> bool:
    """Whether the requested part is throughputs, which is the default, not latencies."""
    return source.part != LATENCIES


def read_instlat_throughput(source: Source) -> Document:
    """Read the inverse throughput of each instruction that does not wait for its own copies."""
    rows = _rows(source)
    dropped: dict[str, str] = {}
    experiments: list[ExperimentEntry] = []
    quickest = _quickest_values(rows)
    for row in rows:
        reason = _no_throughput(row)
        if reason or row.instruction is None or row.throughput is None:
            dropped[row.label] = reason
        elif quickest.get(row.instruction.scheme.text, row) is not row:
            dropped[row.label] = f"row {quickest[row.instruction.scheme.text].number} has quicker values"
        else:
            terms = ((row.instruction.scheme.text, 1),)
            experiments.append(
                ExperimentEntry(row.line, f"row {row.number}", terms, row.throughput, note=row.text)
            )
    return partial_document(source.problems, _facts(source, rows), dropped, experiments=experiments)


def read_instlat_latency(source: Source) -> Document:
    """Read latencies between registers, and from addresses to registers.

    An instruction that was measured with several values has the range of its times.
    """
    rows = _rows(source)
    dropped: dict[str, str] = {}
    latencies: dict[str, LatencyEntry] = {}
    for row in rows:
        reason = _no_latency(row)
        if reason or row.instruction is None or row.latency is None:
            dropped[row.label] = reason
            continue
        text = row.instruction.scheme.text
        pairs = row.instruction.chained_pairs(X86, row.latency)
        earlier = latencies.get(text)
        if not pairs:
            dropped[row.label] = "it shows no latency from an operand to the first one"
        elif earlier is None:
            latencies[text] = LatencyEntry(row.line, f"row {row.number}", text, pairs)
        elif row.instruction.scheme.category in TIMED_BY_VALUES:
            latencies[text] = LatencyEntry(
                earlier.row, earlier.column, text, tuple(map(_widened, earlier.pairs, pairs))
            )
        elif earlier.pairs != pairs:
            dropped[row.label] = f"{text} has the latency of {earlier.column}"
    return partial_document(source.problems, _facts(source, rows), dropped, latencies=latencies.values())


def _quickest_values(rows: Sequence[_Row]) -> Mapping[str, _Row]:
    """{scheme: its quickest row}, for schemes that take as long as their values make them."""
    quickest: dict[str, _Row] = {}
    for row in rows:
        if row.instruction is None or row.throughput is None or _no_throughput(row):
            continue
        if row.instruction.scheme.category in TIMED_BY_VALUES:
            first = quickest.setdefault(row.instruction.scheme.text, row)
            if first.throughput is not None and row.throughput < first.throughput:
                quickest[row.instruction.scheme.text] = row
    return quickest


def _widened(first: PairEntry, second: PairEntry) -> PairEntry:
    """A pair with the range of two measurements."""
    if first.least is None or first.most is None or second.least is None or second.most is None:
        bounds = [entry.at_most for entry in (first, second) if entry.at_most is not None]
        return PairEntry(first.source, first.destination, at_most=max(bounds), why=first.why)
    least, most = min(first.least, second.least), max(first.most, second.most)
    return PairEntry(first.source, first.destination, least, most)


def _no_throughput(row: _Row) -> str:
    """Why a row shows no inverse throughput of its scheme, "" where it does."""
    if row.instruction is None:
        return row.why_unknown
    exclusion = row.instruction.scheme.exclusion
    if exclusion.startswith((*BREAKABLE, TOP_OF_STACK)):
        return exclusion
    if row.throughput is None or row.throughput * WIDEST < 1:
        is_missing = row.throughput is None
        return "no number" if is_missing else f"{row.throughput:g} cycles: no core is as quick"
    return _unusual(row.instruction) or _waiting(row, row.instruction)


def _waiting(row: _Row, instruction: PrintedInstruction) -> str:
    """Why copies that rewrite a general-purpose register may wait for each other, "" where they do not.

    The dumps use few of these registers: a subtraction of two of them takes a cycle on a Zen 4, which does
    four per cycle.
    """
    operands = instruction.scheme.operands
    if not operands or operands[0].access != "RW" or not operands[0].name.startswith("GPR"):
        return ""
    if "_" in instruction.operands[0]:
        return "its copies share two registers, and may wait for each other"
    if row.latency is not None and row.throughput is not None and row.throughput >= _NEAR * row.latency:
        return "it takes as long as its latency: its copies may wait for each other"
    return ""


def _no_latency(row: _Row) -> str:
    """Why a row shows no latency of its scheme, "" where it does."""
    if row.instruction is None:
        return row.why_unknown
    if row.latency is None or row.latency < 0:
        return row.why_no_latency
    if row.instruction.has_one_source and row.instruction.is_move:
        return "it moves a register to itself"
    return _unusual(row.instruction)


def _unusual(instruction: PrintedInstruction) -> str:
    """Why the row is a special case of its scheme, "" where it is none."""
    if instruction.has_one_source and _IDIOM.fullmatch(instruction.scheme.mnemonic):
        return "all its sources are one register, so that some cores do not execute it"
    if instruction.displacement % 8:
        return "its accesses to memory are not aligned"
    if instruction.values and instruction.scheme.category not in TIMED_BY_VALUES:
        return f"it was measured with {instruction.values}"
    return ""


def _rows(source: Source) -> list[_Row]:
    rows = list(_read_rows(source.text))
    if len(rows) > ENTRY_LIMIT:
        source.at().add(f"{len(rows):,} rows", f"at most {ENTRY_LIMIT:,} are read")
    return rows[:ENTRY_LIMIT]


def _read_rows(text: str) -> Iterator[_Row]:
    reader = InstructionReader(X86)
    for line, printed in enumerate(text.splitlines(), start=1):
        head, latency_mark, times = printed.partition(" L:")
        place, colon, words = head.partition(":")
        number_and_tag = place.removeprefix("Inst").split()
        if not (latency_mark and colon and len(number_and_tag) == 2 and number_and_tag[0].isdecimal()):
            continue
        latency, _, throughput = times.partition(" T:")
        written = " ".join(words.split())
        instruction, why, is_sequence = None, "", False
        try:
            instruction = reader.read(written)
        except UnmatchedInstructionError as error:
            why, is_sequence = str(error), isinstance(error, SeveralInstructionsError)
        yield _Row(
            line,
            number_and_tag[0],
            written[:100],
            _cycles(latency, times, "L"),
            _cycles(throughput, times, "T"),
            f"its latency is {latency.strip()[:40] or 'missing'}",
            instruction,
            why,
            is_sequence,
        )


def _cycles(written: str, times: str, letter: str) -> float | None:
    """The cycles of a row, corrected for the frequency where the dump does so; None for none."""
    match = _CYCLES.search(written)
    corrected = _CORRECTED[letter].search(times)
    number = corrected or match
    return None if match is None or number is None else float(number[1])


def _facts(source: Source, rows: list[_Row]) -> Mapping[str, Any]:
    """Facts of a dump. `instructions`: rows of one instruction; `matched`: those that have a scheme."""
    facts = facts_of_part(source, _PARTS)
    matched = sum(row.instruction is not None for row in rows)
    single = sum(not row.is_sequence for row in rows)
    facts |= {"isa": X86, "instructions": single, "matched": matched}
    if cpu := _CPU.search(source.text):
        name = " ".join((cpu[1] or cpu[2]).split())
        facts |= {"arch": name, "name": f"{name}, InstLatX64 {facts['part']}"}
    return facts
