"""Loops in a measuring process: none of their jumps is missed."""

from __future__ import annotations

import pytest

from inference.agent.passes import LocalHarness
from inference.agent.protocol import Batch, Result
from inference.isa.blocks import block_of_text
from inference.measuring.blocks import LOOP, UNROLLED, BlockOptions, item_for
from tests.agent.conftest import HASTY, needs_x86

LOOKS = 8
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
    found = {text: await measured(harness, text, mode) for text in texts}
    assert {text: result for text, result in found.items() if result.state == "failed"} == {}
    # An imul waits for the one before it, which takes 3 cycles or more wherever this runs. A jump that is
    # missed makes it less every time; others that are at work here do so by chance.
    short = too_short(found)
    for _ in range(LOOKS):
        short = too_short({text: await measured(harness, text, mode) for text in short})
    assert short == {}


def too_short(found: dict[str, Result]) -> dict[str, Result]:
    return {text: result for text, result in found.items() if (result.cycles or 3) <= 1}


async def measured(harness: LocalHarness, text: str, mode: str) -> Result:
    """What a measurement of the loop says."""
    frame, item = item_for(block_of_text(text), BlockOptions(mode=mode, copies=40), frozenset())
    (result,) = await harness.measure(Batch(frame, HASTY, (item,)), lambda _done, _all: None)
    return result
