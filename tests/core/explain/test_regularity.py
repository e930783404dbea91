"""Patterns of port usages: what follows them, what breaks them, and what they are learnt from (§6.3.5)."""

from __future__ import annotations

import json

import pytest
from django.conf import settings

from inference.core.explain.regularity import Pattern, regularity
from inference.core.mapping import uops_of

ALU, LOAD, STORE, VEC = 0b0000_1111, 0b0011_0000, 0b0010_0000, 0b1100_0000

MOVES = {
    "mov GPR[32]:W, MEM[32]:R": ((LOAD, 1),),
    "mov GPR[64]:W, MEM[64]:R": ((LOAD, 1),),
    "movsx GPR[32]:W, MEM[8]:R": ((ALU, 1), (LOAD, 1)),
    "vmovaps XMM:W, MEM[128]:R": ((LOAD, 1),),
    "vmovaps YMM:W, MEM[256]:R": ((LOAD, 2),),
    "mov MEM[32]:W, GPR[32]:R": ((ALU, 1), (STORE, 1)),
    "vmovaps MEM[128]:W, XMM:R": ((STORE, 1), (VEC, 1)),
}


def checked(usage):
    """{(scheme, pattern): whether it follows} beside the moves that teach what a load and a store are."""
    found = regularity({**MOVES, **{scheme: uops_of(uops) for scheme, uops in usage.items()}})
    return {
        (check.scheme, check.pattern.value): check.follows for check in found.checks if check.scheme in usage
    }


def test_loads_and_stores_are_what_moves_have_in_common():
    found = regularity(MOVES)
    assert found.loads == {
        8: ((LOAD, 1),),
        32: ((LOAD, 1),),
        64: ((LOAD, 1),),
        128: ((LOAD, 1),),
        256: ((LOAD, 2),),
    }
    assert found.store == ((STORE, 1),)


@pytest.mark.parametrize(("count", "follows"), [(1, True), (2, True), (3, False)])
def test_wider_vectors_have_the_same_uops_once_or_twice(count, follows):
    usage = {"vpaddd XMM:W, XMM:R, XMM:R": [(VEC, 1)], "vpaddd YMM:W, YMM:R, YMM:R": [(VEC, count)]}
    assert checked(usage) == {("vpaddd YMM:W, YMM:R, YMM:R", "wide"): follows}


def test_zmm_is_compared_with_ymm():
    usage = {"vpaddd YMM:W, YMM:R, YMM:R": [(VEC, 1)], "vpaddd ZMM:W, ZMM:R, ZMM:R": [(VEC, 2)]}
    assert checked(usage) == {("vpaddd ZMM:W, ZMM:R, ZMM:R", "wide"): True}


def test_a_form_that_reads_memory_has_a_load_more():
    usage = {
        "add GPR[32]:RW, GPR[32]:R": [(ALU, 1)],
        "add GPR[32]:RW, MEM[32]:R": [(ALU, 1), (LOAD, 1)],
        "cmp GPR[32]:R, GPR[32]:R": [(ALU, 1)],
        "cmp MEM[32]:R, GPR[32]:R": [(ALU, 1)],
    }
    assert checked(usage) == {
        ("add GPR[32]:RW, MEM[32]:R", "load"): True,
        ("cmp MEM[32]:R, GPR[32]:R", "load"): False,
    }


def test_memory_of_a_vector_scheme_stands_for_a_vector_register():
    usage = {
        "vaddss XMM:W, XMM:R, XMM:R": [(VEC, 1)],
        "vaddss XMM:W, XMM:R, MEM[32]:R": [(VEC, 1), (LOAD, 1)],
        "vpaddd YMM:W, YMM:R, YMM:R": [(VEC, 2)],
        "vpaddd YMM:W, YMM:R, MEM[256]:R": [(VEC, 2), (LOAD, 2)],
    }
    assert checked(usage) == {
        ("vaddss XMM:W, XMM:R, MEM[32]:R", "load"): True,
        ("vpaddd YMM:W, YMM:R, MEM[256]:R", "load"): True,
    }


def test_read_modify_write_has_a_store_more():
    usage = {
        "add GPR[32]:RW, GPR[32]:R": [(ALU, 1)],
        "add MEM[32]:RW, GPR[32]:R": [(ALU, 1), (STORE, 1)],
        "neg GPR[64]:RW": [(ALU, 1)],
        "neg MEM[64]:RW": [(ALU, 2), (STORE, 1)],
    }
    assert checked(usage) == {
        ("add MEM[32]:RW, GPR[32]:R", "modify"): True,
        ("neg MEM[64]:RW", "modify"): False,
    }


