"""Fields of forms: strict ones, names, and those derived from requests of runs; starting runs from them."""

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
from inference.core.texts import check_line
from inference.formats.problems import ExchangeError
from inference.models import Run
from inference.models.named import Named
from inference.runs.errors import ConfigError, DuplicateRunNameError
from inference.runs.lifecycle import submit, unused_name
from inference.runs.request import FieldShape, RequestPart, RunRequest
from inference.storage.names import NAME_LIMIT, NOTE_LIMIT, check_name_free

_COMMON_FIELDS = frozenset({"csrfmiddlewaretoken", "press"})
"""Fields that every page may post: Django's CSRF token, and the button."""


class StrictForm(forms.Form):
    """A form that rejects unknown fields: a misspelt setting would silently have its default.

    `extra_fields` are names that the page posts besides the form's fields.
    """

    extra_fields: ClassVar[frozenset[str]] = frozenset()

    def full_clean(self) -> None:
        """Validate the names of the sent fields, too."""
        super().full_clean()
        if self.is_bound:
            # An older page may still have a field that the form has dropped since (`base_fields`).
            fields = [self.add_prefix(name) for name in {**self.base_fields, **self.fields}]
            for name in sorted(set(self.data).difference(fields, self.extra_fields, _COMMON_FIELDS)):
                near = " or ".join(map(repr, get_close_matches(name, fields, 2, cutoff=0.0)))
                self.add_error(None, f"There is no field {name[:80]!r} here: leave it out, or send {near}.")


def validate_line(text: str) -> None:
    """Validator of form fields: the text must be a valid name."""
    try:
        check_line(text)
    except ValueError as error:
        raise ValidationError(str(error)) from None


def validated_name(model: type[Named], name: str) -> str:
    """The name itself; raises `ValidationError` if it is malformed or not unique."""
    try:
        check_name_free(model, name)
    except ExchangeError as error:
        raise ValidationError(str(error)) from error
    return name


_PLAIN: Mapping[Any, type[forms.Field]] = {
    int: forms.IntegerField,
    float: forms.FloatField,
    bool: forms.BooleanField,
    str: forms.CharField,
}


class RequestField:
    """A form field derived from the request's field of the same name: number, text, switch or choice.

    Limits are validated on the server only: the browser's own validation would not let the form be sent.

    Args:
        words: {choice: label} of the choices offered, in order; None: all choices, without labels.
        of: Class that has the field instead of the form's request: a part of it, or a settings class with
            `parse`.
        scale: Factor of numbers in the form: 100 for per cent.
        alone: Whether `parse` can validate this value without the other settings.
        paper: Value in the publication, shown beside the field.
        presentation: Options of Django's field: label, help text, widget; `required` if an empty field does
            not mean the default; `initial` for another initial value.
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
        shape, default, checks = _field_shape(owner, name)
        checks = checks if self._alone else []
        choices = [(choice, (words or {}).get(choice, choice)) for choice in words or shape.choices]
        if unknown := {choice for choice, _ in choices} - set(shape.choices or dict(choices)):
            raise ValueError(f"{name} of {owner.__name__} is never {', '.join(sorted(unknown))}")
        for check, (choice, _) in itertools.product(checks, choices):
            check(choice)
        default = default if scale == 1 else round(scale * default)
        options = {"initial": default, "required": False, **self._presentation}
        field: Any
        if choices:
            field = forms.ChoiceField(**options, choices=choices)
        elif shape.kind is str:
            field = forms.CharField(**options, max_length=shape.max_length, validators=checks)
        else:
            limits = ((MinValueValidator, shape.minimum), (MaxValueValidator, shape.maximum))
            bounds = [check(scale * limit) for check, limit in limits if limit is not None]
            field = _PLAIN[shape.kind](**options, validators=[*checks, *bounds])
        field.origin, field.paper = (owner, name, scale), self._paper
        return field


def _field_shape(owner: type[Any], name: str) -> tuple[FieldShape, Any, list[Callable[[Any], None]]]:
    """(shape, default, validators besides the declared limits) of a field."""
    if issubclass(owner, RequestPart):
        return owner.shape(name), owner.default_of(name), []

    def check(value: Any) -> None:
        try:
            owner.parse({name: value})
        except InvalidInputError as error:
            flaw = str(error)  # the form shows it below the field's label
            flaw = f"it {flaw[len(name) :].lstrip()}" if flaw.startswith(f"{name} ") else flaw
            raise ValidationError(f"{flaw[:1].upper()}{flaw[1:]}.") from error

    default = owner.__dataclass_fields__[name].default
    return FieldShape.of(get_type_hints(owner)[name]), default, [check]


def name_field(of: str = "the run") -> forms.CharField:
    """The name of the run that the form starts; `of` completes the help text."""
    return forms.CharField(
        max_length=NAME_LIMIT, required=False, help_text=f"Of {of}; if empty, one is generated."
    )


def note_field() -> forms.CharField:
    """A note of several lines; optional."""
    return forms.CharField(max_length=NOTE_LIMIT, required=False, widget=forms.Textarea(attrs={"rows": 3}))


class _RequestFormType(DeclarativeFieldsMetaclass):
    """Replaces `RequestField` attributes of a form by Django's fields."""

    def __new__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> Any:
        requests = (getattr(base, "request", None) for base in bases)
        request: Any = attrs.get("request") or next(filter(None, requests), None)
        fields = {
            key: value.field(request, key) for key, value in attrs.items() if isinstance(value, RequestField)
        }
        return super().__new__(cls, name, bases, attrs | fields)


