"""Integer, vector or memory, by the text of a scheme."""

from __future__ import annotations

import pytest

from inference.isa.domains import domain_of, domains_of, single_domains


@pytest.mark.parametrize(
    ("scheme", "domain"),
    [
        ("add GPR[64]:RW, GPR[64]:R", "integer"),
        ("lea GPR[64]:W, ADDR[B+D8]", "integer"),
        ("mov GPR[64]:W, IMM[64]:R", "integer"),
        ("vaddpd XMM:W, XMM:R, XMM:R", "vector"),
        ("vpaddd ZMM{k}{z}:W, ZMM:R, ZMM:R", "vector"),
        ("paddb MM:RW, MM:R", "vector"),
        ("vmovaps XMM:W, MEM[128]:R", "memory"),
        ("lock add MEM[32]:RW, IMM[8]:R", "memory"),
        ("movd GPR[32]:W, XMM:R", None),
        ("nop", None),
        ("nop MEM[64]", None),
        ("ldr FPR[64]:W, MEM[64]:R", "memory"),
        ("add VEC[4S]:W, VEC[4S]:R, VEC[4S]:R", "vector"),
        ("fmov GPR[64]:W, FPR[64]:R", None),
        ("tbl VEC[16B]:W, VECx3[16B]:R, VEC[16B]:R", "vector"),
    ],
)
def test_operands_say_what_a_scheme_is_for(scheme: str, domain: str | None) -> None:
    assert domain_of(scheme) == domain
    assert domains_of([scheme]) == ({} if domain is None else {scheme: domain})


@pytest.mark.parametrize(
    ("scheme", "domain"),
    [
        ("add GPR[64]:RW, GPR[64]:R", "integer"),
        ("vaddpd XMM:W, XMM:R, XMM:R", "vector"),
        ("vmovaps XMM:W, MEM[128]:R", "memory"),
        ("ADD_((REG:RW:G:64)),_((REG:R:G:64))", "integer"),
        ("add GPR[64]:RW, MEM[64]:R", None),
        ("vmovaps MEM[128]:W, XMM:R", None),
        ("vmovd GPR[32]:W, XMM:R", None),
        ("nonsense", None),
    ],
)
def test_all_uops_of_some_schemes_are_for_one_part_of_the_core(scheme: str, domain: str | None) -> None:
    assert single_domains([scheme]) == ({} if domain is None else {scheme: domain})
