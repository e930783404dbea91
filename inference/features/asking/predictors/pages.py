"""The pages of predictors: the list with a box to try them, and the form that adds one."""

from __future__ import annotations

import dataclasses
import re
import shlex
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import ProtectedError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.features.asking.predictors.kinds import kinds
from inference.features.asking.predictors.query import QUESTION, predictor_listings, row_for
from inference.models import Predictor
from inference.predictors import machine, mapping
from inference.predictors.kinds import PredictorKind, UnconfiguredError
from inference.predictors.permission import are_commands_allowed
from inference.predictors.protocol import PredictorError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.names import NOTE_LIMIT, result_name
from inference.web.api import access
from inference.web.api.access import AuditAction
from inference.web.contributions import PanelPlace, rendered_panels
from inference.web.request_fields import StrictForm, describe_fields, form_page, validated_name

_LIMIT_OPTIONS = ("processes", "batch", "seconds", "dependency_seconds", "memory")
"""Options that limit resources and change no prediction."""

_LABELS = {
    "cpu": "Processor",
    "arch": "Architecture",
    "r_max": "R_max",
    "form": "Block format",
    "around": "Text around the block",
    "pattern": "Answer pattern",
    "unknown": "Pattern for unsupported blocks",
    "seconds": "Time limit, seconds",
    "dependency_seconds": "Time limit for dependencies, seconds",
    "memory": "Memory",
}
_CHOICE_LABELS = {"unknown": "Unsupported instructions"}
_TEXT_LIMIT = 400


class CommandField(forms.CharField):
    """A program with arguments, split like a shell's command line; no shell runs it."""

    is_command = True

    def to_python(self, value: Any) -> Any:
        try:
            return shlex.split(super().to_python(value))
        except ValueError as error:
            raise forms.ValidationError(f"Not understood: {error}.") from None


class AddForm(StrictForm):
    """The form that adds a predictor: a field for each option of its kind."""

    name = forms.CharField(
        required=False,
        max_length=200,
        help_text="Commands and campaigns find it by this name; empty: the default.",
    )
    note = forms.CharField(required=False, max_length=NOTE_LIMIT, widget=forms.Textarea(attrs={"rows": 2}))

    def __init__(self, kind: PredictorKind, data: Any = None) -> None:
        super().__init__(data)
        self._kind = kind
        self._limit_options = (
            () if kind.name == machine.KIND else _LIMIT_OPTIONS
        )  # `memory` of a machine is a start value
        for entry in kind.options:
            self.fields[entry.name] = _field(entry)
        self.processors = tuple(kind.choices_of("arch"))
        if self.processors:
            self.fields["arch"].widget.attrs["list"] = "processors"
        for name in ("name", "note"):
            self.fields[name] = self.fields.pop(name)  # last
        describe_fields(self)

    def main_fields(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name not in self._limit_options]

    def limit_fields(self) -> list[forms.BoundField]:
        """The fields that limit time, memory and processes."""
        return [field for field in self.visible_fields() if field.name in self._limit_options]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        return validated_name(Predictor, name) if name else ""

    def store(self) -> Predictor | None:
        """The stored predictor of a valid form; None if it cannot be created, with an error added to the
        form."""
        data = self.cleaned_data
        try:
            row = row_for(
                self._kind.name,
                self._options(data),
                data["name"],
                Predictor.Origin.CONFIGURED,
                may_choose=True,  # the permission of this page is checked already
            )
        except PredictorError as error:
            self._add_option_error(str(error))
            return None
        if data["note"]:
            row.note = data["note"]
            row.save(update_fields=["note"])
        return row

    def _options(self, data: dict[str, Any]) -> dict[str, Any]:
        changed: dict[str, Any] = {}
        for entry in self._kind.options:
            value = data[entry.name]
            if value not in (None, "", [], entry.default):
                changed[entry.name] = value
        return changed

    def _add_option_error(self, message: str) -> None:
        """Add a message as an error of the field whose name it begins with, else of the form."""
        text = message.removeprefix(f"{self._kind.name}: ")
        option = _OPTION_AT_END.search(text)
        name = option[1] if option else text.partition(" ")[0].rstrip(":")
        sentence = text if option else text[:1].upper() + text[1:]  # one with an option begins with a tool
        self.add_error(name if name in self.fields else None, sentence)


