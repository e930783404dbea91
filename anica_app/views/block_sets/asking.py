"""Asking predictors about all blocks of a set: each becomes a column."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse

from anica_app.campaigning.new_columns import KIND
from anica_app.models import BasicBlockSet
from anica_app.views.choosing import ChoosingForm
from inference.features.runs.pages import SUMMARIES
from inference.web.naming import NOTE_LIMIT
from inference.web.requests import start_run

SUMMARIES[KIND] = "Predictors asked about all blocks of a set"


class ColumnsForm(ChoosingForm):
    """Which predictors; those that have a column are refused."""

    name = forms.CharField(
        max_length=200, required=False, help_text="Of the run; left empty, one is made up."
    )
    note = forms.CharField(max_length=NOTE_LIMIT, required=False, widget=forms.Textarea(attrs={"rows": 3}))
    anew = None  # what is remembered is what they would say again

    def clean(self) -> dict[str, Any]:
        """Somebody must be asked."""
        data = super().clean()
        if not self.rows and not self.errors:
            self.add_error("predictors", "Choose at least one predictor.")
        return data


def block_set_ask(request: HttpRequest, pk: int) -> HttpResponse:
    """The choice of predictors; a POST starts the run."""
    found = get_object_or_404(BasicBlockSet, pk=pk)
    form = ColumnsForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        names = ", ".join(row.name for row in form.rows)
        config = {"block_set": pk, "predictors": [row.pk for row in form.rows]}
        if start_run(request, form, KIND, config, f"{names} on {found.name}"[:180]) is not None:
            return redirect(f"{reverse('block-set', args=[pk])}?tab=columns")
    ticked = form.ticked() if form.is_bound else set()
    offers = form.offers
    groups = (("Tools", offers.tools), ("Mappings", offers.mappings), ("Machines", offers.machines))
    context = {
        "block_set": found,
        "form": form,
        "groups": [(title, [(one, one.text in ticked) for one in group]) for title, group in groups if group],
    }
    return render(request, "anica/block_set_ask.html", context, status=400 if form.is_bound else 200)


urlpatterns = [path("block-sets/<int:pk>/ask/", block_set_ask, name="block-set-ask")]
