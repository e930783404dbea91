"""Basic blocks in a measuring process: memory mapped when it is touched, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from iced_x86 import Decoder

from inference.agent.block_timer import BlockTimer
from inference.agent.counters import ProcessorCounters
from inference.agent.facts import facts
from inference.agent.frame import FrameError, plain_frame
from inference.agent.passes import LocalHarness
from inference.agent.protocol import Batch, BatchItem, Frame, Result, Settings
from inference.agent.reading import ProtocolError
from inference.agent.targets import native, x86_blocks
from inference.agent.targets.block_state import VECTOR, Layout
from inference.agent.targets.x86_blocks import REGISTERS
from tests.agent.conftest import ADD, HASTY, needs_x86
from tests.agent.conftest import frame as usual_frame

START = 0x62345600
COPIES = 20


def surroundings(*, unrolled: bool = True, counter: str = "", pages: int = 64, **registers: int) -> Frame:
    return Frame(
        memory_register="",
        counter_register=counter,
        registers={**dict.fromkeys(REGISTERS, START), **registers},
        memory=START,
        avx="avx" in facts(None)["flags"],
        pages=pages,
        unrolled=unrolled,
    )


def block(name: str, code: str) -> BatchItem:
    machine_code = bytes.fromhex(code)
    return BatchItem(name, machine_code * COPIES, COPIES, len(machine_code) * COPIES // 2, COPIES // 2, 1)


async def measured(harness: LocalHarness, frame: Frame, **codes: str) -> dict[str, Result]:
    items = tuple(block(name, code) for name, code in codes.items())
    results: Sequence[Result] = await harness.measure(Batch(frame, HASTY, items), lambda _done, _all: None)
    return {result.id: result for result in results}


def test_frames_of_experiments_look_as_they_did_before_there_were_blocks():
    assert not {"pages", "unrolled"} & Frame().as_json().keys()
    assert Frame.read(Frame().as_json()) == Frame()
    assert plain_frame(Frame()) == Frame()


def test_frames_of_blocks_travel_and_know_the_plain_one_beside_them():
    frame = surroundings(unrolled=True, pages=9)
    assert Frame.read(frame.as_json()) == frame
    assert plain_frame(frame) == Frame(avx=frame.avx)


def test_what_surrounds_a_block_is_built_for_any_register_as_counter():
    layout = Layout(code=0x60_0000, state=0x10_0000)
    bodies = {
        name: x86_blocks.function(
            surroundings(unrolled=False, counter=name), b"\x90", layout.code, layout, refills=True
        )
        for name in ("", "r15", "rcx")
    }
    assert b"\x90\x48\xff\x0d" in bodies[""]  # nop; dec qword ptr [rip+…]
    assert b"\x90\x49\xff\xcf\x0f\x85" in bodies["r15"]  # nop; dec r15; jne
    assert b"\x90\x48\xff\xc9\x0f\x85" in bodies["rcx"]
    with pytest.raises(FrameError, match="no general-purpose register 'r16'"):
        x86_blocks.function(surroundings(r16=1), b"\x90", layout.code, layout, refills=False)


def test_blocks_of_other_instruction_sets_are_refused(monkeypatch: pytest.MonkeyPatch):
    nothing = ProcessorCounters([])
    with pytest.raises(FrameError, match="the frame is for armv8"):
        BlockTimer(Frame(isa="armv8", pages=1), Settings(), nothing)
    monkeypatch.setattr(native(), "BLOCKS", None)
    with pytest.raises(FrameError, match="are not timed yet"):
        BlockTimer(Frame(isa=native().ISA, pages=1), Settings(), nothing)


@needs_x86
@pytest.mark.parametrize("counter", x86_blocks.COUNTERS)
async def test_a_loop_ends_whatever_counts_its_iterations(harness: LocalHarness, counter: str):
    found = await measured(harness, surroundings(unrolled=False, counter=counter), nop="90")
    assert found["nop"].state != "failed", found["nop"].note


@needs_x86
def test_rax_counts_no_iterations():
    frame = surroundings(unrolled=False, counter="rax")
    with pytest.raises(FrameError, match="no iterations can be counted in 'rax'"):
        BlockTimer(frame, HASTY, ProcessorCounters(()))


def test_wide_frames_fill_masks_and_all_of_each_vector():
    layout = Layout(code=0x60_0000, state=0x10_0000)
    wide = replace(surroundings(), avx=True, mask_bits=16)
    code = x86_blocks.function(wide, b"\x90", layout.code, layout, refills=False)
    listing = [str(one) for one in Decoder(64, code, ip=layout.code)]
    assert listing.count("vzeroall") == 1
    assert [one for one in listing if "zmm" in one] == [
        f"vbroadcastsd zmm{number},qword ptr [rax+{VECTOR:X}h]" for number in range(32)
    ]
    assert [one for one in listing if "kxnorw" in one] == [f"kxnorw k{n},k{n},k{n}" for n in range(1, 8)]
    with pytest.raises(FrameError, match="16 or 64"):
        x86_blocks.function(replace(wide, mask_bits=3), b"\x90", layout.code, layout, refills=False)


@needs_x86
@pytest.mark.skipif("avx512f" not in facts(None)["flags"], reason="the CPU has no AVX-512")
async def test_blocks_with_masks_run_in_wide_frames(harness: LocalHarness):
    wide = replace(surroundings(), mask_bits=16)
    codes = {
        "a merge": "62f17d49fec1",  # vpaddd zmm0{k1}, zmm0, zmm1
        "a mask that is set": "c5f893d9 85db 7502 0f0b",  # kmovw ebx, k1; test ebx, ebx; jnz +2; ud2
        "a mask that is not": "c5f447c9 c5f893d9 85db 7502 0f0b",  # the same behind kxorw k1, k1, k1
    }
    found = await measured(harness, wide, **codes)
    assert [found[name].state == "failed" for name in codes] == [False, False, True]
    without = {"zeros": "c5f893d9 85db 7402 0f0b", "ones": codes["a mask that is set"]}  # jz +2
    found = await measured(harness, replace(wide, clear_masks=True), **without)
    assert [found[name].state == "failed" for name in without] == [False, True]


@needs_x86
@pytest.mark.parametrize("unrolled", [True, False])
async def test_registers_of_x87_and_mmx_begin_filled(harness: LocalHarness, unrolled: bool):
    filled = replace(surroundings(unrolled=unrolled), fpu="x87")
    codes = {  # 1.0 is 0x3f800000, and its square root is 1.0 again
        "one": "d9fa d95504 8b5504 81fa0000803f 7402 0f0b",  # fsqrt; fst [rbp+4]; mov; cmp; jz +2; ud2
        "not half of it": "d9fa d95504 8b5504 81fa0000003f 7402 0f0b",
    }
    found = await measured(harness, filled, **codes)
    assert [found[name].state == "failed" for name in codes] == [False, True]
    # movd ebx, mm5; the frame's pattern in it; cmp; jz +2; ud2
    pattern = (filled.vector % 2**32).to_bytes(4, "little").hex()
    held = {"the pattern": f"0f7eeb 81fb{pattern} 7402 0f0b", "nothing": "0f7eeb 85db 7402 0f0b"}
    found = await measured(harness, replace(filled, fpu="mmx"), **held)
    assert [found[name].state == "failed" for name in held] == [False, True]
    layout = Layout(0x10000, 0x20000)
    with pytest.raises(FrameError):
        x86_blocks.function(replace(filled, fpu="sse"), b"\x90", layout.code, layout, refills=False)


@needs_x86
@pytest.mark.parametrize("unrolled", [True, False])
async def test_blocks_have_whatever_memory_and_registers_they_use(harness: LocalHarness, unrolled: bool):
    found = await measured(
        harness,
        surroundings(unrolled=unrolled),
        loads="488b07",  # mov rax, [rdi]
        follows="488b3f",  # mov rdi, [rdi]
        stores="488937",  # mov [rdi], rsi
        pops="5c",  # pop rsp
        moves_stack="50 59",  # push rax; pop rcx
        every_register="4901ff 4901fe 4c01f8",  # add r15, rdi; add r14, rdi; add rax, r15
        from_rip="488b0500002000",  # mov rax, [rip+0x200000]
        backwards="fd",  # std
        x87="d9e8 ddd8",  # fld1; fstp st(0)
        keeps_no_result="ff c0",  # inc eax
    )
    failed = {name: result.note for name, result in found.items() if result.cycles is None}
    assert not failed


@needs_x86
@pytest.mark.parametrize("unrolled", [True, False])
async def test_what_a_block_must_not_touch_is_named(harness: LocalHarness, unrolled: bool):
    found = await measured(
        harness,
        surroundings(unrolled=unrolled),
        own_code="488d0500000000 488918",  # lea rax, [rip]; mov [rax], rbx
        everywhere="f3aa",  # rep stosb
        nowhere="48b80000000000008000 488b00",  # mov rax, 2**55; mov rax, [rax]
        nothing="488b042500000000",  # mov rax, [0]
        unaligned="0f284701",  # movaps xmm0, [rdi+1]
        divides="31c9 f7f1",  # xor ecx, ecx; div ecx
        illegal="0f0b",
        fine="4801d8",
    )
    said = {name: result.note for name, result in found.items()}
    assert "touches memory that is not its own" in said["own_code"]
    assert "touches more than 64 pages" in said["everywhere"]
    assert "cannot be" in said["nowhere"]
    assert "where this system lets no program have memory" in said["nothing"]
    assert "not aligned" in said["unaligned"]
    assert "arithmetic exception" in said["divides"]
    assert "illegal instruction" in said["illegal"]
    assert found["fine"].cycles is not None


@needs_x86
async def test_memory_and_registers_begin_anew_for_unrolled_copies(harness: LocalHarness):
    # add qword ptr [rdi], 64 and a load through the pointer that it changes: without a fresh start each of
    # the thousands of iterations would touch memory 64 bytes further on.
    found = await measured(harness, surroundings(pages=8), walks="48830740 488b0f 488b01")
    assert found["walks"].cycles is not None, found["walks"].note


@needs_x86
async def test_code_behind_the_copies_keeps_a_loop_within_its_pages(harness: LocalHarness):
    # mov rax, [rbx]; add rbx, 96 walks on and on, unless and rbx, ~0x2000 leads it back.
    frame = surroundings(unrolled=False, counter="r15", pages=8)
    walking = block("walking", "488b03 4883c360")
    kept = replace(walking, id="kept", end=bytes.fromhex("4881e3ffdfffff"))
    assert BatchItem.read(kept.as_json()) == kept
    assert "end" not in walking.as_json()
    results = await harness.measure(Batch(frame, HASTY, (walking, kept)), lambda _done, _all: None)
    said = {result.id: result for result in results}
    # A busy computer is said first: then neither says anything of pages.
    assert "touches more than 8 pages" in said["walking"].note or said["walking"].state == "contended"
    assert "touches" not in said["kept"].note


@needs_x86
async def test_pages_are_of_eight_in_turn(harness: LocalHarness):
    # A load through what was stored 4 KiB away faults unless the pages differ; 32 KiB away they are the same.
    store = "48c70300000000 "  # mov qword ptr [rbx], 0
    found = await measured(
        harness,
        surroundings(rbx=0x70000000, rdi=0x70000000),
        near=store + "488b8700100000 488b08",  # mov rax, [rdi+0x1000]; mov rcx, [rax]
        far=store + "488b8700800000 488b08",  # mov rax, [rdi+0x8000]; mov rcx, [rax]
    )
    assert found["near"].cycles is not None, found["near"].note
    assert "lets no program have memory" in found["far"].note


@needs_x86
async def test_a_frame_that_makes_no_sense_is_refused_and_blocks_mix_with_experiments(harness: LocalHarness):
    plain = await harness.measure(Batch(usual_frame(), HASTY, (ADD,)), lambda _done, _all: None)
    blocks = await measured(harness, surroundings(unrolled=False, counter="r15"), add="4801d8")
    again = await harness.measure(Batch(usual_frame(), HASTY, (ADD,)), lambda _done, _all: None)
    assert all(result.cycles for result in (*plain, blocks["add"], *again))
    one = BatchItem("one", b"\x90", 1, 1, 1, 1)
    (alone,) = await harness.measure(Batch(surroundings(), HASTY, (one,)), lambda _done, _all: None)
    assert "two lengths" in alone.note


@pytest.mark.parametrize("offset", [0, 1, 33, 63])
@pytest.mark.parametrize("unrolled", [True, False])
def test_the_first_copy_is_as_far_behind_a_cache_line_as_wanted(offset: int, unrolled: bool) -> None:
    layout = Layout(code=0x60_0000, state=0x10_0000)
    frame = replace(surroundings(unrolled=unrolled, counter="" if unrolled else "r15"), offset=offset)
    body = bytes.fromhex("cccccccccccccccc")
    code = x86_blocks.function(frame, body, layout.code, layout, refills=False)
    assert code.index(body) % 64 == offset
    assert Frame.read(frame.as_json()) == frame


def test_a_frame_refuses_offsets_beyond_a_cache_line() -> None:
    with pytest.raises(ProtocolError, match="offset must be between 0 and 63"):
        Frame.read({**Frame().as_json(), "offset": 64})


@needs_x86
async def test_confinement_leaves_stores_and_loads_as_they_are(harness: LocalHarness) -> None:
    status = Path("/proc/self/status").read_text().splitlines()
    ours = next((line.partition(":")[2].strip() for line in status if "Store_Bypass" in line), "")
    await measured(harness, surroundings(), one="4801d8")
    assert harness.confinement["store_bypass"] == ours
