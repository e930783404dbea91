from __future__ import annotations

import time
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.name_parsing import MAX_NAME, read
from inference.isa.names import SchemeNames
from inference.isa.x86 import schemes

TEXTS = [scheme.text for scheme in schemes()]
X86 = SchemeNames(TEXTS)


@given(st.sampled_from(TEXTS), st.randoms(use_true_random=False))
def test_a_text_is_found_whatever_its_case_blanks_and_brackets(text, random):
    assert X86.resolve(text) == text
    assert X86.resolve(text.upper()) == text
    assert X86.resolve(text.lower().replace(", ", " ,  ").replace(":", " : ")) == text
    assert X86.resolve("".join(random.choice((c.upper(), c.lower())) for c in text)) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("imul r64, r64", "imul GPR[64]:RW, GPR[64]:R"),
        ("add r32, imm8", "add GPR[32]:RW, IMM[8]:R"),
        ("vpaddd ymm, ymm, m256", "vpaddd YMM:W, YMM:R, MEM[256]:R"),
        ("shl r64, cl", "shl GPR[64]:RW, cl:R"),
    ],
)
def test_operands_may_be_written_as_in_manuals(name: str, text: str) -> None:
    assert X86.resolve(name) == text
    assert X86.nearest(name)[0] == text


def test_a_suggestion_has_the_width_that_was_asked_for() -> None:
    assert X86.nearest("mov r64")[0].startswith("mov GPR[64]")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("add ⟨GPR[64]⟩RW , ⟨IMM[8]⟩R", "add GPR[64]:RW, IMM[8]:R"),
        ("add ⟨GPR[64] ⟩𝑅𝑊 , ⟨GPR[64] ⟩𝑅", "add GPR[64]:RW, GPR[64]:R"),
        ("vaddpd ⟨XMM⟩_W, ⟨XMM⟩_R, ⟨MEM[128]⟩_R", "vaddpd XMM:W, XMM:R, MEM[128]:R"),
        ("add <GPR[32]>, <MEM[32]>", "add GPR[32]:RW, MEM[32]:R"),
        ("add GPR[64], IMM[8]", "add GPR[64]:RW, IMM[8]:R"),
        ("jz REL[32]", "je REL[32]"),
        ("cmovnae GPR[64], GPR[64]", "cmovb GPR[64]:RW, GPR[64]:R"),
        ("vcmpltps YMM, YMM, YMM", "vcmpps YMM:W, YMM:R, YMM:R, 0x1"),
        ("movsb", "movsb MEM[8,rdi]:W, MEM[8,rsi]:R"),
        ("repz scasb al, MEM[8,rdi]", "repe scasb al:R, MEM[8,rdi]:R"),
        ("xchg eax, GPR[32]", "xchg GPR[32]:RW, eax:RW"),
    ],
)
def test_texts_of_the_papers_and_assemblers_are_understood(name, text):
    assert X86.resolve(name) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ADD_((REG:RW:G:64)),_((IMM:32))", "add GPR[64]:RW, IMM[32]:R"),
        ("ADD_byte_ptr_[((MEM:64))_+_((MIMM:16))],_((IMM:8))", "add MEM[8]:RW, IMM[8]:R"),
        ("BT_qword_ptr_[((MEM:64))_+_((MIMM:16))],_((DIV:64))", "bt MEM[64]:R, GPR[64]:R"),
        ("LEA_((REG:W:G:64)),__[((IMM:8))]", "lea GPR[64]:W, ADDR[D]"),
        ("LEA_((REG:W:G:64)),__[((MEM:64))+2*((DIV:64))+((IMM:8))]", "lea GPR[64]:W, ADDR[B+S*I+D8]"),
        ("LEA_((REG:W:G:64)),__[((MEM:64))_+_((MIMM:16))]", "lea GPR[64]:W, ADDR"),
        ("LEA_((REG:W:G:64)),__[2*((DIV:64))+((IMM:8))]", "lea GPR[64]:W, ADDR[S*I+D]"),
        (
            "VPERM2F128_((REG:W:V:256)),_((REG:R:V:256)),_ymmword_ptr_[((MEM:64))_+_((MIMM:16))],_((IMM:8))",
            "vperm2f128 YMM:W, YMM:R, MEM[256]:R, IMM[8]:R",
        ),
        ("MOV_((REG:W:G:64)),_((IMM:64))", "mov GPR[64]:W, IMM[64]:R"),
    ],
)
def test_names_of_pmevo_are_understood(name, text):
    assert X86.resolve(name) == text


