"""How many of the interesting blocks of a set the discoveries of campaigns cover, and which are left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from anica_app.core.search.judging import ABSOLUTE, RELATIVE, InterestSettings
from anica_app.features.coverage.job import CoverageConfig
from anica_app.features.coverage.query import KIND, CoverageRuns, coverage_of_set
from anica_app.models import Campaign
from anica_app.web.presentation import asm
from inference.core.protocols import Json
from inference.features.asking.block_sets.query import ShownSet, answers_of, blocks_at, columns_of
from inference.features.asking.predictors.kinds import kinds
from inference.formats.csv_cells import written
from inference.models import BasicBlockSet, BlockColumn, Run
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.instruction_sets import code_isa
from inference.web.file_answers import table_answer
from inference.web.paging import page_in_memory
from inference.web.request_fields import RequestField, RequestForm, start_run
from inference.web.validation import whole_number

GENERALISE = "generalise"
OFFERED = 40
"""Campaigns that can be chosen: the newest ones."""
LISTED = 50


class CoverageForm(RequestForm):
    """Which campaigns, which columns, and when a block is interesting."""

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
        """`last`: the description of the run whose choices are proposed again."""
        names = [column.name for column in columns]
        choices = [(name, name) for name in names]
        pair = names if last is None else last["columns"]
        proposed = {} if last is None else {**last, **last["interest"]}
        proposed |= dict(zip(("first", "second"), pair, strict=False))
        super().__init__(data, auto_id="cover_%s", initial=proposed)
        self.set_choices(first=choices, second=choices, campaigns=campaigns_offered())

    def config(self, block_set: BasicBlockSet) -> Json:
        """The description of the run."""
        data = self.cleaned_data
        return {
            "campaigns": [row.pk for row in data["campaigns"]],
            "block_set": block_set.pk,
            "columns": [data["first"], data["second"]],
            **self.stated(),
            "interest": self.stated(InterestSettings),
        }


def campaigns_offered() -> Any:
    """The newest campaigns that have found something, each with the number of its discoveries as `found`."""
    standing = Count("discoveries", filter=Q(discoveries__subsumed_by=None))
    rows = Campaign.objects.annotate(found=standing).filter(found__gt=0).order_by("-pk")
    newest = list(rows.values_list("pk", flat=True)[:OFFERED])
    return (
        Campaign.objects.filter(pk__in=newest)
        .annotate(found=standing)
        .order_by("-pk")
        .defer("config", "facts")
    )


def coverage_tab(request: HttpRequest, subject: ShownSet) -> dict[str, Any]:
    """What the newest run has found out, or the one that the address names, and the form for another."""
    found, columns = subject.row, subject.columns
    runs = coverage_of_set(found.pk, whole_number(request, "run"))
    last = None if runs.shown is None else runs.shown.config
    form = CoverageForm(columns, last=last) if len(columns) > 1 else None
    context: dict[str, Any] = {"runs": runs, "form": form}
    return context | (_result(request, found, columns, runs) if runs.shown is not None else {})


def _result(
    request: HttpRequest, found: BasicBlockSet, columns: list[BlockColumn], runs: CoverageRuns
) -> dict[str, Any]:
    assert runs.shown is not None
    told, config = runs.result, runs.shown.config
    by_name = {column.name: column for column in columns}
    compared = [by_name[name] for name in config["columns"] if name in by_name]
    page = page_in_memory(told.get("uncovered_at", ()), whole_number(request, "page", 0) or 0, LISTED)
    rows = answers_of(blocks_at(found, page.rows), compared)
    names = Campaign.objects.only("name").in_bulk(config["campaigns"])
    blocks = told["blocks"]
    return {
        "told": told,
        "asked": config,
        "share": told["covered"] / blocks if blocks else None,
        "left": blocks - told["covered"],
        "by_campaign": [
            (names.get(pk), covered, covered / blocks if blocks else 0.0)
            for pk in config["campaigns"]
            for covered in [told["by_campaign"].get(str(pk), 0)]
        ],
        "compared": compared,
        "askable": len(compared) == 2 and all(_askable(column) for column in compared),
        "page": page,
        "rows": [(each.block, list(zip(compared, each.answers, strict=True))) for each in rows],
    }


def _askable(column: BlockColumn) -> bool:
    """Whether there is a predictor behind a column that could be asked here."""
    return column.predictor is not None and column.predictor.askable and column.predictor.kind in kinds()


@require_POST
def block_set_cover(request: HttpRequest, pk: int) -> HttpResponse:
    """Start to look which interesting blocks are covered."""
    found = get_object_or_404(BasicBlockSet, pk=pk)
    form = CoverageForm(columns_of(found), request.POST)
    if form.is_valid():
        try:
            submit(
                KIND, form.config(found), unused_name(f"Coverage of {found.name}"[:180]), user=request.user
            )
            return redirect(f"{reverse('block-set', args=[pk])}?tab=coverage")
        except ConfigError as error:
            form.add_error(None, str(error))
    return render(request, "anica/coverage/new.html", {"block_set": found, "form": form}, status=400)


@require_POST
def block_set_explain(request: HttpRequest, pk: int, run: int, position: int) -> HttpResponse:
    """Start to generalise a block of the set over the two predictors of a coverage's columns."""
    found = get_object_or_404(BasicBlockSet, pk=pk)
    asked = get_object_or_404(Run, pk=run, kind=KIND, config__block_set=pk).config
    block = get_object_or_404(found.blocks, position=position)
    by_name = {column.name: column for column in columns_of(found)}
    pair = [by_name[name] for name in asked["columns"] if name in by_name]
    if len(pair) < 2 or not all(_askable(column) for column in pair):
        raise Http404("there are no two predictors behind these columns")
    config = {
        "predictors": [column.predictor_id for column in pair],
        "isa": code_isa(found.isa),
        "block": bytes(block.code).hex(),
        "interest": asked["interest"],
    }
    made = start_run(request, GENERALISE, config, f"{found.name}, block {position}"[:180])
    if made is None:
        return redirect(f"{reverse('block-set', args=[pk])}?tab=coverage&run={run}")
    return redirect("campaign", made.campaign.pk)


def block_set_uncovered_csv(request: HttpRequest, pk: int, run: int) -> HttpResponse:
    """The interesting blocks that are not covered as a table."""
    found = get_object_or_404(BasicBlockSet, pk=pk)
    row = get_object_or_404(Run, pk=run, kind=KIND, config__block_set=pk, state=Run.State.DONE)
    wanted = set(row.config["columns"])
    columns = [column for column in columns_of(found) if column.name in wanted]
    blocks, isa = blocks_at(found, row.result.get("uncovered_at", ())), code_isa(found.isa)
    lines = (
        (
            each.block.position,
            bytes(each.block.code).hex(),
            asm(bytes(each.block.code), isa),
            *(None if one is None else one.cycles for one in each.answers),
        )
        for each in answers_of(blocks, columns)
    )
    head = ("block", "bb", "assembly", *(column.name for column in columns))
    text = written(head, lines)
    about = {"blocks": found.name, "coverage": row.name, "instruction set": isa}
    return table_answer(text, f"{found.name} not covered", **about)


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
