"""The answer about a loop as text, for the shell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inference.core.loop.values import InstructionAnalysis, LoopAnalysis, UnknownPart
from inference.features.asking.loop.answer import LoopAnswer

_CODE_WIDTH = 44
_MIN_LOAD = 0.005
"""Cycles below which a port's load counts as none."""


def lines_of(answer: LoopAnswer) -> Iterator[str]:
    """The CPU, the bounds, a table with a line per instruction, and what would change the time."""
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