LOW = "al,bl,bpl,cl,dil,dl,r10b,r11b,r12b,r13b,r14b,r15b,r8b,r9b,sil,spl"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("add RW:GPR:64, qword ptr R:MEM(64)", "add GPR[64]:RW, MEM[64]:R"),
        (f"adc RW:{LOW}, R:{LOW}", "adc GPR[8]:RW, GPR[8]:R"),
        ("adc RW:ah,bh,ch,dh, R:al,bl,cl,dl", "adc GPR[8h]:RW, GPR[8]:R"),
        ("add RW:al,bl,cl,dl,r10b,r11b,r8b,r9b, 0x0", "add GPR[8a]:RW, 0x0"),
        ("add RW:bpl,dil,r12b,r13b,r14b,r15b,sil,spl, IMM(8)", "add GPR[8b]:RW, IMM[8]:R"),
        ("adc RW:al, IMM(8)", "adc al:RW, IMM[8]:R"),
        ("rcl RW:GPR:64", "rcl GPR[64]:RW, 0x1"),
        ("rcl RW:GPR:64, R:cl", "rcl GPR[64]:RW, cl:R"),
        ("rcl RW:GPR:64, 0x0", "rcl GPR[64]:RW, 0x0"),
        ("movzx W:eax,ebp,ebx,ecx,edi,edx,esi,esp, R:ah,bh,ch,dh", "movzx GPR[32]:W, GPR[8h]:R"),
        ("lea W:GPR:64, MEM(0)", "lea GPR[64]:W, ADDR"),
        ("vcmpneq_usps W:XMM0..15, R:XMM0..15, R:XMM0..15", "vcmpps XMM:W, XMM:R, XMM:R, 0x14"),
        (
            "vcmptrue_uspd W:YMM0..15, R:YMM0..15, ymmword ptr R:MEM(256)",
            "vcmppd YMM:W, YMM:R, MEM[256]:R, 0x1f",
        ),
        ("cmpltsd RW:XMM0..15, R:XMM0..15", "cmpsd XMM:RW, XMM:R, 0x1"),
        ("cmpsd dword ptr R:[rsi], dword ptr R:es:[rdi]", "cmpsd MEM[32,rsi]:R, MEM[32,rdi]:R"),
        ("blendvpd RW:XMM0..15, R:XMM0..15, R:xmm0", "blendvpd XMM:RW, XMM:R"),
        ("mov W:rax, qword ptr R:MEM(64)", "mov rax:W, MOFFS[64]:R"),
        ("movabs W:GPR:64, IMM(64)", "mov GPR[64]:W, IMM[64]:R"),
        ("mov W:ds,es,fs,gs,ss, R:GPR:16", "mov SEG:W, GPR[16]:R"),
        ("prefetchw byte ptr R:MEM(512)", "prefetchw MEM[8]"),
        ("movq W:FPMM:64, R:FPMM:64", "movq MM:W, MM:R"),
        ("lock cmpxchg16b xmmword ptr RW:MEM(128)", "lock cmpxchg16b MEM[128]:RW"),
        ("rep cmpsb byte ptr R:[rsi], byte ptr R:es:[rdi]", "repe cmpsb MEM[8,rsi]:R, MEM[8,rdi]:R"),
        ("xchg RW:ax, RW:GPR:16", "xchg GPR[16]:RW, ax:RW"),
        ("jrcxz SYM", "jrcxz REL[8]"),
        ("call SYM", "call REL[32]"),
        ("retfq", "rex.w retf"),
    ],
)
def test_names_of_iwho_are_understood(name, text):
    assert X86.resolve(name) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ADD_GPR64i64_MEM64i64", "add GPR[64]:RW, MEM[64]:R"),
        ("ADC_ALi8_IMMi8", "adc al:RW, IMM[8]:R"),
        ("SUB_RAXi64_IMMi32", "sub rax:RW, IMM[32]:R"),
        ("SHL_GPR64i64_ONE", "shl GPR[64]:RW, 0x1"),
        ("RCR_GPR32i32_CLi8", "rcr GPR[32]:RW, cl:R"),
        ("CMOVNB_GPR16i16_GPR16i16", "cmovae GPR[16]:RW, GPR[16]:R"),
        ("SETNBE_GPR8NOREXi8", "seta GPR[8]:W"),
        ("LEA_GPR64i64_ADDR64i64", "lea GPR[64]:W, ADDR"),
        ("CMPSD_XMM_VR128f64_MEM64f64_IMMu8", "cmpsd XMM:RW, MEM[64]:R, IMM[8]:R"),
        ("VADDSUBPS_VR256f32x8_VR256f32x8_MEM64f32x8", "vaddsubps YMM:W, YMM:R, MEM[256]:R"),
        ("PADDSB_VR64i64_VR64i64", "paddsb MM:RW, MM:R"),
    ],
)
def test_names_of_palmed_are_understood(name, text):
    assert X86.resolve(name) == text


