"""Loops in a measuring process: none of their jumps is missed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.agent.passes import LocalHarness
from inference.agent.protocol import Batch
from inference.isa.x86.blocks import block_of_text
from inference.measuring.blocks import LOOP, UNROLLED, BlockOptions, prepared
from tests.agent.conftest import HASTY, needs_x86

CONDITIONS = ("o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g")


@needs_x86
@pytest.mark.parametrize("mode", [UNROLLED, LOOP])
async def test_every_jump_that_closes_a_loop_leads_to_the_next_iteration(harness: LocalHarness, mode: str):
    texts = [
        *(f"again: imul rax, rbx\ncmp rcx, rdx\nj{condition} again" for condition in CONDITIONS),
        *(f"again: imul rax, rbx\ntest ecx, ecx\nj{condition} again" for condition in ("e", "ne", "s", "g")),
        *(f"again: imul rax, rbx\ndec r9d\nj{condition} again" for condition in ("o", "ne", "s")),
        "again: imul rax, rbx\nloop again",
        "again: imul rax, rbx\njrcxz again",
        "again: imul rax, rbx\njmp again",
    ]
    options = BlockOptions(mode=mode, copies=40)
    found = {}
    for text in texts:
        frame, item = prepared(block_of_text(text), options, frozenset())
        (result,) = await harness.measure(Batch(frame, HASTY, (item,)), lambda _done, _all: None)
        found[text] = replace(result, id="")
    wrong = {text: result for text, result in found.items() if result.state == "failed"}
    assert not wrong
    # an imul waits for the one before it, which takes 3 cycles or more wherever this runs
    assert all(result.cycles is None or result.cycles > 1 for result in found.values())
