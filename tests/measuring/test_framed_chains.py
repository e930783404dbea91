"""Chains of AArch64 on a board: one frame, loop bodies of two lengths, and what became of each."""

from __future__ import annotations

import pytest

from inference.agent.protocol import Batch, Result, Settings
from inference.isa import llvm_mc
from inference.isa.aarch64 import NAME
from inference.isa.aarch64.chains import frame, links_of, pair_chains
from inference.measuring.items import FramedChains
from tests.measuring.boards import MemoryBoard

pytestmark = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")


class OneFails:
    """A harness that cannot run the longest body."""

    async def measure(self, batch: Batch, _progress: object) -> list[Result]:
        longest = max(item.instructions for item in batch.items)
        return [
            Result(item.id, "failed", note="illegal instruction")
            if item.instructions == longest
            else Result(item.id, "settled", float(item.instructions), 0.01, 2)
            for item in batch.items
        ]


def test_chains_are_loop_bodies_in_the_frame_of_their_instruction_set() -> None:
    board = MemoryBoard(OneFails())
    pairs = pair_chains(links_of("add GPR[64]:W, GPR[64]:R, GPR[64]:R"))
    chains = [chain for pair in pairs for chain in pair.chains]
    measurer = FramedChains(board, {"kind": "test"}, Settings(), frame())
    readings = {one.chain: one for one in measurer.measure([*chains, *chains])}
    assert set(readings) == set(chains)
    for chain, reading in readings.items():
        instructions = len(chain.listing)
        assert (reading.cycles, reading.note) == (
            (float(instructions), "") if instructions < 4 else (None, "illegal instruction")
        )
    (batch,) = board.posted
    assert (batch.frame.isa, batch.frame.pages) == (NAME, 0)
    assert batch.frame.registers["x0"] == 0
    assert len(batch.items) == len(chains)
    for item in batch.items:
        assert item.copies * item.instructions >= 100
        assert len(item.code) == 4 * item.copies * item.instructions
        assert item.half_bytes == 4 * item.half_copies * item.instructions
    assert measurer.identity["frame"] == batch.frame.as_json()
