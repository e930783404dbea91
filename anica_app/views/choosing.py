"""The part of a form that says who is asked about basic blocks."""

from __future__ import annotations

from typing import Any

from django import forms

from anica_app.campaigning.offering import Offer, Offers, offers
from anica_app.campaigning.predictors import chosen
from anica_app.campaigning.stored_kinds import reason_against
from anica_app.core.errors import PredictorError
from anica_app.models import Predictor

_LONGEST = 300
"""Characters of the text of an offer."""


class OffersField(forms.MultipleChoiceField):
    """Some of the offers; of a mapping or machine without blocks it says so."""

    widget = forms.CheckboxSelectMultiple

    def validate(self, value: Any) -> None:
        """Refuse strangers."""
        strangers = (text[:_LONGEST] for text in value if not self.valid_value(text))
        if reason := reason_against(next(strangers, "")):
            raise forms.ValidationError(f"{reason}.")
        super().validate(value)


class ChoosingForm(forms.Form):
    """Which of the predictors that can be asked here; `rows` are those of a valid form.

    Nothing else can be named: a predictor can be any program, which only administrators add.
    """

    predictors = OffersField(required=False)
    anew = forms.BooleanField(
        required=False, label="Ask anew", help_text="Even where an answer is remembered already."
    )

    def __init__(self, data: Any = None, initial: Any = None, known: Offers | None = None) -> None:
        """`known`: the offers, where they have been found out already."""
        super().__init__(data, initial=initial)
        self.offers = offers() if known is None else known
        self.rows: list[Predictor] = []
        field = self.fields["predictors"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(one.text, one.label) for one in self.offers.all]

    def ticked(self) -> set[str]:
        """The texts of the offers whose boxes are ticked."""
        return set(self["predictors"].value() or ())

    def clean(self) -> dict[str, Any]:
        """What must hold between fields."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        self.take(data)
        return data

    def take(self, data: dict[str, Any]) -> None:
        """Find or make the rows of what was chosen."""
        wanted = set(data.get("predictors", ()))
        for offer in self.offers.all:
            if offer.text in wanted:
                self._take(offer)

    def text_of(self, offer: Offer) -> str:
        """What `campaigning.predictors.chosen` is told of an offer that was chosen."""
        return offer.text

    def _take(self, offer: Offer) -> None:
        try:
            self.rows.append(chosen(self.text_of(offer)))
        except PredictorError as error:
            self.add_error("predictors", f"{offer.label}: {error}")
