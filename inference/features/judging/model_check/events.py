"""What a model check tells while it measures."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from inference.core.model_check import AloneVerdict
from inference.formats.archived_parts import Amount, Count, DrawnTold, ScoresTold, one_of
from inference.formats.journal_events import JournalEvent


class SchemesAloneEvent(JournalEvent):
    """Schemes that were measured alone, beside what the model says."""

    kind = "model_alone"
    rows: list[
        Annotated[
            tuple[str, Amount | None, Amount | None, Annotated[str, one_of(tuple(AloneVerdict))], str],
            Field(strict=False),
        ]
    ]

    @model_validator(mode="after")
    def _can_be_compared(self) -> Self:
        for scheme, measured, modelled, verdict, _ in self.rows:
            if verdict in (AloneVerdict.WITHIN, AloneVerdict.DISCREPANCY) and not (measured and modelled):
                raise ValueError(f"{scheme[:80]!r} has been compared without two numbers of cycles")
        return self


class MixesEvent(JournalEvent):
    """How the model does on mixes of one length."""

    kind = "model_mixes"
    length: Count
    asked: Count
    settled: Count
    planned: Count
    scores: ScoresTold | None
    slower: Count
    faster: Count
    heat_map: DrawnTold | None


class OrdersEvent(JournalEvent):
    """How much the order of the instructions of a mix matters."""

    kind = "model_orders"
    length: Count
    asked: Count
    samples: Count
    planned: Count
    mean: Amount | None
    largest: Amount | None
    notable: Count
    share: Amount | None
    worst: list[Annotated[tuple[str, Amount, Amount], Field(strict=False)]]
