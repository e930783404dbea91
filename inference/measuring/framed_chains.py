"""Chains on a machine as loop bodies in a frame, of instruction sets without blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from inference.agent.protocol import BatchItem, Frame, Settings
from inference.core.latency import ChainReading
from inference.core.protocols import BatchBoard, Json
from inference.isa.chains import DependencyChain
from inference.measuring.items import ItemMeasurer, reading_of

INSTRUCTIONS = 100
_BYTES = 4  # of an instruction


class FramedChains:
    """Measures chains on the machine of a board; `identity` names it, its harness and its settings."""

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
    instructions = len(chain.code) // _BYTES
    copies = max(2, -(-INSTRUCTIONS // instructions))
    half = copies // 2
    return BatchItem(
        id=hashlib.blake2b(chain.code, digest_size=12, person=b"chain", salt=bytes([repeat])).hexdigest(),
        code=chain.code * copies,
        copies=copies,
        half_bytes=len(chain.code) * half,
        half_copies=half,
        instructions=instructions,
    )
