"""The form that starts from a source or a set: what is compared, and against what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path

from inference.core.protocols import Json
from inference.features.asking.predictors.modes import mode_field
from inference.features.judging.engine.request import KIND, JudgeConfig
from inference.features.judging.engine.sources import SourceError, SourceKind, Subject, read_source
from inference.features.learning.core_model.query import usable_core_models
from inference.models import BasicBlockSet, ExperimentSet, PortMapping, Predictor, ResourceMapping
from inference.web.request_fields import RequestField, RunForm, describe_fields
from inference.web.run_forms import start_run

SETS, SOURCES = 20, 8
"""Newest sets that are offered, and newest sources of a kind."""
OF_EXPERIMENTS, OF_BLOCKS = "set", "blocks"

Choice = tuple[str, str]


class SourcesForm(RunForm):
    """Items, sources and what these are held against; `source` is the text of what it starts from."""

    request = JudgeConfig
    items = forms.ChoiceField(widget=forms.RadioSelect, label="On")
    sources = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, label="Sources")
    against = forms.ChoiceField(
        required=False,
        label="Against",
        help_text="What the sources are held against: the measurements of a set, or any other source.",
    )
    mode = mode_field("as it was measured")
    most = RequestField(label="Maximum items to ask about", help_text="More are sampled at random.")

    def __init__(self, items: str, source: str, data: Any = None) -> None:
        subjects = _subjects(items, source)
        chosen = subjects[0][1] if subjects else None
        offered = _sources(source, chosen)
        first = {"items": subjects[0][0] if subjects else "", "sources": [source] if source else []}
        super().__init__(data, initial=first)
        self.set_choices(
            items=[(text, _label(row)) for text, row in subjects],
            sources=offered,
            against=[("", "what was measured"), *offered],
        )
        describe_fields(self)

    def config(self) -> Json:
        """The description of the run."""
        data = self.cleaned_data
        kind, _, pk = data["items"].partition(":")
        field = "block_set" if kind == OF_BLOCKS else "experiment_set"
        against = data["against"]
        return {
            field: int(pk),
            "sources": [text for text in data["sources"] if text != against],
            "against": against,
            **self.stated(),
        }


def _subjects(items: str, source: str) -> list[tuple[str, Subject]]:
    """(text, row) of the sets that are offered: the one that is named, or the newest that suit the source."""
    kind, _, pk = items.partition(":")
    number = int(pk) if pk.isdecimal() and len(pk) < 19 else None
    sets: Iterable[ExperimentSet] = ExperimentSet.objects.select_related("isa").order_by("-id")
    block_sets: Iterable[BasicBlockSet] = BasicBlockSet.objects.filter(size__gt=0).order_by("-id")
    if number is not None:
        sets = sets.filter(pk=number if kind == OF_EXPERIMENTS else None)  # type: ignore[attr-defined]
        block_sets = block_sets.filter(pk=number if kind == OF_BLOCKS else None)  # type: ignore[attr-defined]
    found: list[tuple[str, Subject]] = [
        *((f"{OF_EXPERIMENTS}:{row.pk}", row) for row in sets[:SETS]),  # type: ignore[index]
        *((f"{OF_BLOCKS}:{row.pk}", row) for row in block_sets[:SETS]),  # type: ignore[index]
    ]
    return [(text, row) for text, row in found if not source or _suits(source, row)]


def _suits(source: str, row: Subject) -> bool:
    try:
        read_source(source, row)
    except SourceError:
        return False
    return True


def _label(row: Subject) -> str:
    if isinstance(row, BasicBlockSet):
        return f"{row.name} · {row.size:,} blocks"
    return f"{row.name} · measured experiments"


def _sources(source: str, chosen: Subject | None) -> list[Choice]:
    """(text, label): the source that the form starts from, the columns of a block set, then the newest."""
    found: dict[str, str] = {}
    if source and chosen is not None:
        found[source] = read_source(source, chosen).name
    if isinstance(chosen, BasicBlockSet):
        columns = chosen.columns.order_by("position")
        found |= {f"{SourceKind.COLUMN}:{row.pk}": f"column {row.name}" for row in columns}
    mappings = PortMapping.objects.order_by("-id").only("name")
    resources = ResourceMapping.objects.order_by("-id").only("name")
    if chosen is not None and chosen.isa_id is not None:
        mappings, resources = mappings.filter(isa=chosen.isa_id), resources.filter(isa=chosen.isa_id)
    core_models = usable_core_models()
    predictors = Predictor.objects.exclude(origin=Predictor.Origin.IMPORTED).order_by("-id")
    for kind, rows in (
        (SourceKind.MAPPING, mappings),
        (SourceKind.RESOURCES, resources),
        (SourceKind.CORE_MODEL, core_models),
        (SourceKind.PREDICTOR, predictors),
    ):
        for row in rows[:SOURCES]:
            found.setdefault(f"{kind}:{row.pk}", f"{kind} {row.name}")
    return list(found.items())


def comparison_of(request: HttpRequest) -> HttpResponse:
    """Show the form, or start the run. The address names a `source`, `items`, or both."""
    items, source = request.GET.get("items", "")[:40], request.GET.get("source", "")[:300]
    form = SourcesForm(items, source, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        name = f"Comparison of {', '.join(form.cleaned_data['sources'])}"[:180]
        run = start_run(request, form, KIND, form.config(), name)
        if run is not None:
            return redirect("comparison", run.pk)
    status = 400 if form.is_bound else 200
    return render(request, "inference/engine/of.html", {"form": form}, status=status)


urlpatterns = [path("comparisons/of/", comparison_of, name="comparison-of")]
