"""The answer about a loop as one document, for API and shell, as text, and its timeline in file formats.

Instructions count from 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest

from inference.core.core_model.dependences import ChainStep
from inference.core.core_model.prediction import SchemeSubstitution
from inference.core.loop.modelled import location_name
from inference.core.loop.simulated import CannotSimulateError
from inference.core.loop.timeline import LoopTimeline, timeline_of_block
from inference.core.loop.values import (
    CycleRange,
    Dependence,
    InstructionAnalysis,
    LoopAnalysis,
    Remedy,
    UnknownPart,
)
from inference.core.protocols import Json
from inference.core.simulation.timeline import DEFAULT_ITERATIONS
from inference.features.asking.loop.answer import LoopAnswer
from inference.features.asking.loop.comparison import LoopVersion, compared
from inference.features.asking.loop.measured import newest_measurement
from inference.features.asking.loop.query import cpus, modelled_block, sources_of
from inference.features.asking.loop.tools import ToolRow, ToolTable, tools_of
from inference.figures.timeline import timeline_drawing, timeline_json
from inference.formats.timeline_files import write_timeline_text, write_timeline_trace
from inference.isa.code.annotations import InstructionLine
from inference.models import StoredCoreModel
from inference.storage.instruction_sets import code_isa
from inference.web.api.shapes import uops_json

MEASURED_BASIS = "measured"
_DIGITS = 4


def document_of(answer: LoopAnswer, iterations: int = 0, *, tools: bool = False) -> Json:
    """The document of an answer, as `LoopExplanationOut` describes it.

    Args:
        answer: An explained block.
        iterations: Iterations of the timeline; 0 for none.
        tools: Whether with what tools have answered about the block.
    """
    analysis, block = answer.analysis, answer.block
    versions, _, problems = compared(answer, cpus(answer.question.isa))
    return {
        **block.name.as_json(),
        **reason_of(analysis, answer.cpu.row, answer.verdict),
        "name": answer.piece.name,
        "kind": block.kind,
        "notes": [*answer.piece.notes, *problems],
        "pieces": [piece.name for piece in answer.reading.pieces],
        "cpu": answer.cpu.label,
        "recorded": answer.cpu.is_recorded,
        "mode": answer.question.mode,
        "range": _range_json(analysis.cycles),
        "ranges": {str(bound.kind): _range_json(bound.cycles) for bound in analysis.bounds},
        "simulated": None if analysis.simulated is None else _round_cycles(analysis.simulated),
        "simulation_note": analysis.simulation_note,
        "timeline": _timeline_json(answer, iterations) if iterations else None,
        "measured": _measurement_json(answer),
        "tools": _tools_json(tools_of(answer)) if tools else None,
        "ports": [
            {"name": name, "port": port, "cycles": _round_cycles(load)}
            for name, port, load in zip(
                analysis.ports, analysis.mapping_ports, analysis.port_loads, strict=True
            )
        ],
        "instructions": [
            _instruction_json(number, instruction, line or InstructionLine(0), analysis.ports)
            for number, (instruction, line) in enumerate(
                zip_longest(analysis.instructions, answer.piece.lines), start=1
            )
        ],
        "dependencies": [_dependency_json(edge) for edge in analysis.dependences],
        "remedies": [_remedy_json(remedy) for remedy in analysis.remedies],
        "changes": {
            "without": sorted(answer.changes.without_dependences),
            "loads_hit": answer.changes.loads_hit,
            "latencies": {str(place + 1): cycles for place, cycles in answer.changes.latencies.items()},
        },
        "versions": [_version_json(version) for version in versions] if len(versions) > 1 else [],
    }


def reason_of(analysis: LoopAnalysis, row: StoredCoreModel, verdict: str) -> Json:
    """The part of a document that every explanation of a block has, as `BlockReasonOut` describes it."""
    largest = analysis.bounds[0] if analysis.bounds else None
    chain = () if largest is None else largest.chain
    undescribed = _undescribed_schemes(analysis)
    substitutions = dict.fromkeys(part.substitution for part in analysis.instructions if part.substitution)
    return {
        "model": row.name,
        "text": verdict,
        "cycles": None if undescribed else _round_cycles(analysis.usual),
        "bound": None if largest is None else str(largest.kind),
        "bounds": {str(bound.kind): _round_cycles(bound.usual) for bound in analysis.bounds},
        "why": {str(bound.kind): bound.why for bound in analysis.bounds},
        "chain": sorted({step.instruction + 1 for step in chain}),
        "steps": [_step_json(step, code_isa(row.isa)) for step in chain],
        "unknown": undescribed,
        "taken": [_substitution_json(substitution) for substitution in substitutions],
        "lacking": list(analysis.lacking),
        "sources": dict(sources_of(row)),
    }


def _step_json(step: ChainStep, isa: str) -> Json:
    """A step in the shape of `ChainStepOut`."""
    return {
        "instruction": step.instruction + 1,
        "through": location_name(step.location, isa),
        "source": step.source,
        "destination": step.destination,
        "cycles": round(step.cycles, 4),
        "basis": step.basis or MEASURED_BASIS,
    }


def _substitution_json(substitution: SchemeSubstitution) -> Json:
    """A substitution in the shape of `SubstitutionOut`."""
    return {
        "scheme": substitution.scheme,
        "nearest": substitution.nearest,
        "differs": substitution.differs,
        "parts": list(substitution.parts),
    }


def _dependency_json(edge: Dependence) -> Json:
    return {
        "key": edge.key,
        "producer": edge.producer + 1,
        "consumer": edge.consumer + 1,
        "through": edge.location,
        "iterations": edge.iterations,
        "cycles": None if edge.cycles is None else _round_cycles(edge.cycles),
        "basis": edge.basis or MEASURED_BASIS,
        "critical": edge.is_critical,
    }


def _remedy_json(remedy: Remedy) -> Json:
    return {
        "kind": str(remedy.kind),
        "text": remedy.text,
        "cycles": _round_cycles(remedy.cycles),
        "dependency": remedy.dependence,
    }


def _undescribed_schemes(analysis: LoopAnalysis) -> list[str]:
    """Schemes without ports, sorted; the text of an instruction without a scheme."""
    return sorted(
        {
            instruction.scheme or instruction.text
            for instruction in analysis.instructions
            if UnknownPart.PORTS in instruction.unknown
        }
    )


def _timeline_json(answer: LoopAnswer, iterations: int) -> Json | None:
    """None where the model does not allow a simulation."""
    try:
        return timeline_json(timeline_for(answer, iterations))
    except CannotSimulateError:
        return None


def _measurement_json(answer: LoopAnswer) -> Json | None:
    """The newest stored measurement by the machine of the core model."""
    machine = answer.cpu.row.machine
    if machine is None or answer.cpu.is_recorded:
        return None
    name = answer.block.name
    measurement = newest_measurement(name.hex, name.isa, answer.question.mode, machine)
    return None if measurement is None else asdict(measurement)


def _tools_json(table: ToolTable | None) -> list[Json]:
    """A row per tool and core model; those that are not asked have the reason."""
    if table is None:
        return []
    unasked = {offer.name for offer in table.unasked}
    rows = [
        _tool_json(row, "not asked yet: submit a run of kind ask" if row.name in unasked else row.reason)
        for row in table.rows
        if not row.measured
    ]
    silent = ((name, reason) for reason, names in table.left_out.items() for name in names)
    return [*rows, *(_tool_json(ToolRow(name), reason) for name, reason in silent)]


def _tool_json(row: ToolRow, reason: str) -> Json:
    return {
        "name": row.name,
        "cycles": None if row.cycles is None else _round_cycles(row.cycles),
        "percent": None if row.percent is None else round(row.percent, 2),
        "closest_bound": row.bound,
        "reason": reason,
    }


def _version_json(version: LoopVersion) -> Json:
    analysis = version.analysis
    return {
        "label": version.label,
        "note": version.note,
        "cycles": _round_cycles(analysis.usual / version.iterations),
        "range": _range_json(version.cycles_of(analysis.cycles)),
        "bounds": {
            str(bound.kind): _round_cycles(bound.usual / version.iterations) for bound in analysis.bounds
        },
    }


def _range_json(cycles: CycleRange) -> Json:
    return {
        "low": _round_cycles(cycles.low),
        "high": None if cycles.high is None else _round_cycles(cycles.high),
    }


def _instruction_json(
    number: int, instruction: InstructionAnalysis, line: InstructionLine, ports: tuple[str, ...]
) -> Json:
    return {
        "number": number,
        "text": instruction.text,
        "scheme": instruction.scheme,
        "bytes": instruction.size,
        "uops": None if instruction.uops is None else uops_json(instruction.uops, ports),
        "pressure": None if instruction.pressure is None else [*map(_round_cycles, instruction.pressure)],
        "slots": instruction.slots,
        "latency": instruction.latency,
        "on_chain": instruction.on_chain,
        "unknown": [*map(str, instruction.unknown)],
        "nearest": None if instruction.substitution is None else _substitution_json(instruction.substitution),
        "note": instruction.note,
        "line": line.line or None,
        "source": None if line.source is None else str(line.source),
        "samples": line.samples,
    }


def _round_cycles(cycles: float) -> float:
    return round(cycles, _DIGITS)


_CODE_WIDTH = 44
_MIN_LOAD = 0.005
"""Cycles below which a port's load counts as none."""


