"""The pages for renaming and deleting rows with a name."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path, reverse

from inference.models.named import Named
from inference.storage.names import NOTE_LIMIT, free_name, kind_of, rename
from inference.web.deleting import delete_unless_needed, dependents_of
from inference.web.request_fields import StrictForm, validate_line


class NameAndNoteForm(StrictForm):
    """A unique name, and a note."""

    name = forms.CharField(
        max_length=200,
        help_text="Commands and other pages find it by this name.",
        widget=forms.TextInput,
        validators=[validate_line],
    )
    note = forms.CharField(
        max_length=NOTE_LIMIT,
        required=False,
        strip=True,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Anything worth remembering: where it came from, what to distrust.",
    )

    def __init__(self, row: Named, data: object = None) -> None:
        super().__init__(data, initial={"name": row.name, "note": row.note})  # type: ignore[arg-type]
        self.row = row

    def clean_name(self) -> str:
        """Refuse a name in use, and suggest a free one."""
        name: str = self.cleaned_data["name"]
        model = type(self.row)
        if model._default_manager.filter(name=name).exclude(pk=self.row.pk).exists():
            raise ValidationError(
                f"Another {kind_of(model)} has this name; {free_name(model, name)!r} is free."
            )
        return name

    def save(self) -> None:
        rename(self.row, self.cleaned_data["name"], self.cleaned_data["note"])


def naming_paths(model: type[Named], page: str, listing: str, menu: str = "") -> list[URLPattern]:
    """The addresses for renaming and deleting rows.

    Args:
        model: Class of the rows.
        page: URL name of a row's page; prefix of the new URL names.
        listing: URL name of the list; first part of the paths, and the page after a deletion.
        menu: The marked entry of the menu; "" if it is the list.
    """

    def edit(request: HttpRequest, pk: int) -> HttpResponse:
        return _edit_page(request, get_object_or_404(model, pk=pk), page, menu or listing)

    def delete(request: HttpRequest, pk: int) -> HttpResponse:
        """Delete a row on POST; the page lists its dependents first."""
        row = get_object_or_404(model, pk=pk)
        if request.method == "POST" and not delete_unless_needed(row):
            messages.success(request, f"The {kind_of(model)} “{row.name}” has been deleted.")
            return redirect(listing)
        return _delete_page(request, row, page, menu or listing)

    return [
        path(f"{listing}/<int:pk>/edit/", edit, name=f"{page}-edit"),
        path(f"{listing}/<int:pk>/delete/", delete, name=f"{page}-delete"),
    ]


def _edit_page(request: HttpRequest, row: Named, page: str, section: str) -> HttpResponse:
    form = NameAndNoteForm(row, request.POST if request.method == "POST" else None)
    back = reverse(page, args=[row.pk])
    if form.is_bound and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect(back)
    context = {"object": row, "form": form, "back": back, "section": section}
    return render(request, "inference/web/edit.html", context, status=400 if form.is_bound else 200)


def _delete_page(request: HttpRequest, row: Named, page: str, section: str) -> HttpResponse:
    dependents = dependents_of(row)
    context = {
        "object": row,
        "what": kind_of(type(row)),
        "back": reverse(page, args=[row.pk]),
        "section": section,
        "dependents": dependents,
        "blocked": any(dependent.blocks for dependent in dependents),
    }
    status = 409 if request.method == "POST" else 200
    return render(request, "inference/web/delete.html", context, status=status)
