"""The page that compares a mapping with LLVM's scheduling model, and its report in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from inference.features.judging.engine.tables import (
    LinkedNumber,
    LinkedText,
    code,
    number,
    page_cells,
    table_of,
    text,
    usage,
)
from inference.features.judging.findings.llvm_job import (
    KIND,
    DifferenceConfig,
    DifferingScheme,
    LlvmDifference,
    markdown,
)
from inference.isa.targets import names_with_blocks
from inference.models import PortMapping, Run
from inference.predictors.llvm.releases import INSTALL, list_releases, processors
from inference.storage.export_values import tool_names_of
from inference.web.file_answers import file_answer
from inference.web.paging import page_in_memory
from inference.web.published_page import PublishedTable
from inference.web.request_fields import RequestField, RequestForm, start_run
from inference.web.validation import number_parameter


class DifferenceForm(RequestForm):
    """The model of LLVM to compare with, and the tolerance."""

    request = DifferenceConfig
    release = forms.ChoiceField(label="llvm-mca")
    cpu = RequestField(
        label="Processor",
        widget=forms.TextInput(attrs={"list": "processors", "autocomplete": "off", "spellcheck": "false"}),
        help_text="A value of -mcpu, such as haswell or znver3.",
        required=True,
    )
    tolerance = RequestField(
        scale=100,
        label="Minimum difference, per cent",
        help_text="Largest difference of LLVM's cycles from the measured ones.",
        required=True,
    )

    def __init__(self, row: PortMapping, data: object = None) -> None:
        super().__init__(data, initial={"cpu": tool_names_of(row.machine).llvm})  # type: ignore[arg-type]
        self.set_choices(release=[(llvm.number, f"{llvm.version}") for llvm in reversed(list_releases())])


def mapping_llvm(request: HttpRequest, pk: int) -> HttpResponse:
    """The form that starts a comparison, and the newest report or that of `?run=`."""
    row = get_object_or_404(
        PortMapping.objects.select_related("isa", "machine"), pk=pk, isa__name__in=names_with_blocks()
    )
    form = DifferenceForm(row, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        fields = form.cleaned_data
        config = {"mapping": row.pk, "release": fields["release"], **form.stated()}
        if run := start_run(request, KIND, config, form=form):
            return redirect("run", run.pk)
    newest = next(reversed(list_releases()), None)
    context = {
        "mapping": row,
        "form": form,
        "processors": () if newest is None else processors(newest.mca),
        "install": INSTALL,
        **_report_context(request, row),
    }
    return render(request, "inference/findings/llvm.html", context, status=400 if form.is_bound else 200)


def _runs(row: PortMapping) -> QuerySet[Run]:
    return Run.objects.filter(kind=KIND, config__mapping=row.pk).order_by("-pk")


def _report_context(request: HttpRequest, row: PortMapping) -> dict[str, Any]:
    """The context of the report, with the finished and unfinished runs."""
    runs = list(_runs(row).only("pk", "name", "state", "created")[:20])
    run_id = number_parameter(request, "run")
    done = [run for run in runs if run.state == Run.State.DONE and run_id in (None, run.pk)]
    context: dict[str, Any] = {
        "earlier": [run for run in runs if run.state == Run.State.DONE],
        "working": [run for run in runs if run.state not in Run.FINAL],
    }
    if not done:
        return context
    report = LlvmDifference.of(Run.objects.get(pk=done[0].pk).result["report"])
    page = page_in_memory(report.differing, number_parameter(request, "page", 0) or 0)
    cells = page_cells(_differing_table(report, page.rows, row))
    return {**context, "report": report, "run": done[0], "page": page, **cells}


def _differing_table(
    report: LlvmDifference, rows: Sequence[DifferingScheme], row: PortMapping
) -> PublishedTable:
    """The table of differing schemes, with links to the schemes and their witnesses."""

    def proof(scheme: DifferingScheme) -> LinkedNumber:
        url = reverse("scheme-proof", args=[row.pk, scheme.pk]) if scheme.evidence else ""
        return LinkedNumber(len(scheme.evidence), url)

    return table_of(
        "differing",
        report.tool,
        rows,
        (code("scheme"), lambda row: LinkedText(row.scheme, reverse("scheme", args=[row.pk]), note=row.text)),
        (number("measured, cycles"), lambda row: row.measured),
        (number("mapping, cycles"), lambda row: row.predicted),
        (number("LLVM, cycles"), lambda row: row.llvm),
        (text("LLVM is"), lambda row: row.verdict),
        (usage("µops here", row.ports), lambda row: tuple((mask, count) for mask, count in row.masks)),
        (text("in conflict"), lambda row: row.usage if "not settled" in row.usage else ""),
        (text("LLVM’s µops and resources"), lambda row: f"{row.llvm_uops:g}: {row.pressure_in_words}"),
        (number("witnesses", 0), proof),
    )


def mapping_llvm_report(request: HttpRequest, pk: int, run: int) -> HttpResponse:
    row = get_object_or_404(PortMapping, pk=pk)
    report_run = get_object_or_404(_runs(row).filter(state=Run.State.DONE), pk=run)
    return file_answer(
        markdown(LlvmDifference.of(report_run.result["report"])), "text/markdown", report_run.name, "md"
    )


urlpatterns = [
    path("mappings/<int:pk>/llvm/", mapping_llvm, name="mapping-llvm"),
    path("mappings/<int:pk>/llvm/<int:run>/report.md", mapping_llvm_report, name="mapping-llvm-report"),
]
