"""What a run of kind `ask` tells of each predictor: an event of its journal.

{"predictor": 3, "name": "llvm-mca 19 · haswell", "error": "", "answers": as `sample_document` writes them}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anica_app.core.answers import Answer
from anica_app.core.samples import Sample
from anica_app.exchange.sample_document import read_samples, sample_document
from inference.core.protocols import Json

KIND = "ask"
"""The kind of runs."""

ANSWERS = "answers"
"""The kind of events."""


@dataclass(frozen=True)
class Said:
    """What one predictor, by its id, said: {machine code: answer}, or why it said nothing."""

    predictor: int
    name: str
    answers: Mapping[bytes, Answer] = field(default_factory=dict)
    error: str = ""


def said_document(said: Said) -> Json:
    """The event's payload."""
    samples = [Sample(code, (answer,)) for code, answer in said.answers.items()]
    return {
        "predictor": said.predictor,
        "name": said.name,
        "error": said.error,
        "answers": sample_document(samples),
    }


def read_said(given: Json) -> Said:
    """Back from `said_document`. Raises `ExchangeError`."""
    samples = read_samples(given["answers"], 1, "answers")
    said = {sample.code: sample.answers[0] for sample in samples}
    return Said(given["predictor"], given["name"], said, given["error"])
