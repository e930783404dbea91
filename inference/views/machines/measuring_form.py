"""What the forms that measure on a machine have in common: which schemes, and what that will take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

from inference.core.protocols import Json
from inference.models import Machine
from inference.models.scheme_search import GROUP_SELECTIONS
from inference.runs.jobs.infer_config import DEFAULT_SEED
from inference.runs.jobs.measure import Effort
from inference.views.field_help import describe_fields
from inference.views.naming import NOTE_LIMIT

SELECTIONS = (
    ("starter", "the starter set of the ISA"),
    ("default", "the default set of the ISA"),
    ("probes", "probes: one or two per kind of execution unit"),
    *GROUP_SELECTIONS.items(),
    ("filter", "those that a search finds"),
)
EXAMPLES = 3  # schemes that the count shows by name


def search_field() -> forms.CharField:
    """What to search schemes for, where they are chosen by a search."""
    return forms.CharField(
        label="Search",
        required=False,
        max_length=500,
        help_text="The scheme table's search: add ext:AVX2 -memory:W",
        widget=forms.TextInput(attrs={"class": "mono", "spellcheck": "false", "autocapitalize": "off"}),
    )


class MeasuringForm(forms.Form):
    """Schemes, the seed, and a name for what comes of it."""

    selection = forms.ChoiceField(label="Schemes", choices=SELECTIONS, initial="starter")
    filter = search_field()
    seed = forms.IntegerField(
        initial=DEFAULT_SEED,
        validators=[MinValueValidator(0), MaxValueValidator(2**31 - 1)],
        help_text="Chooses what is drawn at random: the same seed, the same experiments.",
    )
    name = forms.CharField(
        max_length=200,
        required=False,
        help_text="Of the run and what it measures; left empty, one is made up.",
    )
    note = forms.CharField(max_length=NOTE_LIMIT, required=False, widget=forms.Textarea(attrs={"rows": 3}))

    def __init__(self, data: Any = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        describe_fields(self)

    def clean(self) -> dict[str, Any]:
        """A search has to say what it searches for."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("selection") == "filter" and not data.get("filter", "").strip():
            self.add_error("filter", "Write what to search for, or choose a named selection.")
        return data

    @classmethod
    def untouched(cls, more: Json | None = None) -> Self:
        """The form as it is shown first, sent without a change; `more` are values that it is shown with."""
        usual = {field.name: field.initial for field in cls() if field.initial is not None}
        return cls(usual | (more or {}))


@dataclass(frozen=True)
class Plan:
    """What a form asks for: the run's description, its schemes, and the effort."""

    config: Json
    schemes: int
    examples: tuple[str, ...]
    effort: Effort
    note: str

    @classmethod
    def of(cls, machine: Machine, config: Json, chosen: list[tuple[int, str]], effort: Effort) -> Self:
        """For schemes as (id, text)."""
        examples = tuple(text for _, text in chosen[:EXAMPLES])
        return cls(config, len(chosen), examples, effort, _pace_of(machine))

    @property
    def more(self) -> bool:
        """Whether there are schemes beside the examples."""
        return self.schemes > len(self.examples)


def _pace_of(machine: Machine) -> str:
    """What the time rests on, where it does not rest on what the machine has shown."""
    if machine.kind == Machine.Kind.AGENT and not machine.rate:
        return f"{machine.name} has not measured since it connected, so its pace is a guess."
    return ""
