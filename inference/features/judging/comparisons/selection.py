"""What of a comparison an address asks for: unit, experiments, predictor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from inference.core.judging.sheet import ItemSelection
from inference.core.metrics import Unit
from inference.features.judging.comparisons.query import (
    numbers_of,
    schemes_found,
)
from inference.models import ComparedColumn, Comparison, InstructionScheme
from inference.web.requests import one_of, whole_number

WITH, ONLY = "with", "only"
AMONG = ((WITH, "contain such a scheme"), (ONLY, "have no other scheme"))


@dataclass(frozen=True)
class ComparisonSelection:
    """A part of the experiments, and the unit that it is shown in."""

    selection: ItemSelection
    unit: Unit


def choice_of(request: HttpRequest, row: Comparison) -> ComparisonSelection:
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
    )
    return ComparisonSelection(selection, Unit(one_of(request, "unit", tuple(Unit), Unit.CYCLES)))


def _search(request: HttpRequest) -> str:
    """The search over schemes that text, extension and category make together."""
    parts = [request.GET.get("q", "").strip()]
    for field, key in (("ext", "ext"), ("category", "category")):
        value = request.GET.get(field, "").replace('"', "").strip()
        if value:
            parts.append(f'{key}:"{value[:60]}"')
    return " ".join(filter(None, parts))


def pinned_scheme(request: HttpRequest, row: Comparison) -> InstructionScheme | None:
    """The one scheme whose experiments the address asks for, in place of a search."""
    pk = whole_number(request, "of")
    return None if pk is None else get_object_or_404(InstructionScheme, pk=pk, isa=row.isa_id)


def column_in(request: HttpRequest, columns: Sequence[ComparedColumn]) -> ComparedColumn:
    """The column that the address names by its place from 0, the first one where it names none."""
    position = whole_number(request, "column", 0)
    found = next((column for column in columns if column.position == position), None)
    if found is None:
        raise BadRequest(f"column must be a number below {len(columns)}, not {position}")
    return found


def filter_context(request: HttpRequest, row: Comparison) -> dict[str, Any]:
    """What the form above every view needs."""
    extensions, categories = _facets(row.isa_id, tuple(row.schemes))
    return {
        "units": [(unit.value, unit.label) for unit in Unit],
        "lengths": row.lengths,
        "extensions": extensions,
        "categories": categories,
        "among_choices": AMONG,
        "asked": {name: request.GET.get(name, "") for name in ("q", "ext", "category", "among", "common")},
        "shortest": whole_number(request, "shortest"),
        "longest": whole_number(request, "longest"),
        "pinned": pinned_scheme(request, row),
        "colours": one_of(request, "colours", ("log", "linear"), "log"),
    }


@lru_cache(maxsize=16)
def _facets(isa: int, schemes: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The extensions and categories of some schemes."""
    there = set(schemes)
    known = InstructionScheme.objects.filter(isa=isa).values_list("text", "extension", "category")
    found = [(extension, category) for text, extension, category in known if text in there]
    extensions = {part for extension, _ in found for part in extension.split("+") if part}
    return sorted(extensions), sorted({category for _, category in found if category})
