"""Chains of AArch64 on a machine: loop bodies in the frame of experiments."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from inference.agent.protocol import BatchItem, Settings
from inference.core.latency import ChainReading
from inference.core.protocols import BatchBoard, Json
from inference.isa.aarch64.chains import frame
from inference.isa.chains import DependencyChain
from inference.measuring.items import ItemMeasurer

INSTRUCTIONS = 100
_BYTES = 4


class AArch64Chains:
    """Measures chains on the machine of a board; `identity` names it, its harness and its settings."""

    def __init__(self, board: BatchBoard, identity: Json, settings: Settings) -> None:
        self._items = ItemMeasurer(board, settings)
        self._frame = frame()
        self.identity: Json = {**identity, "settings": settings.as_json(), "frame": self._frame.as_json()}

    def measure(self, chains: Sequence[DependencyChain]) -> Iterator[ChainReading]:
        """Every reading as it comes; equal code is measured once."""
        by_id = {_item(chain).id: chain for chain in chains}
        items = {name: (self._frame, _item(chain)) for name, chain in by_id.items()}
        for name, result in self._items.results(items):
            settled = result.state == "settled"
            note = "" if settled else result.note or f"the reading is {result.state}"
            cycles = result.cycles if settled else None
            yield ChainReading(by_id[name], cycles, result.spread or 0.0, note)


def _item(chain: DependencyChain) -> BatchItem:
    instructions = len(chain.code) // _BYTES
    copies = max(2, -(-INSTRUCTIONS // instructions))
    half = copies // 2
    return BatchItem(
        id=hashlib.blake2b(chain.code, digest_size=12, person=b"chain").hexdigest(),
        code=chain.code * copies,
        copies=copies,
        half_bytes=len(chain.code) * half,
        half_copies=half,
        instructions=instructions,
    )
