"""Form fields for the settings of a campaign: label, help and the paper's value come from their classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms

from anica_app.campaigning.config import GROUPS
from anica_app.core.answers import Failure
from anica_app.core.domain.settings import FEATURES
from anica_app.core.domain.settings import GROUPS as SCHEME_GROUPS
from anica_app.core.search.judging import METRICS
from anica_app.core.search.settings import Termination
from inference.core.protocols import Json

SETTING, END = "set_", "end_"
LABELS = {
    "samples": "Samples per abstract block",
    "first_look": "Of them, looked at first",
    "longest": "Instructions at most",
    "orders": "Orders of expansions",
    "batch": "Random blocks of a round",
    "side_by_side": "Generalised side by side",
    "new_share": "Share of new samples",
    "confirming": "Samples to confirm",
    "share_evidence": "Share evidence",
    "kinds_apart": "Keep kinds apart",
    "attempts": "Attempts at one block",
    "metric": "Measure of disagreement",
    "failures": "Failures that count",
    "groups": "Further kinds of schemes",
    "extensions": "CPU features",
    "edit_distance": "Edits of mnemonics",
    "log_bound": "Largest k for µops",
    "aliasing": "Say which operands are the same",
    "barren": "Blocks without a discovery",
    "blocks": "Random blocks",
}
_HELP = {
    "failures": "Failures of a tool that make a block interesting; others are counted",
    "groups": "Kinds of schemes beyond the usual ones",
    "features": "What abstract instructions say about schemes; uops counts where numbers of µops are given",
}
"""Where the class explains how to write what the form has boxes for."""

_CHOICES: Mapping[str, Sequence[str]] = {"metric": METRICS}
_WORDS: Mapping[str, tuple[Sequence[str], str]] = {
    "failures": ([failure.value for failure in Failure], ", "),
    "groups": (SCHEME_GROUPS, " "),
    "features": (FEATURES, " "),
}
"""Settings that are lists of words, with what stands between these."""


class WordsField(forms.MultipleChoiceField):
    """Some words of a list, as one text."""

    def __init__(self, words: Sequence[str], between: str, **options: Any) -> None:
        super().__init__(
            choices=[(word, word) for word in words], widget=forms.CheckboxSelectMultiple, **options
        )
        self._between = between

    def prepare_value(self, value: Any) -> Any:
        """The boxes to tick for a text."""
        if isinstance(value, str):
            return [word.strip() for word in value.split(self._between.strip() or None) if word.strip()]
        return value

    def clean(self, value: Any) -> Any:
        """The text."""
        return self._between.join(super().clean(value))


def setting_fields() -> Iterator[tuple[str, forms.Field]]:
    """(name, field) of every setting, group by group, and of what ends a campaign."""
    for group, cls in GROUPS.items():
        for entry in dataclasses.fields(cls):
            yield SETTING + entry.name, _field(entry, group)
    for entry in dataclasses.fields(Termination):
        yield END + entry.name, _field(entry, "end")


def _field(entry: dataclasses.Field[Any], group: str) -> forms.Field:
    help_text = _HELP.get(entry.name, entry.metadata["help"])
    shown: dict[str, Any] = {
        "label": LABELS.get(entry.name, entry.name.replace("_", " ").capitalize()),
        "help_text": f"{help_text[:1].upper()}{help_text[1:]}.",
        "required": False,
        "initial": entry.default,
    }
    kind = str(entry.type)
    field: forms.Field
    if entry.name in _WORDS:
        field = WordsField(*_WORDS[entry.name], **shown)
    elif entry.name in _CHOICES:
        field = forms.ChoiceField(choices=[(word, word) for word in _CHOICES[entry.name]], **shown)
    elif kind == "bool":
        field = forms.BooleanField(**shown)
    elif kind.startswith("int"):
        field = forms.IntegerField(**shown)
    elif kind.startswith("float"):
        field = forms.FloatField(widget=forms.NumberInput(attrs={"step": "any"}), **shown)
    else:
        field = forms.CharField(
            max_length=400, widget=forms.TextInput(attrs={"spellcheck": "false"}), **shown
        )
    field.paper = _paper(entry.metadata["paper"])  # type: ignore[attr-defined]
    field.group = group  # type: ignore[attr-defined]
    return field


def _paper(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
    )


def settings_of(cleaned: Mapping[str, Any]) -> Json:
    """What the form says, by the names of the settings; a number that was left out is as usual."""
    named = {name.removeprefix(SETTING): value for name, value in cleaned.items() if name.startswith(SETTING)}
    return {name: value for name, value in named.items() if value is not None}


def end_of(cleaned: Mapping[str, Any]) -> Json:
    """What ends the campaign."""
    return {name.removeprefix(END): value for name, value in cleaned.items() if name.startswith(END)}


def initial_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the fields hold for a campaign that there is."""
    found = {SETTING + name: value for group in GROUPS for name, value in config.get(group, {}).items()}
    return found | {END + name: value for name, value in config.get("end", {}).items()}
