"""What a request limits, offers or presumes is said in the request alone, not in the forms made of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

from inference.measuring.blocks import BlockOptions
from inference.runs.request import RequestPart, RunRequest, parts_of
from inference.web.request_fields import RequestField, RequestForm, StrictForm

PLAIN = (forms.IntegerField, forms.FloatField, forms.BooleanField, forms.ChoiceField, forms.CharField)
PLAIN_KINDS = (int, float, bool, str)
OF_ROWS = (forms.ModelChoiceField, forms.MultipleChoiceField)
"""Their choices are rows of the database, or texts that follow from them."""
OWN = {
    "name": "names are the database's: it limits them, and free ones are proposed",
    "note": "as names",
    "isa": "the instruction sets that have what the page needs",
    "scheme_filter": "a search text, which the search checks",
    "release": "the releases that are installed here",
    "core": "the documented cores, and that it is not known",
    "against": "the sources that have answers for the items",
}
NO_RUN = {
    "AddForm": "a predictor",
    "AddMachineForm": "a machine",
    "ApiTokenForm": "an API token",
    "ChangePasswordForm": "a password",
    "ConfirmForm": "who it is",
    "ConversionForm": "a resource mapping, converted at once",
    "CoreModelForm": "a core model, put together at once",
    "DocumentForm": "an instruction set",
    "FirstPasswordForm": "a password",
    "GateForm": "a file that is judged at once",
    "InviteForm": "an account",
    "NameAndNoteForm": "a name",
    "PasswordLoginForm": "who it is",
    "PortNamesForm": "names of ports",
    "RoleForm": "of an account",
}
"""Forms that do not start a run."""
ROOT = Path(__file__).resolve().parents[2]


def all_forms() -> list[type[forms.Form]]:
    """Every form of the three packages."""
    packages = ("inference", "anica_app", "pmweb")
    for rooms in ("inference/features", "anica_app/features", "pmweb"):
        for path in (ROOT / rooms).rglob("*.py"):
            if "forms." in (text := path.read_text(encoding="utf-8")) and "class " in text:
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    waiting: list[type[forms.Form]] = [forms.Form]
    for cls in waiting:
        waiting += cls.__subclasses__()
    return [cls for cls in waiting if cls.__module__.partition(".")[0] in packages]


def names_of(request: type[RunRequest]) -> set[str]:
    """The names of all plain values in a request, those of its parts and settings among them."""
    names: set[str] = set()
    waiting: list[Any] = [request]
    for owner in waiting:
        if isinstance(owner, type) and issubclass(owner, RequestPart):
            shapes = {name: owner.shape(name) for name in owner.model_fields}
            names |= {name for name, shape in shapes.items() if shape.choices or shape.kind in PLAIN_KINDS}
            kinds = [info.annotation for info in owner.model_fields.values()]
            waiting += [part for kind in kinds for part in parts_of(kind)]
            waiting += [kind for kind in kinds if dataclasses.is_dataclass(kind)]
        else:
            names |= {entry.name for entry in dataclasses.fields(owner)}
    return names


def restated(form: type[forms.Form]) -> Iterator[str]:
    """Fields of a form that say something that its request should say."""
    names = names_of(form.request) | names_of_settings()  # type: ignore[attr-defined]
    for name, field in form.base_fields.items():
        if hasattr(field, "origin") or name in OWN or isinstance(field, OF_ROWS):
            continue
        limits = [one for one in field.validators if isinstance(one, MinValueValidator | MaxValueValidator)]
        if limits or (name in names and isinstance(field, PLAIN)):
            yield f"{form.__name__}.{name}"


def names_of_settings() -> set[str]:
    """Of settings that belong to no description, but to a predictor that it names."""
    return {"copies", "pages"} & {entry.name for entry in dataclasses.fields(BlockOptions)}


def test_forms_of_runs_state_nothing_that_their_requests_say():
    bound = [form for form in all_forms() if getattr(form, "request", None) is not None]
    assert len(bound) > 15
    assert [place for form in bound for place in restated(form)] == []


def test_each_form_belongs_to_a_request_or_to_none_for_a_reason():
    bases = {"ChoosingForm", "MeasuringForm", "RequestForm", "RunForm", "StrictForm", "_NewPasswordForm"}
    loose = {form.__name__ for form in all_forms() if not hasattr(form, "request")}
    assert loose - bases == NO_RUN.keys()


class _Journey(RunRequest):
    miles: int = 5
    way: str = ""


class _JourneyForm(RequestForm):
    request = _Journey
    miles = RequestField()
    way = forms.ChoiceField(choices=[("foot", "on foot")])
    hours = forms.IntegerField(min_value=1)


def test_a_form_that_restates_its_request_is_noticed():
    assert list(restated(_JourneyForm)) == ["_JourneyForm.way", "_JourneyForm.hours"]


def test_every_form_refuses_names_that_it_does_not_know() -> None:
    assert [form.__name__ for form in all_forms() if not issubclass(form, StrictForm)] == []
