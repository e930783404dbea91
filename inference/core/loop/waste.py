"""Why a simulated block takes longer, or shorter, than its bounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from inference.core.core_model.prediction import BoundKind
from inference.core.loop.modelled import ModelledBlock
from inference.core.loop.simulated import SimulatedBlock
from inference.core.simulation.steady_state import Simulation
from inference.core.simulation.timeline import DispatchStall, PortDelay, timeline_of

TOLERANCE = 0.03
"""Relative difference up to which simulation and bounds agree."""
_FULL = 0.95
"""Share of the cycles from which on a port is busy all the time."""
_MAX_NAMES = 3
_DELAYS = {
    PortDelay.TAKEN: "µops wait for ports that others occupy",
    PortDelay.RESULT_BUS: "results that return in one cycle share a bus",
    PortDelay.LOST_SLOT: "ports lose slots to µops that were selected before their values were there",
}
_STALLS = {
    DispatchStall.WINDOW: "the core does not look far enough ahead",
    DispatchStall.SCHEDULER: "the scheduler is full",
    DispatchStall.QUEUE: "the queue of a port is full",
}


def waste_note(
    modelled: ModelledBlock, simulated: SimulatedBlock, simulation: Simulation, usual: float
) -> str:
    """Why the simulation and the bounds differ by more than `TOLERANCE`, as a sentence; "" where not.

    Args:
        modelled: The block.
        simulated: Its program and policy.
        simulation: That of the program.
        usual: The largest bound.
    """
    cycles = simulation.cycles
    if abs(cycles - usual) <= TOLERANCE * usual:
        return ""
    edges = modelled.graph.edges
    rounded = modelled.graph.bound([replace(edge, cycles=round(edge.cycles)) for edge in edges]).cycles
    if abs(cycles - rounded) <= TOLERANCE * rounded:
        return "The simulation rounds latencies to whole cycles."
    if cycles < usual:
        return ""
    return _uneven_ports(modelled, simulated, simulation) or _most_frequent_delay(simulated)


def _uneven_ports(modelled: ModelledBlock, simulated: SimulatedBlock, simulation: Simulation) -> str:
    """The port that is always busy, though other ports could do a part of its work; "" without one."""
    uops = simulated.program.uops
    steady = simulation.port[len(simulation.port) // 2 :]
    busy = np.array([uop.busy for uop in uops])
    loads = [float((busy * (steady == port)).sum()) / len(steady) for port in range(simulated.program.ports)]
    port = int(np.argmax(loads))
    if loads[port] < _FULL * simulation.cycles:
        return ""
    executed = (steady == port).sum(axis=0)
    counts: Counter[str] = Counter()
    for uop, count in zip(uops, executed, strict=True):
        counts[modelled.mnemonic(uop.instruction)] += int(count)
    names = ", ".join(f"`{name}`" for name, count in counts.most_common(_MAX_NAMES) if count)
    allowed = max(
        (bound.cycles for bound in modelled.prediction.bounds if bound.kind is BoundKind.PORTS), default=0.0
    )
    return (
        f"The scheduler gives port {modelled.ports[port]} {loads[port]:.2f} µops per iteration ({names}), "
        f"where an even distribution has {allowed:.2f}."
    )


def _most_frequent_delay(simulated: SimulatedBlock) -> str:
    timeline = timeline_of(simulated.program, simulated.policy)
    delays = {text: int((timeline.delay == kind).sum()) for kind, text in _DELAYS.items()}
    stalls = {text: int((timeline.stall == kind).sum()) for kind, text in _STALLS.items()}
    text, count = max([*delays.items(), *stalls.items()], key=lambda pair: pair[1])
    return f"In the simulation, {text}." if count else ""
