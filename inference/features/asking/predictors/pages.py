"""The pages of predictors: those that there are with a box to try them, and the form to add one."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import ProtectedError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from inference.features.asking.predictors.kinds import kinds
from inference.features.asking.predictors.query import QUESTION, listed, row_for
from inference.models import Predictor
from inference.predictors import machine, mapping
from inference.predictors.kinds import PredictorKind, UnconfiguredError
from inference.predictors.permission import are_commands_allowed
from inference.predictors.protocol import PredictorError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.names import NOTE_LIMIT
from inference.web.api import access
from inference.web.api.access import Deed
from inference.web.contributions import PanelPlace, shown_panels
from inference.web.naming import usable_name
from inference.web.request_fields import StrictForm, describe_fields, form_page

_LIMITS = ("processes", "batch", "seconds", "dependency_seconds", "memory")
"""Options of programs that change no number."""

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
_LONG = 400


class CommandField(forms.CharField):
    """Program and arguments as one types them; without a shell, quotes only keep words together."""

    is_command = True

    def to_python(self, value: Any) -> Any:
        try:
            return shlex.split(super().to_python(value))
        except ValueError as error:
            raise forms.ValidationError(f"Not understood: {error}.") from None


class AddForm(StrictForm):
    """A field for each option of a kind."""

    name = forms.CharField(
        required=False,
        max_length=200,
        help_text="Commands and campaigns find it by this name; empty: as usual.",
    )
    note = forms.CharField(required=False, max_length=NOTE_LIMIT, widget=forms.Textarea(attrs={"rows": 2}))

    def __init__(self, kind: PredictorKind, data: Any = None) -> None:
        super().__init__(data)
        self._kind = kind
        self._limits = () if kind.name == machine.KIND else _LIMITS  # whose memory is that of the block
        for entry in kind.options:
            self.fields[entry.name] = _field(entry)
        self.processors = tuple(kind.choices_of("arch"))
        if self.processors:
            self.fields["arch"].widget.attrs["list"] = "processors"
        for name in ("name", "note"):
            self.fields[name] = self.fields.pop(name)  # last
        describe_fields(self)

    def main(self) -> list[forms.BoundField]:
        """The fields that say what the predictor is."""
        return [field for field in self.visible_fields() if field.name not in self._limits]

    def limits(self) -> list[forms.BoundField]:
        """The fields that say how much it may take."""
        return [field for field in self.visible_fields() if field.name in self._limits]

    def clean_name(self) -> str:
        """Refuse a name in use."""
        name: str = self.cleaned_data["name"].strip()
        return usable_name(Predictor, name) if name else ""

    def store(self) -> Predictor | None:
        """The predictor of a valid form; None where it cannot be made, which is then an error of the form."""
        data = self.cleaned_data
        try:
            row = row_for(
                self._kind.name,
                self._options(data),
                data["name"],
                Predictor.Origin.CONFIGURED,
                may_choose=True,  # the rule of this page asks who it is
            )
        except PredictorError as error:
            self._blame(str(error))
            return None
        if data["note"]:
            row.note = data["note"]
            row.save(update_fields=["note"])
        return row

    def _options(self, data: dict[str, Any]) -> dict[str, Any]:
        """What is not as usual."""
        found: dict[str, Any] = {}
        for entry in self._kind.options:
            value = data[entry.name]
            if value not in (None, "", [], entry.default):
                found[entry.name] = value
        return found

    def _blame(self, message: str) -> None:
        """Put a message beside the option that it begins with."""
        own = message.removeprefix(f"{self._kind.name}: ")
        name = own.partition(" ")[0].rstrip(":")
        self.add_error(name if name in self.fields else None, own[:1].upper() + own[1:])


def _field(entry: dataclasses.Field[Any]) -> forms.Field:
    help_text = entry.metadata.get("help", "")
    shown: dict[str, Any] = {
        "label": _LABELS.get(entry.name, entry.name.replace("_", " ").capitalize()),
        "help_text": f"{help_text[:1].upper()}{help_text[1:]}.",
        "required": False,
    }
    kind = str(entry.type)
    if "choices" in entry.metadata:
        words = [(word, word) for word in entry.metadata["choices"]]
        shown["label"] = _CHOICE_LABELS.get(entry.name, shown["label"])
        return forms.ChoiceField(initial=entry.default, choices=words, **shown)
    if kind == "bool":
        return forms.BooleanField(initial=entry.default, **shown)
    if kind.startswith("int"):
        return forms.IntegerField(initial=entry.default, **shown)
    if kind.startswith("float"):
        return forms.FloatField(
            initial=entry.default, widget=forms.NumberInput(attrs={"step": "any"}), **shown
        )
    if kind.startswith("tuple"):
        return CommandField(
            max_length=10 * _LONG,
            widget=forms.TextInput(attrs={"class": "mono", "spellcheck": "false"}),
            **shown,
        )
    return forms.CharField(
        initial=entry.default,
        max_length=_LONG,
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "off"}),
        **shown,
    )


_PROBE = "4801d8"


def predictors(request: HttpRequest) -> HttpResponse:
    """The list, and a box whose question the page of basic blocks takes."""
    found = listed()
    context = {
        "ready": [one for one in found if one.usable],
        "lacking": [one for one in found if not one.usable],
        "kinds": [kind for kind in kinds().values() if kind.name != mapping.KIND],
        "runs_commands": are_commands_allowed(),
        "panels": shown_panels(request, PanelPlace.PREDICTORS, None),
    }
    return render(request, "inference/predictors/list.html", context)


def predictor_add(request: HttpRequest, kind: str) -> HttpResponse:
    """The options of a kind; a POST stores a predictor with these."""
    found = kinds().get(kind)
    if found is None:
        raise Http404
    form = AddForm(found, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and (row := form.store()) is not None:
        access.note(request, Deed.CHANGED, row)
        if row.kind == machine.KIND:
            messages.success(request, f"{row.name} is there.")
            return redirect("predictors")
        config = {"predictors": [row.pk], "blocks": [_PROBE]}
        run = submit(QUESTION, config, unused_name(f"{row.name} tried"[:190]), user=request.user)
        messages.success(request, f"{row.name} was added. Here is its answer for a first block.")
        return redirect("asked-blocks", run.pk)
    missing = ""
    try:
        found.found()
    except UnconfiguredError:  # which is what this page is for
        pass
    except PredictorError as error:
        missing = str(error)
    return form_page(request, "inference/predictors/add.html", form, kind=found, missing=missing)


def predictor_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Forget a configured predictor and its answers; one that a campaign has used stays."""
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
