"""Machine code with a frame of its own, posted in batches until each item has a result.

Chains of instruction sets without blocks are measured this way, as loop bodies.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from inference.agent.protocol import Batch, BatchItem, Frame, Result, Settings
from inference.core.latency import ChainReading
from inference.core.protocols import BatchBoard, Json
from inference.isa.chains import DependencyChain
from inference.measuring.remote import CONTENTION_TIMEOUT, batch_of

_BATCH_ITEMS = 48  # experiments per message: some seconds of measuring, so that others get their turn
_MAX_TRIES = 3
"""Measurements of an item that does not settle: another process may disturb the first ones."""

MIN_INSTRUCTIONS = 100  # in a loop body, so that the loop's own branch does not matter
_INSTRUCTION_BYTES = 4  # of an instruction


def reading_of(chain: DependencyChain, result: Result) -> ChainReading:
    """An agent's result for a chain, as a reading."""
    settled = result.state == "settled"
    note = "" if settled else result.note or f"the reading is {result.state}"
    return ChainReading(chain, result.cycles if settled else None, result.spread or 0.0, note)


class ItemMeasurer:
    """Measures items on the machine of a board.

    Contended results are posted again until the computer has been disturbed for `contention_timeout` seconds,
    unsettled ones after all others, twice; results that came for an earlier attempt of the run are used.
    """

    def __init__(
        self,
        board: BatchBoard,
        settings: Settings,
        *,
        contention_timeout: float = CONTENTION_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._board = board
        self._settings = settings
        self._contention_timeout = contention_timeout
        self._clock = clock

    def results(self, items: Mapping[str, tuple[Frame, BatchItem]]) -> Iterator[tuple[str, Result]]:
        """(id, result) of every item, {id: (its frame, item)}, in the order in which they come."""
        earlier = self._board.earlier()
        remaining = dict(items)
        for name, result in earlier.items():
            if name in remaining and result.state != "contended":
                del remaining[name]
                yield name, result
        began = self._clock()
        tries: Counter[str] = Counter()
        while remaining:
            for batch in list(self._batches(remaining)):
                answers = self._batch_results(batch)
                if any(answer.state != "contended" for answer in answers):
                    began = self._clock()
                has_timed_out = self._clock() - began >= self._contention_timeout
                for result in answers:
                    tries[result.id] += result.state == "unsettled"
                    is_retried = result.state == "contended" and not has_timed_out
                    is_retried |= result.state == "unsettled" and tries[result.id] < _MAX_TRIES
                    if not is_retried:
                        del remaining[result.id]
                        yield result.id, result

    def _batches(self, remaining: dict[str, tuple[Frame, BatchItem]]) -> Iterator[Batch]:
        by_frame: dict[str, list[tuple[Frame, BatchItem]]] = defaultdict(list)
        for frame, item in remaining.values():
            by_frame[repr(sorted(frame.as_json().items()))].append((frame, item))
        for group in by_frame.values():
            for begin in range(0, len(group), _BATCH_ITEMS):
                items = tuple(item for _, item in group[begin : begin + _BATCH_ITEMS])
                yield batch_of(group[0][0], self._settings, items)

    def _batch_results(self, batch: Batch) -> Sequence[Result]:
        """The results of one batch; an item without a result has failed."""
        self._board.post(batch)
        _, results = self._board.collect()
        by_id = {result.id: result for result in results}
        missing = Result("", "failed", note="the agent gave no result for it")
        return [by_id.get(item.id) or replace(missing, id=item.id) for item in batch.items]


class FramedChains:
    """Measures chains on the machine of a board; `identity` contains it, its harness and its settings."""

    def __init__(self, board: BatchBoard, identity: Json, settings: Settings, frame: Frame) -> None:
        self._items = ItemMeasurer(board, settings)
        self._frame = frame
        self.identity: Json = {**identity, "settings": settings.as_json(), "frame": self._frame.as_json()}

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        """Every reading as it comes; equal code is measured once."""
        by_id = {_item(chain, repeat).id: chain for chain in chains}
        items = {name: (self._frame, _item(chain, repeat)) for name, chain in by_id.items()}
        for name, result in self._items.results(items):
            yield reading_of(by_id[name], result)


def _item(chain: DependencyChain, repeat: int) -> BatchItem:
    instructions = len(chain.code) // _INSTRUCTION_BYTES
    copies = max(2, -(-MIN_INSTRUCTIONS // instructions))
    half = copies // 2
    return BatchItem(
        id=hashlib.blake2b(chain.code, digest_size=12, person=b"chain", salt=bytes([repeat])).hexdigest(),
        code=chain.code * copies,
        copies=copies,
        half_bytes=len(chain.code) * half,
        half_copies=half,
        instructions=instructions,
    )
