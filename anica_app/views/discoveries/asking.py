"""Asking predictors about the blocks of a decision once more: also those that the campaign has never seen."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse

from anica_app.exchange.asked_answers import KIND
from anica_app.queries.steps import name_of_question, question_about_step
from anica_app.views.choosing import ChoosingForm
from anica_app.views.discoveries.page import PART, found_or_404, tree_or_404
from anica_app.views.discoveries.step import chosen_node
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name


class AskForm(ChoosingForm):
    """Which of the predictors that can be asked here, one at least."""

    def clean(self) -> dict[str, Any]:
        """Refuse a question that nobody is asked."""
        data = super().clean()
        if not self.rows and not self.errors:
            raise ValidationError("Choose at least one predictor.")
        return data


def discovery_ask(request: HttpRequest, pk: int) -> HttpResponse:
    """The choice of predictors, as a page or as a part of the discovery's; a POST starts the run."""
    found = found_or_404(pk)
    tree = tree_or_404(request, found)
    node = None if tree is None else chosen_node(request, tree)
    if tree is None or node is None or not node.n:
        raise Http404("there are no blocks to ask about")
    form = AskForm(request.POST if request.method == "POST" else None)
    row = tree.generalisation
    back = f"{reverse('discovery', args=[pk])}?g={row.number}&step={node.number}"
    if form.is_bound and form.is_valid():
        config = question_about_step(row, node.number, form.rows, anew=form.cleaned_data["anew"])
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
    template = "anica/discovery/ask_form.html" if part else "anica/discovery/ask.html"
    answer = render(request, template, context, status=400 if form.is_bound else 200)
    answer["Vary"] = PART
    return answer


urlpatterns = [path("discoveries/<int:pk>/ask/", discovery_ask, name="discovery-ask")]
