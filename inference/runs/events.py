"""The events that runs of every kind tell."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from inference.core.protocols import Json
from inference.formats.archived_parts import Amount, Count, DrawnTold, ScoresTold, Signed
from inference.formats.journal_events import JournalEvent


class PhaseEvent(JournalEvent):
    """A stage begins; `busy`: seconds that the run has been worked on by then."""

    kind = "phase"
    counted_by = "index"
    at_once = True
    name: str
    index: int = Field(ge=1)
    labels: list[str]
    busy: Amount | None = None

    @staticmethod
    def line(payload: Json) -> str:
        """Which of how many, and its label."""
        labels = payload["labels"]
        return f"[{payload['index']}/{len(labels)}] {labels[payload['index'] - 1]}"


class LogEvent(JournalEvent):
    """A sentence for the reader."""

    kind = "log"
    at_once = True
    level: str
    text: str

    @staticmethod
    def line(payload: Json) -> str:
        """The sentence."""
        return f"  {payload['text']}"


class WaitingEvent(JournalEvent):
    """What the run waits for; "" for nothing."""

    kind = "waiting"
    text: str


class StateEvent(JournalEvent):
    """The run's state has changed."""

    kind = "state"
    state: str
    error: str = ""


class ProgressEvent(JournalEvent):
    """How far the stage is."""

    kind = "progress"
    replaced = True
    phase: str = ""
    done: Count
    total: Count
    rate: Amount
    unit: str
    eta: Amount | None

    @staticmethod
    def line(payload: Json) -> str:
        """Done of all, how fast, and what is left."""
        eta = "" if payload["eta"] is None else f", {payload['eta']:.0f} s to go"
        pace = rate_in_words(payload["rate"], payload["unit"])
        return f"  {payload['done']} of {payload['total']}{f', {pace}' if pace else ''}{eta}"


class ExperimentsEvent(JournalEvent):
    """How many experiments were measured, and how that went."""

    kind = "experiments"
    replaced = True
    asked: Count
    settled: Count
    unsettled: Count = 0
    contended: Count = 0
    failed: Count = 0


class HeatMapEvent(JournalEvent):
    """Predicted against measured, of the best mapping so far."""

    kind = "heat_map"
    replaced = True
    bulky = True
    figure: DrawnTold
    scores: ScoresTold
    on: str
    lengths: list[Annotated[tuple[Count, Count, Amount], Field(strict=False)]] = []
    worst: list[Annotated[tuple[str, Count, Signed, Amount], Field(strict=False)]] = []
    schemes: Count = 0


_PLURAL = re.compile(r"^(\S*(?:[cs]h|[sx]))es\b|^(\S+?)s\b")


def _one(unit: str) -> str:
    """Of searches a search, of "mappings of a generation" a "mapping of a generation"."""
    return _PLURAL.sub(r"\1\2", unit)


def rate_in_words(per_second: float, unit: str) -> str:
    """As people say it: many `unit` (in the plural) per second, or seconds for each; "" for none."""
    if not per_second:
        return ""
    if per_second < 1:
        return f"{1 / per_second:.3g} s per {_one(unit)}"
    return f"{per_second:.3g} {unit} per second"
