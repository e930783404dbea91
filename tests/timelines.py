"""A timeline that has a bit of everything."""

from __future__ import annotations

from inference.core.loop.timeline import LoopTimeline
from inference.core.simulation.program import SchedulerPolicy, SimulatedProgram, SimulatedUop, Wait
from inference.core.simulation.timeline import timeline_of

TEXTS = ("imul rax, rbx", "add rcx, [rsi]", "mov rdx, <rax>", "dec rdi", "jne 0x10")


def mixed_loop(iterations: int = 3) -> LoopTimeline:
    """A multiplication that waits for itself, a load with its addition, an eliminated move, and a jump."""
    uops = (
        SimulatedUop(0b0010, 0, latency=3, waits=(Wait(0, 1, 3),)),
        SimulatedUop(0b1000, 1, latency=6, waits=(Wait(4, 1, 1),)),
        SimulatedUop(0b0011, 1, slots=0, latency=6, waits=(Wait(0, 0, 3), Wait(2, 1, 1), Wait(1, 0, 5))),
        SimulatedUop(0, 2),
        SimulatedUop(0b0011, 3, waits=(Wait(4, 1, 1),)),
        SimulatedUop(0b0001, 4, waits=(Wait(4, 0, 1),)),
    )
    program = SimulatedProgram(uops, 4, 4)
    timeline = timeline_of(program, SchedulerPolicy(), iterations)
    locations = {(0, 0, 1): "rax", (0, 1, 0): "rax", (1, 1, 1): "rcx", (3, 3, 1): "rdi", (3, 1, 1): "rdi"}
    return LoopTimeline("a loop & more on Zen 4", timeline, TEXTS, ("0", "1", "2", "3"), locations)
