"""Forms: strict about names, made of the requests of runs, and what starts a run from one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, ClassVar, get_type_hints

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import QuerySet
from django.forms.forms import DeclarativeFieldsMetaclass
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.models import Run
from inference.runs.errors import ConfigError, RunNameTakenError
from inference.runs.lifecycle import submit, unused_name
from inference.runs.request import FieldShape, RequestPart, RunRequest
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT

_OF_EVERY_PAGE = frozenset({"csrfmiddlewaretoken", "press"})
"""Django's token, and which button was pressed."""


class StrictForm(forms.Form):
    """A form for which a misspelt setting is an error; it would else have its usual value without a word.

    `beside`: what the form's page posts besides the fields, for its view to read.
    """

    beside: ClassVar[frozenset[str]] = frozenset()

    def full_clean(self) -> None:
        """Check the names that were sent, besides the values of the fields."""
        super().full_clean()
        if self.is_bound:
            # A page that is a moment old may still have a field that has become needless.
            fields = [self.add_prefix(name) for name in {**self.base_fields, **self.fields}]
            for name in sorted(set(self.data).difference(fields, self.beside, _OF_EVERY_PAGE)):
                near = " or ".join(map(repr, get_close_matches(name, fields, 2, cutoff=0.0)))
                self.add_error(None, f"There is no field {name[:80]!r} here: leave it out, or send {near}.")


_PLAIN: Mapping[Any, type[forms.Field]] = {
    int: forms.IntegerField,
    float: forms.FloatField,
    bool: forms.BooleanField,
    str: forms.CharField,
}


class RequestField:
    """A field of a form for a number, a text, a switch or a choice of the form's request, by the same name.

    Its limits are told to whoever exceeds them; the browser is not told, which would keep the form back.

    Args:
        words: Labels of the choices that the page offers, in its order; without, all of them as they are.
        of: What has the field instead of the form's request: a part of it, or a class of settings, whose
            `parse` checks.
        scale: By how much a number is larger in the form: 100 for per cent.
        alone: Whether `parse` can tell of this value without the others.
        paper: What the publication used, shown beside it.
        presentation: Label, help text and widget; `required` where an empty field does not mean the default;
            `initial` where the page proposes something else.
    """

    def __init__(
        self,
        words: Mapping[str, str] | None = None,
        *,
        of: type[Any] | None = None,
        scale: int = 1,
        alone: bool = True,
        paper: str = "",
        **presentation: Any,
    ) -> None:
        self._words, self._of, self._scale, self._alone, self._paper = words, of, scale, alone, paper
        self._presentation = presentation

    def field(self, request: type[Any], name: str) -> Any:
        owner, words, scale = self._of or request, self._words, self._scale
        shape, usual, checks = _described(owner, name)
        checks = checks if self._alone else []
        choices = [(choice, (words or {}).get(choice, choice)) for choice in words or shape.choices]
        if strangers := {choice for choice, _ in choices} - set(shape.choices or dict(choices)):
            raise ValueError(f"{name} of {owner.__name__} is never {', '.join(sorted(strangers))}")
        for check, (choice, _) in itertools.product(checks, choices):
            check(choice)
        usual = usual if scale == 1 else round(scale * usual)
        options = {"initial": usual, "required": False, **self._presentation}
        field: Any
        if choices:
            field = forms.ChoiceField(**options, choices=choices)
        elif shape.kind is str:
            field = forms.CharField(**options, max_length=shape.longest, validators=checks)
        else:
            limits = ((MinValueValidator, shape.least), (MaxValueValidator, shape.most))
            bounds = [check(scale * limit) for check, limit in limits if limit is not None]
            field = _PLAIN[shape.kind](**options, validators=[*checks, *bounds])
        field.origin, field.paper = (owner, name, scale), self._paper
        return field


def _described(
    owner: type[Any], name: str, alone: bool = True
) -> tuple[FieldShape, Any, list[Callable[[Any], None]]]:
    """What a field may hold, its default, and what checks a value besides the limits that are declared."""
    if issubclass(owner, RequestPart):
        return owner.shape(name), owner.usual(name), []

    def check(value: Any) -> None:
        try:
            owner.parse({name: value})
        except InvalidInputError as error:
            flaw = str(error)  # the form shows it below the field's label
            flaw = f"it {flaw[len(name) :].lstrip()}" if flaw.startswith(f"{name} ") else flaw
            raise ValidationError(f"{flaw[:1].upper()}{flaw[1:]}.") from error

    usual = owner.__dataclass_fields__[name].default
    return FieldShape.of(get_type_hints(owner)[name]), usual, [check]


