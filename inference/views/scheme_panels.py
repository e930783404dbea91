"""What other apps show on an instruction scheme's page: they fill this when they start.

Light on purpose: registering must not load the pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.module_loading import import_string

from inference.models import InstructionScheme

Context = dict[str, Any]


@dataclass(frozen=True)
class Panel:
    """A section of the page: `key` for its address, `title` above it, and the `template` of what is in it.

    `context` is the dotted path of a function of the scheme that gives what the template needs, or None where
    there is nothing to say of this scheme.
    """

    key: str
    title: str
    template: str
    context: str


_PANELS: list[Panel] = []


def register(panel: Panel) -> None:
    """Add a panel, once; an app does so when it is ready."""
    if panel.key not in {known.key for known in _PANELS}:
        _PANELS.append(panel)


def panels_for(request: HttpRequest, scheme: InstructionScheme) -> list[tuple[Panel, str]]:
    """Those that have something to say of this scheme, with what they say as HTML."""
    found = []
    for panel in _PANELS:
        say: Callable[[InstructionScheme], Context | None] = import_string(panel.context)
        if (context := say(scheme)) is not None:
            found.append((panel, render_to_string(panel.template, context, request)))
    return found
