"""Queries for evaluations: the worst experiments, and errors by scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from inference.core.experiment import Unit
from inference.core.judging.sheet import ItemSelection
from inference.core.metrics import SchemeError
from inference.features.judging.engine.evaluation_sheets import compared_evaluation
from inference.features.judging.engine.query import (
    ComparisonPart,
    PredictedExperiment,
    ViewQuestion,
    columns_of,
    items_in_bin,
    scheme_numbers,
)
from inference.models import ISA, Evaluation, InstructionScheme
from inference.models.scheme_search import matching_texts
from inference.web.paging import Order


def question_of(evaluation: Evaluation) -> ViewQuestion:
    """The question for a view of an evaluation's mapping, in the evaluation's unit."""
    row = compared_evaluation(evaluation)
    columns = columns_of(row)
    return ViewQuestion(row, columns, columns[0], ComparisonPart(Unit(evaluation.unit)))


def worst_of(
    evaluation: Evaluation,
    scheme: InstructionScheme | None = None,
    place: tuple[int, int] | None = None,
) -> list[PredictedExperiment]:
    """The worst predicted experiments: of all, with a scheme, or in a bin of the heat map."""
    question = question_of(evaluation)
    schemes = None if scheme is None else scheme_numbers(question.row, {scheme.text})
    part = ComparisonPart(question.part.unit, ItemSelection(schemes=schemes))
    items, _ = items_in_bin(question.column, part, place)
    return [item for item in items if isinstance(item, PredictedExperiment)]


ERROR_ORDERS: dict[str, Callable[[SchemeError], Any]] = {
    "text": lambda error: error.scheme,
    "n": lambda error: error.n,
    "signed": lambda error: error.signed,
    "absolute": lambda error: error.absolute,
}
"""{sort key: value} of errors by scheme."""


def errors_by_scheme(isa: ISA, errors: Sequence[SchemeError], q: str, order: Order) -> list[SchemeError]:
    """The errors of the schemes that match a search, sorted. Raises `SearchError`."""
    texts = matching_texts(isa.pk, q) if q else None
    matching = (error for error in errors if texts is None or error.scheme in texts)
    return sorted(matching, key=ERROR_ORDERS[order.column], reverse=order.descending)