def name_field(of: str = "the run") -> forms.CharField:
    """What the run that a form starts is called, and what comes of it."""
    return forms.CharField(
        max_length=NAME_LIMIT, required=False, help_text=f"Of {of}; if empty, one is generated."
    )


def note_field() -> forms.CharField:
    """Whatever is to be remembered."""
    return forms.CharField(max_length=NOTE_LIMIT, required=False, widget=forms.Textarea(attrs={"rows": 3}))


class _RequestFormType(DeclarativeFieldsMetaclass):
    """Puts Django's fields in the place of a form's request fields."""

    def __new__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> Any:
        requests = (getattr(base, "request", None) for base in bases)
        request: Any = attrs.get("request") or next(filter(None, requests), None)
        fields = {
            key: value.field(request, key) for key, value in attrs.items() if isinstance(value, RequestField)
        }
        return super().__new__(cls, name, bases, attrs | fields)


class RequestForm(StrictForm, metaclass=_RequestFormType):
    """A form that becomes a `request`, whose plain fields are `RequestField`."""

    request: ClassVar[type[RunRequest]]

    def set_choices(self, **choices: Any) -> None:
        """What fields offer that depends on the database: rows by a queryset, texts with their labels."""
        for name, offers in choices.items():
            setattr(self.fields[name], "queryset" if isinstance(offers, QuerySet) else "choices", offers)

    def stated(self, owner: type[Any] | None = None) -> Json:
        """What a valid form says of the fields of its request, or of `owner`; an empty one is as usual."""
        values: Json = {}
        for field_name, field in self.fields.items():
            of, name, scale = getattr(field, "origin", (None, "", 1))
            if of is not (owner or self.request):
                continue
            value = self.cleaned_data[field_name]
            if value in (None, ""):
                values[name] = _described(of, name)[1]
            else:
                values[name] = value if scale == 1 else value / scale
        return values


class RunForm(RequestForm):
    """The form of a run that can be given a name and a note."""

    name = name_field()
    note = note_field()


class SetsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Any number of experiment sets; a number that no row can have is an unknown set as well."""

    def clean(self, value: Any) -> Any:
        """Refuse what the database would not take as an id."""
        for pk in value or ():
            if len(str(pk)) > ID_DIGITS:
                code = "invalid_choice"
                raise ValidationError(self.error_messages[code], code=code, params={"value": str(pk)[:40]})
        return super().clean(value)


ID_DIGITS = 18  # every number of as many digits fits into a column of ids


def describe_fields(form: forms.BaseForm) -> None:
    """Tie each field that has a help text to it, by the id that the templates give that text."""
    for field in form:
        if field.help_text:
            field.field.widget.attrs["aria-describedby"] = f"{field.auto_id}_helptext"


def form_page(request: HttpRequest, template: str, form: forms.Form, **context: Any) -> HttpResponse:
    """The page of a form that starts something, with status 400 where it was refused."""
    return render(request, template, {"form": form, **context}, status=400 if form.errors else 200)


NOTHING_STARTED = "Nothing was started: "


def start_run(
    request: HttpRequest,
    kind: str,
    config: Json,
    usual_name: str,
    *,
    form: forms.Form | None = None,
    forked_from: Run | None = None,
    lead: str = "",
) -> Run | None:
    """The new run, named as a `RunForm` says; None where it was refused.

    The form says why, without one a message behind the `lead`.
    """
    data = form.cleaned_data if isinstance(form, RunForm) else {"name": "", "note": ""}
    name = data["name"] or unused_name(usual_name)
    try:
        return submit(kind, config, name, user=request.user, forked_from=forked_from, note=data["note"])
    except (ConfigError, RunNameTakenError) as error:
        if form is None:
            messages.error(request, f"{lead}{error}")
        else:
            form.add_error("name" if isinstance(error, RunNameTakenError) else None, str(error))
        return None
