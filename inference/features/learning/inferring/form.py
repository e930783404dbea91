"""The form that starts an inference, with the settings of the chosen algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.features.learning.inferring.algorithm import Algorithm, Setting
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.features.learning.inferring.request import InferConfig, SimulatedSource
from inference.features.machines.measure.form import SELECTION_WORDS, search_field, selection_field
from inference.formats.scheme_lists import read_counts, read_names, read_ports
from inference.measuring.simulated import NOTHING, PORTS, UOPS
from inference.models import ISA, ExperimentSet, Machine, PortMapping
from inference.models.named import Named
from inference.runs.machines.facts import obstacle_to_measuring
from inference.storage.instruction_sets import unknown_schemes
from inference.web.request_fields import RequestField, RunForm, SetsField, describe_fields, name_field

_SELECTIONS = {
    "all": "all schemes in the data",
    "default": SELECTION_WORDS["default"],
    **SELECTION_WORDS,
}
SETTING = "set_"
OWN_FIELDS = ("ports",)
"""Settings among the form's main questions instead of the list of settings."""


Reader = Callable[[str], tuple[Any, Sequence[str]]]


class MachineField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic as it runs
    """A simulated machine, or a computer whose agent has connected before.

    The agent may be offline, since a run waits for it.
    """

    def __init__(self) -> None:
        measuring = Machine.objects.filter(kind__in=(Machine.Kind.AGENT, Machine.Kind.SIMULATED))
        super().__init__(
            measuring.order_by("name"),
            required=False,
            help_text="Fresh mixes of five schemes are measured to test the result.",
        )

    def clean(self, value: Any) -> Any:
        """Rejects a machine that cannot measure, with the reason."""
        machine = super().clean(value)
        obstacle = "" if machine is None else obstacle_to_measuring(machine)
        if obstacle:
            raise ValidationError(f"{obstacle[:1].upper()}{obstacle[1:]}.")
        return machine


class KnownField(forms.CharField):
    """Facts about schemes, one per line; `read` returns (facts, problems)."""

    def __init__(self, read: Reader, **options: Any) -> None:
        attributes = {"rows": 3, "class": "mono", "spellcheck": "false", "autocapitalize": "off"}
        super().__init__(
            required=False, max_length=20_000, widget=forms.Textarea(attrs=attributes), **options
        )
        self._read = read

    def clean(self, value: Any) -> Any:
        facts, problems = self._read(super().clean(value))
        if problems:
            raise ValidationError(list(problems))
        return facts


