"""Chains run on a real processor, in loops too: no division overflows, no address goes astray."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from inference.agent.facts import facts
from inference.agent.passes import LocalHarness
from inference.agent.protocol import Batch, BatchItem, Frame
from inference.isa.blocks import block_of_bytes
from inference.isa.x86.availability import missing_feature
from inference.isa.x86.chains import links_of, pair_chains
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.blocks import LOOP, UNROLLED, BlockOptions, item_for
from tests.agent.conftest import HASTY, needs_x86

pytestmark = needs_x86

SCHEMES = (
    "div GPR[64]:R",
    "idiv MEM[16]:R",
    "divsd XMM:RW, XMM:R",
    "vdivps YMM:W, YMM:R, YMM:R",
    "vgatherdps YMM:RW, MEM[32,YMM]:R, YMM:RW",
    "vgatherdpd ZMM{k}:RW, MEM[64,YMM]:R",
    "kmovw GPR[32]:W, K:R",
    "add MEM[64]:RW, GPR[64]:R",
    "mov GPR[64]:W, MEM[64]:R",
    "vmulps YMM:W, YMM:R, MEM[256]:R",
    "adc GPR[64]:RW, GPR[64]:R",
    "cmovb GPR[64]:RW, GPR[64]:R",
)


@pytest.mark.parametrize("text", SCHEMES)
async def test_chains_of_every_pair_and_class_of_values_run(harness: LocalHarness, text: str) -> None:
    flags = facts(None)["flags"]
    known = scheme_and_form(text)
    assert known is not None
    if reason := missing_feature(known[0], flags):
        pytest.skip(reason)
    made = [(link, chain) for link in links_of(text) for chain in pair_chains(link).chains]
    chains = {(link, chain.values): chain for link, chain in reversed(made)}  # the shortest of each
    assert chains
    together: dict[str, list[tuple[Frame, BatchItem]]] = defaultdict(list)
    for chain in set(chains.values()):
        options = BlockOptions(mode=LOOP if chain.loop else UNROLLED)
        frame, item = item_for(block_of_bytes(chain.code), options, flags)
        item = replace(item, latency_bound=True)
        together[str(frame.as_json())].append((frame, item))
    for found in together.values():
        batch = Batch(found[0][0], HASTY, tuple(item for _, item in found))
        results = await harness.measure(batch, lambda _done, _all: None)
        assert not [result.note for result in results if result.state == "failed"]
