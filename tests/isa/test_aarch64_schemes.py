"""The AArch64 schemes: accesses that are easy to get wrong, and what is said of each of them."""

from __future__ import annotations

import pytest

from inference.isa import aarch64
from inference.isa.aarch64.assembling import FEATURES, TRIPLE, Assembler, obstacle
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.names import SchemeNames
from tests.isa.aarch64_program import needs_llvm_mc

SCHEMES = aarch64.instruction_set().schemes
NAMES = SchemeNames(scheme.text for scheme in SCHEMES)


def test_every_scheme_is_measurable_or_excluded_with_a_reason():
    assert len(SCHEMES) > 1800
    for scheme in SCHEMES:
        assert obstacle(scheme.text) == scheme.exclusion
        assert "" not in {scheme.category, scheme.extension}
        assert scheme.encoding == "A64"
    assert sum(bool(scheme.exclusion) for scheme in SCHEMES) > 90
    assert 40 < sum(scheme.starter for scheme in SCHEMES) < 100
    assert not [scheme.text for scheme in SCHEMES if scheme.starter and scheme.exclusion]


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        # what keeps a part of its destination, or adds to it, reads it too
        ("ins ELEM[64,1]:RW, GPR[64]:R", ""),
        ("fmov ELEM[64,1]:RW, GPR[64]:R", ""),
        ("xtn2 VEC[16B]:RW, VEC[8H]:R", ""),
        ("fcvtn2 VEC[4S]:RW, VEC[2D]:R", ""),
        ("tbx VEC[16B]:RW, VECx1[16B]:R, VEC[16B]:R", ""),
        ("tbl VEC[16B]:W, VECx1[16B]:R, VEC[16B]:R", ""),
        ("bsl VEC[16B]:RW, VEC[16B]:R, VEC[16B]:R", ""),
        ("mla VEC[4S]:RW, VEC[4S]:R, VEC[4S]:R", ""),
        ("umlal2 VEC[2D]:RW, VEC[4S]:R, VEC[4S]:R", ""),
        ("movk GPR[64]:RW, IMM[16]:R", ""),
        ("bfxil GPR[32]:RW, GPR[32]:R, IMM[5]:R, IMM[5]:R", ""),
        ("ld1 VECx1e[32,1]:RW, MEM[32,base]:R", "R"),
        ("aese VEC[16B]:RW, VEC[16B]:R", ""),
        # and what does not
        ("aesmc VEC[16B]:W, VEC[16B]:R", ""),
        ("cmeq VEC[16B]:W, VEC[16B]:R, 0", ""),
        ("fcvtzs GPR[64]:W, FPR[64]:R", ""),
        ("xtn VEC[8B]:W, VEC[8H]:R", ""),
        ("str FPR[64]:R, MEM[64]:W", "W"),
        ("ldp GPR[64]:W, GPR[64]:W, MEM[128,near]:R", "R"),
    ],
)
def test_accesses_are_those_of_the_architecture(text: str, memory: str):
    assert aarch64.by_text()[text].memory == memory


def test_flags_and_bases_are_implicit_operands():
    def hidden(text: str) -> list[str]:
        return [operand.text for operand in aarch64.by_text()[text].operands if operand.implicit]

    assert hidden("add GPR[64]:W, GPR[64]:R, GPR[64]:R") == []
    assert hidden("adds GPR[64]:W, GPR[64]:R, GPR[64]:R") == ["nzcv:W"]
    assert hidden("csel GPR[64]:W, GPR[64]:R, GPR[64]:R, COND") == ["nzcv:R"]
    assert hidden("adcs GPR[64]:W, GPR[64]:R, GPR[64]:R") == ["nzcv:RW"]
    assert hidden("ldr GPR[64]:W, MEM[64,post]:R") == ["base:RW"]
    assert "flags n, z, c, v" in obstacle("ccmp GPR[64]:R, GPR[64]:R, IMM[nzcv]:R, COND")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_cmp_((REG:R:G:64)),_((REG:R:G:32)),_sxtw_3", "cmp GPR[64]:R, GPR[32]:R, sxtw 2"),
        ("_ins_((REG:W:F:VEC)).d[1],_((REG:W:G:64))", "ins ELEM[64,1]:RW, GPR[64]:R"),
        ("_fcvtzs_((REG:W:G:64)),_((REG:W:F:32))", "fcvtzs GPR[64]:W, FPR[32]:R"),
        ("_ldrsw_((REG:W:G:64)),_[((MEM:64)),_((MIMM:16))]", "ldrsw GPR[64]:W, MEM[32]:R"),
        ("_mov_((REG:W:G:64)),_2147483647", "mov GPR[64]:W, IMM[mask,64]:R"),
        ("_not_((REG:W:F:VEC)).16b,_((REG:R:F:VEC)).16b", "mvn VEC[16B]:W, VEC[16B]:R"),
    ],
)  # fmt: skip
def test_pmevos_names_are_understood(name: str, text: str):
    assert NAMES.resolve(name) == text


@pytest.mark.shared
def test_all_schemes_of_pmevos_cortex_a72_are_found_each_for_itself(shared_names):
    found = [NAMES.resolve(name) for name in shared_names("pmevo/A72/exps_singletons.json")]
    assert len(set(found)) == len(found) == 390
    assert {aarch64.by_text()[text].mnemonic for text in found if obstacle(text)} == {"sdiv", "udiv"}


@needs_llvm_mc
def test_llvm_mc_knows_every_measurable_scheme_and_refuses_none():
    assembler = Assembler()
    for scheme in SCHEMES:
        if scheme.exclusion:
            with pytest.raises(CannotMeasureError):
                assembler.unroll([(scheme.text, 1)])
    body = assembler.unroll([(scheme.text, 1) for scheme in SCHEMES if not scheme.exclusion])
    assert len(body.code) == 4 * len(body.lines)
    assert TRIPLE == "aarch64"
    assert "crypto" in FEATURES
