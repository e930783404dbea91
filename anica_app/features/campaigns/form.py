"""The settings of a campaign: fields of the form, and items of the configuration of an existing one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.urls import reverse

from anica_app.core.domain.settings import FEATURES
from anica_app.core.search.interestingness import METRICS
from anica_app.core.search.settings import Termination
from anica_app.features.campaigns.comparison import flatten
from anica_app.features.campaigns.request import DEFAULT_MINUTES, PRESETS, CampaignConfig
from anica_app.models import Campaign, Discovery
from anica_app.storage.descriptions import GROUPS
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import mode_field
from inference.features.asking.predictors.query import (
    PredictorListing,
    on_processor,
    predictor_row,
    processor_field,
)
from inference.features.machines.measure.form import search_field
from inference.features.running.runs.kind_presentation import DescriptionItem, Link, RunOutcome
from inference.isa.targets import names_with_blocks, sampling_groups
from inference.models import PortMapping, Predictor, Run
from inference.predictors.protocol import Failure, PredictorError
from inference.web.request_fields import RequestField, RunForm, describe_fields, name_field
from inference.web.validation import row_ids

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
    "names_first": "Relax names first",
    "attempts": "Attempts per block",
    "metric": "Disagreement measure",
    "failures": "Count as disagreement",
    "groups": "Additional kinds of schemes",
    "extensions": "CPU features",
    "edit_distance": "Edits of mnemonics",
    "log_bound": "Maximum k for µops",
    "aliasing": "Constrain equal operands",
    "dependencies": "Constrain dependencies",
    "gradual": "Allow ranges and kinds",
    "barren": "Blocks without a discovery",
    "blocks": "Random blocks",
}
_HELP = {
    "failures": "Failures of a tool that make a block interesting; others are counted",
    "groups": "Kinds of schemes beyond the default ones",
    "features": "Features of abstract instructions; uops needs µop counts",
}
"""Help texts of settings that are check boxes in the form, where the class explains how to write them."""

_CHOICES: Mapping[str, Mapping[str, str]] = {"metric": {name: name for name in METRICS}}
_WORDS: Mapping[str, tuple[Sequence[str], str]] = {
    "failures": ([failure.value for failure in Failure], ", "),
    "groups": (sampling_groups(), " "),
    "features": (FEATURES, " "),
}
"""Settings that are lists of words: the words, and their separator."""
NO_PREDICTOR = ""
SECTIONS = (
    ("Search", "search", "Algorithms 8.1 and 8.2."),
    (
        "Abstract blocks",
        "domain",
        "Features of instructions that they constrain, equal operands, and dependencies.",
    ),
)
"""Folded groups of settings: heading, group, description."""
_PLAIN = ("preset", "seed", "scheme_filter", "evaluate", "block", "minimise", "tolerance")
_LABELS = {
    "scheme_filter": "Scheme search",
    "evaluate": "Fresh blocks for coverage",
    "block": "Block",
    "minimise": "Minimise first",
    "tolerance": "Equal within",
}
_MAX_LENGTH = 300


class WordsField(forms.MultipleChoiceField):
    """Words of a list as check boxes; the value is one text."""

    def __init__(self, words: Sequence[str], between: str, **options: Any) -> None:
        super().__init__(choices=[(word, word) for word in words], **options)
        self._between = between

    def prepare_value(self, value: Any) -> Any:
        """The words of a text, to be checked."""
        if isinstance(value, str):
            return [word.strip() for word in value.split(self._between.strip() or None) if word.strip()]
        return value

    def clean(self, value: Any) -> Any:
        return self._between.join(super().clean(value))


def setting_fields() -> Iterator[tuple[str, forms.Field]]:
    """(name, field) of every setting by group, then of every limit."""
    for group, cls in GROUPS.items():
        for entry in dataclasses.fields(cls):
            yield SETTING + entry.name, _field(cls, entry, group)
    for entry in dataclasses.fields(Termination):
        yield END + entry.name, _field(Termination, entry, "end")


def _field(cls: type[Any], entry: dataclasses.Field[Any], group: str) -> Any:
    """The form field of a setting, with `paper` and `group` for the template."""
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
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return str(value)


def _fields_named(cleaned: Mapping[str, Any], prefix: str) -> Json:
    """The fields with this prefix, under the names of their settings."""
    return {name.removeprefix(prefix): value for name, value in cleaned.items() if name.startswith(prefix)}


def initial_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Initial values of the fields for an existing campaign's configuration."""
    settings = {SETTING + name: value for group in GROUPS for name, value in config.get(group, {}).items()}
    return settings | {END + name: value for name, value in config.get("end", {}).items()}


