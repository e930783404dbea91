"""The base of all forms: like requests by API and shell, they refuse names that they do not know."""

from __future__ import annotations

from difflib import get_close_matches
from typing import ClassVar

from django import forms

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
