"""The bound of a core's scheduler, beside those of ports and slots."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from inference.core.core_model import (
    BoundKind,
    CodeShape,
    CoreModel,
    CorePrediction,
    CoreScheduler,
    FrontEndLimits,
    MemoryTimes,
    predict_core,
)
from inference.core.mapping import PortMapping
from inference.core.simulation.policy import SchedulerPolicy, SharedResultBus
from inference.isa.x86.blocks import read_blocks
from inference.isa.x86.control_flow import LOOP
from inference.isa.x86.dependences import accesses_of

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"
STORE, NOP = "mov MEM[64]:W, GPR[64]:R", "nop"
ANY, LOW, HIGH = 0b0111111, 0b0000111, 0b0111000
PORTS = PortMapping(
    tuple("0123456"),
    {ADD: ((ANY, 1),), IMUL: ((LOW, 1),), STORE: ((1 << 6, 1),), NOP: ()},
    issue_width=8,
)
LATENCIES = {ADD: {("1", "1"): 1.0, ("2", "1"): 1.0}, IMUL: {("1", "1"): 3.0, ("2", "1"): 3.0}}
POLICY = SchedulerPolicy(
    load_age=1,
    load_step=2,
    queue=8,
    queued=88,
    writeback_conflicts=True,
    speculative_select=True,
    shared_buses=(SharedResultBus(LOW, HIGH),),
)
WITHOUT = CoreModel(PORTS, LATENCIES)
WITH = replace(WITHOUT, scheduler=CoreScheduler(POLICY, 8, memory_ports=1 << 6))
MIX = "\n".join(
    line
    for number in range(8, 14)
    for line in (f"add r{number}, rbx", f"add r{number}, rcx", f"imul r{number}, rbx", f"imul r{number}, rcx")
)


def predicted(code: str, model: CoreModel, without: Collection[BoundKind] = ()) -> CorePrediction:
    (block,) = read_blocks(code, 1)
    shape = CodeShape(len(block.code), block.kind == LOOP, copied=True)
    return predict_core(accesses_of(block), shape, model, without)


def bounds(code: str, model: CoreModel, without: Collection[BoundKind] = ()) -> dict[BoundKind, float]:
    return {bound.kind: bound.cycles for bound in predicted(code, model, without).bounds}


def test_a_wasteful_scheduler_takes_longer_than_its_ports_and_says_so() -> None:
    (first, *others) = predicted(MIX, WITH, [BoundKind.DEPENDENCES]).bounds
    assert first.kind is BoundKind.SCHEDULER
    assert 1.1 < first.cycles / 4.0 < 1.5  # 12 multiplications on 3 ports
    assert first.why == f"ports allow 4.00, the scheduler makes it {first.cycles:.2f}"
    assert tuple(others) == predicted(MIX, WITHOUT, [BoundKind.DEPENDENCES]).bounds


def test_dependences_are_waited_for_unless_they_are_left_out() -> None:
    chain = "imul rax, rbx\nimul rax, rbx"
    assert bounds(chain, WITH)[BoundKind.SCHEDULER] == pytest.approx(6.0)
    assert bounds(chain, WITH, [BoundKind.DEPENDENCES])[BoundKind.SCHEDULER] < 1.5
    through = "mov [rsp], rax\nmov rax, [rsp]"
    load = "mov GPR[64]:W, MEM[64]:R"
    memory = MemoryTimes({(64, 64, 0, False): 4.0})
    model = replace(
        WITH,
        mapping=replace(PORTS, usage={**PORTS.usage, load: ((1 << 6, 1),)}),
        memory=memory,
        scheduler=replace(WITH.scheduler, memory_ports=1 << 6),
    )
    assert bounds(through, model)[BoundKind.SCHEDULER] >= 4.0
    assert bounds(through, model, [BoundKind.MEMORY])[BoundKind.SCHEDULER] < 4.0


def test_what_is_no_longer_than_another_bound_has_that_ones_name() -> None:
    found = predicted("imul rax, rbx\nimul rax, rbx", WITH)
    assert found.bounds[0].kind is BoundKind.DEPENDENCES
    assert found.bounds[1].kind is BoundKind.SCHEDULER
    assert found.bounds[1].cycles == found.bounds[0].cycles


def test_it_is_left_out_like_any_other() -> None:
    assert predicted(MIX, WITH, [BoundKind.SCHEDULER]) == predicted(MIX, WITHOUT)


def test_without_all_uops_there_is_none() -> None:
    assert BoundKind.SCHEDULER not in bounds(MIX + "\nxor rax, rbx", WITH)
    alone = replace(WITH, alone={"xor GPR[64]:RW, GPR[64]:R": 1.0})
    assert BoundKind.SCHEDULER not in bounds(MIX + "\nxor rax, rbx", alone)


def test_the_jump_of_a_loop_takes_a_slot_where_it_is_known_to() -> None:
    loop = "top:\n" + "nop\n" * 8 + "dec rcx\njnz top"
    usage = {**PORTS.usage, "dec GPR[64]:RW": ((ANY, 1),)}
    model = replace(
        WITH, mapping=replace(PORTS, usage=usage), front_end=FrontEndLimits(8.0, fused=frozenset())
    )
    assert bounds(loop, model)[BoundKind.SCHEDULER] == pytest.approx(10 / 8)
    unknown = replace(model, front_end=FrontEndLimits(8.0))
    assert bounds(loop, unknown)[BoundKind.SCHEDULER] == pytest.approx(9 / 8, rel=0.01)


def test_stores_to_one_line_share_their_port() -> None:
    stores = "\n".join(f"mov [rsp+{8 * number}], rbx" for number in range(4))
    pairs = replace(WITH, memory=MemoryTimes(to_one_line=0.5, to_another_line=1.0))
    assert bounds(stores, WITH)[BoundKind.SCHEDULER] == pytest.approx(4.0)
    assert bounds(stores, pairs)[BoundKind.SCHEDULER] == pytest.approx(2.0)


def test_slots_of_a_mapping_that_has_more_per_cycle_than_the_core_count_as_one() -> None:
    slots = replace(PORTS, issue_width=12, slots={ADD: 3})
    model = replace(WITH, mapping=slots)
    adds = "\n".join(f"add r{number}, rbx" for number in range(8, 14))
    assert bounds(adds, model, [BoundKind.DEPENDENCES])[BoundKind.SCHEDULER] < 1.5
    fits = replace(WITH, mapping=replace(slots, issue_width=8))
    assert bounds(adds, fits, [BoundKind.DEPENDENCES])[BoundKind.SCHEDULER] > 2.2
