"""The tripartite graph of a mapping, alone or with another one in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from inference.core.identity import SchemeRelation
from inference.core.mapping import PortMapping as Mapping
from inference.features.library.mappings.query import comparable, comparison_of, summary
from inference.figures.colours import LIGHT
from inference.figures.plotly_json import Json
from inference.figures.tripartite import FACETS, compared, tripartite, with_conflicts, with_facets
from inference.models import InstructionScheme, PortMapping
from inference.storage.judging import grounds_of
from inference.web.validation import whole_number

KINDS = {
    SchemeRelation.DIFFERENT: "different µops",
    SchemeRelation.ONLY_FIRST: "only here",
    SchemeRelation.ONLY_SECOND: "only there",
    SchemeRelation.EQUAL: "same µops",
}
MEMORY = dict(InstructionScheme.Memory.choices)
ANY = {"extension": "any extension", "category": "any category", "memory": "any use of memory"}


@dataclass(frozen=True)
class Facet:
    """A filter: the name that the address and the model know it by, its label, and its choices.

    A choice is (value in the address, label, number of schemes).
    """

    name: str
    label: str
    anything: str
    choices: tuple[tuple[str, str, int], ...]


def graph_tab(request: HttpRequest, row: PortMapping, value: Mapping) -> dict[str, Any]:
    """The graph's model with the id of every scheme, so that it can link to the scheme's page.

    What is pinned, opened, searched and filtered is read from the address by the script, but for `with`: the
    number of another mapping that is drawn into the graph.
    """
    other = _other(request, row)
    candidates = list(comparable(row).only("pk", "name"))
    model, facets = graph_model(row, value, other)
    context: dict[str, Any] = {
        "model": model,
        "size": _size(model),
        "facets": facets,
        "candidates": candidates,
        "other": other,
        "unsettled": sum(len(group["conflicts"]) for group in model["groups"]),
        "hides": any(uop.get("hidden") for uop in model["uops"]),
        "ports": [(index, index % len(LIGHT), name) for index, name in enumerate(model["ports"])],
    }
    if other is None:
        return context
    counts = model["counts"]
    return {
        **context,
        "kinds": [(kind.value, label, counts[kind.value]) for kind, label in KINDS.items()],
        "summary": summary(comparison_of(row, other)),
    }


_ROWS = {"groups": 23, "uops": 27, "ports": 40}
"""Pixels between the rows of a column, as `graph-layout.js` has them."""


def _size(model: Json) -> dict[str, int]:
    """What the whole graph shows, as the script will say it, and how tall it would be without scrolling."""
    columns = {name: len(model[name]) for name in _ROWS}
    height = max(160, *(row * columns[name] for name, row in _ROWS.items()))
    return {**columns, "height": height, "schemes": sum(len(group["schemes"]) for group in model["groups"])}


def graph_model(
    row: PortMapping, value: Mapping, other: PortMapping | None
) -> tuple[Json, tuple[Facet, ...]]:
    """What the graph is drawn from (see `figures.tripartite`), and what it can be filtered by.

    Groups have the `ids` of their schemes as well, and what contradicts these. `there` names the other
    mapping's ports, "" for one that has no partner.
    """
    if other is None:
        model = tripartite(value)
    else:
        comparison = comparison_of(row, other)
        names = [""] * len(comparison.ports)
        extra = len(row.ports)
        for name, port in zip(other.ports, comparison.agreement.renaming.ports, strict=True):
            place = port
            if place is None:
                place, extra = extra, extra + 1
            names[place] = name
        model = {**compared(comparison), "there": names}
    texts = {text for group in model["groups"] for text in group["schemes"]}
    mappings = [row] if other is None else [row, other]
    rows = InstructionScheme.objects.filter(isa=row.isa_id, usages__mapping__in=mappings).distinct()
    ids, facts = {}, {}
    for pk, text, *found in rows.order_by("pk").values_list("pk", "text", *FACETS):
        if text in texts:
            ids[text], facts[text] = pk, tuple(found)
    grounds = grounds_of(row)
    words = {scheme: grounds.conflict_words(scheme) for scheme in grounds.conflicts}
    model = with_conflicts(with_facets(model, facts), words)
    for group in model["groups"]:
        group["ids"] = [ids[text] for text in group["schemes"]]
    return model, tuple(_facet(name, place, facts.values()) for place, name in enumerate(FACETS))


def _facet(name: str, place: int, facts: Iterable[tuple[str, ...]]) -> Facet:
    counted = Counter(found[place] for found in facts)
    labels = MEMORY if name == "memory" else {}
    ordered = sorted(counted, key=lambda value: (value != "", value))
    choices = tuple((value or "-", labels.get(value) or value or "none", counted[value]) for value in ordered)
    return Facet(name, name.capitalize(), ANY[name], choices)


def _other(request: HttpRequest, row: PortMapping) -> PortMapping | None:
    pk = whole_number(request, "with")
    if pk is None:
        return None
    other = get_object_or_404(PortMapping.objects.select_related("isa"), pk=pk)
    if other.isa_id != row.isa_id:
        raise BadRequest(f"{other.name!r} describes {other.isa.name}, not {row.isa.name}: nothing to compare")
    return other