class RequestForm(StrictForm, metaclass=_RequestFormType):
    """A form whose `RequestField` fields are those of `request`."""

    request: ClassVar[type[RunRequest]]

    def set_choices(self, **choices: Any) -> None:
        """Set choices that depend on the database: a queryset, or (value, label) pairs."""
        for name, options in choices.items():
            setattr(self.fields[name], "queryset" if isinstance(options, QuerySet) else "choices", options)

    def stated(self, owner: type[Any] | None = None) -> Json:
        """Values of the request's fields, or of those of `owner`, in a valid form; empty fields have
        defaults."""
        values: Json = {}
        for field_name, field in self.fields.items():
            of, name, scale = getattr(field, "origin", (None, "", 1))
            if of is not (owner or self.request):
                continue
            value = self.cleaned_data[field_name]
            if value in (None, ""):
                values[name] = _field_shape(of, name)[1]
            else:
                values[name] = value if scale == 1 else value / scale
        return values


class RunForm(RequestForm):
    """The form of a run, with name and note."""

    name = name_field()
    note = note_field()


class SetsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Any number of experiment sets; an id too large for the database is an unknown set."""

    def clean(self, value: Any) -> Any:
        """Reject ids with too many digits before the query."""
        for pk in value or ():
            if len(str(pk)) > ID_DIGITS:
                code = "invalid_choice"
                raise ValidationError(self.error_messages[code], code=code, params={"value": str(pk)[:40]})
        return super().clean(value)


ID_DIGITS = 18  # every number of 18 digits fits into a 64-bit column


def describe_fields(form: forms.BaseForm) -> None:
    """Refer each field to its help text by `aria-describedby`, with the id that templates give the text."""
    for field in form:
        if field.help_text:
            field.field.widget.attrs["aria-describedby"] = f"{field.auto_id}_helptext"


def form_page(request: HttpRequest, template: str, form: forms.Form, **context: Any) -> HttpResponse:
    """The page of a form; status 400 if it has errors."""
    return render(request, template, {"form": form, **context}, status=400 if form.errors else 200)


NOT_STARTED = "The run was not started: "


def start_run(
    request: HttpRequest,
    kind: str,
    config: Json,
    default_name: str = "",
    *,
    form: forms.Form | None = None,
    forked_from: Run | None = None,
    lead: str = "",
) -> Run | None:
    """Submit a run; None if it was refused, with the error in the form, or in a message without a form.

    Args:
        request: The request; its user becomes the owner.
        kind: Kind of the run.
        config: Description of the run.
        default_name: Name if the form has none, made unique by a number; "" for the kind's default name.
        form: The form that the description comes from; a `RunForm` has name and note.
        forked_from: The run of which this is a changed copy.
        lead: Beginning of the message without a form.
    """
    data = form.cleaned_data if isinstance(form, RunForm) else {"name": "", "note": ""}
    name = data["name"] or (default_name and unused_name(default_name))
    try:
        return submit(kind, config, name, user=request.user, forked_from=forked_from, note=data["note"])
    except (ConfigError, DuplicateRunNameError) as error:
        if form is None:
            messages.error(request, f"{lead}{error}")
        else:
            form.add_error("name" if isinstance(error, DuplicateRunNameError) else None, str(error))
        return None
