"""Basic blocks on a board: how they are prepared, what is asked again, and what is refused beforehand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.agent.protocol import Batch, Frame, Result, Settings
from inference.isa.blocks import block_of_hex, block_of_text, general_registers
from inference.isa.start_values import START
from inference.measuring.blocks import (
    LOOP,
    BlockMeasurer,
    BlockOptions,
    item_for,
    obstacle,
    shared_counters,
)
from tests.measuring.boards import MemoryBoard

FLAGS = frozenset({"avx", "avx2", "sse", "sse2"})


class Answering:
    """A harness that says the same of every item, after so many times "contended", then "unsettled"."""

    def __init__(self, contended: int = 0, unsettled: int = 0) -> None:
        self.contended = contended
        self.unsettled = unsettled

    async def measure(self, batch: Batch, _progress) -> list[Result]:
        if self.contended:
            self.contended -= 1
            return [Result(item.id, "contended", 9.0, None, 1, "busy") for item in batch.items]
        if self.unsettled:
            self.unsettled -= 1
            return [Result(item.id, "unsettled", 8.0, 3.0, 7, "restless") for item in batch.items]
        return [Result(item.id, "settled", float(item.instructions), 0.0, 2) for item in batch.items]


def measurer(board: MemoryBoard, options: BlockOptions | None = None, **more) -> BlockMeasurer:
    return BlockMeasurer(board, {"kind": "test"}, FLAGS, Settings(), options or BlockOptions(), **more)


def test_an_unrolled_block_has_two_lengths_and_no_register_of_its_own():
    block = block_of_text("add rax, rbx\nadd rcx, rbx\nadd rdx, rbx")
    frame, item = item_for(block, BlockOptions(), FLAGS)
    assert (frame.unrolled, frame.counter_register, frame.pages) == (True, "", 2000)
    assert frame.registers == dict.fromkeys(general_registers(), START)
    assert item.copies == 2 * item.half_copies
    assert 1598 <= item.copies * 3 <= 1610
    assert item.code == block.code * item.copies
    assert item.half_bytes == len(block.code) * item.half_copies
    assert item.terms == (("add GPR[64]:RW, GPR[64]:R", 3),)


@pytest.mark.parametrize(
    ("code", "copies"),
    [
        ("push rax\npop rbx", 800),
        ("mov qword ptr [rsp], rax\nadd rdx, rbx\nadd rcx, rbx", 534),
        ("mov qword ptr [rsp], rax\nadd dword ptr [rsp+64], 1\nadd rcx, rbx\nadd rdx, rbx", 400),
        ("mov qword ptr [rsp], rax\n" + 7 * "add rcx, rbx\n", 200),  # stores are not what takes long
        ("vmovups zmmword ptr [rsp+0x12345678], zmm0\n" * 8, 200),
    ],
)
def test_copies_fill_the_store_buffer_in_both_lengths(code: str, copies: int) -> None:
    _, item = item_for(block_of_text(code), BlockOptions(), FLAGS)
    assert item.copies == copies
    assert item.half_copies == item.copies // 2
    _, item = item_for(block_of_text(code), BlockOptions(mode=LOOP), FLAGS)
    assert item.copies <= 100


def test_a_loop_counts_in_a_register_that_the_block_leaves_alone():
    options = BlockOptions(mode=LOOP, copies=1)
    frame, item = item_for(block_of_text("add r15, r14"), options, FLAGS)
    assert (frame.unrolled, frame.counter_register) == (False, "r13")
    assert (item.copies, item.half_copies) == (1, 1)
    everything = block_of_text("\n".join(f"inc {name}" for name in general_registers()))
    assert item_for(everything, options, FLAGS)[0].counter_register == ""


def test_blocks_that_are_measured_together_count_in_the_same_register_where_they_can():
    texts = (
        "add r15, r14",
        "add r13, r13",
        "add rax, rbx",
        "add r13, rcx",
        "\n".join(map("inc {}".format, general_registers())),
    )
    blocks = [block_of_text(text) for text in texts]
    assert shared_counters(blocks) == ["r12", "r12", "r12", "r12", ""]
    board = MemoryBoard(Answering())
    options = BlockOptions(mode=LOOP, copies=2)
    found = BlockMeasurer(board, {"kind": "test"}, None, Settings(), options)
    alone = [item_for(block, options, None)[1].id for block in blocks]
    assert len(dict(found.measure(blocks))) == len(blocks)
    assert len(board.posted) == 2
    assert {item.id for batch in board.posted for item in batch.items} == set(alone)
    names = ["rax", "rbx", "r15"]
    crowd = [
        block_of_text("\n".join(f"inc {name}" for name in general_registers() if name != one))
        for one in names
    ]
    assert shared_counters(crowd) == ["", "rbx", "r15"]  # rax cannot count


def test_upper_halves_of_vectors_are_filled_unless_only_legacy_code_uses_them():
    options = BlockOptions()
    assert item_for(block_of_text("vaddps xmm1, xmm2, xmm3"), options, FLAGS)[0].avx
    assert not item_for(block_of_text("addps xmm1, xmm2"), options, FLAGS)[0].avx
    assert not item_for(block_of_text("add rax, rbx"), options, frozenset())[0].avx


def test_blocks_find_registers_of_x87_and_mmx_filled_unless_they_push_something():
    for text, fpu in (
        ("fsqrt; fadd st, st(1)", "x87"),
        ("fld1; faddp st(1), st", ""),
        ("paddd mm0, mm1", "mmx"),
    ):
        assert item_for(block_of_text(text), BlockOptions(), FLAGS)[0].fpu == fpu
    board, options = MemoryBoard(Answering()), BlockOptions()
    old = BlockMeasurer(board, {"kind": "test"}, None, Settings(), options, x87=False)
    found = dict(old.measure([block_of_text("fsqrt")]))
    assert found[0].state == "failed"
    assert "too old" in found[0].note


def test_blocks_start_with_the_values_that_are_asked_for():
    usual = BlockOptions().start
    other = replace(usual, registers={**usual.registers, "rcx": 3}, vector=1, memory=2, masks=False)
    masked = block_of_text("vpaddd zmm1{k1}, zmm2, zmm3")
    frame, item = item_for(masked, BlockOptions(), None, start=other)
    assert (frame.registers["rcx"], frame.registers["rax"]) == (3, START)
    assert (frame.vector, frame.memory, frame.clear_masks) == (1, 2, True)
    assert Frame.read(frame.as_json()) == frame
    assert item.id != item_for(masked, BlockOptions(), None)[1].id
    assert item_for(masked, BlockOptions(), None, start=usual) == item_for(masked, BlockOptions(), None)
    plain, _ = item_for(block_of_hex("4801d8"), BlockOptions(), None, start=other)
    assert "clear_masks" not in plain.as_json(), "agents that do not know it would refuse the frame"


def test_agents_that_cannot_clear_masks_are_not_asked_to():
    old = BlockMeasurer(MemoryBoard(Answering()), {}, None, Settings(), BlockOptions(), clears_masks=False)
    blocks = [block_of_text("vpaddd zmm1{k1}, zmm2, zmm3"), block_of_hex("4801d8")]
    start = replace(BlockOptions().start, masks=False)
    found = dict(old.measure(blocks, starts=[start, start]))
    assert [found[index].state for index in (0, 1)] == ["failed", "settled"]
    assert "too old for masks of zeros" in found[0].note


def test_options_tell_results_apart():
    block = block_of_hex("4801d8")
    ids = {
        item_for(block, options, FLAGS)[1].id
        for options in (
            BlockOptions(),
            BlockOptions(mode=LOOP),
            BlockOptions(copies=10),
            BlockOptions(registers=START + 64),
            BlockOptions(memory=0),
            BlockOptions(pages=1),
        )
    }
    assert len(ids) == 6
    identities = [measurer(MemoryBoard(Answering()), BlockOptions(memory=k)).identity for k in (0, 1)]
    assert identities[0] != identities[1]


def test_every_block_gets_its_result_and_the_same_block_is_posted_once():
    board = MemoryBoard(Answering())
    blocks = [block_of_hex(code) for code in ("90", "4801d8", "90", "0f0b")]
    found = dict(measurer(board).measure(blocks))
    assert {index: result.state for index, result in found.items()} == {
        0: "settled", 1: "settled", 2: "settled", 3: "failed",
    }  # fmt: skip
    assert "raises an exception" in found[3].note
    assert sum(len(batch.items) for batch in board.posted) == 2


@pytest.mark.parametrize("shares", [True, False])
def test_what_waits_for_itself_is_posted_as_such_to_agents_that_know_it(shares: bool):
    board = MemoryBoard(Answering())
    blocks = [block_of_hex("4801d8"), block_of_hex("90")]
    list(measurer(board, shares=shares).measure(blocks, latency_bound={0}))
    posted = {item.terms: item.latency_bound for batch in board.posted for item in batch.items}
    assert posted == {blocks[0].terms: shares, blocks[1].terms: False}


def test_what_came_for_an_earlier_attempt_is_not_measured_again():
    blocks = [block_of_hex("90"), block_of_hex("4801d8")]
    item = item_for(blocks[0], BlockOptions(), FLAGS)[1]
    board = MemoryBoard(Answering(), {item.id: Result(item.id, "settled", 7.0, 0.0, 2)})
    found = dict(measurer(board).measure(blocks))
    assert found[0].cycles == 7
    assert [each.terms for batch in board.posted for each in batch.items] == [blocks[1].terms]


def test_contended_results_are_asked_again_until_the_patience_is_over():
    assert dict(measurer(MemoryBoard(Answering(3))).measure([block_of_hex("90")]))[0].state == "settled"
    moments = iter(range(0, 10_000, 1000))
    impatient = measurer(MemoryBoard(Answering(3)), contention_timeout=1500.0, clock=lambda: next(moments))
    assert dict(impatient.measure([block_of_hex("90")]))[0].state == "contended"


@pytest.mark.parametrize(("times", "state"), [(2, "settled"), (3, "unsettled")])
def test_what_does_not_settle_is_measured_three_times(times: int, state: str):
    board = MemoryBoard(Answering(unsettled=times))
    assert dict(measurer(board).measure([block_of_hex("90")]))[0].state == state
    assert len(board.posted) == 3


def test_what_a_processor_lacks_or_is_too_long_is_said_beforehand():
    options = BlockOptions()
    assert "lacks AVX512" in obstacle(block_of_text("vaddps zmm1, zmm2, zmm3"), options, FLAGS)
    assert not obstacle(block_of_text("vaddps zmm1, zmm2, zmm3"), options, None)
    long = block_of_hex("90" * 400)
    assert "24,576 is the limit" in obstacle(long, BlockOptions(copies=100), FLAGS)
    assert len(item_for(block_of_hex("4801d8" * 450), options, FLAGS)[1].code) <= 24_576


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (BlockOptions(mode="sideways"), "mode"),
        (BlockOptions(copies=-1), "copies"),
        (BlockOptions(copies=1), "copies"),
        (BlockOptions(registers=2**64), "registers"),
        (BlockOptions(memory=-1), "memory"),
        (BlockOptions(pages=0), "pages"),
        (BlockOptions(pages=True), "pages"),
    ],
)
def test_options_that_make_no_sense_are_named(options: BlockOptions, field: str):
    assert list(options.problems()) == [field]
    assert not BlockOptions(mode=LOOP, copies=1).problems()


def test_a_block_can_begin_anywhere_in_a_cache_line() -> None:
    block = block_of_hex("4801d8")
    frames, items = zip(
        *(item_for(block, BlockOptions(LOOP), None, offset=at) for at in (0, 32)), strict=True
    )
    assert [frame.offset for frame in frames] == [0, 32]
    assert items[0].id != items[1].id