class InferForm(RunForm):
    """Validates fields; conditions on the database's contents are checked when the run is submitted."""

    request = InferConfig
    extra_fields = frozenset(
        ["from", *(SETTING + setting.name for offer in ALGORITHMS.values() for setting in offer.tunables())]
    )
    """Parameters besides the fields: the run to copy, and settings of the previously chosen algorithm."""
    source = forms.ChoiceField(
        choices=[
            ("datasets", "measurements"),
            ("simulate", "a simulated processor"),
            ("machine", "a machine"),
        ]
    )
    datasets = SetsField(ExperimentSet.objects.order_by("name"), required=False)
    held_out = RequestField(
        label="Hold out for testing",
        help_text="Share of the measurements kept from the search, to test its result. Chosen by the seed.",
    )
    evaluate = forms.ModelChoiceField(
        ExperimentSet.objects.order_by("name"),
        label="Or test on another set",
        required=False,
        empty_label="none",
        help_text="Then all measurements chosen above are used for learning.",
    )
    mapping = forms.ModelChoiceField(
        PortMapping.objects.order_by("name"),
        label="Its port mapping",
        required=False,
        empty_label="choose a stored mapping",
        help_text="The mapping that the search has to recover.",
    )
    noise = RequestField(
        of=SimulatedSource,
        initial=0.01,
        help_text="Standard deviation of a Gaussian factor around 1 on every answer.",
    )
    outlier_share = RequestField(of=SimulatedSource, help_text="Share of answers that are far off, 0 to 1.")
    outlier_factor = RequestField(of=SimulatedSource, help_text="The factor by which an outlier differs.")
    noise_cpi = RequestField(
        of=SimulatedSource,
        label="Noise per instruction",
        help_text="Standard deviation of a Gaussian error in cycles per instruction, as of a real clock.",
    )
    odd_share = RequestField(
        of=SimulatedSource,
        label="Share of misbehaving schemes",
        help_text="Schemes that no port mapping describes, of five kinds seen on real cores (§6.3), 0 to 1.",
    )
    counters = RequestField(
        {NOTHING: "none", UOPS: "of all µops", PORTS: "of every port"},
        of=SimulatedSource,
        help_text="Performance counters; explainable inference uses them.",
    )
    machine = MachineField()
    bottleneck = RequestField(
        label="Measure the bottleneck rate first",
        help_text="The core's maximum instructions per cycle, unless R_max is set below.",
    )
    selection = selection_field("all", _SELECTIONS)
    filter = search_field()
    sample = RequestField(
        label="At most",
        widget=forms.NumberInput({"placeholder": "all"}),
        help_text="Spread evenly over the selection; empty: all. Not for recorded measurements.",
    )
    uops = KnownField(
        read_counts,
        label="µops per scheme",
        help_text="A line per scheme with more than one: mov MEM[64]:W, GPR[64]:R: 2",
    )
    widths = KnownField(
        read_counts,
        label="Ports per scheme",
        help_text="Where the size of a port set is known: imul GPR[64]:RW, GPR[64]:R: 1",
    )
    improper = KnownField(
        read_names,
        label="Improper schemes",
        help_text="A line per scheme one of whose µops has the ports of a scheme with one µop (§6.3.4).",
    )
    documented = KnownField(
        read_ports,
        label="Documented ports",
        help_text="A line per scheme with one µop. They decide where measurements cannot and name ports: "
        "add GPR[64]:RW, GPR[64]:R: 6 7 8 9",
    )
    algorithm = RequestField({key: algorithm.title for key, algorithm in ALGORITHMS.items()}, required=True)
    seed = RequestField(help_text="The same seed gives the same answer.", required=True)
    name = name_field("the run and its mapping")

    def __init__(self, data: Any = None, *, initial: Mapping[str, Any] | None = None) -> None:
        algorithm_name = (data or initial or {}).get("algorithm", "")
        self.offer: Algorithm = ALGORITHMS.get(str(algorithm_name), next(iter(ALGORITHMS.values())))
        super().__init__(_complete_data(data, self.offer), initial=dict(initial or {}))
        for setting in self.offer.tunables():
            self.fields[SETTING + setting.name] = SettingField(self.offer, setting)
        for name, text in self.offer.known_help.items():
            self.fields[name].help_text = text
        describe_fields(self)

    @property
    def ports(self) -> forms.BoundField:
        """The field for the number of ports, which every algorithm has."""
        return self[SETTING + "ports"]

    @property
    def first_settings(self) -> list[forms.BoundField]:
        return [self[SETTING + name] for name in self.offer.first]

    @property
    def other_settings(self) -> Iterator[forms.BoundField]:
        """The other settings, in the algorithm's order."""
        for setting in self.offer.tunables():
            if setting.name not in (*OWN_FIELDS, *self.offer.first):
                yield self[SETTING + setting.name]

    @property
    def setting_groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """(heading, settings) of the other settings; ungrouped ones come last under ""."""
        ungrouped = {field.name.removeprefix(SETTING): field for field in self.other_settings}
        groups = [
            (heading, [ungrouped.pop(name) for name in names if name in ungrouped])
            for heading, names in self.offer.groups.items()
        ]
        return [(heading, fields) for heading, fields in [*groups, ("", [*ungrouped.values()])] if fields]

    @property
    def known_fields(self) -> list[forms.BoundField]:
        """The fields for facts about schemes that the algorithm can use."""
        return [self[name] for name in self.offer.knows]

    @property
    def has_known(self) -> bool:
        """Whether a fact is entered or has an error."""
        return any(field.errors or field.value() for field in self.known_fields)

    def known(self) -> Json:
        """The facts in the form of a run's configuration; invalid ones are omitted."""
        return {name: facts for name in self.offer.knows if (facts := self.cleaned_data.get(name))}

    def check_known(self, isa: ISA) -> None:
        """Adds errors to the fields of unknown schemes and inconsistent facts."""
        known_facts = self.known()
        for name, facts in known_facts.items():
            for problem in unknown_schemes(facts, isa):
                self.add_error(name, problem)
        if not self.errors:
            try:
                self.offer.check_known(known_facts)
            except InvalidInputError as error:
                self.add_error("uops", str(error))

    @property
    def has_special_settings(self) -> bool:
        """Whether one of the other settings has an error or differs from its default."""
        return any(field.errors or text_of(field) != field.field.initial for field in self.other_settings)

    def clean(self) -> dict[str, Any]:
        """Validates conditions between fields; each error belongs to the field to change."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        required = {
            "datasets": ("datasets", "Choose at least one set of measurements."),
            "simulate": ("mapping", "Choose the port mapping of the simulated processor."),
            "machine": ("machine", "Choose a machine."),
        }
        field, message = required.get(data.get("source", ""), ("source", ""))
        if field != "source" and field not in self.errors and not data.get(field):
            self.add_error(field, message)
        if data.get("selection") == "filter" and not data.get("filter", "").strip():
            self.add_error("filter", "Enter a search, or choose a named selection.")
        if data.get("source") == "datasets":
            self._check_sets(data)
            if data.get("sample"):
                self.add_error("sample", "Of recorded data, all selected schemes are learnt: use a search.")
        return data

    def _check_sets(self, data: Mapping[str, Any]) -> None:
        sets = list(data.get("datasets") or [])
        isas = {row.isa_id for row in sets}
        if len(isas) > 1:
            self.add_error("datasets", "These sets are of different instruction sets: choose sets of one.")
        judge: Named | None = data.get("evaluate")
        if isinstance(judge, ExperimentSet) and isas and judge.isa_id not in isas:
            self.add_error("evaluate", "This set is of another instruction set than the sets to learn from.")
        if judge in sets:
            self.add_error("evaluate", "This set is among the sets to learn from: choose another.")

    def settings(self) -> Json:
        return self.offer.parse(
            {
                name.removeprefix(SETTING): value
                for name, value in self.cleaned_data.items()
                if name.startswith(SETTING)
            }
        )


def _complete_data(data: Any, offer: Algorithm) -> Any:
    """The form's data, completed with defaults of the chosen algorithm's settings."""
    missing = [s for s in offer.tunables() if data is not None and SETTING + s.name not in data]
    if not missing:
        return data
    filled = data.copy()
    for setting in missing:
        filled[SETTING + setting.name] = setting.default_text
    return filled


def text_of(field: forms.BoundField) -> str:
    """The text of a setting's field; its default if it is empty."""
    return str(field.value() or field.field.initial)


class SettingField(forms.CharField):
    """A setting of an algorithm, validated by its settings class."""

    def __init__(self, offer: Algorithm, setting: Setting) -> None:
        widget: forms.Widget = (
            forms.Select(choices=[(choice, choice) for choice in setting.choices])
            if setting.choices
            else forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
        )
        super().__init__(
            label=setting.label,
            help_text=setting.help,
            required=False,
            initial=setting.default_text,
            widget=widget,
            max_length=100,
        )
        self.offer = offer
        self.setting = setting
        self.paper = setting.paper

    def clean(self, value: Any) -> str:
        """The entered text; an empty one stands for the default."""
        text: str = super().clean(value) or self.setting.default_text
        try:
            self.offer.parse({self.setting.name: text})
        except InvalidInputError as error:
            raise ValidationError(str(error)) from error
        return text