@pytest.mark.parametrize(
    "name", ["ADD_GPR64i64", "ADD_GPR64i64_GPR64", "ADD_VR512f32x16_VR512f32x16", "JMP_0"]
)
def test_names_that_only_resemble_palmeds_are_unknown(name):
    assert X86.resolve(name) is None


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "count"),
    [
        ("pmevo/SKL/exps_singletons.json", 310),
        ("pmevo/ZEN/exps_singletons.json", 310),
        ("zenplus/explainable/insn_lists/01_initial.txt", 2980),
        ("zenplus/explainable/results/port_mapping.json", 1819),
        ("zenplus/palmed/fixed_palmed_insn_map.json", 609),
        ("zenplus/spec17_insns.txt", 1019),
        ("iwho/x86_uops_info_features.json", 3501),
    ],
)
def test_every_published_name_is_found_and_no_two_are_the_same_scheme(shared_names, file, count):
    published = shared_names(file)
    assert len(published) == count
    found = defaultdict(list)
    for name in published:
        found[X86.resolve(name)].append(name)
    assert found.get(None, []) == []
    assert [both for both in found.values() if len(both) > 1] == []


@pytest.mark.shared
def test_the_schemes_of_pmevos_skylake_experiments_are_all_offered_for_inference(shared_names, by_text):
    for name in shared_names("pmevo/SKL/exps_singletons.json"):
        assert by_text[X86.resolve(name)].exclusion == "", name


@pytest.mark.shared
def test_names_of_another_architecture_are_not_mistaken_for_x86(shared_names):
    assert [name for name in shared_names("pmevo/A72/exps_singletons.json") if X86.resolve(name)] == []


def test_an_instruction_set_with_foreign_names_finds_them_by_text():
    arm = SchemeNames(["_add_((REG:W:G:64)),_((REG:R:G:64)),_lsl_2", "_fmul_((REG:W:F:VEC)).4s"])
    assert arm.resolve("_ADD_((reg:w:g:64)),_((reg:r:g:64)),_lsl_2") == arm.nearest("_add_sxtw")[0]
    assert arm.resolve("_mul_((REG:W:F:VEC)).4s") is None
    assert arm.nearest("_fmul_((REG:W:F:VEC)).2d") == ["_fmul_((REG:W:F:VEC)).4s"]


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("add GPR[64]:RW, IMM[64]:R", "add GPR[64]:RW, IMM[32]:R"),
        ("ad GPR[64]:RW, GPR[64]:R", "add GPR[64]:RW, GPR[64]:R"),
        ("vadpd YMM:W, YMM:R, YMM:R", "vaddpd YMM:W, YMM:R, YMM:R"),
        ("IMUL_((REG:RW:G:64)),_tbyte_ptr_[x]", "imul GPR[64]:RW, GPR[64]:R"),
        ("_add_((REG:W:G:64)),_((REG:R:G:64)),_((REG:R:G:64))", "add GPR[64]:RW, GPR[64]:R"),
        ("vpermq RW:YMM0..15, R:YMM0..15", "vpermq YMM:W, YMM:R, IMM[8]:R"),
        ("lock add GPR[64]:RW, GPR[64]:R", "add GPR[64]:RW, GPR[64]:R"),
    ],
)
def test_unknown_names_come_with_the_nearest_scheme(name, suggestion):
    assert X86.resolve(name) is None
    assert X86.nearest(name)[0] == suggestion


def test_suggestions_are_as_many_as_asked_for_and_all_different():
    suggestions = X86.nearest("vaddpd ZMM:W, YMM:R", 7)
    assert len(set(suggestions)) == 7
    assert X86.nearest("add", 0) == []
    assert X86.nearest("", 3) == []
    assert SchemeNames([]).nearest("add GPR[64]", 3) == []


@given(st.text(max_size=MAX_NAME + 50))
def test_no_text_makes_reading_or_suggesting_fail(name):
    read(name)
    assert X86.resolve(name) is None or X86.resolve(name) in TEXTS
    assert len(X86.nearest(name, 3)) <= 3


@given(
    st.lists(
        st.sampled_from(["add", "vcmp", "ps ", "REL", ", ", "sym", "((", "_", "[", ":", "rel", "mem[512],"])
    )
)
def test_pieces_of_names_do_not_make_reading_fail(pieces):
    name = "".join(pieces)
    assert X86.resolve(name) is None or X86.resolve(name) in TEXTS


def test_thousands_of_unknown_names_get_suggestions_within_seconds():
    unknown = [f"{text} , SOMETHING[{k}]" for k, text in enumerate(TEXTS[::5])]
    start = time.process_time()
    assert all(X86.nearest(name, 3) for name in unknown)
    assert time.process_time() - start < 20
