"""Several predictors asked for the same blocks, side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import connection

from anica_app.campaigning.predictors import opened
from anica_app.core.answers import Answer
from anica_app.core.errors import PredictorError
from anica_app.models import Predictor


@dataclass
class Column:
    """What one predictor says: an answer per block, or why it says nothing at all."""

    predictor: Predictor
    answers: list[Answer] = field(default_factory=list)
    error: str = ""


def ask(
    predictors: Sequence[Predictor],
    blocks: Sequence[bytes],
    *,
    remembering: bool = True,
    patience: float | None = None,
) -> list[Column]:
    """A column for each predictor; `patience`: seconds after which those that are not done are given up."""
    columns = [Column(row) for row in predictors]
    threads = [
        threading.Thread(target=_fill, args=(column, blocks, remembering), name="asking", daemon=True)
        for column in columns
    ]
    for thread in threads:
        thread.start()
    until = None if patience is None else time.monotonic() + patience
    for thread in threads:
        thread.join(None if until is None else max(0.0, until - time.monotonic()))
    return [
        Column(column.predictor, error=f"it did not answer within {patience:g} s")
        if thread.is_alive()
        else column
        for thread, column in zip(threads, columns, strict=True)
    ]


def _fill(column: Column, blocks: Sequence[bytes], remembering: bool) -> None:
    try:
        predictor = opened(column.predictor, remembering=remembering)
        try:
            column.answers = predictor.predict(blocks)
        finally:
            predictor.close()
    except PredictorError as error:
        column.error = str(error)
    except Exception as error:  # noqa: BLE001  it would be lost with the thread
        column.error = f"{type(error).__name__}: {error}"
    finally:
        connection.close()