class CampaignForm(RunForm):
    """The form of a campaign; the combination of its fields is checked when the run is made."""

    request = CampaignConfig
    extra_fields = frozenset({"from"})
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
        self,
        usable: Sequence[PredictorListing],
        data: Any = None,
        *,
        initial: Any = None,
        excluded: Sequence[int] = (),
    ) -> None:
        super().__init__(data, initial=initial)
        self.rows: list[Predictor] = []
        self._usable_names = {predictor.name for predictor in usable if not predictor.is_stored_only}
        names = [(predictor.name, predictor.name) for predictor in usable]
        self.set_choices(first=[("", "choose a predictor"), *names], second=[(NO_PREDICTOR, "none"), *names])
        self.fields.update(setting_fields())
        fields: dict[str, Any] = self.fields
        fields["evaluate"].paper = "10,000"
        if data is None and not any(name.startswith(END) for name in initial or {}):
            self.initial[END + "minutes"] = DEFAULT_MINUTES
        mappings = PortMapping.objects.filter(isa__name__in=names_with_blocks())
        fields["uops"].queryset = mappings.defer("report").order_by("name")
        ids = row_ids(map(str, data.getlist("excluded") if data is not None else excluded))
        rows = Discovery.objects.filter(pk__in=ids, abstract__isnull=False)
        fields["excluded"].queryset = rows.select_related("campaign")
        describe_fields(self)

    def clean(self) -> dict[str, Any]:
        """Get or create the predictors' rows; errors appear at their fields."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        for place in ("first", "second"):
            if not data.get(place):
                continue
            try:
                row = predictor_row(data[place])
                processor = data.get("processor", "") if data[place] in self._usable_names else ""
                self.rows.append(on_processor(row, processor))
            except PredictorError as error:
                self.add_error(place, str(error))
        if data.get("first") and data.get("first") == data.get("second"):
            self.add_error("second", "A predictor always agrees with itself: choose another one.")
        return data

    def config(self) -> Json:
        """The description of the run, for `read_config`."""
        data = self.cleaned_data
        settings = _fields_named(data, SETTING).items()  # a number that was left out is as usual
        described: Json = {
            "predictors": [row.pk for row in self.rows],
            **self.stated(),
            "settings": {name: value for name, value in settings if value is not None},
            "end": _fields_named(data, END),
            "scheme_filter": data["scheme_filter"],
            "excluded": [row.pk for row in data["excluded"]],
            "evaluate": data["evaluate"] or 0,
        }
        if data["uops"]:
            described["uops"] = data["uops"].pk
        return described

    def blame(self, complaint: str) -> None:
        """Attach an error of `read_config` to its field."""
        words = complaint.replace(":", " ").split()
        for word in words[:2]:
            for prefix in (SETTING, END, ""):
                if prefix + word in self.fields:
                    self.add_error(prefix + word, complaint.partition(": ")[2] or complaint)
                    return
        self.add_error(None, complaint)

    @property
    def groups(self) -> Mapping[str, list[forms.BoundField]]:
        names = {getattr(field, "group", "") for field in self.fields.values()}
        return {
            name: [field for field in self if getattr(field.field, "group", "") == name] for name in names
        }

    @property
    def sections(self) -> list[tuple[str, str, list[forms.BoundField], bool]]:
        """(heading, description, fields, whether a field differs from its default) of the folded groups."""
        return [
            (heading, description, fields, any(field.errors or _unusual(field) for field in fields))
            for heading, group, description in SECTIONS
            if (fields := self.groups[group])
        ]


def _unusual(field: forms.BoundField) -> bool:
    value, default = field.value(), field.field.initial
    prepare = field.field.prepare_value
    return str(prepare(value)) != str(prepare(default))


def campaigns_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The campaigns of these runs, running ones included (one query)."""
    rows = Campaign.objects.filter(run__in=[run.pk for run in runs]).only("name", "run_id")
    return {
        row.run_id: RunOutcome(row.name, reverse("campaign", args=[row.pk]))
        for row in rows
        if row.run_id is not None
    }


def configuration_items(campaign: Campaign) -> list[DescriptionItem]:
    """The configuration as items; of an imported campaign under the names of its file."""
    if campaign.format != Campaign.Format.OURS:
        return [DescriptionItem(name, _text(value)) for name, value in flatten(campaign.config)]
    return [item for item in _own_items(campaign.config) if item.text or item.links]


def _own_items(config: Mapping[str, Any]) -> Iterator[DescriptionItem]:
    for name in _PLAIN:
        if name in config:
            label = _LABELS.get(name, name.capitalize())
            preset = PRESETS.get(config[name]) if name == "preset" else None
            yield DescriptionItem(label, _text(config[name]) if preset is None else preset.title)
    if config.get("uops"):
        row = PortMapping.objects.filter(pk=config["uops"]).only("name").first()
        links = () if row is None else (Link(row.name, reverse("mapping", args=[row.pk])),)
        yield DescriptionItem("Source of µop counts", "" if links else "a deleted mapping", links=links)
    if config.get("excluded"):
        yield _exclusion_item([exclusion.get("discovery") for exclusion in config["excluded"]])
    for entry in dataclasses.fields(Termination):
        value = config.get("end", {}).get(entry.name)
        if value is not None:
            yield DescriptionItem(f"Ends after {LABELS.get(entry.name, entry.name).lower()}", _text(value))
    for group, cls in GROUPS.items():
        entries = {entry.name: entry for entry in dataclasses.fields(cls)}
        for name, value in config.get(group, {}).items():
            is_default = name in entries and value == entries[name].default
            label = LABELS.get(name, name.replace("_", " ").capitalize())
            yield DescriptionItem(label, _text(value) or "none", changed=not is_default, usual=is_default)


def _exclusion_item(ids: list[Any]) -> DescriptionItem:
    rows = Discovery.objects.filter(pk__in=[pk for pk in ids if pk]).select_related("campaign")
    links = tuple(
        Link(f"{row.campaign.name}: {row}", reverse("discovery", args=[row.pk]))
        for row in rows.only("number", "label", "campaign__name")
    )
    deleted = len(ids) - len(links)
    return DescriptionItem(
        "Excluded discoveries", f"{deleted} deleted" if deleted else "", links=links, changed=True
    )


def _text(value: Any) -> str:
    text = "none" if value is None else value_text(value)
    return text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]} …"
