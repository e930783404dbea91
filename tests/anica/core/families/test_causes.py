"""Planted differences between two cores are found again: which bound, and through what."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Decoder, InstructionInfoFactory, OpAccess, OpKind, RegisterExt

from anica_app.core.block_domain import BlockDomain
from anica_app.core.families.causes import (
    DifferingBound,
    DisagreementWitness,
    ToolAccess,
    causes_of,
)
from inference.isa.block_changes import CarrierKind, CarrierRole, ChangeKind
from inference.isa.blocks import BlockError, block_of_text, changed_block, mnemonics_of
from inference.isa.x86.changes.loads import loads_first
from inference.predictors.protocol import Answer, Failure
from tests.anica.core.families.cores import PlantedCore, name_of
from tests.anica.core.search.planted import few_schemes
from tests.drawn import examples

PLAIN = PlantedCore("plain")
INFO = InstructionInfoFactory()


def panel_query(*cores):
    return lambda codes: list(zip(*(core.predict(codes) for core in cores), strict=True))


def cause(code, one, other=PLAIN, questions=100):
    found, spent = causes_of(
        [DisagreementWitness(0, bytes.fromhex(code), "difference")],
        ToolAccess(panel_query(one, other)),
        questions,
    )
    assert spent <= questions
    return found[0]


ACCUMULATING = "c4e2f1b8c2"  # vfmadd231pd xmm0, xmm1, xmm2
SCAN = "480fbcc3"  # bsf rax, rbx
COPY = "4889d8"  # mov rax, rbx
ADD_TO_MEMORY = "49014340"  # add [r11+0x40], rax
CARRY = "4811d8"  # adc rax, rbx
LOCKED = "f0" + ADD_TO_MEMORY
APART = "49894640" + "498b5f40"  # mov [r14+0x40], rax; mov rbx, [r15+0x40]
STORE_LOAD = "49894640" + "498b4640"  # mov [r14+0x40], rax; mov rax, [r14+0x40]


@pytest.mark.parametrize(
    ("code", "planted", "bound", "through"),
    [
        (ACCUMULATING, {"latency": {"vfmadd231pd": 5.0}}, "dependencies", ["xmm0"]),
        (SCAN, {"busy": {"bsf": 3.0}}, "ports", []),
        (SCAN, {"latency": {"bsf": 6.0}}, "dependencies", ["rax"]),
        (ADD_TO_MEMORY, {"forwarding": 5.0}, "memory", ["[r11+0x40]"]),
        (STORE_LOAD, {"forwarding": 9.0}, "dependencies", ["rax"]),
        (CARRY, {"latency": {"adc": 4.0}}, "dependencies", ["flags", "rax"]),
        (COPY * 4, {"width": 1.0}, "front end", []),
        (ADD_TO_MEMORY, {"forwarding": 5.0, "may_alias": True}, "memory", ["[r11+0x40]"]),
        (LOCKED, {"forwarding": 5.0, "may_alias": True}, "memory", ["[r11+0x40]"]),
        (APART, {"forwarding": 5.0, "may_alias": True}, "memory", ["[r14+0x40]"]),
        (ADD_TO_MEMORY, {"busy": {"add": 9.0}}, "ports", []),
        (APART, {"busy": {"mov": 9.0}}, "ports", []),
    ],
)
def test_the_planted_bound_is_found(code, planted, bound, through):
    found = cause(code, PlantedCore(**planted))
    assert (found.bound, found.slower) == (bound, 1)
    assert sorted(one.name.replace("zmm", "xmm") for one in found.carriers) == through
    turned = cause(code, PLAIN, PlantedCore(**planted))
    assert (turned.bound, turned.slower, turned.carriers) == (found.bound, 2, found.carriers)


CHAINS = [
    "adc di, [rbp + 320]\nadc r13w, r10w",
    "cmovbe rax, [r14 + 64]\nadd rax, 3",
    "adc cl, [r15 + 64]",
    "bsf rcx, [rbp + 128]",
    "imul r11w, [r14 + 64]\nmov rdx, rcx\nadd r11, 3",
    "vfmadd231sd xmm2, xmm7, [r14 + 128]",
    "vshufps xmm3, xmm14, [r15 + 192], 3\nvphsubd xmm14, xmm3, xmm6",
]


@pytest.mark.parametrize("text", CHAINS)
def test_a_load_that_is_a_link_of_a_chain_is_told_from_the_latency_of_an_instruction(text):
    block = block_of_text(text)
    found = cause(block.hex, PlantedCore(loading=4.0))
    assert (found.bound, found.slower, found.chain) == ("dependencies", 1, "load")
    assert found.carriers
    slow = dict.fromkeys(mnemonics_of(block.code), 5.0)
    instead = cause(block.hex, PlantedCore(latency=slow))
    assert (instead.bound, instead.chain) == ("dependencies", "")


def test_where_loads_are_links_a_cut_need_but_ease_the_chain():
    block = block_of_text("adc di, [rbp + 320]\nadc r13w, r10w")
    first = block.instructions[0].code

    def ask(codes):
        said = []
        for code in codes:
            loads = any(INFO.info(one).used_memory() for one in Decoder(64, code))
            copies = max(1, len(list(Decoder(64, code))) // 2)
            chain = (5.0, 2.0) if code.startswith(first) else (2.3, 0.7)  # 1.6 of 3 cycles are left
            each = chain if loads else (2.0, 2.0)
            said.append(tuple(Answer(cycles=min(copies, 4) * one) for one in each))
        return said

    found, _ = causes_of([DisagreementWitness(0, block.code, "difference")], ToolAccess(ask), 100)
    assert (found[0].bound, found[0].chain) == ("dependencies", "load")
    assert {one.name for one in found[0].carriers} == {"rdi", "r13", "flags"}


def test_what_can_only_be_loaded_stays_a_load():
    assert not changed_block(block_of_text("vmaskmovps ymm1, ymm2, [r14 + 64]").code).registers_for_loads()
    assert not changed_block(block_of_text("mov [r14 + 64], rax\nadd [r15], rcx").code).registers_for_loads()
    assert not changed_block(bytes.fromhex(STORE_LOAD)).registers_for_loads(), (
        "which would cut the way through memory"
    )
    assert changed_block(bytes.fromhex(APART)).registers_for_loads()
    found = cause(block_of_text("vmaskmovps ymm1, ymm2, [r14 + 64]").hex, PlantedCore(loading=4.0))
    assert found.chain != "load"


@examples(80)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_registers_in_place_of_loads_change_nothing_else(seed, size):
    block = domain().sample(domain().unconstrained(size), Random(seed))
    changes = changed_block(block.code).registers_for_loads()
    before = list(Decoder(64, block.code))
    if not changes:
        return
    (change,) = changes
    now = list(Decoder(64, change.code))
    assert len(now) == change.copies * len(before)
    used = {
        RegisterExt.full_register(each.register) for one in before for each in INFO.info(one).used_registers()
    }
    for one, other in zip(before, now, strict=False):
        assert one.mnemonic == other.mnemonic
        assert one.op_count == other.op_count
        for at in range(one.op_count):
            if one.op_kind(at) == other.op_kind(at) == OpKind.REGISTER:
                assert one.op_register(at) == other.op_register(at)
            elif one.op_kind(at) == OpKind.MEMORY != other.op_kind(at):
                assert INFO.info(one).op_access(at) == OpAccess.READ
                assert RegisterExt.full_register(other.op_register(at)) not in used


def test_a_write_that_is_waited_for_is_no_accumulator():
    found = cause("c5fc28c1", PlantedCore(false={"vmovaps"}, latency={"vmovaps": 4.0}))
    assert [(one.role, one.instructions) for one in found.carriers] == [("result", (0,))]


def test_a_long_block_that_is_measured_a_little_longer_is_not_bound_by_the_front_end():
    busy = PlantedCore(busy={"bsf": 14.0})

    def ask(codes):
        noise = [0.5 * (code[-1:] == b"\x90") for code in codes]
        measured = [Answer(cycles=busy.cycles(code) + more) for code, more in zip(codes, noise, strict=True)]
        return list(zip(measured, PLAIN.predict(codes), strict=True))

    found, _ = causes_of([DisagreementWitness(0, bytes.fromhex(SCAN), "difference")], ToolAccess(ask), 50)
    assert found[0].bound is DifferingBound.PORTS


def waits_after_a_shift_by_0(code):
    """Thirty cycles each time that flags are read after a shift by 0, without anything that writes them."""
    total, unknown = 0.0, False
    for one in 2 * list(Decoder(64, code)):
        total += 0.5 + 15 * (unknown and bool(one.rflags_read))
        if str(one).endswith(",0"):
            unknown = True
        elif one.rflags_modified:
            unknown = False
    return total


# shl ebx, 0 with adc edx, edx before it, behind it; with seto cl, when nothing writes flags by the manual
@pytest.mark.parametrize("code", ["c1e300" + "11d2", "11d2" + "c1e300", "0f90c1" + "c1e300"])
def test_what_waits_within_each_copy_is_cut_in_each(code):
    def ask(codes):
        return [
            (Answer(cycles=waits_after_a_shift_by_0(one)), Answer(cycles=float(len(list(Decoder(64, one))))))
            for one in codes
        ]

    witness = DisagreementWitness(0, bytes.fromhex(code), "difference")
    found, spent = causes_of([witness], ToolAccess(ask), 100)
    assert (found[0].bound, found[0].slower) == ("dependencies", 1)
    assert [one.kind for one in found[0].carriers] == ["flags"]
    assert spent <= 10
    kinds = [one.change.kind for one in found[0].tried if one.vanishes]
    assert kinds[0] is ChangeKind.CUT_EVERYWHERE
    assert kinds[1:] in ([], [ChangeKind.CUT_SINGLE_EVERYWHERE])


def test_a_rotation_through_carry_by_0_reads_the_flags_for_processors():
    block = changed_block(block_of_text("rcr r10d, 0\nshrd rdx, rdx, cl").code)
    (change,) = block.cut_everywhere()
    assert "flags" in [one.name for one in change.cut]


def test_a_difference_that_is_only_hidden_by_what_cuts_is_none_of_dependencies():
    def ask(codes):
        copies = [one.count(bytes.fromhex(CARRY)) for one in codes]
        cuts = [sum(str(each).startswith("test") for each in Decoder(64, one)) for one in codes]
        slow = [Answer(cycles=4.0 * count) for count in copies]
        return list(
            zip(
                slow, [Answer(cycles=n + 3.0 * cut) for n, cut in zip(copies, cuts, strict=True)], strict=True
            )
        )

    witness = DisagreementWitness(0, bytes.fromhex(CARRY), "difference")
    found, _ = causes_of([witness], ToolAccess(ask), 100)
    assert found[0].bound is DifferingBound.PORTS
    assert not any(one.vanishes for one in found[0].tried)


def test_a_load_wider_than_the_store_reads_what_is_stored():
    block = changed_block(
        bytes.fromhex("c5f8174d40" + "c5a5d54d40")
    )  # vmovhps [rbp+0x40], vpmullw [rbp+0x40]
    (place,) = [one for one in block.carriers if one.kind is CarrierKind.MEMORY]
    assert place.role is CarrierRole.BETWEEN


def test_a_core_model_names_the_bound_where_no_dependency_is_to_blame():
    world = ToolAccess(
        panel_query(PlantedCore(busy={"bsf": 3.0}), PLAIN), named_bound=lambda answers: "slots"
    )
    found, _ = causes_of([DisagreementWitness(0, bytes.fromhex(SCAN), "difference")], world, 50)
    assert found[0].bound is DifferingBound.SLOTS


def test_questions_are_limited_and_the_first_witnesses_have_them():
    core = PlantedCore(latency={"bsf": 6.0})
    plain = PlantedCore()
    witnesses = [DisagreementWitness(n, bytes.fromhex(SCAN), "difference") for n in range(5)]
    found, spent = causes_of(witnesses, ToolAccess(panel_query(core, plain)), 11)
    assert spent <= 11
    assert [found[n].bound for n in range(5)] == ["dependencies"] * 3 + ["unknown"] * 2


def test_nothing_is_asked_about_failures():
    def ask(codes):
        assert codes == [b"\x90"]
        return [(Answer(failure=Failure.CRASH), Answer(cycles=1.0))]

    found, spent = causes_of([DisagreementWitness(7, b"\x90", "crash of 1")], ToolAccess(ask), 100)
    assert (found[7].bound, spent) == ("failure", 0)


def test_what_is_no_block_is_refused():
    with pytest.raises(BlockError, match="basic block"):
        changed_block(b"\x06")


@pytest.mark.parametrize("executes", [False, True])
def test_the_stack_pointer_stays_where_blocks_are_executed(executes):
    block = changed_block(bytes.fromhex("58"), executes=executes)  # pop rax
    assert ("rsp" in [one.name for one in block.carriers]) is not executes


@examples(60)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 4))
def test_loads_stand_before_stores_and_all_accesses_stay(seed, size):
    block = list(Decoder(64, domain().code(domain().sample(domain().unconstrained(size), Random(seed)))))
    code = loads_first(block, 2)
    if code is None:
        return
    ahead = list(Decoder(64, code))
    stores = [at for at, one in enumerate(ahead) if accesses(one)[1]]
    assert stores
    assert not [at for at, one in enumerate(ahead) if accesses(one)[0] and at > stores[0]]
    for which in (0, 1):
        before = sorted(place for one in block for place in accesses(one)[which])
        assert sorted(place for one in ahead for place in accesses(one)[which]) == sorted(before * 2)


def accesses(one):
    """The places that an instruction loads, and those that it stores."""
    found = InstructionInfoFactory().info(one).used_memory()
    return tuple(
        [(each.base, each.displacement) for each in found if each.access in kinds]
        for kinds in (
            (OpAccess.READ, OpAccess.READ_WRITE, OpAccess.COND_READ, OpAccess.READ_COND_WRITE),
            (OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE),
        )
    )


@cache
def domain():
    return BlockDomain.of(among=few_schemes())


def mnemonics(block):
    return {name_of(one) for one in Decoder(64, domain().code(block))}


@examples(60)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 3), cycles=st.sampled_from([6.0, 11.0, 20.0]))
def test_whatever_the_block_a_latency_is_a_dependency_and_a_busy_port_is_none(seed, size, cycles):
    random = Random(seed)
    block = domain().sample(domain().unconstrained(size), random)
    name = random.choice(sorted(mnemonics(block)))
    code = domain().code(block)
    slow, busy = PlantedCore(latency={name: cycles}), PlantedCore(busy={name: cycles})
    if slow.cycles(code) > 2 * PLAIN.cycles(code):
        assert cause(code.hex(), slow).bound in ("dependencies", "memory")
    assert cause(code.hex(), busy).bound == "ports"


@examples(40)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 4))
def test_a_cut_leaves_no_way_through_what_it_cuts(seed, size):
    block = domain().sample(domain().unconstrained(size), Random(seed))
    changed = changed_block(domain().code(block))
    slow = PlantedCore(latency=dict.fromkeys(mnemonics(block), 50.0), width=1000.0, forwarding=10.0)
    for change in changed.initial_changes():
        if change.kind is ChangeKind.CUT_ALL:
            chained = slow.waiting(change.code)
            assert chained <= 1.0, "what is left waits for the cutting instructions alone"
