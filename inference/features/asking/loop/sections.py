"""The sections of an answer, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest
from django.template.loader import render_to_string

from inference.features.asking.loop.answer import LoopAnswer
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


HEAD_SECTIONS: tuple[LoopSection, ...] = ()
"""Beside the verdict."""

SECTIONS: tuple[LoopSection, ...] = ()
"""Below it."""
