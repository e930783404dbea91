"""Analyses of loops for tests: one with everything unknown that can be, and random ones of any length."""

from __future__ import annotations

import random

from inference.core.core_model.prediction import BoundKind, SchemeSubstitution
from inference.core.loop.values import (
    CycleRange,
    Dependence,
    InstructionAnalysis,
    LoopAnalysis,
    LoopBound,
    UnknownPart,
)

PORTS = ("ALU0", "ALU1", "ALU2", "AGU0", "FP0")


def dependence(producer: int, consumer: int, location: str, **facts: object) -> Dependence:
    values = {"iterations": 0, "cycles": 1.0, "basis": "", "is_critical": False, **facts}
    return Dependence(f"{producer}-{consumer}-{location}", producer, consumer, location, **values)  # type: ignore[arg-type]


def instruction(text: str, **facts: object) -> InstructionAnalysis:
    values = {
        "scheme": f"{text.partition(' ')[0]} GPR[64]:RW, GPR[64]:R",
        "size": 3,
        "uops": ((0b111, 1),),
        "pressure": (0.25, 0.25, 0.5, 0.0, 0.0),
        "slots": 1.0,
        "on_chain": None,
        "latency": 1.0,
        **facts,
    }
    return InstructionAnalysis(text, **values)  # type: ignore[arg-type]


def known_loop() -> LoopAnalysis:
    """Everything is known; the chain is `imul`, 3 cycles, and `add`, 1 cycle."""
    instructions = (
        instruction(
            "imul rax, rbx", uops=((2, 1),), pressure=(0.0, 1.0, 0.0, 0.0, 0.0), on_chain=3.0, latency=3.0
        ),
        instruction("add rax, <rcx>", on_chain=1.0),
        instruction("mov rdx, rsi", uops=(), pressure=(0.0,) * 5, latency=0.0, note="eliminated"),
    )  # fmt: skip
    dependences = (
        dependence(0, 1, "rax", cycles=1.0, is_critical=True),
        dependence(1, 0, "rax", cycles=3.0, iterations=1, is_critical=True),
        dependence(0, 1, "CF"),
        dependence(1, 1, "OF", iterations=2),
    )
    loads = tuple(sum(column) for column in zip(*(row.pressure or () for row in instructions), strict=True))
    bounds = (
        LoopBound(BoundKind.DEPENDENCES, CycleRange(4.0, 4.0), 4.0, "a chain of 2 steps"),
        LoopBound(BoundKind.PORTS, CycleRange(max(loads), max(loads)), max(loads), "the busiest ports"),
    )
    return LoopAnalysis(
        bounds, CycleRange(4.0, 4.0), 4.0, PORTS, loads, instructions, dependences, simulated=4.5,
        simulation_note="two µops wait for one port",
    )  # fmt: skip


def unknown_loop() -> LoopAnalysis:
    """Ports, slots and a latency are unknown; the other instruction is described by its nearest scheme."""
    substitution = SchemeSubstitution(
        "sub GPR[64]:RW, GPR[64]:R", "add GPR[64]:RW, GPR[64]:R", "other width", ("ports",)
    )
    every = (UnknownPart.PORTS, UnknownPart.SLOTS, UnknownPart.LATENCY)
    instructions = (
        instruction("vfrob ymm0, ymm1", uops=None, pressure=None, slots=None, latency=None, unknown=every),
        instruction("sub rax, rbx", substitution=substitution),
    )
    bounds = (
        LoopBound(BoundKind.DEPENDENCES, CycleRange(1.0, None), 4.0, "a chain with an unknown latency"),
        LoopBound(BoundKind.PORTS, CycleRange(0.5, None), 1.0, "the busiest ports"),
        LoopBound(BoundKind.FRONT_END, CycleRange(0.25, 0.5), 0.5, "2 slots"),
        LoopBound(BoundKind.MEMORY, CycleRange(0.0, None), 0.0, "not measured"),
    )
    edges = (dependence(0, 0, "xmm0", cycles=None, iterations=1, basis="assumed", is_critical=True),)
    return LoopAnalysis(
        bounds, CycleRange(1.0, None), 4.0, PORTS, (0.25, 0.25, 0.5, 0.0, 0.0), instructions, edges,
        lacking=("no ports of vfrob",),
    )  # fmt: skip


def unmapped_loop() -> LoopAnalysis:
    """A core model without ports, latencies and front end."""
    unknown = (UnknownPart.PORTS, UnknownPart.SLOTS, UnknownPart.LATENCY)
    row = instruction("add rax, rbx", uops=None, pressure=None, slots=None, latency=None, unknown=unknown)
    return LoopAnalysis((), CycleRange(0.0, None), 0.0, (), (), (row,), (), lacking=("no port mapping",))


def random_loop(length: int, seed: int) -> LoopAnalysis:
    """A loop of this length with random pressure, gaps and dependences."""
    chance = random.Random(seed)
    instructions, edges = [], {}
    for place in range(length):
        known = chance.random() < 0.9
        pressure = tuple(chance.choice([0.0, 0.1, 1 / 3, 1.0]) for _ in PORTS) if known else None
        text = f"op{place} r{place % 16}, " + "r" * chance.randrange(60)
        mask = chance.randrange(1, 32)
        instructions.append(instruction(text, pressure=pressure, uops=((mask, 1),) if known else None))
        for producer in {chance.randrange(length) for _ in range(chance.randrange(3))}:
            later = int(producer >= place)
            cycles = chance.choice([None, 1.0, 4.0])
            edge = dependence(producer, place, f"r{producer % 16}", cycles=cycles, iterations=later)
            edges[edge.key] = edge
    loads = tuple(sum(row.pressure[k] for row in instructions if row.pressure) for k in range(len(PORTS)))
    bound = max(loads)
    bounds = (LoopBound(BoundKind.PORTS, CycleRange(bound, bound), bound, "the busiest ports"),)
    return LoopAnalysis(
        bounds, CycleRange(bound, bound), bound, PORTS, loads, tuple(instructions), tuple(edges.values())
    )
