"""The events of runs of kind `block`, and the part of a run's record that collects them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from inference.core.events import OMIT_EMPTY, Amount, Count, Event, Signed
from inference.runs.events import RecordPart

MAX_BLOCKS = 500
"""Blocks of one run; all its results are stored in its row."""


@dataclass(frozen=True)
class BlockMeasured(Event):
    """The `index`-th block of the run has been measured, see `agent.protocol.Result`."""

    kind = "block"
    index: Count
    state: str
    cycles: Amount | None = None
    spread: Amount | None = None
    passes: Count = 0
    note: str = ""
    counters: Annotated[Mapping[str, Signed], OMIT_EMPTY] = field(default_factory=dict)


@dataclass
class BlocksRecord(RecordPart):
    """The newest result of each block, by its index."""

    results: dict[int, BlockMeasured] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        if isinstance(event, BlockMeasured):
            self.results[event.index] = event
