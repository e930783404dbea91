"""Pages beside a discovery's: its blocks predicted once more, and the schemes that it represents."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from anica_app.core.errors import AnicaError
from anica_app.core.every_scheme import represented_schemes
from anica_app.features.discoveries.generalisations import Node, Tree
from anica_app.features.discoveries.pages import decision_of, page_or_part
from anica_app.features.discoveries.query import DiscoveryParts, discovery_or_404
from anica_app.features.discoveries.steps import name_of_question, question_about_step, tools_here
from inference.features.asking.predictors.modes import common_mode, mode_field
from inference.features.asking.questions.form import ChoosingForm
from inference.features.asking.questions.query import KIND
from inference.measuring.blocks import LOOP
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name
from inference.web.request_fields import start_or_tell


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
    found, tree, node = _decision(request, pk)
    usual = common_mode(found.predictors) or LOOP
    form = AskForm(request.POST if request.method == "POST" else None, initial={"mode": usual})
    back = _address(pk, tree, node)
    if form.is_bound and form.is_valid():
        anew, row = form.cleaned_data["anew"], tree.generalisation
        config = question_about_step(row, node.number, form.rows, anew=anew)
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
    parts = {"form": "anica/discoveries/ask_form.html"}
    status = 400 if form.is_bound else 200
    return page_or_part(request, "anica/discoveries/ask.html", parts, context, status)


def _decision(request: HttpRequest, pk: int) -> tuple[DiscoveryParts, Tree, Node]:
    """A discovery with the decision in the address, which rests on blocks."""
    found, tree, node = decision_of(request, pk)
    if tree is None or node is None or not node.n:
        raise Http404("there are no blocks to predict")
    return found, tree, node


def _address(pk: int, tree: Tree, node: Node) -> str:
    return f"{reverse('discovery', args=[pk])}?g={tree.generalisation.number}&step={node.number}"


@require_POST
def discovery_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask the campaign's own tools about the blocks of a decision once more, whatever is cached."""
    found, tree, node = _decision(request, pk)
    rows = tools_here(found)
    if rows:
        config = question_about_step(tree.generalisation, node.number, rows, anew=True)
        start_or_tell(request, KIND, config, name_of_question(found.discovery, node.number))
    else:
        messages.error(request, "None of the campaign’s predictors can be asked here.")
    return redirect(f"{_address(pk, tree, node)}#step")


MOST_SCHEMES = 200


def discovery_schemes(request: HttpRequest, pk: int) -> HttpResponse:
    """The schemes that each instruction represents, as a page or as a part of the discovery's."""
    found = discovery_or_404(pk)
    try:
        represented = represented_schemes(found.discovery.abstract, MOST_SCHEMES)
    except AnicaError as error:
        raise Http404(str(error)) from error
    context = {"discovery": found.discovery, "campaign": found.campaign, "represented": represented}
    parts = {"form": "anica/discoveries/schemes_of.html"}
    return page_or_part(request, "anica/discoveries/schemes.html", parts, context)


urlpatterns = [
    path("discoveries/<int:pk>/ask/", discovery_ask, name="discovery-ask"),
    path("discoveries/<int:pk>/again/", discovery_again, name="discovery-again"),
    path("discoveries/<int:pk>/schemes/", discovery_schemes, name="discovery-schemes"),
]
