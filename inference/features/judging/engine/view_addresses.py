"""Addresses of the views of a comparison, on its own page or on a tab of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.http import urlencode

from inference.core.judging.disagreement import DifferenceMetric
from inference.core.judging.sheet import ItemKind, ItemSelection
from inference.core.metrics import Unit
from inference.features.judging.engine.query import (
    ComparisonPart,
    ViewQuestion,
    columns_of,
    key_of,
    numbers_of,
    schemes_found,
    sheet_of,
)
from inference.features.judging.engine.views import VIEWS
from inference.models import ComparedColumn, Comparison, InstructionScheme
from inference.web.validation import one_of, whole_number

HEAT_MAP = "map"
VIEW_NAMES = frozenset({HEAT_MAP, *VIEWS})
_FIELDS_OF_HOST = ("tab", "set", "with", "first", "second")
_FIELDS_OF_PART = (
    *("unit", "q", "ext", "category", "among", "of", "shortest", "longest", "common", "colours"),
    *("against", "bound", "apart", "threshold", "metric"),
)


def view_name(request: HttpRequest, names: tuple[str, ...], usual: str) -> str:
    """The view that the address names: under `view`, in older addresses of a comparison under `tab`."""
    older = request.GET.get("tab", "")
    return one_of(request, "view", names, older if older in names else usual)


def host_fields(request: HttpRequest) -> dict[str, str]:
    """What of the address names the page whose tab the views are; {} on the comparison's own page."""
    fields = {name: request.GET[name] for name in _FIELDS_OF_HOST if request.GET.get(name)}
    return {name: value for name, value in fields.items() if name != "tab" or value not in VIEW_NAMES}


def part_fields(request: HttpRequest) -> dict[str, str]:
    """What of the address says which items are shown how; an older `scheme` by its name of today."""
    kept = {name: request.GET[name] for name in _FIELDS_OF_PART if request.GET.get(name)}
    older = request.GET.get("scheme")
    return kept | {"of": older} if older and "of" not in kept else kept


def view_url(request: HttpRequest, name: str, fields: Mapping[str, object], *, part: bool = True) -> str:
    """A view of the same comparison; without `part`, of all its items."""
    kept: dict[str, Any] = {**host_fields(request), **(part_fields(request) if part else {})}
    return "?" + urlencode({**kept, "view": name, **fields})


STEPS = ("10", "25", "50", "100")
"""Per cent that the form offers."""
WITH, ONLY = "with", "only"
AMONG = ((WITH, "contain such a scheme"), (ONLY, "have no other scheme"))


def choice_of(request: HttpRequest, row: Comparison) -> ComparisonPart:
    """What the address says. Raises `BadRequest`, and `SearchError` for a search that cannot be read."""
    q, pinned = _search(request), pinned_scheme(request, row)
    schemes = schemes_found(row, q) if q else None
    if pinned is not None:
        schemes = numbers_of(row, {pinned.text})
    selection = ItemSelection(
        shortest=whole_number(request, "shortest"),
        longest=whole_number(request, "longest"),
        schemes=schemes,
        only=bool(q) and one_of(request, "among", (WITH, ONLY), WITH) == ONLY,
        common=request.GET.get("common") == "1",
        bound=request.GET.get("bound", "")[:60],
        apart=(whole_number(request, "apart", 0) or 0) / 100,
    )
    unit = Unit(one_of(request, "unit", tuple(Unit), Unit.CYCLES))
    return ComparisonPart(unit, selection, reference_in(request, row))


def reference_in(request: HttpRequest, row: Comparison) -> int | None:
    """The position of the column that the address holds the others against; None where it names none."""
    position = whole_number(request, "against")
    if position is not None and not 0 <= position < len(columns_of(row)):
        raise BadRequest(f"against must be the place of a column, from 0, not {position}")
    return position


