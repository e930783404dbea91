"""Names of assemblers, of uops.info and of LLVM are read to the schemes that they mean."""

from __future__ import annotations

import json

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.llvm_mc import program
from inference.isa.llvm_schemes import llvm_opcodes
from inference.isa.names import SchemeNames
from inference.isa.x86.naming import is_avx512, llvm, meaning_of, uops_info
from inference.isa.x86.scheme_set import schemes


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("ADD64rr", "add GPR[64]:RW, GPR[64]:R"),
        ("ADD64mi8", "add MEM[64]:RW, IMM[8]:R"),
        ("ADD64ri32", "add GPR[64]:RW, IMM[32]:R"),
        ("ADD64i32", "add rax:RW, IMM[32]:R"),
        ("MOV64ri", "mov GPR[64]:W, IMM[64]:R"),
        ("MOVZX32rr8", "movzx GPR[32]:W, GPR[8]:R"),
        ("CRC32r64r8", "crc32 GPR[64]:RW, GPR[8]:R"),
        ("SHLD64rrCL", "shld GPR[64]:RW, GPR[64]:R, cl:R"),
        ("SAR8r1", "sar GPR[8]:RW, 0x1"),
        ("LOCK_ADD64mr", "lock add MEM[64]:RW, GPR[64]:R"),
        ("VPERM2F128rr", "vperm2f128 YMM:W, YMM:R, YMM:R, IMM[8]:R"),  # up to LLVM 19
        ("VPERM2F128rri", "vperm2f128 YMM:W, YMM:R, YMM:R, IMM[8]:R"),
        ("VFMADD213SDr_Int", "vfmadd213sd XMM:RW, XMM:R, XMM:R"),
        ("VCVTSI642SDrm_Int", "vcvtsi2sd XMM:W, XMM:R, MEM[64]:R"),
        ("VMOVPQIto64rr", "vmovq GPR[64]:W, XMM:R"),
        ("PSLLDri", "pslld XMM:RW, IMM[8]:R"),
        ("MMX_PADDBrr", "paddb MM:RW, MM:R"),
        ("VPADDDZ128rmk", "vpaddd XMM{k}:RW, XMM:R, MEM[128]:R"),
        ("VADDPDZrrbkz", "vaddpd ZMM{k}{z}:W, ZMM:R, ZMM:R, {er}"),
        ("vaddpdyrm", "vaddpd YMM:W, YMM:R, MEM[256]:R"),
    ],
)
def test_an_opcode_of_llvm_is_read_to_its_scheme(name: str, first: str) -> None:
    assert llvm.schemes_named(name)[0] == first


def test_an_opcode_with_a_condition_means_all_of_them() -> None:
    assert len(llvm.schemes_named("CMOV64rr")) == 16
    assert {text.split()[1] for text in llvm.schemes_named("SETCCr")} == {"GPR[8]:W"}


@pytest.mark.parametrize(
    "name", ["", "addr", "divr", "ADD65rr", "ADD64rx", "VADDPDXrr", "r", "rr", "A" * 100]
)
def test_what_is_no_opcode_means_nothing(name: str) -> None:
    assert llvm.schemes_named(name) == ()


