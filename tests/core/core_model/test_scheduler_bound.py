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
from inference.core.simulation.program import Binding, SchedulerPolicy, SharedResultBus
from inference.isa.blocks import LOOP, accesses_of, read_blocks
from tests.core.core_model.small_core import CORE as SMALL

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
SCHEDULER = CoreScheduler(POLICY, 8, ANY)
WITH = replace(WITHOUT, scheduler=SCHEDULER)
REGISTERS = ("rax", "rcx", "rdx", "rsi", *(f"r{number}" for number in range(8, 16)))
MIX = "\n".join(f"add {register}, rbx\nimul {register}, rbx" for register in REGISTERS)


def predicted(code: str, model: CoreModel, without: Collection[BoundKind] = ()) -> CorePrediction:
    (block,) = read_blocks(code, 1)
    shape = CodeShape(len(block.code), block.kind == LOOP, copied=True)
    return predict_core(accesses_of(block), shape, model, without)


def bounds(code: str, model: CoreModel, without: Collection[BoundKind] = ()) -> dict[BoundKind, float]:
    return {bound.kind: bound.cycles for bound in predicted(code, model, without).bounds}


def test_a_wasteful_scheduler_takes_longer_than_its_ports_and_says_so() -> None:
    (first, *others) = predicted(MIX, WITH).bounds
    assert first.kind is BoundKind.SCHEDULER
    assert 1.1 < first.cycles / 4.0 < 1.7  # 12 multiplications on 3 ports
    assert first.why == f"ports allow 4.00, the scheduler needs {first.cycles:.2f}"
    assert tuple(others) == predicted(MIX, WITHOUT).bounds


def test_dependences_are_waited_for_unless_they_are_left_out() -> None:
    apart = bounds(MIX, WITH, [BoundKind.DEPENDENCES])[BoundKind.SCHEDULER]
    assert bounds(MIX, WITH)[BoundKind.SCHEDULER] > 1.02 * apart


@pytest.mark.parametrize(
    "code",
    [
        "add rdx, rbx\nadd rcx, rbx",  # 1.00 on a Zen 5, where a simulation loses cycles of the chain
        "imul rax, rbx\nimul rax, rbx",
        "\n".join(f"mov [rsp+{8 * number}], rbx" for number in range(4)),
    ],
)
def test_what_its_ports_do_not_limit_is_not_simulated(code: str) -> None:
    assert predicted(code, WITH) == predicted(code, WITHOUT)


def test_what_is_no_longer_than_another_bound_has_that_ones_name() -> None:
    optimal = replace(SCHEDULER, policy=SchedulerPolicy(binding=Binding.AT_ISSUE))
    adds = "\n".join(f"add {register}, rbx" for register in REGISTERS)
    found = predicted(adds, replace(WITH, scheduler=optimal)).bounds
    scheduler = next(bound for bound in found if bound.kind is BoundKind.SCHEDULER)
    assert found[0].kind is not BoundKind.SCHEDULER
    assert scheduler.cycles == pytest.approx(2.0, rel=0.01)


def test_ports_of_others_only_delay() -> None:
    load = "mov GPR[64]:W, MEM[64]:R"
    usage = {**PORTS.usage, load: ((1 << 6, 1),)}
    model = replace(WITH, mapping=replace(PORTS, usage=usage), memory=MemoryTimes(load=5.0))
    loads = "mov r8, [rsp]\nmov r9, [rsp+8]\n"
    chained = loads + MIX.replace("rbx", "r8")
    found = bounds(chained, model)
    assert found[BoundKind.SCHEDULER] == pytest.approx(bounds(MIX, WITH)[BoundKind.SCHEDULER], rel=0.1)


def test_it_is_left_out_like_any_other() -> None:
    assert predicted(MIX, WITH, [BoundKind.SCHEDULER]) == predicted(MIX, WITHOUT)


def test_without_all_uops_there_is_none() -> None:
    assert BoundKind.SCHEDULER not in bounds(MIX + "\nxor rax, rbx", WITH)
    alone = replace(WITH, alone={"xor GPR[64]:RW, GPR[64]:R": 1.0})
    assert BoundKind.SCHEDULER not in bounds(MIX + "\nxor rax, rbx", alone)


def test_the_jump_of_a_loop_takes_a_slot_where_it_is_known_to() -> None:
    usage = {**PORTS.usage, "dec GPR[64]:RW": ((ANY, 1),)}
    narrow = replace(SCHEDULER, policy=SchedulerPolicy(binding=Binding.AT_ISSUE), width=5)
    loop = "top:\n" + "\n".join(f"add {register}, rbx" for register in REGISTERS) + "\ndec rdi\njnz top"
    model = replace(WITH, mapping=replace(PORTS, usage=usage, issue_width=None), scheduler=narrow)
    cycles = []
    for fused in (frozenset[str](), None):
        known = replace(model, front_end=FrontEndLimits(taken=1.0, fused=fused))
        cycles.append(bounds(loop, known)[BoundKind.SCHEDULER])
    assert cycles == pytest.approx([14 / 5, 13 / 5], rel=0.02)


def test_slots_of_a_mapping_that_has_more_per_cycle_than_the_core_count_as_one() -> None:
    slots = replace(PORTS, issue_width=12, slots={ADD: 2})
    adds = "\n".join(f"add {register}, rbx" for register in REGISTERS)
    model = replace(WITH, mapping=slots)
    assert bounds(adds, model)[BoundKind.SCHEDULER] < 2.6
    fits = replace(WITH, mapping=replace(slots, issue_width=7.9))
    assert bounds(adds, fits)[BoundKind.SLOTS] > 3.0
    assert BoundKind.SCHEDULER not in bounds(adds, fits)


@pytest.mark.parametrize(("binding", "cycles"), [(Binding.AT_ISSUE, 6.0), (Binding.LEAST_LOADED, 5.0)])
def test_older_uops_delay_a_chain_where_ports_are_chosen_at_issue(binding: Binding, cycles: float) -> None:
    """Both loads are ready at once and share a port: the one that nothing waits for is older."""
    model = replace(SMALL, scheduler=CoreScheduler(SchedulerPolicy(binding), 4, 0b1111))
    found = predicted(".loop:\nmov rax, [rax]\nmov rbx, [rax+8]\njne .loop", model)
    assert found.cycles == pytest.approx(cycles)


def test_a_policy_that_binds_at_issue_holds_for_ports_of_no_experiment() -> None:
    chased = "mov rax, [rax]\nmov rcx, [rax + 8]"
    load = "mov GPR[64]:W, MEM[64]:R"
    mapping = replace(PORTS, usage={**PORTS.usage, load: ((1 << 6, 1),)})
    model = replace(WITH, mapping=mapping, latencies={load: {("2 address", "1"): 4.0}})
    queued = bounds(chased, model)
    at_issue = replace(SCHEDULER, policy=SchedulerPolicy(Binding.AT_ISSUE))
    assert BoundKind.SCHEDULER not in queued
    # The younger load of an iteration is older than the chain's next one, and takes the port before it.
    assert bounds(chased, replace(model, scheduler=at_issue))[BoundKind.SCHEDULER] == pytest.approx(5)
