"""The view of schemes by the factor by which a predictor is too slow or too fast."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from inference.core.judging.agreement import GRADE_FACTORS, GRADES, SchemeBias
from inference.features.judging.engine.query import ComparisonPart, ViewQuestion, biases_in
from inference.features.judging.engine.view_addresses import HEAT_MAP, view_url
from inference.models import ComparedColumn, Comparison
from inference.storage.rows import ids_of_schemes
from inference.web.paging import Order, page_in_memory
from inference.web.validation import choice_parameter, number_parameter

TWICE = 1 + GRADE_FACTORS.index(2.0)
"""The grade from which a predictor is wrong by a factor of two or more."""

PAGE = 50
WIDTH = 1000  # of a bar, in units of its drawing
LARGEST = "off"
COLUMNS: dict[str, Callable[[SchemeBias], Any]] = {
    LARGEST: lambda bias: math.inf if not bias.factor else abs(math.log(bias.factor)),
    "factor": lambda bias: 0.0 if bias.factor is None else bias.factor,
    "alone": lambda bias: -1.0 if bias.alone is None else bias.alone,
    "n": lambda bias: bias.n,
}


@dataclass(frozen=True)
class BarPart:
    """Schemes of one grade in a bar: `x` and `width` of `WIDTH`."""

    grade: int
    css: str
    words: str
    count: int
    x: float
    width: float
    url: str


@dataclass(frozen=True)
class BiasBar:
    """A predictor with its schemes by grade, too fast ones to the left."""

    column: ComparedColumn
    parts: list[BarPart]
    schemes: int
    chosen: bool
    url: str


@dataclass(frozen=True)
class StrongBiases:
    """The numbers of schemes on which a predictor is wrong by a factor of two or more, and links to them."""

    slow: int
    quick: int
    slow_url: str
    quick_url: str


@dataclass(frozen=True)
class BiasRow:
    """A scheme of the list; `pk`: None if the instruction set no longer has it. `url`: its items."""

    text: str
    pk: int | None
    bias: SchemeBias
    url: str


def grade_words(grade: int) -> str:
    """The words of a grade, like `2× to 4× too slow`."""
    if grade == 0:
        return f"within {round(100 * (GRADE_FACTORS[0] - 1))} %"
    size = abs(grade)
    upto = f" to {GRADE_FACTORS[size]:g}×" if size < len(GRADE_FACTORS) else " and more"
    return f"{GRADE_FACTORS[size - 1]:g}×{upto} too {'slow' if grade > 0 else 'fast'}"


def grade_class(grade: int) -> str:
    return f"bias-{'within' if grade == 0 else f'slow-{grade}' if grade > 0 else f'quick-{-grade}'}"


def strong_biases(request: HttpRequest, column: ComparedColumn, part: ComparisonPart) -> StrongBiases:
    """The schemes on which a column is wrong by a factor of two or more."""
    grades = [bias.grade for bias in biases_in(column, part)]
    urls = [_url(request, column.position, f"{grade:+d}", beyond=True) for grade in (TWICE, -TWICE)]
    return StrongBiases(sum(step >= TWICE for step in grades), sum(step <= -TWICE for step in grades), *urls)


def bias_tab(request: HttpRequest, question: ViewQuestion) -> dict[str, Any]:
    """The context of the view: a bar per predictor, and the schemes of one, optionally of some grades."""
    column, choice = question.column, question.part
    order = Order.read(request.GET.get("sort", ""), {key: key for key in COLUMNS}, f"-{LARGEST}")
    grade_text = choice_parameter(request, "grade", tuple(f"{grade:+d}" for grade in GRADES))
    beyond = request.GET.get("beyond") == "1"
    biases = biases_in(column, choice)
    listed = [bias for bias in biases if _is_in_grade(bias.grade, grade_text, beyond)]
    listed.sort(key=COLUMNS[order.column], reverse=order.descending)
    page = page_in_memory(listed, number_parameter(request, "page", 0) or 0, PAGE)
    return {
        "bars": [_bar(request, bar_column, column, choice) for bar_column in question.columns],
        "legend": [(grade_class(grade), grade_words(grade)) for grade in GRADES],
        "bias_width": WIDTH,
        "scheme_count": len(biases),
        "list_title": _title(grade_text, beyond),
        "page": page,
        "rows": _rows(request, question, page.rows),
        "sort": str(order),
        "all_url": _url(request, column.position),
    }


def _is_in_grade(grade: int, grade_text: str, beyond: bool) -> bool:
    if not grade_text:
        return True
    edge = int(grade_text)
    if not beyond or edge == 0:
        return grade == edge
    return grade >= edge if edge > 0 else grade <= edge


def _title(grade_text: str, beyond: bool) -> str:
    if not grade_text:
        return "All schemes"
    grade = int(grade_text)
    if beyond and grade:
        return f"{GRADE_FACTORS[abs(grade) - 1]:g}× or more too {'slow' if grade > 0 else 'fast'}"
    return grade_words(grade)


def _bar(
    request: HttpRequest, column: ComparedColumn, current: ComparedColumn, part: ComparisonPart
) -> BiasBar:
    counts = Counter(bias.grade for bias in biases_in(column, part))
    total = sum(counts.values())
    parts, x = [], 0.0
    for grade in GRADES:
        if not counts[grade]:
            continue
        width = WIDTH * counts[grade] / total
        url = _url(request, column.position, f"{grade:+d}")
        parts.append(BarPart(grade, grade_class(grade), grade_words(grade), counts[grade], x, width, url))
        x += width
    is_current = column.position == current.position
    return BiasBar(column, parts, total, is_current, _url(request, column.position))


def _url(request: HttpRequest, position: int, grade: str = "", *, beyond: bool = False) -> str:
    fields: dict[str, Any] = {"column": position}
    fields |= {"grade": grade} if grade else {}
    fields |= {"beyond": 1} if beyond else {}
    return view_url(request, "schemes", fields) + "#schemes"


def schemes_in(row: Comparison, texts: Iterable[str]) -> dict[str, int]:
    """{scheme: row id} of the schemes that the comparison's instruction set has."""
    return {} if row.isa_id is None else ids_of_schemes(row.isa_id, texts)


def _rows(request: HttpRequest, question: ViewQuestion, biases: Sequence[SchemeBias]) -> list[BiasRow]:
    texts, at = question.row.schemes, question.column.position
    ids = schemes_in(question.row, (texts[bias.scheme] for bias in biases))
    return [
        BiasRow(text, pk, bias, view_url(request, HEAT_MAP, {"column": at, "of": pk}, part=False))
        for bias in biases
        for text in [texts[bias.scheme]]
        for pk in [ids.get(text)]
    ]
