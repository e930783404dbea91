"""The form for a new campaign: its tools, what is interesting, which schemes, and every setting."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms

from anica_app.core.domain.settings import FEATURES
from anica_app.core.search.judging import METRICS
from anica_app.core.search.settings import Termination
from anica_app.features.campaigns.request import DEFAULT_MINUTES, CampaignConfig
from anica_app.models import Discovery
from anica_app.storage.descriptions import GROUPS
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import mode_field
from inference.features.asking.predictors.query import Listed, chosen, on_processor, processor_field
from inference.features.machines.measure.form import search_field
from inference.isa.targets import names_with_blocks, sampling_groups
from inference.models import PortMapping, Predictor
from inference.predictors.protocol import Failure, PredictorError
from inference.web.request_fields import RequestField, RunForm, describe_fields, name_field
from inference.web.validation import row_numbers

SETTING, END = "set_", "end_"
LABELS = {
    "samples": "Samples per abstract block",
    "first_look": "Of them, evaluated first",
    "longest": "Maximum instructions",
    "orders": "Expansion orders",
    "batch": "Random blocks per round",
    "side_by_side": "Generalised in parallel",
    "new_share": "Share of fresh samples",
    "confirming": "Samples to confirm",
    "share_evidence": "Share evidence",
    "kinds_apart": "Keep kinds separate",
    "exceptions": "Share of exceptions",
    "names_first": "Names first",
    "attempts": "Attempts per block",
    "metric": "Disagreement measure",
    "failures": "Failures that count",
    "groups": "Additional kinds of schemes",
    "extensions": "CPU features",
    "edit_distance": "Edits of mnemonics",
    "log_bound": "Maximum k for µops",
    "aliasing": "Say which operands are the same",
    "dependencies": "Say which instruction reads another's result",
    "gradual": "Ranges and kinds of operands",
    "barren": "Blocks without a discovery",
    "blocks": "Random blocks",
}
_HELP = {
    "failures": "Failures of a tool that make a block interesting; others are counted",
    "groups": "Kinds of schemes beyond the default ones",
    "features": "Features of abstract instructions; uops needs µop counts",
}
"""Where the class explains how to write what the form has boxes for."""

_CHOICES: Mapping[str, Mapping[str, str]] = {"metric": {name: name for name in METRICS}}
_WORDS: Mapping[str, tuple[Sequence[str], str]] = {
    "failures": ([failure.value for failure in Failure], ", "),
    "groups": (sampling_groups(), " "),
    "features": (FEATURES, " "),
}
"""Settings that are lists of words, with what stands between these."""


class WordsField(forms.MultipleChoiceField):
    """Some words of a list, as one text."""

    def __init__(self, words: Sequence[str], between: str, **options: Any) -> None:
        super().__init__(choices=[(word, word) for word in words], **options)
        self._between = between

    def prepare_value(self, value: Any) -> Any:
        """The boxes to tick for a text."""
        if isinstance(value, str):
            return [word.strip() for word in value.split(self._between.strip() or None) if word.strip()]
        return value

    def clean(self, value: Any) -> Any:
        return self._between.join(super().clean(value))


def setting_fields() -> Iterator[tuple[str, forms.Field]]:
    """(name, field) of every setting, group by group, and of what ends a campaign."""
    for group, cls in GROUPS.items():
        for entry in dataclasses.fields(cls):
            yield SETTING + entry.name, _field(cls, entry, group)
    for entry in dataclasses.fields(Termination):
        yield END + entry.name, _field(Termination, entry, "end")


def _field(cls: type[Any], entry: dataclasses.Field[Any], group: str) -> Any:
    """With what the template shows beside it: `paper` and `group`."""
    help_text = _HELP.get(entry.name, entry.metadata["help"])
    presentation: dict[str, Any] = {
        "label": LABELS.get(entry.name, entry.name.replace("_", " ").capitalize()),
        "help_text": f"{help_text[:1].upper()}{help_text[1:]}.",
    }
    if str(entry.type).startswith("float"):
        presentation["widget"] = forms.NumberInput(attrs={"step": "any"})
    elif entry.type == "str" and entry.name not in _CHOICES:
        presentation["widget"] = forms.TextInput(attrs={"spellcheck": "false"})
    if entry.name in _WORDS:
        field: Any = WordsField(
            *_WORDS[entry.name],
            **presentation | {"widget": forms.CheckboxSelectMultiple},
            required=False,
            initial=entry.default,
        )
    else:
        field = RequestField(_CHOICES.get(entry.name), **presentation).field(cls, entry.name)
    paper = entry.metadata["paper"]
    field.paper, field.group = "" if paper is None else value_text(paper), group
    return field


def value_text(value: Any) -> str:
    """A setting as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return str(value)


def settings_of(cleaned: Mapping[str, Any]) -> Json:
    """What the form says, by the names of the settings; a number that was left out is as usual."""
    named = {name.removeprefix(SETTING): value for name, value in cleaned.items() if name.startswith(SETTING)}
    return {name: value for name, value in named.items() if value is not None}


def end_of(cleaned: Mapping[str, Any]) -> Json:
    return {name.removeprefix(END): value for name, value in cleaned.items() if name.startswith(END)}


