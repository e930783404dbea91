"""The interface of inference algorithms: execution by runs, and texts for forms and pages."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inference.core.cegar import CegarSettings
from inference.core.errors import InvalidInputError
from inference.core.experiment import Measured
from inference.core.explain import ExplainResult, ExplainSettings
from inference.core.mapping import PortMapping
from inference.core.pmevo import FrontPoint, PMEvoSettings
from inference.core.protocols import Checkpoint, Json, Measurer, Reporter
from inference.core.waste import WasteSource

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.running.runs.record import RunRecord
    from inference.models import Run

LABELS = {
    "r_max": "R_max",
    "seconds": "Time limit in seconds",
    "most_ports": "Maximum ports",
    "widest": "Maximum ports per µop",
    "epsilon": "Noise ε",
    "alternatives": "Alternatives to list",
}
"""{setting: label} of settings that several algorithms have."""

AlgorithmSettings = PMEvoSettings | CegarSettings | ExplainSettings


@dataclass(frozen=True)
class InferenceTask:
    """The input of an inference.

    `known` has the fields of `KnownFacts` that are not empty.

    Attributes:
        held_out: Measurements for judging mappings during the search.
        core: Facts about the core besides its ports, None without any.
    """

    schemes: Sequence[str]
    settings: AlgorithmSettings
    known: Json
    held_out: Sequence[Measured]
    seed: int
    core: WasteSource | None = None


@dataclass(frozen=True)
class Inference:
    """The output of an inference: a mapping and the number of experiments that it was learnt from.

    `report` is stored with the mapping; `result_facts` are added to the run's result, for scripts;
    `summary` is a line of the run's log.

    Attributes:
        front: Further mappings, each more accurate or smaller than the others.
        explained: The verdict on every scheme, with its witnesses.
    """

    mapping: PortMapping
    experiments: int
    report: Json
    summary: str
    result_facts: Json = field(default_factory=dict)
    front: Sequence[FrontPoint] = ()
    explained: ExplainResult | None = None


@dataclass(frozen=True)
class Setting:
    """A setting in the form. `help` and `paper` (the paper's value) come from the settings class."""

    name: str
    label: str
    help: str
    default: Any
    paper: str
    choices: Sequence[str]

    @property
    def default_text(self) -> str:
        return setting_text(self.default)


def setting_text(value: Any) -> str:
    """A setting's value as the form's text; "" for None."""
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


class Algorithm(ABC):
    """An inference algorithm. Without a given number of ports, every algorithm searches for it.

    Attributes:
        settings: Its settings class, whose fields have `help` and `paper`.
        summary: Its description in the form.
        mixes: Default number of mixes that are measured for judging.
        exact: Whether it treats measurements as exact, so that an unknown bottleneck would mislead it.
        knows: Facts about schemes that it can use.
        explores: Whether it measures schemes alone and the bottleneck itself, so that the schemes for judging
            are known only afterwards.
        never_held_out: Recorded experiments of at most this many distinct schemes are never held out, because
            it needs them.
        labels: {setting: label}, unless it is the setting's name or in `LABELS`.
        choices: {setting: values} of settings with few values.
        presets: {name: {setting: text}}; other settings keep their defaults.
        first: Settings among the form's main questions.
        groups: {heading: settings} of the other settings, which are folded; ungrouped ones come last.
        known_help: {fact: help text} that differs from the default.
        stopped: The result of a stopped run as text; "" if it has none.
        before_mapping: Stages before the first mapping, in which stopping gives no result.
    """

    key: str
    title: str
    settings: type[AlgorithmSettings]
    summary: str
    mixes: int = 1000
    exact: bool = False
    knows: Sequence[str] = ()
    explores: bool = False
    never_held_out: int = 0
    labels: Mapping[str, str] = {}
    choices: Mapping[str, Sequence[str]] = {}
    presets: Mapping[str, Mapping[str, str]] = {}
    first: Sequence[str] = ()
    groups: Mapping[str, Sequence[str]] = {}
    known_help: Mapping[str, str] = {}
    stopped: str = ""
    before_mapping: Sequence[str] = ()

    @abstractmethod
    def stages(self, settings: AlgorithmSettings) -> tuple[str, ...]:
        """The labels of the stages that it reports with these settings."""

    @abstractmethod
    def effort(
        self, schemes: int, settings: Json, recorded: int | None, processors: int, pace: float
    ) -> tuple[int, float]:
        """An estimate of a run's effort.

        Args:
            schemes: Number of schemes.
            settings: Complete settings, as JSON.
            recorded: Number of recorded experiments; None if fresh ones are measured.
            processors: Processors for the search.
            pace: Seconds per measured experiment.

        Returns:
            (experiments, seconds).
        """

    @abstractmethod
    def infer(
        self, question: InferenceTask, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inference:
        """Infers the port mapping of the measured processor; with a checkpoint, resumes from there."""

    @abstractmethod
    def page(self, request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
        """Additional context of a run's page."""

    def check_known(self, facts: Json) -> None:
        """Raises `InvalidInputError` for invalid facts about schemes, or facts that the algorithm cannot
        use.
        """
        unusable = sorted(facts.keys() - set(self.knows))
        if unusable:
            raise InvalidInputError(f"{self.title} cannot use {', '.join(unusable)}: omit it")

    def tunables(self) -> list[Setting]:
        """All settings, in the order of the settings class."""
        labels = {**LABELS, **self.labels}
        return [
            Setting(
                name=setting_field.name,
                label=labels.get(setting_field.name) or setting_field.name.replace("_", " ").capitalize(),
                help=setting_field.metadata["help"],
                default=setting_field.default,
                paper=_paper(setting_field.metadata["paper"]),
                choices=self.choices.get(
                    setting_field.name, ("True", "False") if isinstance(setting_field.default, bool) else ()
                ),
            )
            for setting_field in dataclasses.fields(self.settings)
        ]

    def parse(self, values: Mapping[str, str]) -> Json:
        """The complete settings as JSON; raises `InvalidInputError`."""
        return self.settings.parse(values).as_json()


def _paper(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else setting_text(value)
