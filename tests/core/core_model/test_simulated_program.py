"""Blocks on a core model as simulated programs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.core_model.model import CoreModel, MemoryTimes
from inference.core.core_model.simulated_program import UndescribedSchemeError, program_of
from inference.core.mapping import PortMapping
from inference.core.simulation.program import SchedulerPolicy
from inference.core.simulation.steady_state import simulate
from inference.isa.dependences import InstructionAccesses, MemoryPlace, OperandAccess

ALU, MULTIPLY, LOAD = 0b011, 0b001, 0b100
MAPPING = PortMapping(
    ("a", "b", "l"),
    {
        "add": ((ALU, 1),),
        "multiply": ((MULTIPLY, 1),),
        "load": ((LOAD, 1),),
        "add loaded": ((ALU, 1), (LOAD, 1)),
        "move": ((ALU, 1),),
        "nop": (),
    },
    issue_width=4,
    slots={"add loaded": 2},
)
CORE = CoreModel(
    MAPPING,
    {
        "add": {("1", "1"): 1.0, ("2", "1"): 1.0},
        "multiply": {("1", "1"): 3.0, ("2", "1"): 3.0},
        "load": {("2 address", "1"): 4.0},
        "add loaded": {("1", "1"): 1.0, ("2 address", "1"): 5.0},
    },
    moves=frozenset({"move"}),
)


def instruction(scheme: str, destination: str, *sources: str) -> InstructionAccesses:
    """One that reads its destination, too, where it has several sources; `[r]` is an address."""
    memory = MemoryPlace(None, 0, 64, None)
    reads: list[OperandAccess] = []
    for number, source in enumerate(sources, start=1 if destination in sources else 2):
        if source.startswith("["):
            reads += [OperandAccess("2 address", source[1:-1]), OperandAccess("2 data", memory=memory)]
        else:
            reads.append(OperandAccess(str(number), source))
    return InstructionAccesses(scheme, tuple(reads), (OperandAccess("1", destination),))


def cycles(*block: InstructionAccesses) -> float:
    return simulate(program_of(block, CORE, 4, memory_ports=LOAD), SchedulerPolicy()).cycles


def test_a_chain_takes_the_latencies_of_its_operands() -> None:
    block = instruction("multiply", "r1", "r1", "r2"), instruction("add", "r1", "r1", "r3")
    assert cycles(*block) == pytest.approx(4)


def test_an_address_is_waited_for_longer_than_a_value() -> None:
    assert cycles(instruction("load", "r1", "[r1]")) == pytest.approx(4)
    assert cycles(instruction("add loaded", "r1", "r1", "[r2]")) == pytest.approx(1)
    block = instruction("add loaded", "r1", "r1", "[r2]"), instruction("add", "r2", "r1", "r3")
    assert cycles(*block) == pytest.approx(6)  # five from the address, and one


def test_eliminated_moves_hand_on_what_they_move() -> None:
    block = (
        instruction("move", "r2", "r1"),
        instruction("move", "r3", "r2"),
        instruction("multiply", "r1", "r3", "r4"),
    )
    program = program_of(block, CORE, 4)
    assert [uop.ports for uop in program.uops] == [0, 0, MULTIPLY]
    assert cycles(*block) == pytest.approx(3)


def test_moves_that_wait_only_for_each_other_end() -> None:
    assert cycles(instruction("move", "r2", "r1"), instruction("move", "r1", "r2")) == pytest.approx(0.5)


def test_slots_are_those_of_the_mapping() -> None:
    program = program_of([instruction("add loaded", "r1", "r1", "[r2]"), instruction("nop", "r9")], CORE, 4)
    assert [(uop.ports, uop.slots) for uop in program.uops] == [(ALU, 2), (LOAD, 0), (0, 1)]
    assert cycles(*[instruction("nop", "r9")] * 6) == pytest.approx(1.5)


def test_schemes_without_known_uops_are_named() -> None:
    block = [instruction("add", "r1", "r1"), instruction("divide", "r1", "r1"), instruction("divide", "r2")]
    with pytest.raises(UndescribedSchemeError, match="no µops are known of divide") as caught:
        program_of(block, CORE, 4)
    assert caught.value.schemes == ("divide",)


def test_renamed_memory_hands_on_what_was_stored() -> None:
    place = MemoryPlace("stack", 0, 64, 0)
    store = InstructionAccesses(
        "store", (OperandAccess("2", "r1"),), (OperandAccess("1 data", memory=place),)
    )
    load = InstructionAccesses(
        "loaded", (OperandAccess("2 data", memory=place),), (OperandAccess("1", "r1"),), only_loads=True
    )
    usage = {**MAPPING.usage, "store": ((LOAD, 1),), "loaded": ((0b010, 1),)}
    block = load, instruction("multiply", "r1", "r1", "r2"), store

    def cycles_of(forwarding: float) -> float:
        memory = MemoryTimes({(64, 64, 0, False): forwarding}, usual=forwarding)
        model = replace(CORE, mapping=replace(MAPPING, usage=usage), memory=memory)
        return simulate(program_of(block, model, 4, memory_ports=LOAD), SchedulerPolicy()).cycles

    assert cycles_of(0.0) == pytest.approx(3)
    assert cycles_of(4.0) == pytest.approx(7)


def test_uops_of_ports_that_are_not_simulated_only_delay() -> None:
    block = (
        instruction("load", "r1", "[r1]"),
        instruction("add loaded", "r2", "r1", "[r3]"),
        instruction("multiply", "r1", "r2", "r1"),
    )
    program = program_of(block, CORE, 4, simulated_ports=ALU)
    assert [uop.ports for uop in program.uops] == [0, ALU, MULTIPLY]
    assert simulate(program, SchedulerPolicy()).cycles == pytest.approx(4 + 1 + 3)


def test_a_result_that_returns_later_than_buses_remember_is_still_waited_for() -> None:
    slow = replace(CORE, latencies={**CORE.latencies, "multiply": {("1", "1"): 307.0}})
    program = program_of([instruction("multiply", "r1", "r1")], slow, 4)
    assert simulate(program, SchedulerPolicy()).cycles == pytest.approx(307)


def test_a_base_that_an_access_moves_does_not_wait_for_what_is_loaded() -> None:
    """`ldr x0, [x1], #8; ldr x2, [x1]`: one µop loads, another moves the base for the next iteration."""
    plain, moving = "ldr GPR[64]:W, MEM[64]:R", "ldr GPR[64]:W, MEM[64,post]:R"
    usage = {plain: ((LOAD, 1),), moving: ((ALU, 1), (LOAD, 1))}
    latencies = {plain: {("2 address", "1"): 4.0}}
    latencies[moving] = {**latencies[plain], ("2 address", "base"): 1.0}
    core = CoreModel(
        PortMapping(("a", "b", "l"), usage, issue_width=4), latencies, memory=MemoryTimes(load=4.0)
    )
    loaded = instruction(moving, "r0", "[r1]")
    moved = loaded._replace(writes=(*loaded.writes, OperandAccess("base", "r1")), only_loads=True)
    block = moved, instruction(plain, "r2", "[r1]")
    for model in core, replace(core, latencies={}):
        assert simulate(program_of(block, model, 4), SchedulerPolicy()).cycles == pytest.approx(2)  # loads
