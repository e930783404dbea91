from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import OpKind, Register, RegisterExt

from inference.agent.code_pages import CodePagesError, GuardedPages
from inference.agent.frame import function
from inference.isa.x86 import schemes
from inference.isa.x86.assembling import CannotMeasureError, frame, unroll
from tests.drawn import examples
from tests.isa.decoding import accesses, decoded, scheme_sequence

DEFAULT = [scheme.text for scheme in schemes() if not scheme.exclusion]
experiments = st.lists(st.tuples(st.sampled_from(DEFAULT), st.integers(1, 4)), min_size=1, max_size=5)


def test_every_scheme_of_the_default_set_assembles_and_decodes_back():
    for text in DEFAULT:
        code = unroll([(text, 1)], instructions=8)
        body = decoded(code.code)
        assert len(body) == code.copies == 8
        assert scheme_sequence([(text, 1)], body) == [text] * 8, text
        for instruction in body:
            registers = [
                RegisterExt.full_register(instruction.op_register(k))
                for k in range(instruction.op_count)
                if instruction.op_kind(k) == OpKind.REGISTER
            ]
            assert len(set(registers)) == len(registers), f"{text}: {instruction}"


def test_all_instances_of_a_scheme_have_nearly_the_same_length():
    """Only the prefix byte that names r8 to r15 in small operations, or xmm8 to xmm15, may come and go."""
    for text in DEFAULT:
        lengths = {instruction.len for instruction in decoded(unroll([(text, 1)]).code)}
        assert max(lengths) - min(lengths) <= 1, text


def test_prefixes_lengthen_instructions_and_change_nothing_else():
    for text in DEFAULT:
        usual, long = (unroll([(text, 1)], instructions=8, least_bytes=least) for least in (0, 5))
        short, lengthened = decoded(usual.code), decoded(long.code)
        assert [str(each).replace("ds:", "") for each in lengthened] == [
            str(each).replace("ds:", "") for each in short
        ], text
        assert [each.len for each in lengthened] == [max(each.len, min(5, each.len + 3)) for each in short], (
            text
        )
        assert long.half_bytes == sum(each.len for each in lengthened[: long.half_copies])
        assert scheme_sequence([(text, 1)], lengthened) == [text] * 8, text


@examples(80)
@given(experiments)
def test_a_body_is_made_of_whole_copies_and_its_half_is_one_itself(terms):
    whole = unroll(terms)
    length = sum(count for _, count in terms)
    assert whole.copies == max(2, -(-100 // length))
    assert whole.half_copies == whole.copies // 2
    body = decoded(whole.code)
    assert len(body) == len(whole.listing) == whole.copies * length
    assert len(decoded(whole.code[: whole.half_bytes])) == whole.half_copies * length
    if whole.half_copies >= 2:
        shorter = unroll(terms, instructions=whole.half_copies * length)
        assert shorter.code == whole.code[: whole.half_bytes]
    sequence = scheme_sequence(terms, body)
    for copy in range(whole.copies):
        assert sorted(sequence[copy * length : (copy + 1) * length]) == sorted(
            text for text, count in terms for _ in range(count)
        )


@examples(50)
@given(experiments)
def test_the_same_multiset_gives_the_same_code(terms):
    assert unroll(terms).code == unroll(list(reversed(terms))).code
    assert unroll(terms).code == unroll([(text, 1) for text, count in terms for _ in range(count)]).code


def test_instances_of_a_scheme_are_spread_over_the_copy():
    add, multiply = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"
    listing = unroll([(add, 4), (multiply, 2)]).listing
    assert [line.split()[0] for line in listing[:6]] == ["add", "imul", "add", "add", "imul", "add"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("add GPR[64]:RW, IMM[8]:R", 43),
        ("add GPR[16]:RW, IMM[16]:R", 256 + 42),
        ("add GPR[64]:RW, IMM[32]:R", 2**24 + 42),
        ("mov GPR[64]:W, IMM[64]:R", 2**56 + 42),
        ("vcmpps YMM:W, YMM:R, YMM:R, IMM[8]:R", 5),  # 43 would be the predicate "never"
        ("vpalignr XMM:W, XMM:R, XMM:R, IMM[8]:R", 5),  # 43 would shift everything out
        ("vroundps XMM:W, XMM:R, IMM[8]:R", 0x0B),  # 43 has reserved bits
        ("vperm2f128 YMM:W, YMM:R, YMM:R, IMM[8]:R", 0x21),  # 43 would clear a half
        ("shl GPR[64]:RW, 0x1", 1),
        ("shl GPR[64]:RW, 0x0", 0),
    ],
)
def test_immediates_are_ordinary_values(text, value):
    for instruction in decoded(unroll([(text, 1)]).code):
        assert instruction.immediate(instruction.op_count - 1) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no such thing", "no such scheme"),
        ("vpgatherdd XMM:RW, MEM[32,XMM]:R, XMM:RW", "uses up its mask"),
        ("vpscatterdd MEM[32,XMM]{k}:RW, XMM:R", "vector of different valid addresses"),
        ("fld MEM[64]:R", "moves the x87 register stack"),
        ("fadd MEM[64]:R", "top of the x87 register stack"),
        ("fldcw MEM[16]:R", "state of the x87 unit"),
        ("rep movsb MEM[8,rdi]:RW, MEM[8,rsi]:R", "moves its fixed address registers"),
        ("push GPR[64]:R", "stack pointer"),
        ("cli", "kernel rights"),
        ("jne REL[32]", "control flow"),
        ("lock add MEM[64]:RW, GPR[64]:R", "locked"),
        ("adc GPR[64]:RW, GPR[64]:R", "each copy waits"),
        ("adc GPR[64]:RW, 0x0", "each copy waits"),  # although it is a special case first of all
        ("div GPR[64]:R", "fixed register"),
        ("div GPR[8h]:R", "second byte"),
        ("movntps MEM[128]:W, XMM:R", "goes past the caches"),
    ],
)
def test_what_cannot_be_measured_says_so_by_name(text, reason):
    with pytest.raises(CannotMeasureError, match=reason) as caught:
        unroll([("add GPR[64]:RW, GPR[64]:R", 1), (text, 1)])
    assert caught.value.scheme == text
    assert text in str(caught.value)


