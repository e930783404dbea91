"""Which schemes a predictor takes to be too slow or too fast, and by which factor."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from inference.core.judging.agreement import GRADES, STEPS, SchemeBias
from inference.features.judging.engine.query import ComparisonPart, ViewQuestion, biases_in
from inference.features.judging.engine.view_addresses import HEAT_MAP, view_url
from inference.models import ComparedColumn, Comparison
from inference.storage.rows import ids_of_schemes
from inference.web.paging import Order, page_in_memory
from inference.web.validation import one_of, whole_number

TWICE = 1 + STEPS.index(2.0)
"""The grade from which on a predictor is wrong by a factor of two or more."""

PAGE = 50
WIDTH = 1000  # of a bar, in units of its drawing
FURTHEST = "off"
COLUMNS: dict[str, Callable[[SchemeBias], Any]] = {
    FURTHEST: lambda bias: math.inf if not bias.factor else abs(math.log(bias.factor)),
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
class Strong:
    """On so many schemes a predictor errs by a factor of two or more."""

    slow: int
    quick: int
    slow_url: str
    quick_url: str


@dataclass(frozen=True)
class BiasRow:
    """A scheme of the list; `pk` None for one that the instruction set has lost. `url`: its items."""

    text: str
    pk: int | None
    bias: SchemeBias
    url: str


def words_of(grade: int) -> str:
    """`2× to 4× too slow`."""
    if grade == 0:
        return f"within {round(100 * (STEPS[0] - 1))} %"
    size = abs(grade)
    upto = f" to {STEPS[size]:g}×" if size < len(STEPS) else " and more"
    return f"{STEPS[size - 1]:g}×{upto} too {'slow' if grade > 0 else 'fast'}"


def css_of(grade: int) -> str:
    """The class of a grade's colour."""
    return f"bias-{'within' if grade == 0 else f'slow-{grade}' if grade > 0 else f'quick-{-grade}'}"


def strong_biases(request: HttpRequest, column: ComparedColumn, part: ComparisonPart) -> Strong:
    """On how many schemes a column is wrong by a factor of two or more."""
    grades = [bias.grade for bias in biases_in(column, part)]
    urls = [_url(request, column.position, f"{grade:+d}", beyond=True) for grade in (TWICE, -TWICE)]
    return Strong(sum(grade >= TWICE for grade in grades), sum(grade <= -TWICE for grade in grades), *urls)


def bias_tab(request: HttpRequest, question: ViewQuestion) -> dict[str, Any]:
    """The bars of all predictors, and the schemes of one: all, of a grade, or from a grade on."""
    column, choice = question.column, question.part
    order = Order.read(request.GET.get("sort", ""), {key: key for key in COLUMNS}, f"-{FURTHEST}")
    wanted = one_of(request, "grade", tuple(f"{grade:+d}" for grade in GRADES))
    beyond = request.GET.get("beyond") == "1"
    found = biases_in(column, choice)
    shown = [bias for bias in found if _wanted(bias.grade, wanted, beyond)]
    shown.sort(key=COLUMNS[order.column], reverse=order.descending)
    page = page_in_memory(shown, whole_number(request, "page", 0) or 0, PAGE)
    return {
        "bars": [_bar(request, each, column, choice) for each in question.columns],
        "legend": [(css_of(grade), words_of(grade)) for grade in GRADES],
        "bias_width": WIDTH,
        "scheme_count": len(found),
        "list_title": _title(wanted, beyond),
        "page": page,
        "rows": _rows(request, question, page.rows),
        "sort": str(order),
        "all_url": _url(request, column.position),
    }


def _wanted(grade: int, wanted: str, beyond: bool) -> bool:
    if not wanted:
        return True
    edge = int(wanted)
    if not beyond or edge == 0:
        return grade == edge
    return grade >= edge if edge > 0 else grade <= edge


def _title(wanted: str, beyond: bool) -> str:
    if not wanted:
        return "All schemes"
    grade = int(wanted)
    if beyond and grade:
        return f"{STEPS[abs(grade) - 1]:g}× or more too {'slow' if grade > 0 else 'fast'}"
    return words_of(grade)


def _bar(
    request: HttpRequest, column: ComparedColumn, chosen: ComparedColumn, part: ComparisonPart
) -> BiasBar:
    counts = Counter(bias.grade for bias in biases_in(column, part))
    total = sum(counts.values())
    parts, x = [], 0.0
    for grade in GRADES:
        if not counts[grade]:
            continue
        width = WIDTH * counts[grade] / total
        url = _url(request, column.position, f"{grade:+d}")
        parts.append(BarPart(grade, css_of(grade), words_of(grade), counts[grade], x, width, url))
        x += width
    same = column.position == chosen.position
    return BiasBar(column, parts, total, same, _url(request, column.position))


def _url(request: HttpRequest, position: int, grade: str = "", *, beyond: bool = False) -> str:
    fields: dict[str, Any] = {"column": position}
    fields |= {"grade": grade} if grade else {}
    fields |= {"beyond": 1} if beyond else {}
    return view_url(request, "schemes", fields) + "#schemes"


def schemes_in(row: Comparison, texts: Iterable[str]) -> dict[str, int]:
    """{scheme: its row} of those that the instruction set of a comparison knows."""
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