_OPTION_AT_END = re.compile(r"\(option (\w+)\)$")
"""The option that an error about an unknown processor is about."""


def _field(entry: dataclasses.Field[Any]) -> forms.Field:
    help_text = entry.metadata.get("help", "")
    shared: dict[str, Any] = {
        "label": _LABELS.get(entry.name, entry.name.replace("_", " ").capitalize()),
        "help_text": f"{help_text[:1].upper()}{help_text[1:]}.",
        "required": False,
    }
    kind = str(entry.type)
    if "choices" in entry.metadata:
        words = [(word, word) for word in entry.metadata["choices"]]
        shared["label"] = _CHOICE_LABELS.get(entry.name, shared["label"])
        return forms.ChoiceField(initial=entry.default, choices=words, **shared)
    if kind == "bool":
        return forms.BooleanField(initial=entry.default, **shared)
    if kind.startswith("int"):
        return forms.IntegerField(initial=entry.default, **shared)
    if kind.startswith("float"):
        return forms.FloatField(
            initial=entry.default, widget=forms.NumberInput(attrs={"step": "any"}), **shared
        )
    if kind.startswith("tuple"):
        return CommandField(
            max_length=10 * _TEXT_LIMIT,
            widget=forms.TextInput(attrs={"class": "mono", "spellcheck": "false"}),
            **shared,
        )
    return forms.CharField(
        initial=entry.default,
        max_length=_TEXT_LIMIT,
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "off"}),
        **shared,
    )


_PROBE_BLOCK = "4801d8"


def predictors(request: HttpRequest) -> HttpResponse:
    """The list of predictors; the box posts to the page of basic blocks."""
    listings = predictor_listings()
    context = {
        "ready": [listing for listing in listings if listing.usable],
        "lacking": [listing for listing in listings if not listing.usable],
        "kinds": [kind for kind in kinds().values() if kind.name != mapping.KIND],
        "runs_commands": are_commands_allowed(),
        "panels": rendered_panels(request, PanelPlace.PREDICTORS, None),
    }
    return render(request, "inference/predictors/list.html", context)


def predictor_add(request: HttpRequest, kind: str) -> HttpResponse:
    """The form for a kind; a POST stores the predictor and starts a question that tries it."""
    kind_row = kinds().get(kind)
    if kind_row is None:
        raise Http404
    form = AddForm(kind_row, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and (row := form.store()) is not None:
        access.log_action(request, AuditAction.CHANGED, row)
        if row.kind == machine.KIND:
            messages.success(request, f"{row.name} was added.")
            return redirect("predictors")
        config = {"predictors": [row.pk], "blocks": [_PROBE_BLOCK]}
        run = submit(QUESTION, config, unused_name(result_name(row.name, "first block")), user=request.user)
        messages.success(request, f"{row.name} was added. Here is its answer for a first block.")
        return redirect("asked-blocks", run.pk)
    missing = ""
    try:
        kind_row.find()
    except UnconfiguredError:  # configuring it is what this page is for
        pass
    except PredictorError as error:
        missing = str(error)
    return form_page(request, "inference/predictors/add.html", form, kind=kind_row, missing=missing)


def predictor_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a configured predictor with its cached answers, unless a campaign has used it."""
    row = get_object_or_404(Predictor, pk=pk, origin=Predictor.Origin.CONFIGURED)
    try:
        row.delete()
    except ProtectedError:
        messages.error(request, f"{row.name} has answered in a campaign: delete that first.")
    else:
        messages.success(request, f"{row.name} was removed, with its cached answers.")
    return redirect("predictors")


urlpatterns = [
    path("predictors/", predictors, name="predictors"),
    path("predictors/add/<slug:kind>/", predictor_add, name="predictor-add"),
    path("predictors/<int:pk>/remove/", predictor_remove, name="predictor-remove"),
]
