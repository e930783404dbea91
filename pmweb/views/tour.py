"""The walk through the recorded example: five stops, each a page with what to look at there."""

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
class Stop:
    """A page of the walk: what to `look` at, and what to `do` there."""

    title: str
    look: str
    do: str
    link: str
    address: str


def tour(request: HttpRequest) -> HttpResponse:
    """The stops, or the offer to load the example."""
    found = find_example()
    context: dict[str, Any] = {"stops": () if found is None else _stops(found)}
    return render(request, "pmweb/tour.html", context)


def _stops(found: ExamplePages) -> tuple[Stop, ...]:
    mapping = reverse("mapping", args=[found.mapping.pk])
    scheme = found.mapping.usages.filter(scheme__text=SCHEME).values_list("scheme", flat=True).first()
    pin = {} if scheme is None else {"pin": f"i{scheme}"}
    seen = Measurement.objects.filter(experiment_set=found.mixes).order_by("pk").first()
    stops = [
        Stop(
            "What was measured",
            f"{found.training.measurements.count():,} experiments: each instruction scheme alone and every "
            "pair, as endless loops on a Zen 4 core, with the cycles that each took. Nothing else was known.",
            "Sort by cycles; open an experiment to see which mix it is.",
            found.training.name,
            reverse("set", args=[found.training.pk]),
        ),
        Stop(
            "The mapping inferred from it",
            "Schemes on the left, µops in the middle, ports on the right: which ports each instruction can "
            "use, as PMEvo found it. A multiplication is pinned.",
            "Move over a port: only its paths stay lit. Pin another scheme.",
            found.mapping.name,
            f"{mapping}?{urlencode({'tab': 'graph', **pin})}",
        ),
        Stop(
            "How well it predicts",
            f"Random mixes of five schemes that it has not seen. {_scores(found)}",
            "Click a bin off the diagonal: these are the experiments that it gets wrong.",
            "The heat map",
            f"{mapping}?tab=accuracy",
        ),
        Stop(
            "A loop of your own",
            "The same mapping says what the ports allow for any loop, and which ports are the bottleneck.",
            "Change an instruction and watch the load move.",
            "Try this loop",
            f"{mapping}?{urlencode({'tab': 'loop', 'code': LOOP})}",
        ),
    ]
    if seen is not None:
        stops.append(
            Stop(
                "From a number to its measurement",
                "One of the mixes: its µops stacked on the ports, what was predicted, what was measured, "
                "and the machine code that ran.",
                "Choose another mapping, or copy the code. Then take the mapping away: its page has "
                "the exports.",
                "The experiment",
                f"{reverse('experiment', args=[seen.experiment_id])}?mapping={found.mapping.pk}",
            )
        )
    return tuple(stops)


def _scores(found: ExamplePages) -> str:
    """What the stored evaluation on the mixes says."""
    row = Evaluation.objects.filter(
        mapping=found.mapping, experiment_set=found.mixes, unit=Evaluation.Unit.CYCLES
    ).first()
    if row is None or row.mape is None:
        return "It has not been judged on them yet."
    told = f"On average it is off by {row.mape:.1f} % (MAPE)"
    return f"{told}." if row.pearson is None else f"{told}; Pearson’s r is {row.pearson:.2f}."