def initial_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the fields hold for a campaign that there is."""
    found = {SETTING + name: value for group in GROUPS for name, value in config.get(group, {}).items()}
    return found | {END + name: value for name, value in config.get("end", {}).items()}


NOBODY = ""
SECTIONS = (
    ("The search", "search", "Algorithms 8.1 and 8.2."),
    (
        "What abstract blocks can say",
        "domain",
        "Features of instructions, and whether operands are the same.",
    ),
)
"""Settings that are folded: heading, group, and what they are about."""


class CampaignForm(RunForm):
    """One field per thing that can be chosen; what they mean together is checked when the run is made."""

    request = CampaignConfig
    beside = frozenset({"from"})
    first = forms.ChoiceField(label="First predictor")
    second = forms.ChoiceField(
        label="Second predictor",
        required=False,
        help_text="Without one, the search is for blocks on which the first fails.",
    )
    processor = processor_field()
    mode = mode_field("as each is named: two ways of measuring")
    scheme_filter = search_field()
    uops = forms.ModelChoiceField(
        PortMapping.objects.none(),
        required=False,
        label="Source of µop counts",
        empty_label="none: not used",
        help_text="A port mapping; then abstract blocks can say how many µops an instruction has.",
    )
    excluded = forms.ModelMultipleChoiceField(
        Discovery.objects.none(),
        required=False,
        label="Exclude discoveries",
        widget=forms.CheckboxSelectMultiple,
        help_text="Blocks covered by these discoveries are skipped.",
    )
    evaluate = RequestField(
        label="Compute coverage on fresh blocks",
        help_text="This many random blocks of four instructions are predicted at the end, to compute how "
        "much of the disagreement the discoveries explain (§8.2.3).",
    )
    seed = RequestField(help_text="The same seed finds the same discoveries, unless time ends the campaign.")
    name = name_field("the run and its campaign")
    preset = RequestField(widget=forms.HiddenInput)

    def __init__(
        self, usable: Sequence[Listed], data: Any = None, *, initial: Any = None, excluded: Sequence[int] = ()
    ) -> None:
        super().__init__(data, initial=initial)
        self.rows: list[Predictor] = []
        self._found = {one.name for one in usable if not one.apart}
        names = [(one.name, one.name) for one in usable]
        self.set_choices(first=[("", "choose a predictor"), *names], second=[(NOBODY, "none"), *names])
        self.fields.update(setting_fields())
        fields: dict[str, Any] = self.fields
        fields["evaluate"].paper = "10,000"
        if data is None and not any(name.startswith(END) for name in initial or {}):
            self.initial[END + "minutes"] = DEFAULT_MINUTES
        mappings = (
            PortMapping.objects.filter(isa__name__in=names_with_blocks()).defer("report").order_by("name")
        )
        fields["uops"].queryset = mappings
        wanted = data.getlist("excluded") if data is not None else excluded
        ids = row_numbers(map(str, wanted))
        rows = Discovery.objects.filter(pk__in=ids, abstract__isnull=False).select_related("campaign")
        fields["excluded"].queryset = rows
        describe_fields(self)

    def clean(self) -> dict[str, Any]:
        """Find or make the predictors' rows, so that what they lack is told beside them."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        for place in ("first", "second"):
            if not data.get(place):
                continue
            try:
                row = chosen(data[place])
                processor = data.get("processor", "") if data[place] in self._found else ""
                self.rows.append(on_processor(row, processor))
            except PredictorError as error:
                self.add_error(place, str(error))
        if data.get("first") and data.get("first") == data.get("second"):
            self.add_error("second", "A predictor always agrees with itself: choose another one.")
        return data

    def config(self) -> Json:
        """The description of the run, as `read_config` takes it."""
        data = self.cleaned_data
        described: Json = {
            "predictors": [row.pk for row in self.rows],
            **self.stated(),
            "settings": settings_of(data),
            "end": end_of(data),
            "scheme_filter": data["scheme_filter"],
            "excluded": [row.pk for row in data["excluded"]],
            "evaluate": data["evaluate"] or 0,
        }
        if data["uops"]:
            described["uops"] = data["uops"].pk
        return described

    def blame(self, complaint: str) -> None:
        """Put what `read_config` says beside the field that it is about."""
        words = complaint.replace(":", " ").split()
        for word in words[:2]:
            for prefix in (SETTING, END, ""):
                if prefix + word in self.fields:
                    self.add_error(prefix + word, complaint.partition(": ")[2] or complaint)
                    return
        self.add_error(None, complaint)

    @property
    def groups(self) -> Mapping[str, list[forms.BoundField]]:
        """The fields of each group of settings."""
        names = {getattr(field, "group", "") for field in self.fields.values()}
        return {
            name: [field for field in self if getattr(field.field, "group", "") == name] for name in names
        }

    @property
    def sections(self) -> list[tuple[str, str, list[forms.BoundField], bool]]:
        """(heading, what about, fields, whether something in it is not as usual) of what is folded."""
        return [
            (heading, about, fields, any(field.errors or _unusual(field) for field in fields))
            for heading, group, about in SECTIONS
            if (fields := self.groups[group])
        ]


def _unusual(field: forms.BoundField) -> bool:
    given, usual = field.value(), field.field.initial
    prepare = field.field.prepare_value
    return str(prepare(given)) != str(prepare(usual))
