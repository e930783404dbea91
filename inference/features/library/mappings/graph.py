"""The tripartite graph of a mapping, alone or compared with another."""

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
from inference.figures.tripartite import FACETS, comparison_graph, tripartite, with_conflicts, with_facets
from inference.models import InstructionScheme, PortMapping
from inference.storage.judging import grounds_of
from inference.web.validation import number_parameter

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
    """A filter of the graph: its name in the address and the model, its label, and its choices.

    A choice is (value in the address, label, number of schemes). `any_label`: label of the empty choice.
    """

    name: str
    label: str
    any_label: str
    choices: tuple[tuple[str, str, int], ...]


def graph_tab(request: HttpRequest, row: PortMapping, value: Mapping) -> dict[str, Any]:
    """Context with the graph's model, including scheme ids for links.

    The script reads pins, opened groups, search and filters from the address; only `with`, the number of a
    mapping to compare, is read here.
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
"""Row heights of columns in pixels, as in `graph-layout.js`."""


def _size(model: Json) -> dict[str, int]:
    """Numbers of rows per column and of schemes, and the graph's height in pixels without scrolling."""
    columns = {name: len(model[name]) for name in _ROWS}
    height = max(160, *(row * columns[name] for name, row in _ROWS.items()))
    return {**columns, "height": height, "schemes": sum(len(group["schemes"]) for group in model["groups"])}


def graph_model(
    row: PortMapping, value: Mapping, other: PortMapping | None
) -> tuple[Json, tuple[Facet, ...]]:
    """The graph's model (see `figures.tripartite`), and its filters.

    Groups also have the `ids` of their schemes and `conflicts`. `there`: names of the other mapping's ports,
    "" for ports without a partner.
    """
    if other is None:
        model = tripartite(value)
    else:
        comparison = comparison_of(row, other)
        names = [""] * len(comparison.ports)
        extra = len(row.ports)
        for name, port in zip(other.ports, comparison.agreement.renaming.ports, strict=True):
            index = port
            if index is None:
                index, extra = extra, extra + 1
            names[index] = name
        model = {**comparison_graph(comparison), "there": names}
    texts = {text for group in model["groups"] for text in group["schemes"]}
    mappings = [row] if other is None else [row, other]
    rows = InstructionScheme.objects.filter(isa=row.isa_id, usages__mapping__in=mappings).distinct()
    ids, facts = {}, {}
    for pk, text, *facet_values in rows.order_by("pk").values_list("pk", "text", *FACETS):
        if text in texts:
            ids[text], facts[text] = pk, tuple(facet_values)
    grounds = grounds_of(row)
    words = {scheme: grounds.conflict_words(scheme) for scheme in grounds.conflicts}
    model = with_conflicts(with_facets(model, facts), words)
    for group in model["groups"]:
        group["ids"] = [ids[text] for text in group["schemes"]]
    return model, tuple(_facet(name, index, facts.values()) for index, name in enumerate(FACETS))


def _facet(name: str, place: int, facts: Iterable[tuple[str, ...]]) -> Facet:
    counts = Counter(values[place] for values in facts)
    labels = MEMORY if name == "memory" else {}
    ordered = sorted(counts, key=lambda value: (value != "", value))
    choices = tuple((value or "-", labels.get(value) or value or "none", counts[value]) for value in ordered)
    return Facet(name, name.capitalize(), ANY[name], choices)


def _other(request: HttpRequest, row: PortMapping) -> PortMapping | None:
    pk = number_parameter(request, "with")
    if pk is None:
        return None
    other = get_object_or_404(PortMapping.objects.select_related("isa"), pk=pk)
    if other.isa_id != row.isa_id:
        raise BadRequest(f"{other.name!r} is of {other.isa.name}: choose a mapping of {row.isa.name}")
    return other
