"""Loading an instruction set from a document, as `manage.py load-isa FILE` does."""

from __future__ import annotations

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path

from inference.exchange.errors import ExchangeError
from inference.exchange.instruction_sets import BYTES_AT_ONCE, load_document


class DocumentForm(forms.Form):
    """A file."""

    document = forms.FileField(
        label="Instruction set (JSON)",
        help_text="In the format that docs/formats.md describes. A set of the same name is updated: what "
        "refers to its schemes stays.",
        widget=forms.ClearableFileInput(attrs={"accept": ".json,application/json"}),
    )

    def clean_document(self) -> UploadedFile:
        """Refuse what is too large for a page."""
        given: UploadedFile = self.cleaned_data["document"]
        if given.size is None or given.size > BYTES_AT_ONCE:
            raise forms.ValidationError(
                f"This page takes documents of up to {BYTES_AT_ONCE >> 20} MiB; larger ones are for the "
                "shell: manage.py load-isa FILE"
            )
        return given


def isa_load(request: HttpRequest) -> HttpResponse:
    """Ask for a document; load it and show the set, or say what is wrong with it."""
    form = DocumentForm(request.POST, request.FILES) if request.method == "POST" else DocumentForm()
    if form.is_bound and form.is_valid():
        try:
            isa = load_document(form.cleaned_data["document"].read())
        except ExchangeError as error:
            form.add_error("document", str(error))
        else:
            return redirect("isa", pk=isa.pk)
    return render(request, "inference/isa_load.html", {"form": form}, status=400 if form.is_bound else 200)


urlpatterns = [path("isas/load/", isa_load, name="isa-load")]
