"""Pages of latencies: the list of sets, a set, a scheme's chains, and the form that measures."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.core_model.memory_reading import memory_times
from inference.core.protocols import Json
from inference.features.learning.latencies.query import (
    CHAINS_PER_SCHEME,
    IDIOMS_PER_SCHEME,
    SCHEME_COLUMNS,
    SET_COLUMNS,
    bypass_kinds,
    idiom_counts,
    instructions_of,
    latencies_of,
    latencies_of_scheme,
    latencies_xml,
    latency_sets,
    memory_sentences,
    neighbour_text,
    renaming_rows,
    scheme_ids_of,
    store_lines,
)
from inference.features.machines.measure.form import (
    MeasuringForm,
    MeasuringPlan,
    measuring_page,
    schemes_config,
)
from inference.features.machines.measure.request import Effort
from inference.figures.front_ends import store_figure
from inference.isa.chains import ChainLink
from inference.isa.search import SearchError
from inference.isa.targets import documented_latency, latency_source
from inference.models import InstructionScheme, LatencySet, Machine, SchemeLatencies
from inference.runs.machines.facts import estimated_seconds
from inference.storage.latencies import documented_core, documented_share
from inference.web.contributions import Context, PagePanel, PanelPlace
from inference.web.file_answers import file_answer
from inference.web.naming import naming_paths
from inference.web.paging import Order, list_page, page_of
from inference.web.request_fields import NOT_STARTED, start_run

KIND = "latencies"


def latencies_page(request: HttpRequest) -> HttpResponse:
    """Lists sets, newest first, filtered by name or note."""
    return list_page(request, "inference/latencies/list.html", latency_sets, SET_COLUMNS, "-created")


def latency_set(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(latency_sets(), pk=pk)
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), SCHEME_COLUMNS, "scheme")
    context: dict[str, Any] = {"row": row, "q": q, "sort": str(order), "idioms": idiom_counts(row)}
    context["documented"] = documented_share(row)
    try:
        rows = latencies_of(row, q).defer("chains")
        context["page"] = page_of(rows, order, SCHEME_COLUMNS, request.GET.get("page", ""))
    except SearchError as error:
        context["error"] = str(error)
    return render(request, "inference/latencies/set.html", context, status=400 if "error" in context else 200)


def latency_scheme(request: HttpRequest, pk: int, scheme: int) -> HttpResponse:
    rows = SchemeLatencies.objects.select_related("latency_set__machine__isa", "scheme")
    row = get_object_or_404(rows, latency_set=pk, scheme=scheme)
    core = documented_core(row.latency_set.machine)
    pairs = [
        {
            **pair,
            "chains": [_with_text(chain) for chain in pair["chains"]],
            "neighbours": neighbour_text(pair),
            "documented": documented_latency(
                core, ChainLink(row.scheme.text, pair["source"], pair["destination"])
            ),
        }
        for pair in row.pairs_with_chains()
    ]
    idioms = [
        {**idiom, "codes": [_with_text(idiom["measured"]), _with_text(idiom["compared"])]}
        for idiom in row.idioms
    ]
    context = {"row": row, "pairs": pairs, "idioms": idioms, "according_to": latency_source(core)}
    return render(request, "inference/latencies/scheme.html", context)


def latency_memory(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(latency_sets(), pk=pk)
    memory = [_with_text(timed) for timed in row.memory if not timed.get("condition")]
    stores = store_lines(row.memory)
    forwarding: dict[tuple[Any, ...], list[Json]] = defaultdict(list)
    for timed in memory:
        if timed["stored"] and timed.get("chained", True):
            keys = ("register_class", "address", "stored", "loaded", "offset")
            forwarding[tuple(timed[name] for name in keys)].append(timed)
    context = {
        "row": row,
        "loads": [timed for timed in memory if not timed["stored"] and timed.get("chained", True)],
        "forwarding": [(chains[0], chains) for chains in forwarding.values()],
        "between": sorted({chain["between"] for chains in forwarding.values() for chain in chains}),
        "unchained": [timed for timed in memory if not timed.get("chained", True)],
        "sentences": memory_sentences(memory_times(row.memory)),
        "renaming": [_with_text(timed) for timed in renaming_rows(row.memory)],
        "store_figure": store_figure(stores) if stores else None,
    }
    return render(request, "inference/latencies/memory.html", context)


def latency_bypasses(request: HttpRequest, pk: int) -> HttpResponse:
    """Kinds of instructions with bypass delays between them."""
    row = get_object_or_404(latency_sets(), pk=pk)
    return render(request, "inference/latencies/bypasses.html", {"row": row, "kinds": bypass_kinds(row)})


def _with_text(chain: Json) -> Json:
    return {**chain, "instructions": instructions_of(chain)}


def latencies_measure(request: HttpRequest, pk: int) -> HttpResponse:
    template = "inference/latencies/measure.html"
    return measuring_page(request, pk, KIND, template, MeasuringForm, _plan, chained=True)


def _plan(machine: Machine, form: MeasuringForm, texts: list[tuple[int, str]]) -> MeasuringPlan:
    config: Json = {"machine": machine.pk, **schemes_config(form, texts)}
    chains = round((CHAINS_PER_SCHEME + IDIOMS_PER_SCHEME) * len(texts))
    return MeasuringPlan.of(machine, config, texts, Effort(chains, estimated_seconds(chains, machine)))


def latency_set_reread(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts a run that evaluates the recorded chains of a set again, into a new set."""
    row = get_object_or_404(LatencySet.objects.defer("readings"), pk=pk)
    config: Json = {"recorded": pk, "schemes": scheme_ids_of(row)}
    run = start_run(request, KIND, config, lead=NOT_STARTED)
    return redirect("latency-set", pk=pk) if run is None else redirect("run", pk=run.pk)


def latency_set_export(request: HttpRequest, pk: int) -> HttpResponse:
    """A set as XML like uops.info's."""
    rows = LatencySet.objects.select_related("machine__isa").defer("readings")
    row = get_object_or_404(rows, pk=pk)
    return file_answer(latencies_xml(row), "application/xml", row.name, "xml")


urlpatterns = [
    path("latencies/", latencies_page, name="latencies"),
    path("latencies/<int:pk>/", latency_set, name="latency-set"),
    path("latencies/<int:pk>/schemes/<int:scheme>/", latency_scheme, name="latency-scheme"),
    path("latencies/<int:pk>/memory/", latency_memory, name="latency-memory"),
    path("latencies/<int:pk>/bypasses/", latency_bypasses, name="latency-bypasses"),
    path("latencies/<int:pk>/again/", latency_set_reread, name="latency-set-again"),
    path("latencies/<int:pk>/xml/", latency_set_export, name="latency-set-export"),
    *naming_paths(LatencySet, "latency-set", "latencies"),
    path("machines/<int:pk>/latencies/", latencies_measure, name="latencies-measure"),
]

_NEWEST = 12


def _of_scheme(_request: HttpRequest, scheme: InstructionScheme) -> Context | None:
    latencies = list(latencies_of_scheme(scheme)[:_NEWEST])
    return {"latencies": latencies, "scheme": scheme} if latencies else None


PANELS = (
    PagePanel(PanelPlace.SCHEME, "latencies", "Latencies", "inference/latencies/of_scheme.html", _of_scheme),
)