def test_every_scheme_assembles_or_says_why_not():
    assembled = 0
    for scheme in schemes():
        if scheme.encoding == "EVEX":
            continue
        try:
            assembled += bool(unroll([(scheme.text, 1)], instructions=4).code)
        except CannotMeasureError:
            assert scheme.exclusion, scheme.text
    assert assembled > 3_300


def test_legacy_sse_is_measured_by_itself():
    addition = ("addps XMM:RW, XMM:R", 1)
    assert unroll([addition, ("add GPR[64]:RW, GPR[64]:R", 1)]).copies == 50
    with pytest.raises(CannotMeasureError, match="do not mix"):
        unroll([addition, ("vaddps XMM:W, XMM:R, XMM:R", 1)])


@pytest.mark.parametrize(("terms", "message"), [([], "at least one"), ([("nop", 0)], "multiplicity")])
def test_an_experiment_without_instructions_is_refused(terms, message):
    with pytest.raises(ValueError, match=message):
        unroll(terms)


def test_long_experiments_still_come_twice():
    code = unroll([("add GPR[64]:RW, GPR[64]:R", 150)])
    assert (code.copies, code.half_copies) == (2, 1)


@pytest.mark.parametrize("avx", [True, False])
def test_the_frame_sets_every_register_but_those_that_hold_addresses_and_the_count(avx):
    plan = frame(avx)
    assert plan.avx is avx
    everything = {f"r{n}" for n in range(8, 16)} | {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"}
    assert everything - plan.registers.keys() == {"rsp", "rsi", plan.memory_register, plan.counter_register}
    # `bt MEM[16], GPR[16]` counts its bit from the operand's address
    assert all(0 < value < 16 and value % 2 for value in plan.registers.values())


@pytest.mark.parametrize("avx", [True, False])
def test_the_frame_leaves_the_address_of_the_memory_in_rsi(avx):
    for instruction in decoded(function(frame(avx), b"")):
        assert Register.RSI not in accesses(instruction)[1], instruction


_RUN_ALL = """
from inference.agent.code_pages import GuardedPages
from inference.agent.facts import facts
from inference.agent.frame import function
from inference.isa.x86 import schemes
from inference.isa.x86.assembling import CannotMeasureError, unroll
from inference.isa.microarchitecture import flags_of
from inference.isa.x86.availability import missing_feature
from inference.isa.x86.body_context import X86BodyContext, needs

flags = flags_of(facts(None))
code, memory = GuardedPages(65536, executable=True), GuardedPages(32768)
evex = [scheme for scheme in schemes() if scheme.encoding == "EVEX"]
others = [scheme for scheme in schemes() if scheme.encoding != "EVEX"]
count = 0
for scheme in others + evex[::10]:
    if missing_feature(scheme, flags):
        continue
    try:
        body = unroll([(scheme.text, 1)], 40, breaking=True).code
    except CannotMeasureError:
        continue
    print(scheme.text, flush=True)
    avx = "avx" in flags and "legacy" not in needs(scheme)
    frame = X86BodyContext.of([scheme], avx=avx, flags=flags).frame
    memory.write(0, frame.memory.to_bytes(8, "little") * (memory.size // 8))
    code.write(0, function(frame, body))
    code.function(0)(3, memory.address + memory.size // 2)
    count += 1
print(count)
"""


def test_every_body_that_this_cpu_knows_runs_to_its_end():
    if platform.machine() != "x86_64" or not sys.platform.startswith("linux"):
        pytest.skip("runs x86-64 code on Linux")
    try:
        GuardedPages(4096, executable=True)
    except CodePagesError as error:
        pytest.skip(str(error))
    run = subprocess.run(
        [sys.executable, "-c", _RUN_ALL],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).resolve().parents[2],
    )
    *texts, last = run.stdout.splitlines()
    assert run.returncode == 0, f"{last} ended with {run.returncode}: {run.stderr}"
    assert len(texts) == int(last) > 1_000
