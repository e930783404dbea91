from __future__ import annotations

import contextlib
import csv
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from iced_x86 import Decoder, Encoder, RegisterExt

from inference.isa.blocks import BlockError, schemes_of_bytes
from inference.isa.name_parsing import read
from inference.isa.x86 import forms_by_text, scheme_set, schemes
from inference.isa.x86.forms import forms
from inference.isa.x86.instances import ADDRESS_OF_CODE, instance
from inference.isa.x86.scheme_set import scheme_and_form
from inference.isa.x86.starter_set import STARTER_SET
from inference.models import InstructionScheme


def test_every_form_encodes_and_decodes_back_to_itself():
    encoder = Encoder(64)
    for form in forms():
        instruction = instance(form)
        encoder.encode(instruction, ADDRESS_OF_CODE)
        decoded = Decoder(64, encoder.take_buffer(), ip=ADDRESS_OF_CODE).decode()
        assert decoded == instruction, f"{form} decodes as {decoded}"


def test_a_scheme_that_is_looked_up_alone_is_the_one_of_the_whole_set():
    together = dict(zip((scheme.text for scheme in schemes()), schemes(), strict=True))
    forms_of = forms_by_text()
    prefixed = [text for text in together if text.startswith(("{evex}", "lock ", "rep", "data16 ", "rex.w "))]
    for text in [*prefixed[::7], *list(together)[::31]]:
        assert scheme_and_form(text) == (together[text], forms_of[text])
    for text in ("", "lock", "addd GPR[64]:RW, GPR[64]:R"):
        assert scheme_and_form(text) is None


def test_looking_up_a_scheme_describes_those_of_its_mnemonic_alone(monkeypatch: pytest.MonkeyPatch):
    asked = []
    monkeypatch.setattr(scheme_set, "forms", lambda mnemonic=None: asked.append(mnemonic) or forms(mnemonic))
    monkeypatch.setattr(scheme_set, "_described", cache(scheme_set._described.__wrapped__))
    assert scheme_and_form("lock add MEM[64]:RW, GPR[64]:R")
    assert scheme_and_form("add GPR[64]:RW, GPR[64]:R")
    assert asked == ["add"]


def test_the_register_operands_of_an_instance_are_distinct():
    for text, form in forms_by_text().items():
        instruction = instance(form)
        registers = [
            RegisterExt.full_register(instruction.op_register(position))
            for position, hole in enumerate(form.holes)
            if hole.kind == "register" and hole.name not in {"CR", "DR", "SEG"}
        ]
        assert len(set(registers)) == len(registers), text


def test_there_are_as_many_schemes_as_the_opcode_tables_give():
    encodings = Counter(scheme.encoding for scheme in schemes())
    assert encodings["EVEX"] == 12_228
    assert encodings["VEX"] + encodings["legacy"] + encodings["XOP"] + encodings["3DNow!"] == 5_161
    in_their_own_right = sum(
        form.narrows is None and scheme.encoding != "EVEX"
        for scheme, form in zip(schemes(), forms_by_text().values(), strict=True)
    )
    assert in_their_own_right == 4_372


def test_texts_are_unique_and_fit_the_database(by_text):
    assert len(by_text) == len(schemes())
    for scheme in schemes():
        for name in ("text", "mnemonic", "extension", "category", "encoding", "memory", "exclusion"):
            field = InstructionScheme._meta.get_field(name)
            assert len(getattr(scheme, name)) <= field.max_length, scheme.text
        assert scheme.memory in InstructionScheme.Memory.values
        assert 0 <= scheme.width <= 32_767


def test_no_two_texts_differ_in_accesses_alone():
    keys = Counter(read(scheme.text).key for scheme in schemes())
    assert keys.most_common(1)[0][1] == 1


def test_the_text_is_made_of_prefix_mnemonic_and_explicit_operands():
    for scheme in schemes():
        shown = ", ".join(operand.text for operand in scheme.operands if not operand.implicit)
        rest = scheme.text.removesuffix(", {er}").removesuffix(", {sae}")
        head = rest.removesuffix(shown).rstrip()
        assert head.split(" ")[-1] == scheme.mnemonic, scheme.text


