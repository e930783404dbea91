"""URLs of the views of a comparison, on its own page or a tab of another one, and the parameters in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.http import urlencode

from inference.core.experiment import Unit
from inference.core.judging.disagreement import DifferenceMetric
from inference.core.judging.sheet import ItemKind, ItemSelection
from inference.features.judging.engine.query import (
    ComparisonPart,
    ViewQuestion,
    columns_of,
    key_of,
    matching_schemes,
    scheme_numbers,
    sheet_of,
)
from inference.features.judging.engine.views import VIEWS
from inference.models import ComparedColumn, Comparison, InstructionScheme
from inference.web.validation import choice_parameter, number_parameter

HEAT_MAP = "map"
VIEW_NAMES = frozenset({HEAT_MAP, *VIEWS})
_FIELDS_OF_HOST = ("tab", "set", "with", "first", "second")
_FIELDS_OF_PART = (
    *("unit", "q", "ext", "category", "among", "of", "shortest", "longest", "common", "colours"),
    *("against", "bound", "apart", "threshold", "metric"),
)


def view_name(request: HttpRequest, names: tuple[str, ...], usual: str) -> str:
    """The view in the address: the parameter `view`, in older addresses `tab`."""
    older = request.GET.get("tab", "")
    return choice_parameter(request, "view", names, older if older in names else usual)


def host_fields(request: HttpRequest) -> dict[str, str]:
    """The parameters of the page that has the views as a tab; {} on the comparison's own page."""
    fields = {name: request.GET[name] for name in _FIELDS_OF_HOST if request.GET.get(name)}
    return {name: value for name, value in fields.items() if name != "tab" or value not in VIEW_NAMES}


def part_fields(request: HttpRequest) -> dict[str, str]:
    """The parameters that choose and show items; `scheme` in older addresses becomes `of`."""
    fields = {name: request.GET[name] for name in _FIELDS_OF_PART if request.GET.get(name)}
    older = request.GET.get("scheme")
    return fields | {"of": older} if older and "of" not in fields else fields


def view_url(request: HttpRequest, name: str, fields: Mapping[str, object], *, part: bool = True) -> str:
    """The URL of a view of the same comparison; without `part`, of all its items."""
    query: dict[str, Any] = {**host_fields(request), **(part_fields(request) if part else {})}
    return "?" + urlencode({**query, "view": name, **fields})


ERROR_STEPS = ("10", "25", "50", "100")
"""Errors in per cent that the form offers."""
WITH, ONLY = "with", "only"
SCHEME_FILTERS = ((WITH, "contain such a scheme"), (ONLY, "have no other scheme"))


def requested_part(request: HttpRequest, row: Comparison) -> ComparisonPart:
    """The part in the address. Raises `BadRequest`, and `SearchError` for an invalid search."""
    q, pinned = _search(request), pinned_scheme(request, row)
    schemes = matching_schemes(row, q) if q else None
    if pinned is not None:
        schemes = scheme_numbers(row, {pinned.text})
    selection = ItemSelection(
        shortest=number_parameter(request, "shortest"),
        longest=number_parameter(request, "longest"),
        schemes=schemes,
        only=bool(q) and choice_parameter(request, "among", (WITH, ONLY), WITH) == ONLY,
        common=request.GET.get("common") == "1",
        bound=request.GET.get("bound", "")[:60],
        apart=(number_parameter(request, "apart", 0) or 0) / 100,
    )
    unit = Unit(choice_parameter(request, "unit", tuple(Unit), Unit.CYCLES))
    return ComparisonPart(unit, selection, requested_reference(request, row))


def requested_reference(request: HttpRequest, row: Comparison) -> int | None:
    """The position of the column that is the reference in the address; None without one."""
    position = number_parameter(request, "against")
    if position is not None and not 0 <= position < len(columns_of(row)):
        raise BadRequest(f"against must be the place of a column, from 0, not {position}")
    return position


