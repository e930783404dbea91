"""The tab of a basic-block set with the coverage of its interesting blocks by campaigns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from anica_app.core.search.interestingness import ABSOLUTE, RELATIVE, InterestSettings
from anica_app.features.coverage.job import CoverageConfig
from anica_app.features.coverage.query import (
    KIND,
    CoverageRuns,
    coverage_of_set,
    coverage_words,
    coverages_of,
)
from anica_app.models import Campaign
from anica_app.web.presentation import asm
from inference.core.protocols import Json
from inference.features.asking.block_sets.query import BlockSetView, answers_of, blocks_at, columns_of
from inference.features.asking.predictors.kinds import kinds
from inference.features.running.runs.kind_presentation import KindPresentation
from inference.formats.quoting import csv_text
from inference.models import BasicBlockSet, BlockColumn, Run
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit
from inference.storage.instruction_sets import code_isa
from inference.web.contributions import PagePanel, PanelPlace
from inference.web.file_answers import table_answer
from inference.web.paging import page_in_memory
from inference.web.request_fields import RequestField, RequestForm, start_run
from inference.web.validation import number_parameter

GENERALISE = "generalise"
OFFERED = 40
"""Campaigns to choose from, the newest ones."""
LISTED = 50


class CoverageForm(RequestForm):
    """Campaigns, columns, and the criterion for interesting blocks."""

    request = CoverageConfig
    campaigns = forms.ModelMultipleChoiceField(
        Campaign.objects.none(), widget=forms.CheckboxSelectMultiple, label="Discoveries of"
    )
    first = forms.ChoiceField(label="Interesting where")
    second = forms.ChoiceField(label="disagrees with")
    metric = RequestField({RELATIVE: "the mean of both", ABSOLUTE: "cycles"}, of=InterestSettings, label="by")
    threshold = RequestField(
        of=InterestSettings, label="more than", widget=forms.NumberInput(attrs={"step": "any"}), required=True
    )
    blocks = RequestField(label="Blocks evaluated", help_text="The first interesting ones.", required=True)

    def __init__(self, columns: Sequence[BlockColumn], data: Any = None, last: Json | None = None) -> None:
        """`last`: the description of the run whose values are the initial ones."""
        names = [column.name for column in columns]
        choices = [(name, name) for name in names]
        pair = names if last is None else last["columns"]
        proposed = {} if last is None else {**last, **last["interest"]}
        proposed |= dict(zip(("first", "second"), pair, strict=False))
        super().__init__(data, auto_id="cover_%s", initial=proposed)
        self.set_choices(first=choices, second=choices, campaigns=campaigns_offered())

    def config(self, block_set: BasicBlockSet) -> Json:
        data = self.cleaned_data
        return {
            "campaigns": [row.pk for row in data["campaigns"]],
            "block_set": block_set.pk,
            "columns": [data["first"], data["second"]],
            **self.stated(),
            "interest": self.stated(InterestSettings),
        }


def campaigns_offered() -> Any:
    """The newest campaigns with discoveries, whose number is `discovery_count`."""
    standing = Count("discoveries", filter=Q(discoveries__subsumed_by=None))
    rows = Campaign.objects.annotate(discovery_count=standing).filter(discovery_count__gt=0).order_by("-pk")
    newest = list(rows.values_list("pk", flat=True)[:OFFERED])
    return (
        Campaign.objects.filter(pk__in=newest)
        .annotate(discovery_count=standing)
        .order_by("-pk")
        .defer("config", "facts")
    )


def coverage_tab(request: HttpRequest, subject: BlockSetView) -> dict[str, Any]:
    """The newest result, or that of the run in the address, and the form for another run."""
    block_set, columns = subject.row, subject.columns
    runs = coverage_of_set(block_set.pk, number_parameter(request, "run"))
    last = None if runs.selected is None else runs.selected.config
    form = CoverageForm(columns, last=last) if len(columns) > 1 else None
    context: dict[str, Any] = {"runs": runs, "form": form}
    return context | (_result(request, block_set, columns, runs) if runs.selected is not None else {})


def _result(
    request: HttpRequest, block_set: BasicBlockSet, columns: list[BlockColumn], runs: CoverageRuns
) -> dict[str, Any]:
    assert runs.selected is not None
    result, config = runs.result, runs.selected.config
    by_name = {column.name: column for column in columns}
    compared = [by_name[name] for name in config["columns"] if name in by_name]
    page = page_in_memory(result.get("uncovered_at", ()), number_parameter(request, "page", 0) or 0, LISTED)
    rows = answers_of(blocks_at(block_set, page.rows), compared)
    names = Campaign.objects.only("name").in_bulk(config["campaigns"])
    blocks = result["blocks"]
    return {
        "result": result,
        "description": config,
        "share": result["covered"] / blocks if blocks else None,
        "left": blocks - result["covered"],
        "by_campaign": [
            (names.get(pk), covered, covered / blocks if blocks else 0.0)
            for pk in config["campaigns"]
            for covered in [result["by_campaign"].get(str(pk), 0)]
        ],
        "compared": compared,
        "askable": len(compared) == 2 and all(_askable(column) for column in compared),
        "page": page,
        "rows": [(row.block, list(zip(compared, row.answers, strict=True))) for row in rows],
    }


def _askable(column: BlockColumn) -> bool:
    """Whether the column's predictor can run here."""
    return column.predictor is not None and column.predictor.is_runnable and column.predictor.kind in kinds()


