"""Rows of a table of measurements, one instruction each: throughputs as experiments, or latencies.

Such a file has two parts. Readers make `MeasuredRow`s of it, which say why they have no number, where they
have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inference.core.texts import as_single_line, is_line
from inference.formats.document import (
    ENTRY_LIMIT,
    Document,
    ExperimentEntry,
    LatencyEntry,
    PairEntry,
    partial_document,
    with_contradictions,
)
from inference.formats.source import Source
from inference.formats.yaml_documents import facts_of_part
from inference.isa.scheme import BREAKABLE, TIMED_BY_VALUES, TOP_OF_STACK, Scheme

PARTS = THROUGHPUTS, LATENCIES = "throughputs", "latencies"

LARGEST_OF_SOURCES = "one register for several sources: one of them takes as long, none takes longer"
"""Reason of a bound: the largest latency of several pairs, which one measurement cannot tell apart."""


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """A row of a table.

    Attributes:
        line: In the file, from 1.
        label: The instruction as printed, with what tells the row apart.
        scheme: None where there is none, with the reason in both `why`s.
        cycles: Inverse throughput, None where the row shows none.
        pairs: Latencies, () where it shows none.
        why_no_cycles: Why it shows no throughput of its scheme.
        why_no_latency: Why it shows no latency of its scheme.
        is_sequence: Whether it is of several instructions.
        partners: The others of a row of several instructions, with their latencies.
    """

    line: int
    label: str
    scheme: Scheme | None
    cycles: float | None = None
    pairs: tuple[PairEntry, ...] = ()
    why_no_cycles: str = ""
    why_no_latency: str = ""
    is_sequence: bool = False
    partners: tuple[tuple[Scheme, tuple[PairEntry, ...]], ...] = ()


def reads_throughputs(source: Source) -> bool:
    """Whether the requested part is throughputs, which is the default, not latencies."""
    return source.part != LATENCIES


def pairs_of_sources(sources: Sequence[str], lowest: float, highest: float) -> tuple[PairEntry, ...]:
    """The latencies from sources in one register to the first operand: of several, the largest is known."""
    if len(sources) == 1:
        return (PairEntry(sources[0], "1", lowest, highest),)
    return tuple(PairEntry(source, "1", at_most=highest, why=LARGEST_OF_SOURCES) for source in sources)


def throughputs_of(
    source: Source, rows: Iterable[MeasuredRow], facts: Mapping[str, Any], parts: Sequence[str] = PARTS
) -> Document:
    """The throughputs of a table. Of a scheme that takes as long as its values make it, the quickest.

    Args:
        source: The file.
        rows: Its rows.
        facts: `isa`, and what is known of the processor.
        parts: Names of the file's parts.
    """
    listed = _limited(source, rows)
    quickest: dict[str, float] = {}
    for row in listed:
        if row.scheme is not None and row.cycles is not None and row.scheme.category in TIMED_BY_VALUES:
            quickest[row.scheme.text] = min(row.cycles, quickest.get(row.scheme.text, row.cycles))
    dropped: dict[str, str] = {}
    entries: list[ExperimentEntry] = []
    for row in listed:
        if row.scheme is not None and row.scheme.exclusion.startswith((*BREAKABLE, TOP_OF_STACK)):
            dropped[row.label] = row.scheme.exclusion
        elif row.scheme is None or row.cycles is None:
            dropped[row.label] = row.why_no_cycles or "it has no throughput"
        elif row.cycles > quickest.get(row.scheme.text, row.cycles):
            dropped[row.label] = f"with other values it takes {quickest[row.scheme.text]:g} cycles"
        else:
            terms = ((row.scheme.text, 1),)
            entries.append(ExperimentEntry(row.line, row.label, terms, row.cycles, note=row.label))
    entries = list(with_contradictions(entries))
    facts = _facts(source, listed, facts, parts)
    return partial_document(source.problems, facts, dropped, experiments=entries)


def latencies_of(
    source: Source, rows: Iterable[MeasuredRow], facts: Mapping[str, Any], parts: Sequence[str] = PARTS
) -> Document:
    """The latencies of a table; a scheme that takes as long as its values make it has their range.

    Args: as of `throughputs_of`.
    """
    listed = _limited(source, rows)
    dropped: dict[str, str] = {}
    latencies: dict[str, LatencyEntry] = {}
    for row in listed:
        latencies_of_row = [] if row.scheme is None else [(row.scheme, row.pairs), *row.partners]
        latencies_of_row = [(scheme, pairs) for scheme, pairs in latencies_of_row if pairs]
        if not latencies_of_row:
            dropped[row.label] = row.why_no_latency or "it shows no latency from an operand to the first one"
        contradictions: list[str] = []
        for scheme, pairs in latencies_of_row:
            text = scheme.text
            first = latencies.setdefault(text, LatencyEntry(row.line, row.label, text, pairs))
            if scheme.category in TIMED_BY_VALUES:
                latencies[text] = replace(first, pairs=tuple(_widened(first.pairs, pairs)))
            elif first.pairs != pairs:
                contradictions.append(f"{text} has the latency of {first.column}")
        if contradictions and len(contradictions) == len(latencies_of_row):
            dropped[row.label] = contradictions[0]
    facts = _facts(source, listed, facts, parts)
    return partial_document(source.problems, facts, dropped, latencies=latencies.values())


def _widened(pairs: Iterable[PairEntry], second_pairs: Iterable[PairEntry]) -> Iterator[PairEntry]:
    """Each pair with the range of two measurements."""
    by_ends = {(pair.source, pair.destination): pair for pair in second_pairs}
    for pair in pairs:
        other = by_ends.get((pair.source, pair.destination), pair)
        if pair.at_most is not None and other.at_most is not None:
            yield replace(pair, at_most=max(pair.at_most, other.at_most))
        elif pair.least is not None and pair.most is not None and other.least and other.most:
            yield replace(pair, least=min(pair.least, other.least), most=max(pair.most, other.most))
        else:
            yield pair


def _limited(source: Source, rows: Iterable[MeasuredRow]) -> list[MeasuredRow]:
    """The rows; notes problems where they are too many, or have invisible characters."""
    listed = list(rows)
    if len(listed) > ENTRY_LIMIT:
        source.at().add(f"{len(listed):,} rows", f"at most {ENTRY_LIMIT:,} are read")
    sound: list[MeasuredRow] = []
    for row in listed[:ENTRY_LIMIT]:
        if all(map(is_line, (row.label, row.why_no_cycles, row.why_no_latency))):
            sound.append(row)
        else:
            source.at(row=row.line).add("a row with invisible characters", "remove them")
    return sound


def _facts(
    source: Source, rows: Sequence[MeasuredRow], facts: Mapping[str, Any], parts: Sequence[str] = PARTS
) -> dict[str, Any]:
    """`instructions`: rows of one instruction; `matched`: those with a scheme."""
    single = sum(not row.is_sequence for row in rows)
    matched = sum(row.scheme is not None for row in rows)
    part = facts_of_part(source, parts)
    cpu = as_single_line(facts.get("arch", ""))
    named = {"arch": cpu, "name": f"{cpu}, {part['part']}"} if cpu else {}
    return {**part, "instructions": single, "matched": matched, **facts, **named}
