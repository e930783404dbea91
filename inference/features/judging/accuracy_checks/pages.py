"""Accuracy checks: the list, one with everything that it found, and the form for another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.core.judging.accuracy import AccuracyJudgement
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import mode_field
from inference.features.asking.predictors.processors import different_processors
from inference.features.asking.predictors.stored_kinds import MEASURING
from inference.features.asking.questions.form import ChoosingForm
from inference.features.judging.accuracy_checks.query import check_of
from inference.features.judging.accuracy_checks.request import KIND, AccuracyCheckConfig
from inference.features.judging.accuracy_checks.result import AccuracyCheck, BoundError, CheckedPredictor
from inference.features.running.runs.query import newest_runs
from inference.formats.csv_cells import written
from inference.isa.targets import names_with_blocks
from inference.models import BasicBlockSet, BlockColumn, Machine, Predictor, Run
from inference.web.file_answers import table_answer
from inference.web.request_fields import RequestField, RunForm, describe_fields
from inference.web.requests import whole_number
from inference.web.run_forms import start_run
from inference.web.small_maps import DeviationBin, cells_of


@dataclass(frozen=True)
class PredictorLine:
    """A predictor in the table, with its map in small and the number of its column (None: deleted)."""

    place: int
    checked: CheckedPredictor
    share: float
    cells: list[DeviationBin]
    column: int | None
    bounds: list[BoundError | None]
    is_floor: bool

    @property
    def bins(self) -> int:
        """Of the map, in each direction."""
        return self.checked.heat_map.bins


def accuracy_checks(request: HttpRequest) -> HttpResponse:
    """All of them, newest first."""
    context = newest_runs(request, KIND, "result", "config", "note")
    return render(request, "inference/accuracy_checks/list.html", context)


def accuracy_check(request: HttpRequest, pk: int) -> HttpResponse:
    """One: all predictors, and of one of them what it is worst at."""
    run = get_object_or_404(Run, pk=pk, kind=KIND)
    found = check_of(run)
    context: dict[str, Any] = {"run": run, "stoppable": Run.UNFINISHED, "found": found}
    if found is not None:
        lines = _lines(run, found)
        wanted = whole_number(request, "of")
        usual = lines[1] if len(lines) > 1 else lines[0]
        block_set = BasicBlockSet.objects.filter(pk=run.result["block_set"]).first()
        predictors = _predictors(block_set)
        context |= {
            "lines": lines,
            "chosen": next((line for line in lines if line.place == wanted), usual),
            "block_set": block_set,
            "reference": None if block_set is None else block_set.columns.filter(position=0).first(),
            "processors": different_processors(predictors),
            "rows_asked": predictors,
        }
    return render(request, "inference/accuracy_checks/check.html", context)


def _predictors(block_set: BasicBlockSet | None) -> list[Predictor]:
    return [] if block_set is None else list(Predictor.objects.filter(columns__block_set=block_set))


def _lines(run: Run, found: AccuracyCheck) -> list[PredictorLine]:
    columns = BlockColumn.objects.filter(block_set=run.result["block_set"])
    by_place = dict(columns.values_list("position", "pk"))
    bounds = found.bound_names
    lines = []
    for place, one in enumerate(found.all):
        own = {each.bound: each for each in one.bounds}
        share = one.answered / found.blocks if found.blocks else 0.0
        cells = cells_of(one.heat_map, "measured", one.name)
        column = by_place.get(place + 1)  # the first is the measurement
        parts = [own.get(name) for name in bounds]
        lines.append(PredictorLine(place, one, share, cells, column, parts, is_floor=place == 0))
    return lines


def accuracy_check_csv(request: HttpRequest, pk: int) -> HttpResponse:
    """The scores of all predictors as a table."""
    run = get_object_or_404(Run, pk=pk, kind=KIND, state=Run.State.DONE)
    found = check_of(run)
    assert found is not None, "it is done"
    lines = [
        (
            *(one.name, one.answered, one.failed, one.scores.n, one.scores.mape, one.median),
            *(one.scores.pearson, one.scores.kendall, one.near, one.above),
            *(("", "") if one.judgement is None else (one.judgement.grade.value, _reasons(one.judgement))),
        )
        for one in found.all
    ]
    return table_answer(written(_HEADS, lines), run.name, machine=found.machine, blocks=found.source)


def _reasons(judgement: AccuracyJudgement) -> str:
    return "; ".join(judgement.reasons)


_HEADS = (
    *("predictor", "answered", "failures", "compared", "mape", "median"),
    *("pearson", "kendall", "within_10_percent", "more_than_3_percent_above"),
    *("judgement", "reasons"),
)


class AccuracyCheckForm(RunForm, ChoosingForm):
    """Which blocks are measured where, and who predicts them."""

    request = AccuracyCheckConfig

    machine = forms.ModelChoiceField(Machine.objects.none(), empty_label=None)
    block_set = forms.ModelChoiceField(
        BasicBlockSet.objects.filter(size__gt=0).order_by("-id"), label="Blocks of", empty_label=None
    )
    blocks = RequestField(label="Number of blocks")
    seed = RequestField(help_text="Which blocks are drawn.")
    mode = mode_field()
    rounds = RequestField(help_text="How often each block is measured; the median counts.")
    anew = None  # type: ignore[assignment]  # as Django removes a field

    def __init__(self, data: Any = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        rows = Machine.objects.filter(isa__name__in=names_with_blocks(), kind__in=MEASURING).order_by(
            "-local", "name"
        )
        self.set_choices(machine=rows)
        describe_fields(self)

    @property
    def possible(self) -> bool:
        """Whether there is a machine and a set."""
        return all(self.fields[name].queryset.exists() for name in ("machine", "block_set"))  # type: ignore[attr-defined]

    def config(self) -> Json:
        """The description of the run."""
        data = self.cleaned_data
        return {
            "machine": data["machine"].pk,
            "block_set": data["block_set"].pk,
            "predictors": [row.pk for row in self.rows],
            **self.stated(),
        }


def accuracy_check_new(request: HttpRequest) -> HttpResponse:
    """Show the form, or start the run. The address may name a `machine` and a `set`."""
    if request.method == "POST":
        form = AccuracyCheckForm(request.POST)
        if form.is_valid():
            usual = f"Accuracy on {form.cleaned_data['machine'].name}"[:180]
            run = start_run(request, form, KIND, form.config(), usual)
            if run is not None:
                return redirect("accuracy-check", run.pk)
    else:
        chosen = {"machine": whole_number(request, "machine"), "block_set": whole_number(request, "set")}
        form = AccuracyCheckForm(initial=chosen)
    ticked = form.ticked() if form.is_bound else set()
    offers = form.offers
    groups = (("Core models", offers.core_models), ("Mappings", offers.mappings), ("Tools", offers.tools))
    context = {
        "form": form,
        "groups": [(title, [(one, one.text in ticked) for one in group]) for title, group in groups if group],
    }
    return render(
        request, "inference/accuracy_checks/new.html", context, status=400 if form.is_bound else 200
    )


urlpatterns = [
    path("accuracy/", accuracy_checks, name="accuracy-checks"),
    path("accuracy/<int:pk>/", accuracy_check, name="accuracy-check"),
    path("accuracy/<int:pk>/scores.csv", accuracy_check_csv, name="accuracy-check-csv"),
    path("accuracy/new/", accuracy_check_new, name="accuracy-check-new"),
]
