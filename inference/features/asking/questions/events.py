"""The events of runs of kind `ask`."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.events import Event
from inference.core.protocols import Json


@dataclass(frozen=True)
class PredictorAnswered(Event):
    """A predictor, given by its id, has answered for all blocks, or `error` says why it has not.

    `answers`: as `sample_document` writes them.
    """

    kind = "answers"
    predictor: int
    name: str
    error: str
    answers: Json
