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

_PER_BATCH = 1
_LONGEST = 120.0  # seconds for a batch; none needs a tenth of it


async def fuzz_code(harness: LocalHarness, frame: Frame, n: int, drawn: random.Random) -> Survey:
    """Have `n` batches measured."""
    survey = Survey()
    for number in range(n):
        kinds, items = _items(drawn)
        survey.sent[f"code: {kinds[0]}"] += 1
        batch = Batch(frame, HASTY, (*items, KNOWN), seed=number)
        try:
            results = await asyncio.wait_for(harness.measure(batch, lambda _done, _all: None), _LONGEST)
        except (TimeoutError, UnfitError) as error:
            survey.failures.append(f"{_code(items)}: {error or 'no end'}")
            continue
        _judge(survey, batch, results)
    return survey


def _items(drawn: random.Random) -> tuple[list[str], list[BatchItem]]:
    kinds, items = [], []
    for position in range(_PER_BATCH):
        kind, code = _hostile_code.draw(drawn)
        kinds.append(kind)
        items.append(BatchItem(f"{kind} {position}", code, 1, len(code), 1, 1))
    return kinds, items


def _judge(survey: Survey, batch: Batch, results: list[Result]) -> None:
    """One sound result for each, and the known block is never to blame."""
    ids = [item.id for item in batch.items]
    survey.expect([result.id for result in results] == ids, f"{_code(batch.items)}: other results {results}")
    for result in results:
        try:
            Result.read(result.as_json())
        except ProtocolError as error:
            survey.failures.append(f"{_code(batch.items)}: {error}")
        if result.id != KNOWN.id:
            survey.outcomes[result.note if result.state == "failed" else "has a time"] += 1
    known = results[-1]
    survey.expect(known.cycles is not None, f"{_code(batch.items)}: the known block {known.note}")


def _code(items: list[BatchItem] | tuple[BatchItem, ...]) -> str:
    return " ".join(item.code.hex() for item in items if item.id != KNOWN.id)
