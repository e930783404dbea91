"""The dependency graph of a loop, whose edges can be taken away and restored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.utils.safestring import SafeString, mark_safe

from inference.core.loop.values import Dependence, LoopAnalysis
from inference.features.asking.loop.answer import LoopAnswer
from inference.features.asking.loop.query import analysis_of
from inference.figures.dependency_graph import dependency_drawing, edge_text, usual_places
from inference.web.contributions import Context

_LINKS_SIZE = 100_000
"""Characters of all addresses in a graph, each with the code, above which only a script follows its links."""


@dataclass(frozen=True)
class RemovedDependence:
    """A dependence that was taken away. `address`: the page with it again."""

    dependence: Dependence
    text: str
    address: str


@dataclass(frozen=True)
class GraphView:
    """The drawing, and what was taken away.

    Args:
        drawing: SVG with a link per edge.
        removed: Dependences that were taken away.
        cycles: The prediction with them, None where nothing was taken away.
        restored: The page with all of them.
        hidden: Number of instructions that are not drawn.
        other: The page with all instructions, or with the usual ones of a long block; "" for a short one.
    """

    drawing: SafeString
    removed: tuple[RemovedDependence, ...]
    cycles: float | None
    restored: str
    hidden: int
    other: str


def unchanged_analysis(answer: LoopAnswer) -> LoopAnalysis:
    """The analysis with all dependences and with the latencies that the user gave."""
    changes = replace(answer.changes, without_dependences=frozenset(), loads_hit=False)
    if changes == answer.changes:
        return answer.analysis
    return analysis_of(answer.block, answer.cpu.row, answer.assumed, changes)


def removed_dependences(answer: LoopAnswer, unchanged: LoopAnalysis) -> list[Dependence]:
    """The dependences that were taken away; keys that the block does not have are ignored."""
    keys = answer.changes.without_dependences
    return [dependence for dependence in unchanged.dependences if dependence.key in keys]


def graph_context(_request: HttpRequest, answer: LoopAnswer) -> Context | None:
    """The context of `graph.html`; None for a block without dependences."""
    unchanged = unchanged_analysis(answer)
    if not unchanged.dependences:
        return None
    removed = removed_dependences(answer, unchanged)
    keys = {dependence.key for dependence in removed}

    has_addresses = len(answer.question.address()) * len(unchanged.dependences) <= _LINKS_SIZE

    def address_of(dependence: Dependence) -> str:
        if not has_addresses:
            return "#loop-graph"
        return answer.question.address(without=",".join(sorted(keys ^ {dependence.key})))

    places = usual_places(unchanged)
    hidden = len(unchanged.instructions) - len(places)
    shows_all = answer.question.graph == "all"
    drawing = dependency_drawing(
        answer.analysis,
        removed=removed,
        places=None if shows_all else places,
        address_of=address_of,
    )
    view = GraphView(
        mark_safe(drawing.inline("group")),  # noqa: S308  the drawing escapes its texts
        tuple(RemovedDependence(entry, edge_text(entry), address_of(entry)) for entry in removed),
        unchanged.usual if removed else None,
        answer.question.address(without=""),
        0 if shows_all else hidden,
        answer.question.address(graph="" if shows_all else "all") if hidden else "",
    )
    return {"graph": view}
