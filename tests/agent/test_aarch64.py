"""The agent's side of AArch64: encodings, what the kernel shows of Arm's processors."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from inference.agent import arm
from inference.agent.emulated import MEANINGLESS, EmulatedHarness
from inference.agent.emulation import emulator
from inference.agent.facts import facts, unfit
from inference.agent.passes import LocalHarness
from inference.agent.protocol import Batch, BatchItem, Frame, Result, Settings
from inference.agent.targets import FrameError, aarch64, native, target_for, target_of, words, x86_64
from inference.isa import llvm_mc

needs_llvm_mc = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")

CORTEX_A72 = """\
processor\t: 0
BogoMIPS\t: 108.00
Features\t: fp asimd evtstrm crc32 cpuid
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd08
CPU revision\t: 3
"""

SYNCHRONISE = """\
mrs x3, ctr_el0
ubfx x4, x3, #16, #4
mov x5, #4
lsl x4, x5, x4
sub x5, x4, #1
bic x5, x0, x5
1: dc cvau, x5
add x5, x5, x4
cmp x5, x1
b.lo 1b
dsb ish
and x4, x3, #15
mov x5, #4
lsl x4, x5, x4
sub x5, x4, #1
bic x5, x0, x5
2: ic ivau, x5
add x5, x5, x4
cmp x5, x1
b.lo 2b
dsb ish
isb
ret
"""


def entry(text: str) -> dict[str, str]:
    lines = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}


def assembled(*lines: str) -> bytes:
    return llvm_mc.assemble(lines, "aarch64", "cortex-a72").code


@needs_llvm_mc
def test_words_are_what_the_assembler_makes_of_them():
    pairs = [
        (words.add(3, 4, 5), "add x3, x4, x5"),
        (words.move(27, 1), "mov x27, x1"),
        (words.multiply(3, 4, 5), "mul w3, w4, w5"),
        (words.load(9, words.SP, 160), "ldr x9, [sp, #160]"),
        (words.store(9, words.SP, 160), "str x9, [sp, #160]"),
        (words.store_pair(29, 30, 0), "stp x29, x30, [sp]"),
        (words.load_pair(19, 20, 16), "ldp x19, x20, [sp, #16]"),
        (words.store_vectors(8, 9, 96), "stp d8, d9, [sp, #96]"),
        (words.load_vectors(14, 15, 144), "ldp d14, d15, [sp, #144]"),
        (words.set_bit(9, 24), "orr x9, x9, #0x1000000"),
        (words.fill_vector(31, 9), "dup v31.2d, x9"),
        (words.multiply_vectors(7, 0, 1), "fmul v7.4s, v0.4s, v1.4s"),
        (words.branch_while_not_zero(28, -8), "cbnz x28, #-8"),
        (words.MRS_X9_FPCR, "mrs x9, fpcr"),
        (words.MSR_FPCR_X9, "msr fpcr, x9"),
        (words.RET, "ret"),
        (words.NOP, "nop"),
    ]
    assert words.code(word for word, _ in pairs) == assembled(*(text for _, text in pairs))
    assert words.code(words.set_register(5, 0x1234_0000_5678)) == assembled(
        "movz x5, #0x5678", "movk x5, #0x1234, lsl #32"
    )
    assert words.code(words.add_immediate(9, 27, -2048)) == assembled("sub x9, x27, #2048")
    assert words.code(words.add_immediate(9, 27, 5000)) == assembled(
        "add x9, x27, #904", "add x9, x9, #1, lsl #12"
    )
    assert assembled(*SYNCHRONISE.splitlines()) == aarch64.SYNCHRONISE


def test_the_loop_starts_at_a_cache_line_and_jumps_back_to_its_start():
    body = words.code([words.add(3, 4, 5)] * 5)
    code = aarch64.function(aarch64.frame(), body)
    start = code.index(body)
    assert start % 64 == 0
    branch = int.from_bytes(code[start + len(body) + 4 :][:4], "little")
    assert branch == words.branch_while_not_zero(28, -len(body) - 4)


@pytest.mark.parametrize(
    "frame",
    [
        Frame(isa="AArch64"),  # registers of x86-64
        Frame(isa="AArch64", memory_register="x27", counter_register="x28", registers={"x18": 1}),
        Frame(isa="AArch64", memory_register="x27", counter_register="x28", registers={"x28": 1}),
        Frame(isa="AArch64", memory_register="x27", counter_register="x28", addresses={"x1": 1 << 20}),
    ],
)
def test_frames_that_cannot_be_built_are_refused(frame: Frame):
    with pytest.raises(FrameError):
        aarch64.function(frame, words.code([words.NOP]))


def test_half_an_instruction_is_no_body():
    with pytest.raises(FrameError, match="4 bytes"):
        aarch64.function(aarch64.frame(), b"\0\0\0\0\0")


def test_addresses_belong_to_a_frame_only_where_there_are_any():
    assert "addresses" not in Frame().as_json()
    frame = Frame(isa="AArch64", memory_register="x27", counter_register="x28", addresses={"x19": 64})
    assert Frame.read(frame.as_json()) == frame
    with pytest.raises(FrameError, match="addresses"):
        x86_64.function(Frame(addresses={"rax": 0}), b"\x90")


def test_targets_are_chosen_by_machine_and_frames_of_another_are_refused():
    assert native("aarch64") is aarch64
    assert native("x86_64") is x86_64
    assert target_of("AArch64") is aarch64
    with pytest.raises(FrameError, match="ppc64"):
        native("ppc64")
    other = next(name for name in ("x86-64", "AArch64") if name != native().ISA)
    with pytest.raises(FrameError, match=other):
        target_for(Frame(isa=other))


def test_arms_processors_are_known_by_their_numbers():
    found = arm.description(entry(CORTEX_A72))
    assert found["cpu"] == "ARM Cortex-A72"
    assert (found["implementer"], found["part"], found["revision"]) == (0x41, 0xD08, "r0p3")
    assert found["flags"] == ["fp", "asimd", "evtstrm", "crc32", "cpuid"]
    assert aarch64.documented(found)["additions"] == 0.5
    unknown = arm.description({"CPU implementer": "0x99", "CPU part": "0x123"})
    assert unknown["cpu"] == "implementer 0x99 part 0x123"
    assert aarch64.documented(unknown) == {}
    assert arm.description({})["cpu"] == "unknown"


def test_an_emulator_is_recognised(tmp_path: Path):
    kernel = tmp_path / "arch"
    kernel.write_text("x86_64\n")
    assert emulator("aarch64", {}, kernel) == "QEMU's user mode"
    assert x86_64.emulator("x86_64", {"vendor_id": "GenuineIntel"}) == ""
    kernel.write_text("aarch64\n")
    assert emulator("aarch64", entry(CORTEX_A72), kernel) == ""
    assert emulator("aarch64", {"vendor_id": "GenuineIntel"}, tmp_path / "none") != ""
    assert unfit("Linux", "aarch64") == ""
    assert "emulated" in unfit("Linux", "aarch64", "QEMU's user mode")
    assert arm.description({}, "QEMU's user mode")["cpu"] == "AArch64 in QEMU's user mode"


@pytest.mark.asyncio
async def test_nothing_settles_in_an_emulator(monkeypatch: pytest.MonkeyPatch):
    async def measured(_self: object, _batch: object, _progress: object) -> list[Result]:
        return [Result("a", "settled", 1.0, 0.0, 2), Result("b", "failed", note="illegal instruction")]

    monkeypatch.setattr(LocalHarness, "measure", measured)
    harness = EmulatedHarness(None, {}, avx=False)  # type: ignore[arg-type]
    item = BatchItem("a", b"\0\0\0\0", 1, 4, 1, 1)
    results = await harness.measure(Batch(aarch64.frame(), Settings(), (item,)), lambda _done, _all: None)
    assert [(one.state, one.note) for one in results] == [
        ("unsettled", MEANINGLESS),
        ("failed", "illegal instruction"),
    ]
    assert harness.beat().note == MEANINGLESS


def test_an_arm_computer_times_basic_blocks_and_tells_of_no_hypervisor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    found = facts(None)
    assert (found["isa"], found["blocks"], found["virtual"]) == ("AArch64", True, None)
    assert (found["offsets"], found["wide_blocks"], found["leads_back"]) == (True, False, False)
