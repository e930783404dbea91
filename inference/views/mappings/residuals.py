"""The schemes that a mapping predicts worst, and the experiments behind each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from inference.core.metrics import Unit
from inference.core.predicting import Predictor
from inference.core.residuals import SchemeError
from inference.exchange.stored import ids_of_schemes
from inference.isa.search import SearchError
from inference.models import ISA, Evaluation, InstructionScheme
from inference.queries.evaluations import ERROR_ORDERS, errors_by_scheme, worst_with
from inference.queries.paging import Order, page_in_memory
from inference.queries.predictions import Predicted, listed
from inference.views.address import whole_number

PAGE = 25


@dataclass(frozen=True)
class SchemeRow:
    """A scheme with its row id, None for one that the instruction set has lost since."""

    pk: int | None
    error: SchemeError


@dataclass(frozen=True)
class OfScheme:
    """The experiments with one scheme that are predicted worst, and how many there are."""

    scheme: InstructionScheme
    rows: list[Predicted]
    total: int


def schemes_context(request: HttpRequest, isa: ISA, errors: Sequence[SchemeError]) -> dict[str, Any]:
    """A page of the schemes, the largest mean absolute error first unless the address says otherwise."""
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), {key: key for key in ERROR_ORDERS}, "-absolute")
    context: dict[str, Any] = {"q": q, "sort": str(order), "scheme_count": len(errors)}
    try:
        found = errors_by_scheme(isa, errors, q, order)
    except SearchError as error:
        return {**context, "schemes_error": str(error)}
    page = page_in_memory(found, whole_number(request, "page", 0) or 0, PAGE)
    ids = ids_of_schemes(isa.pk, (each.scheme for each in page.rows))
    return {**context, "page": page, "schemes": [SchemeRow(ids.get(row.scheme), row) for row in page.rows]}


def scheme_experiments(request: HttpRequest, evaluation: Evaluation, predictor: Predictor) -> OfScheme | None:
    """The experiments with the scheme that the address names, the worst predicted first."""
    pk = whole_number(request, "scheme")
    if pk is None:
        return None
    scheme = get_object_or_404(InstructionScheme, pk=pk, isa=evaluation.predictor.isa_id)
    unit = Unit(evaluation.unit)
    ids, total = worst_with(evaluation, scheme, predictor)
    return OfScheme(scheme, listed(predictor, ids, unit), total)
