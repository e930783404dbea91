"""The sections of an answer, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest
from django.template.loader import render_to_string

from inference.features.asking.loop.answer import LoopAnswer
from inference.features.asking.loop.comparison import comparison_context
from inference.features.asking.loop.confidence import confidence_context
from inference.features.asking.loop.dependency_graph import graph_context
from inference.features.asking.loop.instruction_table import bounds_context, instructions_context
from inference.features.asking.loop.measured import measured_context
from inference.features.asking.loop.missing import missing_context
from inference.features.asking.loop.timeline_pages import timeline_context
from inference.features.asking.loop.tools import tools_context
from inference.web.contributions import Context


@dataclass(frozen=True)
class LoopSection:
    """A part of the answer; without a context it is not shown."""

    template: str
    context: Callable[[HttpRequest, LoopAnswer], Context | None]

    def render(self, request: HttpRequest, answer: LoopAnswer) -> str:
        context = self.context(request, answer)
        if context is None:
            return ""
        return render_to_string(self.template, {"answer": answer, **context}, request=request)


HEAD_SECTIONS: tuple[LoopSection, ...] = (
    LoopSection("inference/loop/measured.html", measured_context),
    LoopSection("inference/loop/confidence.html", confidence_context),
)
"""Beside the verdict."""

SECTIONS: tuple[LoopSection, ...] = (
    LoopSection("inference/loop/missing.html", missing_context),
    LoopSection("inference/loop/bounds.html", bounds_context),
    LoopSection("inference/loop/instructions.html", instructions_context),
    LoopSection("inference/loop/graph.html", graph_context),
    LoopSection("inference/loop/timeline.html", timeline_context),
    LoopSection("inference/loop/comparison.html", comparison_context),
    LoopSection("inference/loop/tools.html", tools_context),
)
"""Below it."""
