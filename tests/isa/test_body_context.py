"""The frame that a run's schemes need, the options of loop bodies, and the values that they start with."""

from __future__ import annotations

import struct

import pytest

from inference.agent.protocol import Frame
from inference.isa.machine_bodies import DEFAULTS, USUAL, Options
from inference.isa.x86.assembling import unroll
from inference.isa.x86.body_context import X86BodyContext
from inference.isa.x86.scheme_set import scheme_and_form
from inference.isa.x86.values import VALUES, obstacle

SERVER = frozenset({"avx", "avx2", "avx512f", "avx512bw"})
PHI = SERVER - {"avx512bw"}


def scheme(text: str):
    found = scheme_and_form(text)
    assert found is not None
    return found[0]


ADD = scheme("add GPR[64]:RW, GPR[64]:R")
ZMM = scheme("vaddps ZMM:W, ZMM:R, ZMM:R")
GATHER = scheme("vpgatherdd XMM:RW, MEM[32,XMM]:R, XMM:RW")
LEGACY = scheme("addps XMM:RW, XMM:R")
X87 = scheme("fadd ST:RW, st0:R")
MMX = scheme("paddb MM:RW, MM:R")


def test_what_was_measured_before_has_the_frame_that_it_had():
    """Else old measurements would not be found again: neither fields nor values may change."""
    frame = X86BodyContext.of([ADD], avx=True, flags=SERVER).frame
    registers = {
        "rax": 7, "rcx": 5, "rdx": 3, "rbx": 9, "rbp": 11, "rdi": 13,
        "r8": 15, "r9": 7, "r10": 5, "r11": 3, "r12": 9, "r13": 11,
    }  # fmt: skip
    assert frame == Frame(registers=registers)
    assert not frame.as_json().keys() & {"vectors", "mask_bits", "fpu"}
    assert Frame.read(frame.as_json()) == frame
    assert DEFAULTS.as_json() == {}
    assert Options(200, True, "one").as_json() == {"instructions": 200, "breaking": True, "values": "one"}


@pytest.mark.parametrize(
    ("schemes", "flags", "changes"),
    [
        ([ZMM], SERVER, {"mask_bits": 64}),
        ([ZMM], PHI, {"mask_bits": 16}),
        ([GATHER, ADD], SERVER, {"vectors": {"xmm15": 0}}),
        ([X87], SERVER, {"fpu": "x87"}),
        ([MMX, X87], SERVER, {"fpu": "mmx"}),
    ],
)
def test_a_frame_has_what_its_schemes_need(schemes, flags, changes):
    frame = X86BodyContext.of(schemes, avx=True, flags=flags).frame
    assert frame == Frame(registers=frame.registers, **changes)
    assert Frame.read(frame.as_json()) == frame


def test_what_a_frame_does_not_suit_says_so():
    both = X86BodyContext.of([MMX, X87], avx=True, flags=SERVER)
    assert "MMX" in both.obstacle(X87)
    assert both.obstacle(MMX) == both.obstacle(ADD) == ""
    assert "VEX" in both.obstacle(LEGACY)
    assert X86BodyContext.of([LEGACY], avx=False, flags=SERVER).obstacle(LEGACY) == ""


@pytest.mark.parametrize("name", VALUES)
def test_no_class_of_values_has_denormal_numbers_or_a_divisor_of_zero(name: str):
    values = VALUES[name]
    halves = [values.pattern & 0xFFFFFFFF, values.pattern >> 32]
    floats = [struct.unpack("<f", half.to_bytes(4, "little"))[0] for half in halves]
    double = struct.unpack("<d", values.pattern.to_bytes(8, "little"))[0]
    smallest_float, smallest_double = 2.0**-126, 2.0**-1022
    if name == "zero":
        assert floats == [0, 0]
        assert obstacle(scheme("div GPR[64]:R"), name)
        return
    assert all(smallest_float <= abs(number) < float("inf") for number in floats)
    assert smallest_double <= abs(double) < float("inf")
    for value in (*values.registers, values.pattern):
        for width in (8, 16, 32, 64):
            assert value % 2**width not in ({0, 2**width - 1} if name == "one" else {0, 1, 2**width - 1})


def test_bits_counted_from_memory_stay_within_their_operand():
    bit = scheme("bts MEM[64]:RW, GPR[64]:R")
    for name, values in VALUES.items():
        assert bool(obstacle(bit, name)) == any(value >= 16 for value in values.registers)
        assert obstacle(scheme("bts GPR[64]:RW, GPR[64]:R"), name) == ""
    assert obstacle(bit, USUAL) == ""


@pytest.mark.parametrize("instructions", [40, 100, 200])
def test_bodies_are_unrolled_as_far_as_is_asked(instructions: int):
    code = unroll([(ADD.text, 1), (MMX.text, 1)], instructions)
    assert code.copies == instructions // 2
    assert code.half_copies == instructions // 4