def lines_of(answer: LoopAnswer, *, tools: bool = False) -> Iterator[str]:
    """The CPU, the bounds, a table with a line per instruction, what would change the time, and `tools`."""
    analysis = answer.analysis
    is_fallback = answer.cpu.is_recorded and not answer.question.cpu
    reason = ": no CPU is profiled here" if is_fallback else ""
    yield f"  on {answer.cpu.label} (core model {answer.cpu.name}){reason}"
    for bound in analysis.bounds:
        yield f"  {bound.kind:<14}{bound.cycles.text:>13}  {bound.why}"
    if analysis.simulated is not None:
        yield f"  {'simulated':<14}{analysis.simulated:>13.2f}  {analysis.simulation_note}".rstrip()
    yield from _table(analysis)
    for remedy in analysis.remedies:
        yield f"  {remedy.text}: {remedy.cycles:.2f} cycles"
    substitutions = dict.fromkeys(part.substitution for part in analysis.instructions if part.substitution)
    for substitution in substitutions:
        yield f"  nearest scheme used: {substitution.text}"
    for instruction in analysis.instructions:
        if UnknownPart.PORTS in instruction.unknown:
            yield f"  not described by the port mapping: {instruction.scheme or instruction.text}"
    for text in analysis.lacking:
        yield f"  {text}"
    for tool in _tools_json(tools_of(answer)) if tools else ():
        cycles = "" if tool["cycles"] is None else f"{tool['cycles']:.2f}"
        remark = tool["closest_bound"] or tool["reason"]
        yield f"  {tool['name'][:_CODE_WIDTH]:<{_CODE_WIDTH}}{cycles:>8}  {remark}"


