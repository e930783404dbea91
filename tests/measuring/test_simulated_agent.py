from __future__ import annotations

import asyncio
import time

import pytest

from inference.agent.protocol import Batch, BatchItem, Frame, Settings
from inference.core.errors import InvalidInputError
from inference.core.mapping import PortMapping
from inference.measuring.simulated_agent import SimulatedHarness, dummy_code, simulated_facts

MAPPING = PortMapping(("0", "1"), {"a": ((3, 1),), "b": ((1, 1),)})


def batch(n: int = 4) -> Batch:
    code = dummy_code([])
    items = tuple(
        BatchItem(str(k), code.code, code.copies, code.half_bytes, code.half_copies, k, (("b", k),))
        for k in range(1, n + 1)
    )
    return Batch(Frame(), Settings(), items)


def test_items_are_answered_by_their_terms() -> None:
    told: list[tuple[int, int]] = []
    results = asyncio.run(SimulatedHarness(MAPPING).measure(batch(), lambda *done: told.append(done)))
    assert [(r.id, r.state, r.cycles) for r in results] == [
        (str(k), "settled", float(k)) for k in range(1, 5)
    ]
    assert told == [(k, 4) for k in range(5)]


def test_the_pace_is_kept_and_told() -> None:
    harness = SimulatedHarness(MAPPING, pace=100)
    began = time.monotonic()
    asyncio.run(harness.measure(batch(20), lambda *_done: None))
    assert time.monotonic() - began >= 0.2
    rate = harness.beat().rate
    assert rate is not None
    assert rate <= 100


def test_contended_results_may_settle_at_another_try() -> None:
    harness = SimulatedHarness(MAPPING, contended_share=0.5)
    states = [
        [r.state for r in asyncio.run(harness.measure(batch(40), lambda *_done: None))] for _ in range(2)
    ]
    assert 8 < states[0].count("contended") < 32
    assert states[0] != states[1]


def test_measuring_can_be_cancelled() -> None:
    async def cancelled() -> str:
        harness = SimulatedHarness(MAPPING, pace=1)
        task = asyncio.create_task(harness.measure(batch(), lambda *_done: None))
        await asyncio.sleep(0)
        assert harness.beat().state == "measuring"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return harness.beat().state

    assert asyncio.run(cancelled()) == "idle"


def test_its_facts_say_that_it_is_simulated() -> None:
    facts = simulated_facts("Zen", MAPPING)
    assert facts["simulated"] is True
    assert "simulated" in facts["cpu"]


@pytest.mark.parametrize("options", [{"pace": -1.0}, {"contended_share": 1.0}, {"noise": 2.0}])
def test_options_outside_their_domain_are_refused_by_name(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        SimulatedHarness(MAPPING, **options)  # type: ignore[arg-type]
