"""Which operands the instances in a body have: sets, chains, memory (thesis §3.2.1)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from iced_x86 import Instruction, OpAccess, OpKind, Register, RegisterExt

from inference.isa.x86 import schemes
from inference.isa.x86.assembling import frame, unroll
from inference.isa.x86.register_choices import LINE
from tests.drawn import examples
from tests.isa.decoding import INFO, READS, WRITES, accesses, decoded, is_within_a_line

DEFAULT = [scheme.text for scheme in schemes() if not scheme.exclusion]

experiments = st.lists(st.tuples(st.sampled_from(DEFAULT), st.integers(1, 4)), min_size=1, max_size=5)
_LATE = {"popcnt", "lzcnt", "tzcnt"}


def fixed_registers(terms: list[tuple[str, int]], access: str) -> set[int]:
    by_text = {scheme.text: scheme for scheme in schemes()}
    return {
        RegisterExt.full_register(getattr(Register, name.upper()))
        for text, _ in terms
        for operand in by_text[text].operands
        if operand.kind == "register" and operand.access == access
        for name in operand.registers
    }


@examples(150)
@given(experiments)
def test_no_instruction_waits_for_another_but_along_its_own_chain(terms):
    """Whatever is read has never been written, or was written by an operand that is read and written, too."""
    body = decoded(unroll(terms).code)
    torn = fixed_registers(terms, "R") & fixed_registers(terms, "W")
    writers: dict[int, Instruction] = {}
    for instruction in body * 2:  # the loop closes
        read, written = accesses(instruction)
        for family in read.keys() & writers.keys():
            if family in torn:
                continue
            writer = writers[family]
            read_by_writer, written_by_writer = accesses(writer)
            chained = (
                family in read_by_writer
                or written_by_writer[family] < 4
                or str(writer).split()[0] in _LATE  # waits for its old destination on some cores
            )
            assert family in written, f"{instruction} reads what {writer} wrote"
            assert chained, f"{instruction} reads what {writer} merely wrote"
        writers.update(dict.fromkeys(written, instruction))


@examples(150)
@given(experiments)
def test_reserved_registers_are_never_written(terms):
    body = decoded(unroll(terms).code)
    reserved = {Register.RSP, Register.R14, Register.R15}
    if any(one.memory_base == Register.RSI and not str(one).startswith("lea") for one in body):
        reserved.add(Register.RSI)
    for instruction in body:
        assert reserved.isdisjoint(accesses(instruction)[1]), instruction


@example([("add MEM[8]:RW, GPR[8]:R", 1), ("vmaskmovps MEM[128]:RW, XMM:R, XMM:R", 2)])
@examples(150)
@given(experiments)
def test_memory_stays_in_the_region_and_loads_and_stores_on_lines_of_their_own(terms):
    plan = frame()
    lines: dict[str, set[int]] = {"R": set(), "W": set(), "RW": set()}
    offsets: set[int] = set()
    for instruction in decoded(unroll(terms).code):
        for used in INFO.info(instruction).used_memory():
            if used.access == OpAccess.NO_MEM_ACCESS:
                continue
            assert used.base in {Register.R14, Register.RSI}, instruction
            assert used.index == Register.NONE
            offset = used.displacement - 2**64 if used.displacement >= 2**63 else used.displacement
            assert -plan.memory_bytes <= offset < plan.memory_bytes - 64
            assert is_within_a_line(offset, used)
            reads, writes = used.access in READS, used.access in WRITES
            reads |= "maskmov" in str(instruction) and writes  # what the mask leaves out stays as it was
            lines["RW" if reads and writes else "W" if writes else "R"].add(offset // LINE)
            offsets.add(offset)
    assert lines["R"].isdisjoint(lines["W"] | lines["RW"])
    assert lines["W"].isdisjoint(lines["RW"])
    assert len({offset % 4096 for offset in offsets}) == len(offsets)  # the low twelve bits tell all apart


@pytest.mark.parametrize(
    ("scheme", "step"),
    [
        ("mov GPR[64]:W, MEM[64]:R", 8),
        ("movzx GPR[32]:W, MEM[8]:R", 8),
        ("vpaddd XMM:W, XMM:R, MEM[128]:R", 16),
        ("vpaddd YMM:W, YMM:R, MEM[256]:R", 32),
    ],
)
def test_loads_go_round_the_words_of_their_line(scheme, step):
    """Caches with banks read one word only twice per cycle (Golden Cove)."""
    offsets = [one.memory_displacement for one in decoded(unroll([(scheme, 1)]).code)]
    turn = LINE // step
    assert sorted(offsets[:turn]) == list(range(LINE, 2 * LINE, step))
    assert offsets[turn : 2 * turn] == offsets[:turn]


@pytest.mark.parametrize(
    "terms",
    [
        [("setns MEM[8]:W", 1)],
        [("setns MEM[8]:W", 1), ("add MEM[8]:RW, GPR[8]:R", 1)],
        [("mov MEM[64]:W, GPR[64]:R", 1), ("rol MEM[64]:RW, IMM[8]:R", 1), ("inc MEM[8]:RW", 1)],
        [("mov MEM[16]:W, GPR[16]:R", 2), ("vmovaps MEM[256]:W, YMM:R", 1), ("not MEM[16]:RW", 2)],
        [("setns MEM[8]:W", 1), ("inc MEM[8]:RW", 1), *((f"set{cc} GPR[8]:W", 1) for cc in ("b", "e", "o"))],
    ],
)
@pytest.mark.parametrize("half", [False, True])
def test_a_cache_line_is_written_again_only_after_many_others(terms, half):
    """Else two stores count as one if they meet, and narrow ones wait if another comes between (Zen 3)."""
    code = unroll(terms)
    stored = [
        one.memory_displacement // LINE
        for one in decoded(code.code[: code.half_bytes] if half else code.code)
        if one.op0_kind == OpKind.MEMORY
    ]
    around = stored * 2  # the loop closes
    distances = [around.index(line, place + 1) - place for place, line in enumerate(stored)]
    assert min(distances) >= 5


@pytest.mark.parametrize("text", ["setns MEM[8]:W", "vmovaps MEM[256]:W, YMM:R", "add MEM[64]:RW, IMM[8]:R"])
def test_every_instance_of_a_store_is_as_long_as_the_others(text):
    assert (
        len({len(one) for one in decoded(unroll([(text, 1), ("mov GPR[64]:W, MEM[64]:R", 1)]).code)[::2]})
        == 1
    )


def test_the_thesis_example_comes_out_as_it_should():
    """Example 3.15: what is read, written and both comes from three sets; nothing is used again at once."""
    code = unroll(
        [
            ("add GPR[64]:RW, IMM[8]:R", 1),
            ("add MEM[32]:RW, GPR[32]:R", 1),
            ("sub GPR[32]:RW, GPR[32]:R", 1),
            ("vmulpd XMM:W, XMM:R, XMM:R", 1),
        ]
    )
    assert code.copies == 25
    by_mnemonic: dict[str, list[Instruction]] = {}
    for instruction in decoded(code.code):
        by_mnemonic.setdefault(str(instruction).split(maxsplit=1)[0], []).append(instruction)
    immediate, memory = by_mnemonic["add"][::2], by_mnemonic["add"][1::2]
    assert {one.immediate(1) for one in immediate} == {43}
    assert len({one.memory_displacement for one in memory}) == 25
    assert len({one.op1_register for one in memory + by_mnemonic["sub"]}) == 1
    destinations = [one.op0_register for one in immediate[:5]]
    assert len(set(destinations)) == 5
    vectors = by_mnemonic["vmulpd"]
    assert {(one.op1_register, one.op2_register) for one in vectors} <= {
        (Register.XMM1, Register.XMM2),
        (Register.XMM2, Register.XMM1),
    }
    assert {one.op0_register for one in vectors}.isdisjoint({Register.XMM1, Register.XMM2})


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("add GPR[64]:RW, GPR[64]:R", 11),
        ("vfmadd231pd YMM:RW, YMM:R, YMM:R", 14),  # 5 cycles, two of them per cycle: at least 10 chains
        ("mov GPR[8]:W, IMM[8]:R", 10),  # keeps the rest of its register
        ("sete GPR[8]:W", 10),
        ("mov GPR[16]:W, GPR[16]:R", 10),
        ("popcnt GPR[64]:W, GPR[64]:R", 10),  # waits for its destination on older cores
        ("mov GPR[8h]:W, IMM[8]:R", 4),
        ("bswap GPR[64]:RW", 12),
        ("vpermd YMM:W, YMM:R, YMM:R", 4),
    ],
)
def test_there_are_as_many_chains_as_the_registers_allow(text, least):
    destinations = [instruction.op0_register for instruction in decoded(unroll([(text, 1)]).code)]
    period = len(set(destinations))
    assert period >= least
    assert destinations[:-period] == destinations[period:]  # least recently used: in turns


def test_write_only_destinations_leave_most_registers_to_the_chains():
    mixture = [("vfmadd231pd YMM:RW, YMM:R, YMM:R", 2), ("vpaddd YMM:W, YMM:R, YMM:R", 1)]
    destinations = _destinations(mixture)
    assert len(destinations["vpaddd"]) == 4
    assert len(destinations["vfmadd231pd"]) == 10
    assert destinations["vpaddd"].isdisjoint(destinations["vfmadd231pd"])


def test_a_fixed_register_that_is_read_is_nobodys_destination():
    terms = [("shl GPR[64]:RW, cl:R", 1), ("add GPR[64]:RW, GPR[64]:R", 1), ("mov GPR[8]:W, GPR[8]:R", 1)]
    for instruction in decoded(unroll(terms).code):
        assert Register.RCX not in accesses(instruction)[1], instruction


@pytest.mark.parametrize(
    "text", ["mov GPR[8]:W, GPR[8]:R", "movzx GPR[16]:W, GPR[8]:R", "tzcnt GPR[64]:W, GPR[64]:R"]
)
def test_writes_that_wait_for_the_old_value_take_turns_in_the_large_set(text):
    mixture = [(text, 1), ("add GPR[64]:RW, GPR[64]:R", 1), ("lea GPR[64]:W, ADDR[B+D8]", 1)]
    destinations = _destinations(mixture)
    assert destinations[text.split()[0]] == destinations["add"]
    assert len(destinations["add"]) > len(destinations["lea"])


def test_slow_and_quick_instructions_meet_in_all_chains():
    """Else those of a slow one alone would have half of the registers, and wait for each other."""
    mixture = [("imul GPR[64]:RW, GPR[64]:R", 1), ("add GPR[64]:RW, GPR[64]:R", 1)]
    destinations = _destinations(mixture)
    assert destinations["imul"] == destinations["add"]
    assert len(destinations["imul"]) >= 10


def _destinations(terms):
    found: dict[str, set[int]] = {}
    for instruction in decoded(unroll(terms).code):
        family = RegisterExt.full_register(instruction.op0_register)
        found.setdefault(str(instruction).split()[0], set()).add(family)
    return found