def _table(analysis: LoopAnalysis) -> Iterator[str]:
    """Per instruction: cycles on the critical chain, latency, and cycles on each port that is used."""
    loads = analysis.port_loads
    ports = [place for place, load in enumerate(loads) if load >= _MIN_LOAD]
    yield _line("", "chain", "latency", [analysis.ports[place] for place in ports], "")
    for instruction in analysis.instructions:
        yield _line(
            instruction.text,
            "" if instruction.on_chain is None else f"{instruction.on_chain:.2f}",
            _latency(instruction),
            _pressures(instruction, ports),
            instruction.note,
        )
    total = sum(instruction.on_chain or 0.0 for instruction in analysis.instructions)
    yield _line("all", f"{total:.2f}" if total else "", "", [f"{loads[place]:.2f}" for place in ports], "")


def _latency(instruction: InstructionAnalysis) -> str:
    if UnknownPart.LATENCY in instruction.unknown:
        return "?"
    return "" if instruction.latency is None else f"{instruction.latency:.2f}"


def _pressures(instruction: InstructionAnalysis, ports: Sequence[int]) -> list[str]:
    if instruction.pressure is None:
        return ["?" if UnknownPart.PORTS in instruction.unknown else ""] * len(ports)
    cycles = [instruction.pressure[place] for place in ports]
    return [f"{load:.2f}" if load >= _MIN_LOAD else "·" for load in cycles]


def _line(text: str, chain: str, latency: str, ports: Sequence[str], note: str) -> str:
    cells = "".join(f"{cell:>7}" for cell in ports)
    return f"  {text[:_CODE_WIDTH]:<{_CODE_WIDTH}}{chain:>8}{latency:>9}{cells}  {note}".rstrip()


@dataclass(frozen=True)
class TimelineFormat:
    """A file format: `write` makes its text."""

    name: str
    content_type: str
    write: Callable[[LoopTimeline], str]


TIMELINE_FORMATS = {
    "json": TimelineFormat(
        "JSON", "application/json", lambda loop: json.dumps(timeline_json(loop), separators=(",", ":"))
    ),
    "svg": TimelineFormat("SVG", "image/svg+xml", lambda loop: timeline_drawing(loop).file()),
    "trace.json": TimelineFormat("Trace for Perfetto and Chrome", "application/json", write_timeline_trace),
    "txt": TimelineFormat("Text, as llvm-mca's timeline", "text/plain", write_timeline_text),
}
"""By the ends of file names."""


def timeline_for(answer: LoopAnswer, iterations: int = DEFAULT_ITERATIONS) -> LoopTimeline:
    """The timeline of the explained block. Raises `CannotSimulateError`, as `timeline_of_block` does."""
    block = modelled_block(answer.block, answer.cpu.row, answer.assumed, answer.changes)
    title = f"{answer.piece.name} on {answer.cpu.label}"
    return timeline_of_block(block, answer.analysis, title, iterations)
