"""What a user thinks of a discovery: its mark and a note."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_POST

from anica_app.models import Discovery
from inference.web.naming import NOTE_LIMIT


class JudgementForm(forms.Form):
    """How far a discovery has come, and free notes."""

    mark = forms.ChoiceField(choices=Discovery.Mark.choices, required=False)
    note = forms.CharField(max_length=NOTE_LIMIT, required=False)


@require_POST
def discovery_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Store both."""
    row = get_object_or_404(Discovery, pk=pk)
    form = JudgementForm(request.POST)
    if form.is_valid():
        row.mark, row.note = form.cleaned_data["mark"], form.cleaned_data["note"]
        row.save(update_fields=["mark", "note"])
        messages.success(request, "Saved.")
    else:
        (field, problems), *_ = form.errors.items()
        messages.error(request, f"Nothing was saved: {field}: {problems[0]}")
    return redirect("discovery", pk=pk)


urlpatterns = [path("discoveries/<int:pk>/edit/", discovery_edit, name="discovery-edit")]
