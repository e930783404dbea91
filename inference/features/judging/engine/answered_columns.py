"""The answers of a source as a column of a comparison, and as a column of a basic-block set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.judging.sheet import Answers
from inference.features.asking.block_sets.columns import add_columns
from inference.features.judging.engine.sources import AnswerSource
from inference.models import BasicBlockSet, BlockColumn, Predictor
from inference.predictors.answer_arrays import answers_in


@dataclass(frozen=True, eq=False)
class ComparisonColumn:
    """A column to be stored; `error`: why the source says nothing at all."""

    source: AnswerSource
    answers: Answers
    error: str = ""


def keep_columns(row: BasicBlockSet, columns: Sequence[ComparisonColumn]) -> list[BlockColumn]:
    """The columns of a set with these answers, those of asked predictors as new ones; in a transaction.

    A predictor that was asked twice stands behind its first column alone. What was held already is left.
    """
    asked = [column for column in columns if not isinstance(column.source.row, BlockColumn)]
    heads: list[tuple[str, Predictor | None]] = []
    for column in asked:
        predictor = column.source.row if isinstance(column.source.row, Predictor) else None
        is_first = predictor not in [known for _, known in heads]
        heads.append((column.source.name, predictor if is_first else None))
    made = iter(add_columns(row, heads, [answers_in(column.answers) for column in asked]))
    return [
        column.source.row if isinstance(column.source.row, BlockColumn) else next(made) for column in columns
    ]
