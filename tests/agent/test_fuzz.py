"""A little of `benchmarks fuzz`, always the same: code and messages that make no sense."""

from __future__ import annotations

import contextlib
import random

import pytest

from benchmarks._fuzz_agent import fuzz_agent
from benchmarks._fuzz_code import HASTY, fuzz_code
from benchmarks._json_mutations import HEAVY, MAKERS
from inference.agent.passes import LocalHarness
from inference.agent.protocol import Batch, BatchItem, Beat, Frame, Result, Settings, decode
from inference.agent.reading import ProtocolError
from tests.agent.conftest import frame, item, needs_x86

CONTENT = Batch(Frame(), Settings(), (item("a", b"\x90"),)).as_json()
MESSAGE = {"type": "batch", "batch": 1, "fence": 1, "content": CONTENT}


@needs_x86
async def test_hostile_code_costs_nothing_but_itself(harness: LocalHarness):
    await harness.preflight(frame(), HASTY)
    if not harness.confinement["system_calls"]:
        pytest.skip("this kernel does not filter system calls")
    survey = await fuzz_code(harness, frame(), 12, 1)
    assert not survey.failures
    assert survey.total == 12


async def test_an_agent_survives_a_server_that_talks_nonsense():
    survey = await fuzz_agent(150, 2)
    assert not survey.failures
    assert survey.outcomes["the agent goes on and measures"] > 0


@pytest.mark.parametrize("kind", MAKERS)
def test_nonsense_of_every_kind_is_read_or_refused_in_words(kind: str):
    drawn = random.Random(kind)
    for _ in range(2 if kind in HEAVY else 30):
        text = MAKERS[kind](MESSAGE, drawn)
        with contextlib.suppress(ProtocolError):
            message = decode(text)
            for reader in (Batch, BatchItem, Result, Beat):
                reader.read(message.get("content"))


@pytest.mark.parametrize("text", ['{"type": "beat", "type": "results"}', '{"type": "beat", "noise": NaN}'])
def test_what_readers_of_json_disagree_about_is_no_message(text: str):
    with pytest.raises(ProtocolError, match=r"more than once|no number"):
        decode(text)
