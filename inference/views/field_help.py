"""Telling screen readers which text on the page is a field's help."""

from __future__ import annotations

from django import forms


def describe_fields(form: forms.BaseForm) -> None:
    """Tie each field that has a help text to it, by the id that the templates give that text."""
    for field in form:
        if field.help_text:
            field.field.widget.attrs["aria-describedby"] = f"{field.auto_id}_helptext"