@require_POST
def block_set_cover(request: HttpRequest, pk: int) -> HttpResponse:
    block_set = get_object_or_404(BasicBlockSet, pk=pk)
    form = CoverageForm(columns_of(block_set), request.POST)
    if form.is_valid():
        try:
            submit(KIND, form.config(block_set), user=request.user)
            return redirect(f"{reverse('block-set', args=[pk])}?tab=coverage")
        except ConfigError as error:
            form.add_error(None, str(error))
    return render(request, "anica/coverage/new.html", {"block_set": block_set, "form": form}, status=400)


@require_POST
def block_set_explain(request: HttpRequest, pk: int, run: int, position: int) -> HttpResponse:
    """Start to generalise a block of the set over the two predictors of a coverage's columns."""
    block_set = get_object_or_404(BasicBlockSet, pk=pk)
    description = get_object_or_404(Run, pk=run, kind=KIND, config__block_set=pk).config
    block = get_object_or_404(block_set.blocks, position=position)
    by_name = {column.name: column for column in columns_of(block_set)}
    pair = [by_name[name] for name in description["columns"] if name in by_name]
    if len(pair) < 2 or not all(_askable(column) for column in pair):
        raise Http404("there are no two predictors behind these columns")
    config = {
        "predictors": [column.predictor_id for column in pair],
        "isa": code_isa(block_set.isa),
        "block": bytes(block.code).hex(),
        "interest": description["interest"],
    }
    run_ = start_run(request, GENERALISE, config)
    if run_ is None:
        return redirect(f"{reverse('block-set', args=[pk])}?tab=coverage&run={run}")
    return redirect("campaign", run_.campaign.pk)


def block_set_uncovered_csv(request: HttpRequest, pk: int, run: int) -> HttpResponse:
    block_set = get_object_or_404(BasicBlockSet, pk=pk)
    row = get_object_or_404(Run, pk=run, kind=KIND, config__block_set=pk, state=Run.State.DONE)
    names = set(row.config["columns"])
    columns = [column for column in columns_of(block_set) if column.name in names]
    blocks, isa = blocks_at(block_set, row.result.get("uncovered_at", ())), code_isa(block_set.isa)
    lines = (
        (
            row_.block.position,
            bytes(row_.block.code).hex(),
            asm(bytes(row_.block.code), isa),
            *(None if answer is None else answer.cycles for answer in row_.answers),
        )
        for row_ in answers_of(blocks, columns)
    )
    head = ("block", "bb", "assembly", *(column.name for column in columns))
    text = csv_text(head, lines)
    head_fields = {"blocks": block_set.name, "coverage": row.name, "instruction set": isa}
    return table_answer(text, f"{block_set.name} not covered", **head_fields)


urlpatterns = [
    path("block-sets/<int:pk>/cover/", block_set_cover, name="block-set-cover"),
    path(
        "block-sets/<int:pk>/coverage/<int:run>/explain/<int:position>/",
        block_set_explain,
        name="block-set-explain",
    ),
    path(
        "block-sets/<int:pk>/coverage/<int:run>/uncovered.csv",
        block_set_uncovered_csv,
        name="block-set-uncovered-csv",
    ),
]

PRESENTATIONS = {"coverage": KindPresentation(words=coverage_words, outcomes=coverages_of)}
PANELS = (
    PagePanel(
        PanelPlace.BLOCK_SET, "coverage", "Coverage by campaigns", "anica/coverage/tab.html", coverage_tab
    ),
)