def _search(request: HttpRequest) -> str:
    """The search for schemes that text, extension and category form together."""
    parts = [request.GET.get("q", "").strip()]
    for field, key in (("ext", "ext"), ("category", "category")):
        value = request.GET.get(field, "").replace('"', "").strip()
        if value:
            parts.append(f'{key}:"{value[:60]}"')
    return " ".join(filter(None, parts))


def pinned_scheme(request: HttpRequest, row: Comparison) -> InstructionScheme | None:
    """The scheme to which the address restricts the experiments; the parameter is `scheme` in older
    addresses."""
    pk = number_parameter(request, "of", number_parameter(request, "scheme"))
    return None if pk is None else get_object_or_404(InstructionScheme, pk=pk, isa=row.isa_id)


def bounds_of(row: Comparison) -> tuple[str, ...]:
    """The bounds of the comparison's items; () without a core model."""
    bounds = sheet_of(key_of(row)).items.bounds if row.item_kind == ItemKind.BLOCKS else None
    return () if bounds is None else bounds.names


def _threshold(request: HttpRequest) -> dict[str, Any]:
    """When two sources disagree: per cent of their mean, or hundredths of a cycle."""
    metric = choice_parameter(request, "metric", tuple(DifferenceMetric), DifferenceMetric.RELATIVE)
    return {"metric": metric, "threshold": (number_parameter(request, "threshold", 50) or 0) / 100}


def selectable_columns(request: HttpRequest, columns: Sequence[ComparedColumn]) -> list[ComparedColumn]:
    """The columns that can be viewed: all but the reference in the address."""
    against = number_parameter(request, "against")
    return [column for column in columns if column.position != against]


def requested_column(request: HttpRequest, columns: Sequence[ComparedColumn]) -> ComparedColumn:
    """The column in the address, by its place from 0; the first one without it.

    The reference does not count: it may be the column viewed before the form made it the reference.
    """
    offered = selectable_columns(request, columns)
    position = number_parameter(request, "column")
    if position is not None and position == number_parameter(request, "against"):
        position = None
    column = next((column for column in offered if position in (None, column.position)), None)
    if column is None:
        places = ", ".join(str(column.position) for column in offered)
        raise BadRequest(f"column must be the place of a source ({places}), not {position}")
    return column


def requested_question(request: HttpRequest, row: Comparison, part: ComparisonPart) -> ViewQuestion:
    """The viewed column and the criterion of disagreement, from the address."""
    columns = columns_of(row)
    return ViewQuestion(row, columns, requested_column(request, columns), part, **_threshold(request))


def filter_context(request: HttpRequest, row: Comparison) -> dict[str, Any]:
    """The context of the form above every view."""
    extensions, categories = _facets(row.isa_id, tuple(row.schemes))
    threshold = str(number_parameter(request, "threshold", 50))
    return {
        "units": [(unit.value, unit.label) for unit in Unit],
        "lengths": row.lengths,
        "bounds": bounds_of(row),
        "steps": ERROR_STEPS if threshold in ERROR_STEPS else (threshold, *ERROR_STEPS),
        "asked_threshold": threshold,
        "against": number_parameter(request, "against"),
        "reference_name": row.reference or "the measurements",
        "extensions": extensions,
        "categories": categories,
        "among_choices": SCHEME_FILTERS,
        "asked": {
            name: request.GET.get(name, "")
            for name in ("q", "ext", "category", "among", "common", "bound", "apart", "metric")
        },
        "shortest": number_parameter(request, "shortest"),
        "longest": number_parameter(request, "longest"),
        "pinned": pinned_scheme(request, row),
        "colours": choice_parameter(request, "colours", ("log", "linear"), "log"),
    }


@lru_cache(maxsize=16)
def _facets(isa: int | None, schemes: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """(extensions, categories) of some schemes, sorted."""
    occurring = set(schemes)
    rows = InstructionScheme.objects.filter(isa=isa).values_list("text", "extension", "category")
    facets = [(extension, category) for text, extension, category in rows if text in occurring]
    extensions = {part for extension, _ in facets for part in extension.split("+") if part}
    return sorted(extensions), sorted({category for _, category in facets if category})
