"""The start page: what is going on, what came out lately, and the first steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from inference.queries.overview import Overview, overview


@dataclass(frozen=True)
class Step:
    """One of the first steps; `post` ones act when their button is pressed, the others lead to a page."""

    title: str
    why: str
    button: str
    url: str
    done: bool
    post: bool = False
    next: bool = False


def start(request: HttpRequest) -> HttpResponse:
    """The start page."""
    seen = overview()
    return render(request, "pmweb/start.html", {"seen": seen, "checklist": _first_steps(seen)})


def _first_steps(seen: Overview) -> list[Step]:
    """The first steps with the next one marked; none once all are done."""
    steps = [
        Step(
            "Try the recorded example",
            "Measurements of a simulated processor beside its true port mapping, to look around in.",
            "Load the example",
            reverse("example"),
            seen.has_example,
            post=True,
        ),
        Step(
            "Upload measurements",
            "A CSV with one experiment per row, or PMEvo's JSON files.",
            "Upload",
            reverse("upload"),
            seen.has_uploads,
        ),
        Step(
            "Infer a port mapping",
            "From measurements that you have uploaded, or from a simulated processor.",
            "Infer",
            reverse("infer"),
            seen.has_inferred,
        ),
    ]
    if all(step.done for step in steps):
        return []
    first = next(index for index, step in enumerate(steps) if not step.done)
    return [replace(step, next=index == first) for index, step in enumerate(steps)]
