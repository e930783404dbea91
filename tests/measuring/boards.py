"""A `BatchBoard` in memory, behind which a simulated agent answers at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from inference.agent.passes import Harness
from inference.agent.protocol import Batch, Result
from inference.runs.machines.checking import read_results


class MemoryBoard:
    """Keeps what was posted in order; `most` is the greatest number of batches that ever waited."""

    def __init__(self, harness: Harness, earlier: Mapping[str, Result] | None = None) -> None:
        self.harness = harness
        self.posted: list[Batch] = []
        self.waiting: dict[int, Batch] = {}
        self.most = 0
        self.closed = False
        self.backwards = False
        self._earlier = dict(earlier or {})

    def post(self, batch: Batch) -> int:
        assert len({item.id for item in batch.items}) == len(batch.items)
        self.posted.append(Batch.read(batch.as_json()))  # as it would travel
        self.waiting[len(self.posted)] = self.posted[-1]
        self.most = max(self.most, len(self.waiting))
        return len(self.posted)

    def collect(self) -> tuple[int, Sequence[Result]]:
        assert self.waiting, "nothing was posted"
        number = (max if self.backwards else min)(self.waiting)
        batch = self.waiting.pop(number)
        measured = asyncio.run(self.harness.measure(batch, lambda _done, _total: None))
        taken = read_results(batch.as_json(), [result.as_json() for result in measured])  # as the server does
        return number, [Result.read(each) for each in taken]

    def earlier(self) -> Mapping[str, Result]:
        return self._earlier

    def close(self) -> None:
        self.closed = True
