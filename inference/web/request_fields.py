"""Fields of forms that are made of the requests of runs: default and limits stand in the request alone."""

from __future__ import annotations

from typing import Any

from django import forms
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