@pytest.mark.parametrize(("bits", "follows"), [(8, True), (16, True), (32, False)])
def test_below_32_bits_it_may_have_one_more_to_generate_the_address(bits, follows):
    usage = {
        "add GPR[64]:RW, GPR[64]:R": [(ALU, 1)],
        "add MEM[64]:RW, GPR[64]:R": [(ALU, 1), (STORE, 1)],
        "or GPR[64]:RW, GPR[64]:R": [(ALU, 1)],
        "or MEM[64]:RW, GPR[64]:R": [(ALU, 1), (STORE, 1)],
        f"xor GPR[{bits}]:RW, GPR[{bits}]:R": [(ALU, 1)],
        f"xor MEM[{bits}]:RW, GPR[{bits}]:R": [(ALU, 1), (LOAD, 1), (STORE, 1)],
    }
    assert checked(usage)[f"xor MEM[{bits}]:RW, GPR[{bits}]:R", "modify"] is follows


def test_where_most_have_a_load_of_their_own_all_should():
    usage = {
        "add GPR[32]:RW, GPR[32]:R": [(ALU, 1)],
        "add MEM[32]:RW, GPR[32]:R": [(ALU, 1), (LOAD, 1), (STORE, 1)],
        "or GPR[32]:RW, GPR[32]:R": [(ALU, 1)],
        "or MEM[32]:RW, GPR[32]:R": [(ALU, 1), (LOAD, 1), (STORE, 1)],
        "xor GPR[32]:RW, GPR[32]:R": [(ALU, 1)],
        "xor MEM[32]:RW, GPR[32]:R": [(ALU, 1), (STORE, 1)],
    }
    found = checked(usage)
    assert found["add MEM[32]:RW, GPR[32]:R", "modify"]
    assert not found["xor MEM[32]:RW, GPR[32]:R", "modify"]


def test_moves_exchanges_and_schemes_without_a_partner_are_not_checked():
    usage = {
        "xchg GPR[32]:RW, GPR[32]:RW": [(ALU, 2)],
        "xchg MEM[32]:RW, GPR[32]:RW": [(ALU, 9)],
        "lock add MEM[32]:RW, GPR[32]:R": [(ALU, 9)],
        "mov GPR[32]:W, GPR[32]:R": [(ALU, 1)],
        "bsf GPR[64]:W, MEM[64]:R": [(ALU, 9)],
        "what is this": [(ALU, 1)],
    }
    assert checked(usage) == {}


def test_names_of_another_style_are_understood():
    usage = {
        "mov W:GPR:32, dword ptr R:MEM(32)": ((LOAD, 1),),
        "add RW:GPR:32, R:GPR:32": ((ALU, 1),),
        "add RW:GPR:32, dword ptr R:MEM(32)": ((ALU, 1), (LOAD, 1)),
        "vpor W:XMM0..15, R:XMM0..15, R:XMM0..15": ((VEC, 1),),
        "vpor W:YMM0..15, R:YMM0..15, R:YMM0..15": ((VEC, 3),),
    }
    found = regularity(usage)
    assert [(check.pattern, check.follows) for check in found.checks] == [
        (Pattern.LOAD, True),
        (Pattern.WIDE, False),
    ]
    assert found.store == ()


def test_shares_count_schemes_and_breakers_say_what_would_be_regular():
    usage = {
        **MOVES,
        "add GPR[32]:RW, GPR[32]:R": ((ALU, 1),),
        "add GPR[32]:RW, MEM[32]:R": ((ALU, 1), (LOAD, 1)),
        "cmp GPR[32]:R, GPR[32]:R": ((ALU, 1),),
        "cmp GPR[32]:R, MEM[32]:R": ((ALU, 1),),
    }
    found = regularity(usage)
    # The 256-bit move follows the 128-bit one.
    assert (found.judged, found.regular, found.schemes) == (3, 2, len(usage))
    (breaker,) = found.breakers
    assert breaker.in_words([str(k) for k in range(8)]) == (
        "1×[0,1,2,3], not 1×[0,1,2,3] + 1×[4,5] after cmp GPR[32]:R, GPR[32]:R"
    )


def test_nothing_to_compare_is_nothing_to_doubt():
    found = regularity({})
    assert (found.checks, found.judged, found.regular) == ((), 0, 0)


@pytest.mark.shared
def test_the_published_mapping_of_zen_plus_is_as_regular_as_the_thesis_says():
    path = settings.SHARED / "data/zenplus/explainable/results/port_mapping.json"
    published = json.loads(path.read_text())["data"]
    usage = {
        scheme: uops_of((sum(1 << port for port in ports), count) for ports, count in told["portusage"])
        for scheme, told in published.items()
        if told["portusage"]
    }
    found = regularity(usage)
    agu, store = 0b11_0000, 0b10_0000
    assert found.loads[32] == ((agu, 1),)
    assert found.loads[256] == ((agu, 2),)
    assert found.store == ((store, 1),)
    assert found.regular / found.judged > 0.85
    microcoded = (settings.SHARED / "data/zenplus/explainable/results/category_ucoded.txt").read_text()
    breakers = {check.scheme for check in found.breakers}
    assert sum(scheme in microcoded for scheme in breakers) > len(breakers) / 2
