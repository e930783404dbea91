"""The page of a family: disagreement, cause, measurements, report."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from anica_app.features.discoveries.bug_report import markdown
from anica_app.features.discoveries.wording import discovery_title, wording_of
from anica_app.features.families.block_notes import notes_on_block
from anica_app.features.families.evidence import evidence_of, next_worst
from anica_app.features.families.query import KIND, FamilyParts
from anica_app.features.families.request import NewGrouping
from anica_app.models import Campaign, Discovery, Family
from anica_app.web.judgement import store_judgement
from inference.features.asking.predictors.modes import common_mode
from inference.features.asking.predictors.offers import offers
from inference.features.asking.predictors.query import predictor_row
from inference.features.asking.questions.query import KIND as QUESTION
from inference.features.asking.questions.query import answers_about
from inference.measuring.blocks import LOOP
from inference.predictors.protocol import PredictorError
from inference.storage.instruction_sets import code_isa
from inference.storage.names import result_name
from inference.web.file_answers import file_answer
from inference.web.request_fields import start_run


def family_or_404(pk: int) -> FamilyParts:
    rows = Family.objects.select_related("campaign__isa", "before").prefetch_related("discoveries")
    return FamilyParts(get_object_or_404(rows, pk=pk))


def family(request: HttpRequest, pk: int) -> HttpResponse:
    parts = family_or_404(pk)
    row = parts.family
    later = answers_about(_about(row))
    report = parts.report(request)
    context = {
        "family": row,
        "campaign": parts.campaign,
        "parts": parts,
        "tools": parts.tools,
        "entry": evidence_of(parts.campaign, [row])[0],
        "next": next_worst(row),
        "hex": parts.code.hex(),
        "members": [
            (member, wording_of(member.discovery.abstract), discovery_title(member.discovery))
            for member in parts.members
        ],
        "later": later,
        "machines": offers().answering_for(code_isa(row.campaign.isa)).machines,
        "marks": Discovery.Mark.choices,
        "report": report,
        "text": markdown(report),
        "searches": parts.searches,
    }
    return render(request, "anica/families/family.html", context)


def _about(row: Family) -> dict[str, int]:
    return {"family": row.pk}


def family_report(request: HttpRequest, pk: int) -> HttpResponse:
    parts = family_or_404(pk)
    name = f"{parts.campaign.name} {parts.family.name}"[:150]
    return file_answer(markdown(parts.report(request)), "text/markdown", name, "md")


def family_test(request: HttpRequest, pk: int) -> HttpResponse:
    parts = family_or_404(pk)
    test = parts.report().test
    if not test:
        raise Http404("none of the tools is llvm-mca")
    return file_answer(test, "text/plain", f"{parts.family.name} llvm-mca"[:150], "s")


def family_snippet(request: HttpRequest, pk: int) -> HttpResponse:
    parts = family_or_404(pk)
    snippet = parts.report().snippet
    if not snippet:
        raise Http404("there are no snippets for this instruction set")
    return file_answer(snippet, "text/plain", f"{parts.family.name} llvm-exegesis"[:150], "s")


@require_POST
def family_edit(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Family, pk=pk)
    store_judgement(request, row)
    if request.POST.get("back") == "campaign":
        return redirect(f"{reverse('campaign', args=[row.campaign_id])}#finding-{pk}")
    return redirect("family", pk=pk)


@require_POST
def family_measure(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Family, pk=pk)
    machine_name = request.POST.get("machine", "")
    machines = offers().answering_for(code_isa(row.campaign.isa)).machines
    if machine_name not in [machine.text for machine in machines]:
        messages.error(request, "Choose a machine that measures.")
        return redirect("family", pk=pk)
    try:
        predictor = predictor_row(machine_name)
    except PredictorError as error:
        messages.error(request, str(error))
        return redirect("family", pk=pk)
    config = {
        "predictors": [predictor.pk],
        "isa": code_isa(row.campaign.isa),
        "blocks": [bytes(row.code).hex()],
        "about": _about(row),
        "mode": common_mode(row.campaign.tools) or LOOP,
    }
    start_run(request, QUESTION, config, result_name(row.name, "measured"))
    return redirect("family", pk=pk)


@require_POST
def campaign_families(request: HttpRequest, pk: int) -> HttpResponse:
    """Start to group a campaign's discoveries, again if they are grouped."""
    row = get_object_or_404(Campaign, pk=pk)
    start_run(request, KIND, NewGrouping().config_for(row))
    return redirect("campaign", pk=pk)


urlpatterns = [
    path("families/<int:pk>/", family, name="family"),
    path("families/<int:pk>/report.md", family_report, name="family-report"),
    path("families/<int:pk>/llvm-mca.s", family_test, name="family-test"),
    path("families/<int:pk>/llvm-exegesis.s", family_snippet, name="family-snippet"),
    path("families/<int:pk>/edit/", family_edit, name="family-edit"),
    path("families/<int:pk>/measure/", family_measure, name="family-measure"),
    path("campaigns/<int:pk>/families/", campaign_families, name="campaign-families"),
]

BLOCK_NOTES = (notes_on_block,)
