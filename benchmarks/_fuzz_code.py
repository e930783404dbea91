"""Hostile machine code in real measuring processes, each time beside a block whose cycles are known."""

from __future__ import annotations

import asyncio
import random

from benchmarks import _hostile_code
from benchmarks._survey import Survey
from inference.agent.passes import LocalHarness
from inference.agent.process import UnfitError
from inference.agent.protocol import Batch, BatchItem, Frame, Result, Settings
from inference.agent.reading import ProtocolError
from inference.agent.targets.x86_64 import ADDITIONS

KNOWN = ADDITIONS.item
HASTY = Settings(
    min_passes=2, max_passes=2, repetitions=3, sample_us=20.0, patience=0.0, timeout=0.5, tolerance=0.05
)
"""Quick, and content with a disturbed computer: what the code does matters here, not its time."""
_LONGEST = 120.0  # seconds for a batch; none needs a tenth of it


async def fuzz_code(harness: LocalHarness, frame: Frame, n: int, seed: int) -> Survey:
    survey, drawn = Survey("code", seed), random.Random(seed)
    for number in range(n):
        kind, code = _hostile_code.draw(drawn)
        survey.sent[f"code: {kind}"] += 1
        batch = Batch(frame, HASTY, (BatchItem(kind, code, 1, len(code), 1, 1), KNOWN), seed=number)
        try:
            results = await asyncio.wait_for(harness.measure(batch, lambda _done, _all: None), _LONGEST)
        except (TimeoutError, UnfitError) as error:
            survey.expect(False, f"{code.hex()}: {error or 'no end'}")
            continue
        _judge(survey, code.hex(), [kind, KNOWN.id], results)
    return survey


def _judge(survey: Survey, code: str, ids: list[str], results: list[Result]) -> None:
    """One sound result for each, and the known block is never to blame."""
    survey.expect([result.id for result in results] == ids, f"{code}: other results {results}")
    for result in results:
        try:
            Result.read(result.as_json())
        except ProtocolError as error:
            survey.expect(False, f"{code}: {error}")
    hostile, known = results[0], results[-1]
    survey.outcomes[hostile.note if hostile.state == "failed" else "has a time"] += 1
    survey.expect(known.cycles is not None, f"{code}: the known block {known.note}")
