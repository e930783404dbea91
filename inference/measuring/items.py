"""Machine code that has a frame of its own, posted in batches until each item has a result."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from inference.agent.protocol import Batch, BatchItem, Frame, Result, Settings
from inference.core.latency import ChainReading
from inference.core.protocols import BatchBoard
from inference.isa.chains import DependencyChain
from inference.measuring.remote import PATIENCE, batch_of

_BATCH = 48
_TRIES = 3
"""How often what does not settle is measured: a neighbour is busy for a while, and then is not."""


def reading_of(chain: DependencyChain, result: Result) -> ChainReading:
    """What an agent's result says of a chain."""
    settled = result.state == "settled"
    note = "" if settled else result.note or f"the reading is {result.state}"
    return ChainReading(chain, result.cycles if settled else None, result.spread or 0.0, note)


class ItemMeasurer:
    """Has items measured by whoever takes batches from a board.

    Contended results are posted again until the computer has been disturbed for `patience` seconds, unsettled
    ones after all others, twice; what came for an earlier attempt of the run is used.
    """

    def __init__(
        self,
        board: BatchBoard,
        settings: Settings,
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._board = board
        self._settings = settings
        self._patience = patience
        self._clock = clock

    def results(self, items: Mapping[str, tuple[Frame, BatchItem]]) -> Iterator[tuple[str, Result]]:
        """(id, result) of every item, {id: it and its frame}, in the order in which they come."""
        earlier = self._board.earlier()
        left = dict(items)
        for name, result in earlier.items():
            if name in left and result.state != "contended":
                del left[name]
                yield name, result
        began = self._clock()
        tries: Counter[str] = Counter()
        while left:
            for batch in list(self._batches(left)):
                answers = self._answered(batch)
                if any(one.state != "contended" for one in answers):
                    began = self._clock()
                gives_up = self._clock() - began >= self._patience
                for result in answers:
                    tries[result.id] += result.state == "unsettled"
                    tried_again = result.state == "contended" and not gives_up
                    tried_again |= result.state == "unsettled" and tries[result.id] < _TRIES
                    if not tried_again:
                        del left[result.id]
                        yield result.id, result

    def _batches(self, left: dict[str, tuple[Frame, BatchItem]]) -> Iterator[Batch]:
        """Blocks with the same frame together."""
        together: dict[str, list[tuple[Frame, BatchItem]]] = defaultdict(list)
        for frame, item in left.values():
            together[repr(sorted(frame.as_json().items()))].append((frame, item))
        for group in together.values():
            for begin in range(0, len(group), _BATCH):
                items = tuple(item for _, item in group[begin : begin + _BATCH])
                yield batch_of(group[0][0], self._settings, items)

    def _answered(self, batch: Batch) -> Sequence[Result]:
        """The results of one batch; a missing one is a failure."""
        self._board.post(batch)
        _, results = self._board.collect()
        found = {result.id: result for result in results}
        missing = Result("", "failed", note="the agent gave no result for it")
        return [found.get(item.id) or replace(missing, id=item.id) for item in batch.items]
