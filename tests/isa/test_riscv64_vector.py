"""The forms of RISC-V's V as llvm-mc encodes them, and the modes that their schemes are in."""

from __future__ import annotations

import re

import pytest

from inference.isa import llvm_mc
from inference.isa.code.block import BlockError
from inference.isa.riscv64.statements import read
from inference.isa.riscv64.vector import forms
from inference.isa.riscv64.vector.learning import learn_forms
from inference.isa.riscv64.vector.modes import MASKED, Mode, schemes_by_form, vector_schemes
from inference.isa.scheme import Scheme

_GROUP = re.compile(r"VR(?:x(\d))?\[e(\d+),m(f?)(\d+)\]")


def schemes() -> list[Scheme]:
    return [member.scheme for member in vector_schemes().values()]


def test_an_assembler_encodes_all_forms_as_the_document_says() -> None:
    if llvm_mc.program() is None:
        pytest.skip("llvm-mc is not installed here")
    learnt = learn_forms()
    assert (learnt.failures, list(learnt.changes)) == ({}, [])
    assert learnt.forms == len(forms().schemes)


def test_no_operand_is_wider_than_an_architecture_allows() -> None:
    for scheme in schemes():
        for segments, width, fraction, group in _GROUP.findall(scheme.text):
            registers = 1 if fraction else int(group)
            assert 8 <= int(width) <= 64, scheme.text
            assert registers * int(segments or 1) <= 8, scheme.text


def test_a_mask_is_read_last_and_makes_its_destination_an_operand() -> None:
    for scheme in (scheme for scheme in schemes() if "v0.t" in scheme.text):
        assert scheme.text.endswith(", v0.t:R")
        assert scheme.exclusion
        written = [
            operand for operand in scheme.operands if operand.access == "W" and operand.kind == "register"
        ]
        assert not written or written[0].name == "GPR[64]", scheme.text


@pytest.mark.parametrize(
    ("form", "mode", "text"),
    [
        ("vadd.vv VR:W, VR:R, VR:R", Mode(32, 1), "vadd.vv VR[e32,m1]:W, VR[e32,m1]:R, VR[e32,m1]:R"),
        ("vwadd.vv VW:W, VR:R, VR:R", Mode(16, 2), "vwadd.vv VR[e32,m4]:W, VR[e16,m2]:R, VR[e16,m2]:R"),
        ("vnsrl.wi VR:W, VW:R, IMM[u5]", Mode(8, 1), "vnsrl.wi VR[e8,m1]:W, VR[e16,m2]:R, IMM[u5]"),
        ("vzext.vf8 VR:W, VF8:R", Mode(64, 2), "vzext.vf8 VR[e64,m2]:W, VR[e8,mf4]:R"),
        ("vmseq.vx VM:W, VR:R, GPR[64]:R", Mode(8, 8), "vmseq.vx VM:W, VR[e8,m8]:R, GPR[64]:R"),
        ("vfadd.vf VR:W, VR:R, FPR:R", Mode(64, 1), "vfadd.vf VR[e64,m1]:W, VR[e64,m1]:R, FPR[64]:R"),
        ("vredsum.vs VE:W, VR:R, VE:R", Mode(16, 4), "vredsum.vs VE[e16]:W, VR[e16,m4]:R, VE[e16]:R"),
        ("vlseg3e16.v VS3:W, MEM[V]:R", Mode(16, 1), "vlseg3e16.v VRx3[e16,m1]:W, MEM[e16,m1]:R"),
        ("vs4r.v VG4:R, MEM[V]:W", None, "vs4r.v VR[m4]:R, MEM[m4]:W"),
    ],
)
def test_operands_say_what_they_are_in_a_mode(form: str, mode: Mode | None, text: str) -> None:
    assert schemes_by_form()[form][mode] == text


@pytest.mark.parametrize(
    ("form", "widths"),
    [
        ("vfadd.vv VR:W, VR:R, VR:R", {16, 32, 64}),
        ("vfwcvt.f.x.v VW:W, VR:R", {8, 16, 32}),
        ("vfwcvt.x.f.v VW:W, VR:R", {16, 32}),
        ("vfncvt.rtz.x.f.w VR:W, VW:R", {8, 16, 32}),
        ("vle16.v VR:W, MEM[V]:R", {16}),
        ("vmand.mm VM:W, VM:R, VM:R", {0}),
    ],
)
def test_forms_have_the_widths_of_their_elements(form: str, widths: set[int]) -> None:
    assert {mode.sew for mode in schemes_by_form()[form] if mode is not None} == widths


def test_the_default_set_has_one_register_and_one_width_where_it_hardly_matters() -> None:
    default = [member for member in vector_schemes().values() if not member.scheme.exclusion]
    assert {member.mode.lmul for member in default if member.mode is not None} == {1}
    assert not any(member.scheme.exclusion.startswith(MASKED) for member in default)
    additions = [member.mode for member in default if member.form.startswith("vadd.vv ")]
    sums = [member.mode for member in default if member.form.startswith("vredsum.vs ")]
    assert (additions, len(sums)) == ([Mode(32, 1)], 4)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("vneg.v v1, v2, v0.t", "vrsub.vx v1, v2, zero, v0.t"),
        ("vnot.v v1, v2", "vxor.vi v1, v2, -1"),
        ("vmset.m v3", "vmxnor.mm v3, v3, v3"),
        ("vfabs.v v1, v2", "vfsgnjx.vv v1, v2, v2"),
        ("vl2r.v v2, (a0)", "vl2re8.v v2, (a0)"),
        ("vmsge.vv v1, v2, v3", "vmsle.vv v1, v3, v2"),
        ("vmsltu.vi v1, v2, 16", "vmsleu.vi v1, v2, 15"),
        ("vpopc.m a0, v2", "vcpop.m a0, v2"),
    ],
)
def test_other_spellings_are_read_as_what_they_mean(written: str, meant: str) -> None:
    (pseudo,), (instruction,) = read(written, False), read(meant, False)
    assert pseudo.code() == instruction.code() is not None


@pytest.mark.parametrize("written", ["vneg.v v1", "vmslt.vi v1, v2, a0", "vmset.m"])
def test_other_spellings_with_wrong_operands_are_refused(written: str) -> None:
    with pytest.raises(BlockError):
        read(written, False)