@pytest.mark.parametrize(
    ("text", "extension", "category", "encoding", "memory", "width"),
    [
        ("add GPR[64]:RW, GPR[64]:R", "X64", "arithmetic", "legacy", "", 64),
        ("add GPR[8h]:RW, GPR[8]:R", "BASE", "arithmetic", "legacy", "", 8),
        ("lock sub MEM[32]:RW, IMM[32]:R", "BASE", "arithmetic", "legacy", "RW", 32),
        ("shl GPR[32]:RW, cl:R", "BASE", "shift", "legacy", "", 32),
        ("shl GPR[32]:RW, 0x1", "BASE", "shift", "legacy", "", 32),
        ("imul GPR[64]:W, MEM[64]:R, IMM[8]:R", "X64", "multiply", "legacy", "R", 64),
        ("mov MEM[64]:W, GPR[64]:R", "X64", "move", "legacy", "W", 64),
        ("lea GPR[64]:W, ADDR[B+S*I]", "X64", "address", "legacy", "A", 64),
        ("push GPR[64]:R", "X64", "stack", "legacy", "W", 64),
        ("vaddpd XMM:W, XMM:R, MEM[128]:R", "AVX", "arithmetic", "VEX", "R", 128),
        ("vpsllw YMM:W, YMM:R, IMM[8]:R", "AVX2", "shift", "VEX", "", 256),
        ("vaesenc XMM:W, XMM:R, XMM:R", "AES+AVX", "crypto", "VEX", "", 128),
        ("vpgatherdd XMM:RW, MEM[32,XMM]:R, XMM:RW", "AVX2", "gather", "VEX", "R", 128),
        ("{evex} vaddpd XMM:W, XMM:R, XMM:R", "AVX512VL+AVX512F", "arithmetic", "EVEX", "", 128),
        ("vaddps ZMM{k}{z}:W, ZMM:R, MEM[32]{1to16}:R", "AVX512F", "arithmetic", "EVEX", "R", 512),
        ("vaddps ZMM:W, ZMM:R, ZMM:R, {er}", "AVX512F", "arithmetic", "EVEX", "", 512),
        ("repne scasb al:R, MEM[8,rdi]:R", "BASE", "string", "legacy", "R", 8),
        ("pcmpestri XMM:R, XMM:R, IMM[8]:R", "SSE4.2", "string-compare", "legacy", "", 128),
    ],
)
def test_known_schemes_are_described_as_the_manuals_do(
    by_text, text, extension, category, encoding, memory, width
):
    scheme = by_text[text]
    described = (scheme.extension, scheme.category, scheme.encoding, scheme.memory, scheme.width)
    assert described == (extension, category, encoding, memory, width)


@pytest.mark.parametrize(
    "text",
    [
        "xor GPR[64]:RW, GPR[64]:R",  # not a mere write, as `xor rax, rax` would be
        "cmovb GPR[64]:RW, GPR[64]:R",  # a conditional write keeps the old value
        "bsf GPR[32]:RW, GPR[32]:R",
        "cmp GPR[64]:R, IMM[8]:R",
        "vfmadd231pd YMM:RW, YMM:R, YMM:R",
        "vmaskmovps MEM[256]:RW, YMM:R, YMM:R",
        "vmaskmovps YMM:W, YMM:R, MEM[256]:R",
        "vmovsd XMM:W, XMM:R, XMM:R",
        "movsd XMM:RW, XMM:R",
        "xchg MEM[64]:RW, GPR[64]:RW",
        "vaddps ZMM{k}:RW, ZMM:R, ZMM:R",
        "vaddps ZMM{k}{z}:W, ZMM:R, ZMM:R",
        "prefetcht0 MEM[8]",
        "mulx GPR[64]:W, GPR[64]:W, GPR[64]:R",
        "setb GPR[8]:W",
        "vmovaps MEM[256]:W, YMM:R",
    ],
)
def test_accesses_are_those_of_distinct_registers(by_text, text):
    assert text in by_text


def _implicit(scheme):
    return {
        (operand.name, operand.access): operand.registers for operand in scheme.operands if operand.implicit
    }


def test_implicit_operands_are_listed_with_their_accesses(by_text):
    assert _implicit(by_text["adc GPR[64]:RW, GPR[64]:R"]) == {
        ("flags", "W"): ("of", "sf", "zf", "af", "pf"),
        ("flags", "RW"): ("cf",),
    }
    multiply = _implicit(by_text["mul GPR[64]:R"])
    assert multiply[("rax", "RW")] == ("rax",)
    assert multiply[("rdx", "W")] == ("rdx",)
    assert _implicit(by_text["push GPR[64]:R"]) == {
        ("rsp", "RW"): ("rsp",),
        ("MEM[64,rsp]", "W"): ("rsp",),
    }
    assert _implicit(by_text["blendvpd XMM:RW, XMM:R"]) == {("xmm0", "R"): ("xmm0",)}
    assert _implicit(by_text["mulx GPR[64]:W, GPR[64]:W, GPR[64]:R"]) == {("rdx", "R"): ("rdx",)}
    assert _implicit(by_text["vaddpd XMM:W, XMM:R, XMM:R"]) == {}
    assert _implicit(by_text["setb GPR[8]:W"]) == {("flags", "R"): ("cf",)}