def _search(request: HttpRequest) -> str:
    """The search over schemes that text, extension and category make together."""
    parts = [request.GET.get("q", "").strip()]
    for field, key in (("ext", "ext"), ("category", "category")):
        value = request.GET.get(field, "").replace('"', "").strip()
        if value:
            parts.append(f'{key}:"{value[:60]}"')
    return " ".join(filter(None, parts))


def pinned_scheme(request: HttpRequest, row: Comparison) -> InstructionScheme | None:
    """The one scheme whose experiments the address asks for, in place of a search; `scheme` in older ones."""
    pk = whole_number(request, "of", whole_number(request, "scheme"))
    return None if pk is None else get_object_or_404(InstructionScheme, pk=pk, isa=row.isa_id)


def bounds_of(row: Comparison) -> tuple[str, ...]:
    """The bounds of the comparison's items; () where no core model was asked."""
    bounds = sheet_of(key_of(row)).items.bounds if row.item_kind == ItemKind.BLOCKS else None
    return () if bounds is None else bounds.names


def _threshold(request: HttpRequest) -> dict[str, Any]:
    """When two sources disagree: by per cent of their mean, or by hundredths of a cycle."""
    metric = one_of(request, "metric", tuple(DifferenceMetric), DifferenceMetric.RELATIVE)
    return {"metric": metric, "threshold": (whole_number(request, "threshold", 50) or 0) / 100}


def selectable(request: HttpRequest, columns: Sequence[ComparedColumn]) -> list[ComparedColumn]:
    """The columns that can be looked at: not the one that the address holds the others against."""
    against = whole_number(request, "against")
    return [column for column in columns if column.position != against]


def column_in(request: HttpRequest, columns: Sequence[ComparedColumn]) -> ComparedColumn:
    """The column that the address names by its place from 0, the first one where it names none.

    Nor is the reference one: in the form, it may have been looked at before.
    """
    offered = selectable(request, columns)
    position = whole_number(request, "column")
    if position is not None and position == whole_number(request, "against"):
        position = None
    column = next((column for column in offered if position in (None, column.position)), None)
    if column is None:
        places = ", ".join(str(column.position) for column in offered)
        raise BadRequest(
            f"column must be the place of a source beside the reference ({places}), not {position}"
        )
    return column


def question_in(request: HttpRequest, row: Comparison, part: ComparisonPart) -> ViewQuestion:
    """What the address asks a view about: which column, and when two sources disagree."""
    columns = columns_of(row)
    return ViewQuestion(row, columns, column_in(request, columns), part, **_threshold(request))


def filter_context(request: HttpRequest, row: Comparison) -> dict[str, Any]:
    """What the form above every view needs."""
    extensions, categories = _facets(row.isa_id, tuple(row.schemes))
    threshold = str(whole_number(request, "threshold", 50))
    return {
        "units": [(unit.value, unit.label) for unit in Unit],
        "lengths": row.lengths,
        "bounds": bounds_of(row),
        "steps": STEPS if threshold in STEPS else (threshold, *STEPS),
        "asked_threshold": threshold,
        "against": whole_number(request, "against"),
        "reference_name": row.reference or "the measurements",
        "extensions": extensions,
        "categories": categories,
        "among_choices": AMONG,
        "asked": {
            name: request.GET.get(name, "")
            for name in ("q", "ext", "category", "among", "common", "bound", "apart", "metric")
        },
        "shortest": whole_number(request, "shortest"),
        "longest": whole_number(request, "longest"),
        "pinned": pinned_scheme(request, row),
        "colours": one_of(request, "colours", ("log", "linear"), "log"),
    }


@lru_cache(maxsize=16)
def _facets(isa: int | None, schemes: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The extensions and categories of some schemes."""
    there = set(schemes)
    known = InstructionScheme.objects.filter(isa=isa).values_list("text", "extension", "category")
    found = [(extension, category) for text, extension, category in known if text in there]
    extensions = {part for extension, _ in found for part in extension.split("+") if part}
    return sorted(extensions), sorted({category for _, category in found if category})
