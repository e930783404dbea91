"""A tour of the recorded example: five stops, each a page with hints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from inference.features.library.example.loading import ExamplePages, find_example
from inference.models import Evaluation, Measurement

SCHEME = "imul GPR[64]:RW, GPR[64]:R"
"""A scheme with one µop that few ports can execute: easy to see in a graph."""

LOOP = "imul rax, rbx\nadd rcx, rdx\nadd rsi, rdi\nmov r8, [r9]"


@dataclass(frozen=True)
class TourStop:
    """A page of the tour; `look` explains it, `do` suggests an action."""

    title: str
    look: str
    do: str
    link: str
    address: str


def tour(request: HttpRequest) -> HttpResponse:
    """The stops of the tour, or the offer to load the example."""
    example = find_example()
    context: dict[str, Any] = {"stops": () if example is None else _stops(example)}
    return render(request, "pmweb/tour.html", context)


def _stops(example: ExamplePages) -> tuple[TourStop, ...]:
    mapping = reverse("mapping", args=[example.mapping.pk])
    scheme = example.mapping.usages.filter(scheme__text=SCHEME).values_list("scheme", flat=True).first()
    pin = {} if scheme is None else {"pin": f"i{scheme}"}
    measurement = Measurement.objects.filter(experiment_set=example.mixes).order_by("pk").first()
    stops = [
        TourStop(
            "What was measured",
            f"{example.training.measurements.count():,} experiments: each instruction scheme alone and every "
            "pair, as endless loops on a Zen 4 core, with the cycles that each took. Nothing else was known.",
            "Sort by cycles; open an experiment to see which mix it is.",
            example.training.name,
            reverse("set", args=[example.training.pk]),
        ),
        TourStop(
            "The mapping inferred from it",
            "Schemes on the left, µops in the middle, ports on the right: which ports each instruction can "
            "use, as PMEvo found it. A multiplication is pinned.",
            "Move over a port: only its paths stay lit. Pin another scheme.",
            example.mapping.name,
            f"{mapping}?{urlencode({'tab': 'graph', **pin})}",
        ),
        TourStop(
            "How well it predicts",
            f"Random mixes of five schemes that it has not seen. {_scores(example)}",
            "Click a bin off the diagonal: these are the experiments that it gets wrong.",
            "The heat map",
            f"{mapping}?tab=accuracy",
        ),
        TourStop(
            "A loop of your own",
            "The same mapping says what the ports allow for any loop, and which ports are the bottleneck.",
            "Change an instruction and watch the load move.",
            "Try this loop",
            f"{mapping}?{urlencode({'tab': 'loop', 'code': LOOP})}",
        ),
    ]
    if measurement is not None:
        stops.append(
            TourStop(
                "From a number to its measurement",
                "One of the mixes: its µops stacked on the ports, what was predicted, what was measured, "
                "and the machine code that ran.",
                "Choose another mapping, or copy the code. Then take the mapping away: its page has "
                "the exports.",
                "The experiment",
                f"{reverse('experiment', args=[measurement.experiment_id])}?mapping={example.mapping.pk}",
            )
        )
    return tuple(stops)


def _scores(example: ExamplePages) -> str:
    """A sentence about the stored evaluation on the mixes."""
    row = Evaluation.objects.filter(
        mapping=example.mapping, experiment_set=example.mixes, unit=Evaluation.Unit.CYCLES
    ).first()
    if row is None or row.mape is None:
        return "It has not been judged on them yet."
    text = f"On average it is off by {row.mape:.1f} % (MAPE)"
    return f"{text}." if row.pearson is None else f"{text}; Pearson’s r is {row.pearson:.2f}."
