"""The fields that every import has."""

from __future__ import annotations

from django import forms

from anica_app.models import BasicBlockSet, Campaign
from inference.storage.errors import ExchangeError, NameTakenError
from inference.storage.names import free_or_refuse


class ImportForm(forms.Form):
    """What becomes of a file: a row of `model` with this name."""

    name = forms.CharField(max_length=200, help_text="Commands and other pages find it by this name.")
    note = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}))

    model: type[BasicBlockSet] | type[Campaign] = Campaign

    def clean_name(self) -> str:
        """Refuse a name in use."""
        try:
            free_or_refuse(self.model, self.cleaned_data["name"])
        except (NameTakenError, ExchangeError) as error:
            raise forms.ValidationError(str(error)) from error
        return str(self.cleaned_data["name"])