@pytest.mark.skipif(program() is None, reason="llvm-mc is not installed")
def test_what_the_installed_llvm_calls_the_default_schemes_leads_back_to_them() -> None:
    texts = [scheme.text for scheme in schemes() if not scheme.exclusion]
    names, _ = llvm_opcodes("x86-64", texts)
    assert len(names) > 1900
    right = sum(
        bool(found := llvm.schemes_named(name)) and names.get(found[0]) == name for name in names.values()
    )
    assert right >= 0.99 * len(names)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ADD_R64_R64", {"add GPR[64]:RW, GPR[64]:R"}),
        ("ADD_01_R64_R64", {"add GPR[64]:RW, GPR[64]:R"}),
        ("add (r64, r64)", {"add GPR[64]:RW, GPR[64]:R"}),
        ("ADC_LOCK_M16_I8", {"lock adc MEM[16]:RW, IMM[8]:R"}),
        ("SETNBE_R8h", {"seta GPR[8h]:W"}),
        ("SHL_R64_CL", {"shl GPR[64]:RW, cl:R"}),
        ("PREFETCHT0_M512", {"prefetcht0 MEM[8]"}),
        ("LEA_B_IS_D8_R64", {"lea GPR[64]:W, ADDR[B+S*I+D8]"}),
        ("LEA_B_D32_R64", {"lea GPR[64]:W, ADDR"}),
        ("VADDPD (XMM, K, XMM, M64_1to2)", {"vaddpd XMM{k}:RW, XMM:R, MEM[64]{1to2}:R"}),
        ("VADDPD_ER_Z (ZMM, K, ZMM, ZMM)", {"vaddpd ZMM{k}{z}:W, ZMM:R, ZMM:R, {er}"}),
        ("ADD_R64_R63", set()),
        ("ADD", set()),
        ("NOTHING_R64", set()),
        ("_", set()),
    ],
)
def test_a_name_of_uops_info_is_read_to_its_scheme(name: str, found: set[str]) -> None:
    assert set(uops_info.schemes_named(name)) == found


@pytest.mark.shared
def test_a_name_that_is_given_to_uops_info_is_one_of_its_addresses() -> None:
    path = settings.SHARED / "data" / "iwho" / "x86_uops_info_features.json"
    entries = [entry for listed in json.loads(path.read_text()).values() for entry in listed]
    pages = {entry.get("uops_info_url", "").rsplit("/", 1)[-1].removesuffix(".html") for entry in entries}
    names = {scheme.text: name for scheme in schemes() if (name := uops_info.name_of(scheme))}
    assert len(names) > 2500
    assert [text for text, name in names.items() if name not in pages] == []
    back = [text for text, name in names.items() if text in uops_info.schemes_named(name)]
    assert {text.partition(" ")[0] for text in names.keys() - set(back)} <= {"shld", "shrd"}


@pytest.mark.shared
def test_the_names_of_uops_info_lead_to_the_schemes_of_the_same_instructions() -> None:
    path = settings.SHARED / "data" / "iwho" / "x86_uops_info_features.json"
    ours = {scheme.text: scheme for scheme in schemes()}
    resolver = SchemeNames(ours)
    asked = right = 0
    for text, entries in json.loads(path.read_text()).items():
        wanted = resolver.resolve(text)
        for entry in entries:
            name = entry.get("uops_info_url", "").rsplit("/", 1)[-1].removesuffix(".html")
            if (
                wanted is None or "_" not in name or ours[wanted].mnemonic == "lea"
            ):  # forms of addresses are apart
                continue
            asked += 1
            right += wanted in uops_info.schemes_named(name)
    assert asked > 3000
    assert right >= 0.98 * asked


def test_a_mnemonic_of_ours_means_itself_and_other_names_what_assemblers_take_them_for() -> None:
    assert meaning_of("ADD").mnemonics == {"add"}
    assert meaning_of("movq").mnemonics == {"movq"}
    assert meaning_of("cmovnz").mnemonics == {"cmovne"}
    assert meaning_of("vpcmpltd").mnemonics == {"vpcmpd"}
    assert meaning_of("cltq").mnemonics == {"cdqe"}
    assert meaning_of("movzbl").texts >= {"movzx GPR[32]:W, GPR[8]:R", "movzx GPR[32]:W, MEM[8]:R"}
    assert "data16 push IMM[8]:R" not in meaning_of("pushq").texts
    assert not meaning_of("padd")
    assert not meaning_of("movdq")


def test_names_of_avx512_alone_are_told() -> None:
    assert all(map(is_avx512, ("VPADDDZ128rmk", "kaddw", "vpermt2d", "vpcmpltd", "VADDPD_ZMM_ZMM_ZMM")))
    assert not any(map(is_avx512, ("vaddpd", "VADDPDYrr", "add", "vcmpltps", "", "what")))


@given(st.text(alphabet="ADVPXYZadrmik0123468_ (),{}", max_size=90))
def test_no_word_makes_it_fail(word: str) -> None:
    meaning_of(word)
    is_avx512(word)
