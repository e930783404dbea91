"""Fields of forms: numbers, whose default and limits stand in the request of a run, and experiment sets."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator

from inference.runs.request import RunRequest


def number_field(
    request: type[RunRequest], field: str, **options: Any
) -> forms.IntegerField | forms.FloatField:
    """The field of a form for a number of a request; `options` as for any field, such as label and help.

    Its limits are told to whoever exceeds them; the browser is not told, which would keep the form back.
    """
    number = request.number(field)
    limits = ((MinValueValidator, number.least), (MaxValueValidator, number.most))
    validators = [check(limit) for check, limit in limits if limit is not None]
    made = forms.IntegerField if number.whole else forms.FloatField
    return made(**{"initial": request.usual(field), "validators": validators, **options})


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
