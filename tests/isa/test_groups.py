"""Every scheme is measurable, by itself or on request, or excluded with a reason; bodies of all groups."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Instruction, Mnemonic, OpAccess, Register, RegisterExt

from inference.isa.scheme import BREAKABLE, GROUPS, SELECTABLE, Scheme
from inference.isa.x86 import forms_by_text, schemes
from inference.isa.x86.assembling import CannotMeasureError, unroll
from inference.isa.x86.body_context import needs
from inference.isa.x86.demands import INDEX_VECTOR, obstacle
from inference.isa.x86.register_choices import family_of
from tests.drawn import examples
from tests.isa.decoding import INFO, accesses, decoded, is_instance_of, is_within_a_line

COPIES = 10
ZEROING = {Mnemonic.XOR, Mnemonic.VPCMPEQD, Mnemonic.KXNORW}
FORMS = forms_by_text()
BREAKABLE_ONES = [scheme for scheme in schemes() if scheme.exclusion.startswith(BREAKABLE)]
IN_GROUPS = {
    name: [scheme for scheme in schemes() if scheme.exclusion.startswith(beginning)]
    for name, beginning in GROUPS.items()
}
SAMPLE = [*IN_GROUPS["legacy-sse"], *IN_GROUPS["mmx"], *IN_GROUPS["x87"], *IN_GROUPS["avx512"][::41]]
SAMPLE += BREAKABLE_ONES


@cache
def body_of(scheme: Scheme) -> list[Instruction]:
    """Its body with breakers where it needs them; no decoder stumbles over it."""
    body = decoded(unroll([(scheme.text, 1)], COPIES, breaking=True).code)
    assert not any(one.is_invalid for one in body), scheme.text
    return body


def test_every_scheme_is_measurable_or_excluded_and_its_reason_says_which():
    """What the database tells by the beginning of the reason is what the assembler does."""
    counted: Counter[str] = Counter()
    for scheme in schemes():
        plain = obstacle(scheme, FORMS[scheme.text])
        breaking = obstacle(scheme, FORMS[scheme.text], breaking=True)
        if not scheme.exclusion or scheme.exclusion.startswith(SELECTABLE):
            assert not plain, scheme.text
            counted["default" if not scheme.exclusion else "on request"] += 1
        else:
            assert plain, scheme.text
            broken = scheme.exclusion.startswith(BREAKABLE)
            assert broken == (not breaking), scheme.text
            counted["breakable" if broken else "excluded"] += 1
    assert sum(counted.values()) == len(schemes())
    assert counted["default"] > 2_100
    assert counted["breakable"] > 300


def test_the_groups_hold_what_their_names_say():
    assert len(IN_GROUPS["legacy-sse"]) > 590
    assert len(IN_GROUPS["mmx"]) > 170
    assert len(IN_GROUPS["x87"]) > 20
    assert len(IN_GROUPS["avx512"]) > 12_000
    for name, need in (("mmx", "mmx"), ("x87", "x87"), ("avx512", "avx512")):
        assert all(need in needs(scheme) for scheme in IN_GROUPS[name]), name
    without_vectors = [scheme for scheme in IN_GROUPS["legacy-sse"] if "legacy" not in needs(scheme)]
    assert {scheme.category for scheme in without_vectors} == {"convert"}  # from memory to r32 and r64


def test_what_is_chosen_for_a_scheme_decodes_back_to_it():
    for scheme in SAMPLE:
        instances = [one for one in body_of(scheme) if one.code == FORMS[scheme.text].code]
        assert len(instances) == COPIES, scheme.text
        assert all(is_instance_of(one, scheme.text) for one in instances), scheme.text


def test_no_copy_waits_for_another_but_along_its_own_chain():
    """Whatever is read was written by nobody, by a breaker, or by an operand read and written in turn."""
    for scheme in SAMPLE:
        body = body_of(scheme)
        writers: dict[int, Instruction] = {}
        flags: dict[int, Instruction] = {}
        instances = [one for one in body if one.code == FORMS[scheme.text].code]
        for one in body * 2:  # the loop closes
            read, written = accesses(one)
            if one.mnemonic in ZEROING and one not in instances:
                read = {}
            for family in read.keys() & writers.keys():
                writer = writers[family]
                if not _is_instance(writer, scheme):
                    continue  # a breaker, which waits for nothing
                chained = family in accesses(writer)[0] or _is_partial(writer, family)
                assert chained, f"{scheme.text}: {one} reads what {writer} merely wrote"
                assert not all(family in accesses(each)[1] for each in instances), (
                    f"{scheme.text}: every copy is chained through {family}"
                )
            for bit in (1 << n for n in range(16)):
                if _is_instance(one, scheme) and one.rflags_read & bit and bit in flags:
                    assert not _is_instance(flags[bit], scheme), f"{scheme.text}: waits for flags"
                if one.rflags_modified & bit:
                    flags[bit] = one
            writers.update(dict.fromkeys(written, one))


def _is_instance(instruction: Instruction, scheme: Scheme) -> bool:
    return instruction.code == FORMS[scheme.text].code


def _is_partial(writer: Instruction, family: int) -> bool:
    return accesses(writer)[1][family] < 4


def test_memory_operands_are_aligned_within_a_line_and_no_load_aliases_a_store():
    for scheme in SAMPLE:
        loads: set[int] = set()
        stores: set[int] = set()
        for one in body_of(scheme):
            for used in INFO.info(one).used_memory():
                if used.access == OpAccess.NO_MEM_ACCESS:
                    continue
                assert used.base in {Register.R14, Register.RSI}, scheme.text
                offset = used.displacement - 2**64 if used.displacement >= 2**63 else used.displacement
                assert is_within_a_line(offset, used), scheme.text
                assert used.vsib_size or used.index == Register.NONE, scheme.text
                written = used.access not in {OpAccess.READ, OpAccess.COND_READ}
                (stores if written else loads).add(offset % 4096)
        assert loads.isdisjoint(stores), scheme.text


def test_memory_operands_are_no_longer_than_a_cache_line():
    for scheme in SAMPLE:
        for operand in scheme.operands:
            if operand.kind == "memory":
                assert operand.width <= 512, scheme.text


def test_registers_stay_within_their_encoding_and_reserved_ones_are_never_written():
    for scheme in SAMPLE:
        for one in body_of(scheme):
            read, written = accesses(one)
            assert written.keys().isdisjoint({Register.RSP, Register.R14, Register.R15}), scheme.text
            assert Register.K0 not in written, scheme.text
            if scheme.encoding != "EVEX":
                vectors = [r for r in read.keys() | written.keys() if RegisterExt.is_vector_register(r)]
                assert all(family_of(r)[1] < 16 for r in vectors), scheme.text


def test_gathers_have_their_indices_in_a_register_that_nobody_writes_and_a_mask_of_their_own():
    gathers = [scheme for scheme in schemes() if scheme.category == "gather"]
    assert len(gathers) == 40
    for scheme in gathers:
        for one in body_of(scheme):
            if not _is_instance(one, scheme):
                assert one.mnemonic in ZEROING
                continue
            assert family_of(one.memory_index) == ("vector", INDEX_VECTOR)
            vectors = {one.op0_register, one.memory_index}
            assert len({RegisterExt.full_register(r) for r in vectors}) == 2
            mask = one.op_mask if scheme.encoding == "EVEX" else one.op2_register
            assert RegisterExt.full_register(mask) not in {RegisterExt.full_register(r) for r in vectors}
            assert family_of(mask)[1] != INDEX_VECTOR


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ("addps XMM:RW, XMM:R", "vaddps XMM:W, XMM:R, XMM:R", "do not mix"),
        ("addps XMM:RW, XMM:R", "vaddps ZMM:W, ZMM:R, ZMM:R", "do not mix"),
        ("fadd ST:RW, st0:R", "paddb MM:RW, MM:R", "share their registers"),
    ],
)
def test_what_does_not_go_together_is_refused(one: str, other: str, message: str):
    for terms in ([(one, 1), (other, 1)], [(other, 1), (one, 1)]):
        with pytest.raises(CannotMeasureError, match=message):
            unroll(terms)


def test_breakers_stand_only_where_they_are_asked_for_and_needed():
    carry, addition = "adc GPR[64]:RW, GPR[64]:R", "add GPR[64]:RW, GPR[64]:R"
    with pytest.raises(CannotMeasureError, match="flags cf"):
        unroll([(carry, 1)])
    assert unroll([(carry, 1)], breaking=True).breakers == ("zero",)
    assert unroll([(addition, 1)], breaking=True) == unroll([(addition, 1)])
    listing = unroll([(carry, 1), (addition, 1)], breaking=True).listing
    assert [line.split()[0] for line in listing[:6]] in (
        ["xor", "adc", "add"] * 2,
        ["add", "xor", "adc"] * 2,
    )


@examples(60)
@given(st.lists(st.tuples(st.sampled_from(BREAKABLE_ONES), st.integers(1, 2)), min_size=1, max_size=4))
def test_mixes_with_breakers_either_assemble_or_lack_registers(terms: list[tuple[Scheme, int]]):
    asked = [(scheme.text, count) for scheme, count in terms]
    try:
        code = unroll(asked, breaking=True)
    except CannotMeasureError:
        with pytest.raises(CannotMeasureError, match=r"registers do not suffice|do not mix"):
            unroll(asked, breaking=True)
        return
    assert not any(one.is_invalid for one in decoded(code.code))


def test_a_body_tells_how_many_chains_hide_its_latency():
    assert unroll([("add GPR[64]:RW, GPR[64]:R", 1)]).chains == 12
    assert unroll([("fadd ST:RW, st0:R", 1)]).chains == 7
    assert unroll([("add GPR[64]:RW, GPR[64]:R", 2)]).chains == 6
    assert unroll([("mov GPR[64]:W, MEM[64]:R", 1)]).chains is None
