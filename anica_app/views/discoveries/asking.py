"""Asking predictors about the blocks of a decision once more: also those that the campaign has never seen."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse

from anica_app.campaigning.predictors import chosen, listed
from anica_app.core.errors import PredictorError
from anica_app.exchange.asked_answers import KIND
from anica_app.models import Predictor
from anica_app.queries.generalisations import samples_of_step
from anica_app.views.discoveries.page import PART, found_or_404, tree_or_404
from anica_app.views.discoveries.step import about, chosen_node
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit, unused_name
from inference.views.runs.pages import SUMMARIES

SUMMARIES[KIND] = "Predictors asked about basic blocks"


class AskForm(forms.Form):
    """Which of the usable predictors; `rows` are those of a valid form.

    Nothing else can be named here: a predictor can be any program, which only administrators add.
    """

    predictors = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    anew = forms.BooleanField(
        required=False, label="Ask anew", help_text="Even where an answer is remembered already."
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        names = [one.name for one in listed() if one.usable]
        self.fields["predictors"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]
        self.rows: list[Predictor] = []

    def clean(self) -> dict[str, Any]:
        """Find or make the rows of what was chosen."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        names = data.get("predictors", [])
        if not names and not self.errors:
            raise ValidationError("Choose at least one predictor.")
        for name in names:
            try:
                self.rows.append(chosen(name))
            except PredictorError as error:
                raise ValidationError(f"{name}: {error}") from error
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
        config = {
            "predictors": [one.pk for one in form.rows],
            "blocks": [one.code.hex() for one in samples_of_step(row, node.number) or []],
            "anew": form.cleaned_data["anew"],
            "about": about(row, node.number),
        }
        name = f"{found.campaign.name[:100]}, {found.discovery}, step {node.number}, asked again"
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
