"""Pages beside a discovery's: its blocks predicted once more, and the schemes that it represents."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from anica_app.core.errors import AnicaError
from anica_app.core.every_scheme import represented_schemes
from anica_app.features.discoveries.pages import PART, tree_or_404
from anica_app.features.discoveries.query import discovery_or_404
from anica_app.features.discoveries.steps import (
    chosen_node,
    name_of_question,
    question_about_step,
    tools_here,
)
from inference.features.asking.predictors.modes import common_mode, mode_field
from inference.features.asking.questions.form import ChoosingForm
from inference.features.asking.questions.query import KIND
from inference.measuring.blocks import LOOP
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name
from inference.web.run_forms import start_or_tell


class AskForm(ChoosingForm):
    """Which of the predictors that can be asked here, one at least."""

    mode = mode_field("as each is named")

    def clean(self) -> dict[str, Any]:
        """Refuse a question that nobody is asked."""
        data = super().clean()
        if not self.rows and not self.errors:
            raise ValidationError("Choose at least one predictor.")
        return data


def discovery_ask(request: HttpRequest, pk: int) -> HttpResponse:
    """The choice of predictors, as a page or as a part of the discovery's; a POST starts the run."""
    found = discovery_or_404(pk)
    tree = tree_or_404(request, found)
    node = None if tree is None else chosen_node(request, tree)
    if tree is None or node is None or not node.n:
        raise Http404("there are no blocks to predict")
    usual = common_mode(found.predictors) or LOOP
    form = AskForm(request.POST if request.method == "POST" else None, initial={"mode": usual})
    row = tree.generalisation
    back = f"{reverse('discovery', args=[pk])}?g={row.number}&step={node.number}"
    if form.is_bound and form.is_valid():
        config = question_about_step(row, node.number, form.rows, anew=form.cleaned_data["anew"])
        config |= {"mode": form.cleaned_data["mode"]}
        name = name_of_question(found.discovery, node.number)
        try:
            submit(KIND, config, unused_name(name), user=request.user)
        except ConfigError as error:
            form.add_error(None, str(error))
        else:
            return redirect(f"{back}#step")
    context = {
        "form": form,
        "discovery": found.discovery,
        "campaign": found.campaign,
        "node": node,
        "back": back,
    }
    part = request.headers.get(PART) == "form"
    template = "anica/discoveries/ask_form.html" if part else "anica/discoveries/ask.html"
    answer = render(request, template, context, status=400 if form.is_bound else 200)
    answer["Vary"] = PART
    return answer


@require_POST
def discovery_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask the campaign's own tools about the blocks of a decision once more, whatever is cached."""
    found = discovery_or_404(pk)
    tree = tree_or_404(request, found)
    node = None if tree is None else chosen_node(request, tree)
    if tree is None or node is None or not node.n:
        raise Http404("there are no blocks to predict")
    rows = tools_here(found)
    if rows:
        config = question_about_step(tree.generalisation, node.number, rows, anew=True)
        start_or_tell(request, KIND, config, name_of_question(found.discovery, node.number))
    else:
        messages.error(request, "None of the campaign’s predictors can be asked here.")
    where = f"?g={tree.generalisation.number}&step={node.number}#step"
    return redirect(f"{reverse('discovery', args=[pk])}{where}")


MOST_SCHEMES = 200


def discovery_schemes(request: HttpRequest, pk: int) -> HttpResponse:
    """The schemes that each instruction represents, as a page or as a part of the discovery's."""
    found = discovery_or_404(pk)
    try:
        represented = represented_schemes(found.discovery.abstract, MOST_SCHEMES)
    except AnicaError as error:
        raise Http404(str(error)) from error
    part = request.headers.get(PART) == "form"
    template = "anica/discoveries/schemes_of.html" if part else "anica/discoveries/schemes.html"
    context = {"discovery": found.discovery, "campaign": found.campaign, "represented": represented}
    answer = render(request, template, context)
    answer["Vary"] = PART
    return answer


urlpatterns = [
    path("discoveries/<int:pk>/ask/", discovery_ask, name="discovery-ask"),
    path("discoveries/<int:pk>/again/", discovery_again, name="discovery-again"),
    path("discoveries/<int:pk>/schemes/", discovery_schemes, name="discovery-schemes"),
]
