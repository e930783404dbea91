"""The bounds of a loop as ranges, and its instructions as a table: µops, pressure per port, latency, size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.loop.simulated import TOLERANCE
from inference.core.loop.values import InstructionAnalysis, LoopAnalysis, LoopBound, UnknownPart
from inference.core.mapping import Uops, ports_in
from inference.features.asking.loop.answer import LoopAnswer
from inference.isa.code.annotations import InstructionLine
from inference.web.contributions import Context

SHADES = 4
"""Colour steps of the pressure on a port, from little to that of the busiest port."""
_ROUNDING = 1e-6
"""Cycles by which loads of ports may differ and count as equal."""
_NUMBERED = re.compile(r"(|.*\D)(\d+)")


@dataclass(frozen=True)
class BoundRow:
    """A bound in the table. `low` and `usual`: in per cent of the longest bar."""

    bound: LoopBound
    low: float
    usual: float
    is_largest: bool

    @property
    def is_guessed(self) -> bool:
        """Whether the best guess for what is unknown makes it larger."""
        return self.bound.usual > self.bound.cycles.low + _ROUNDING


def bounds_context(_request: HttpRequest, answer: LoopAnswer) -> Context:
    analysis = answer.analysis
    longest = max([analysis.simulated or 0.0, *(bound.usual for bound in analysis.bounds)], default=0.0)
    scale = 100 / longest if longest else 0.0
    rows = [
        BoundRow(
            bound, scale * bound.cycles.low, scale * bound.usual, bound.usual >= analysis.usual - _ROUNDING
        )
        for bound in analysis.bounds
    ]
    simulated = analysis.simulated or 0.0
    is_alike = abs(simulated - analysis.usual) <= TOLERANCE * analysis.usual
    return {"bounds": rows, "simulated_share": scale * simulated, "simulated_alike": is_alike}


@dataclass(frozen=True)
class PressureCell:
    """Cycles of an instruction on a port.

    Attributes:
        is_allowed: A µop can use the port.
        shade: 0 for no cycles.
    """

    port: int
    name: str
    cycles: float
    shade: int
    is_allowed: bool


@dataclass(frozen=True)
class TableInstruction:
    """An instruction of the table.

    Attributes:
        uops: µops as text with the ports' names, "?" where they are not known.
        pressure: Pressure of the table's ports, None where it is not known.
        evidence: The address of the facts that its description rests on.
        card: Card of its page; "" without a scheme.
        line: What the text has on it.
        source: Its source line, "" where it is that of the instruction before.
    """

    instruction: InstructionAnalysis
    uops: str
    pressure: tuple[PressureCell, ...] | None
    evidence: str
    card: str
    line: InstructionLine | None = None
    source: str = ""

    @property
    def lacks_ports(self) -> bool:
        return UnknownPart.PORTS in self.instruction.unknown

    @property
    def lacks_slots(self) -> bool:
        return UnknownPart.SLOTS in self.instruction.unknown

    @property
    def lacks_latency(self) -> bool:
        return UnknownPart.LATENCY in self.instruction.unknown


@dataclass(frozen=True)
class TablePort:
    """A port of the table: its place in the mapping, its name, what the mapping calls it, and the sum of its
    column.
    """

    port: int
    name: str
    mapping_name: str
    cycles: float
    is_busiest: bool


@dataclass(frozen=True)
class InstructionTable:
    """Instructions and sums.

    Attributes:
        ports: Ports that a µop can use.
        slots, chain, size: Sums over the instructions of which they are known.
    """

    rows: tuple[TableInstruction, ...]
    ports: tuple[TablePort, ...]
    slots: float
    chain: float
    size: int

    @property
    def busiest(self) -> str:
        return ports_text([column.name for column in self.ports if column.is_busiest])

    @property
    def has_unknown_ports(self) -> bool:
        return any(row.lacks_ports for row in self.rows)


def instructions_context(_request: HttpRequest, answer: LoopAnswer) -> Context:
    analysis = answer.analysis
    table = instruction_table(analysis, answer.cpu.name, answer.question.isa, answer.piece.lines)
    ports_bound = next((bound for bound in analysis.bounds if bound.kind == "ports"), None)
    samples = [line.samples for line in answer.piece.lines if line.samples is not None]
    return {
        "table": table,
        "ports_bound": ports_bound,
        "samples": sum(samples) if samples else None,
        "samples_format": "0g" if all(count == round(count) for count in samples) else "2g",
    }


def instruction_table(
    analysis: LoopAnalysis, cpu: str, isa: str, lines: Sequence[InstructionLine] = ()
) -> InstructionTable:
    """The table.

    Args:
        analysis: The block's.
        cpu: The core model's name, by which evidence is found.
        isa: The instruction set's name.
        lines: What the text has on each instruction; fewer than instructions where it has nothing more.
    """
    used = sorted({port for row in analysis.instructions for port in _ports_of(row)})
    sums = {
        port: sum(row.pressure[port] for row in analysis.instructions if row.pressure is not None)
        for port in used
    }
    largest = max(sums.values(), default=0.0)
    rows = []
    before = None
    for row, line in zip_longest(analysis.instructions, lines[: len(analysis.instructions)]):
        source = None if line is None else line.source
        row_text = "" if source is None or source == before else str(source)
        described = _row(row, analysis.ports, used, largest, cpu, isa)
        rows.append(replace(described, line=line, source=row_text))
        before = source
    columns = tuple(
        TablePort(
            port,
            analysis.ports[port],
            analysis.mapping_ports[port],
            cycles,
            bool(largest) and cycles >= largest - _ROUNDING,
        )
        for port, cycles in sums.items()
    )
    return InstructionTable(
        tuple(rows),
        columns,
        sum(row.slots or 0.0 for row in analysis.instructions),
        sum(row.on_chain or 0.0 for row in analysis.instructions),
        sum(row.size for row in analysis.instructions),
    )


def _ports_of(row: InstructionAnalysis) -> Iterator[int]:
    """The ports that an instruction can use, and those that it occupies."""
    for mask, _ in row.uops or ():
        yield from ports_in(mask)
    yield from (port for port, cycles in enumerate(row.pressure or ()) if cycles)


def _row(
    row: InstructionAnalysis,
    names: Sequence[str],
    columns: Sequence[int],
    largest: float,
    cpu: str,
    isa: str,
) -> TableInstruction:
    allowed = {port for mask, _ in row.uops or () for port in ports_in(mask)}
    cells = None
    if row.pressure is not None:
        cells = tuple(
            PressureCell(
                port, names[port], row.pressure[port], _shade(row.pressure[port], largest), port in allowed
            )
            for port in columns
        )
    evidence = card = ""
    if row.scheme:
        described = [row.scheme] if row.substitution is None else row.substitution.nearest.split(" and ")
        fields = {"cpu": cpu, "isa": isa, "scheme": described}
        evidence = f"{reverse('loop-evidence')}?{urlencode(fields, doseq=True)}"
        card = reverse("instruction", args=[isa, row.scheme.partition(" ")[0]])
    return TableInstruction(row, uops_text(row.uops, names), cells, evidence, card)


def _shade(cycles: float, largest: float) -> int:
    return 0 if cycles < _ROUNDING else min(SHADES, max(1, round(SHADES * cycles / largest)))


def uops_text(uops: Uops | None, names: Sequence[str]) -> str:
    """µops by the names of ports: `1× ALU0–3 + 2× LD0–1`; "no port" without, "?" where they are not known.

    >>> uops_text(((0b111, 1), (0b1000, 2)), ["ALU0", "ALU1", "ALU2", "LD"])
    '1× ALU0–2 + 2× LD'
    """
    if uops is None:
        return "?"
    parts = [f"{count}× {ports_text([names[port] for port in ports_in(mask)])}" for mask, count in uops]
    return " + ".join(parts) or "no port"


def ports_text(names: Sequence[str]) -> str:
    """Names of ports with their runs of numbers shortened.

    >>> ports_text(["ALU0", "ALU1", "ALU3", "BR"])
    'ALU0–1, ALU3, BR'
    """
    parts = []
    for _, run in groupby(enumerate(names), key=_run_key):
        members = [name for _, name in run]
        first, last = members[0], members[-1]
        match = _NUMBERED.fullmatch(last)
        parts.append(first if len(members) == 1 or match is None else f"{first}–{match[2]}")
    return ", ".join(parts)


def _run_key(entry: tuple[int, str]) -> tuple[str, int]:
    """Equal for neighbours with one prefix whose numbers follow each other."""
    place, name = entry
    match = _NUMBERED.fullmatch(name)
    return (name, -1) if match is None else (match[1], int(match[2]) - place)