def test_operands_become_plain_json_objects(by_text):
    scheme = by_text["shl GPR[32]:RW, cl:R"]
    assert [operand.as_json() for operand in scheme.operands[:2]] == [
        {
            "kind": "register",
            "name": "GPR[32]",
            "access": "RW",
            "width": 32,
            "registers": [],
            "implicit": False,
        },
        {"kind": "register", "name": "cl", "access": "R", "width": 8, "registers": ["cl"], "implicit": False},
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("cli", "kernel"),
        ("jne REL[32]", "control flow"),
        ("fadd ST:RW, st0:R", "x87"),
        ("paddb MM:RW, MM:R", "MMX"),
        ("addps XMM:RW, XMM:R", "legacy SSE"),
        ("vaddps ZMM:W, ZMM:R, ZMM:R", "AVX-512"),
        ("mul GPR[64]:R", "fixed register rax"),
        ("adc GPR[64]:RW, GPR[64]:R", "flags cf"),
        ("add eax:RW, IMM[32]:R", "fixed register eax"),
        ("add GPR[8h]:RW, IMM[8]:R", "ah, bh, ch, dh"),
        ("add GPR[64]:RW, 0x0", "special case of add GPR[64], IMM[8]"),
        ("add GPR[8a]:RW, IMM[8]:R", "special case of add GPR[8], IMM[8]"),
        ("push GPR[64]:R", "stack pointer"),
        ("lock add MEM[64]:RW, GPR[64]:R", "locked"),
        ("vpgatherdd XMM:RW, MEM[32,XMM]:R, XMM:RW", "uses up its mask"),
        ("cpuid", "whole processor"),
        ("vmovntps MEM[256]:W, YMM:R", "caches"),
        ("rdrand GPR[64]:W", "random"),
        ("lfence", "waits for earlier"),
        ("sal GPR[64]:RW, 0x1", "undocumented"),
        ("vpcmov XMM:W, XMM:R, XMM:R, XMM:R", "Bulldozer"),
    ],
)
def test_every_exclusion_says_why(by_text, text, reason):
    assert reason in by_text[text].exclusion


def test_reasons_are_sentences_for_people():
    for reason in {scheme.exclusion for scheme in schemes()} - {""}:
        assert re.search(r"[a-z]{2,} |kernel|MMX|AVX-512", reason), reason
        assert "{" not in reason, reason


def test_nothing_in_the_default_set_chains_its_copies_through_something_fixed():
    default = [scheme for scheme in schemes() if not scheme.exclusion]
    assert 2_000 < len(default) < 2_400
    for scheme in default:
        assert scheme.encoding != "EVEX"
        assert not any(operand.access == "RW" and operand.registers for operand in scheme.operands), (
            scheme.text
        )


def test_the_starter_set_covers_every_part_of_a_core(by_text):
    starter = [scheme for scheme in schemes() if scheme.starter]
    assert {scheme.text for scheme in starter} == STARTER_SET
    assert len(starter) >= 40
    assert not [scheme.text for scheme in starter if scheme.exclusion]
    assert {scheme.category for scheme in starter} >= {
        "arithmetic", "logical", "shift", "rotate", "multiply", "bit", "address", "move", "compare",
        "fused-multiply-add", "divide", "convert", "shuffle", "blend",
    }  # fmt: skip
    assert {scheme.memory for scheme in starter} >= {"", "R", "W", "RW"}
    assert {scheme.extension for scheme in starter} <= {
        "BASE", "X64", "BMI1", "BMI2", "LZCNT", "POPCNT", "AVX", "AVX2", "FMA",
    }  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize(("blocks", "least"), [("sqlite.csv", 0.55), ("bbset_400_hsw.csv", 0.6)])
def test_the_starter_set_has_what_compilers_emit(blocks, least):
    """Counted in published blocks, which are not those that the set was chosen by."""
    counts: Counter[str | None] = Counter()
    with (settings.SHARED / "data" / "blocks" / blocks).open(newline="") as rows:
        for code, *_ in csv.reader(rows):
            with contextlib.suppress(ValueError, BlockError):
                counts.update(schemes_of_bytes(bytes.fromhex(code)))
    known = sum(number for scheme, number in counts.items() if scheme in STARTER_SET)
    assert known > least * counts.total()


def test_building_the_set_takes_seconds_at_most_and_no_django():
    code = (
        "import time, sys; from inference.isa.x86 import schemes; schemes(); "
        "assert 'django' not in sys.modules; print(time.process_time())"
    )
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert float(run.stdout) < 10
