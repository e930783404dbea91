"""The face of an inference algorithm: what a run needs of it, and what the site says of it."""

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
"""Of settings that several algorithms have."""

AlgorithmSettings = PMEvoSettings | CegarSettings | ExplainSettings


@dataclass(frozen=True)
class InferenceTask:
    """What is to be inferred: schemes, complete settings, what is known beforehand, and the seed.

    `known` has the fields of `KnownFacts` as far as there is something to say. `held_out` judges mappings on
    the way. `core`: what is known of the core beside its ports, None for nothing.
    """

    schemes: Sequence[str]
    settings: AlgorithmSettings
    known: Json
    held_out: Sequence[Measured]
    seed: int
    core: WasteSource | None = None


@dataclass(frozen=True)
class Inferred:
    """A mapping, how many experiments it was learnt from, and what else the algorithm has to say about it.

    `report` is kept with the mapping; `told` goes into the run's result, for scripts; `summary` is a line
    for the run's log. `front`: other mappings that it found, more accurate or more compact than one another.
    `explained`: the verdict on every scheme, with its witnesses.
    """

    mapping: PortMapping
    experiments: int
    report: Json
    summary: str
    told: Json = field(default_factory=dict)
    front: Sequence[FrontPoint] = ()
    explained: ExplainResult | None = None


@dataclass(frozen=True)
class Setting:
    """A tunable as the form shows it: help and the paper's value come from the settings class."""

    name: str
    label: str
    help: str
    default: Any
    paper: str
    choices: Sequence[str]

    @property
    def default_text(self) -> str:
        """The default as a field of the form holds it."""
        return as_text(self.default)


def as_text(value: Any) -> str:
    """A setting's value as a field of the form holds it; nothing for None."""
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


class Algorithm(ABC):
    """An inference algorithm. All of them search for the number of ports where none is given.

    Attributes:
        settings: Its settings class, whose fields have `help` and `paper`.
        summary: What the form says of it.
        mixes: How many are measured to judge by, unless the user says.
        exact: It takes measurements at their word: a bottleneck that it is not told of would mislead it.
        knows: What it can make use of that is known of schemes.
        explores: It measures schemes alone and the bottleneck itself; only afterwards it is known which
            schemes can be judged.
        never_held_out: Of recorded data, experiments of up to so many different schemes, which it needs.
        labels: {setting: label} where that is not the setting's name, nor in `LABELS`.
        choices: {setting: values} of settings that have few.
        presets: {name: {setting: text}}; others keep their defaults.
        first: Settings that stand among the main questions.
        groups: {heading: settings} of the others, which are folded, whatever is in none of them last.
        known_help: What is to be said otherwise than usual of the fields for what is known beforehand.
        stopped: What becomes the result of a run that is stopped; "" where nothing could.
        before_mapping: Stages in which there is no mapping yet that could become it.
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
        """The labels of the phases that it tells of with these settings."""

    @abstractmethod
    def effort(
        self, schemes: int, settings: Json, recorded: int | None, processors: int, pace: float
    ) -> tuple[int, float]:
        """How long a run takes: (experiments, seconds).

        Args:
            schemes: How many.
            settings: Complete ones, as JSON.
            recorded: Experiments that there are; None where fresh ones are measured.
            processors: That the search can use.
            pace: Seconds that measuring one experiment takes.
        """

    @abstractmethod
    def infer(
        self, question: InferenceTask, measurer: Measurer, reporter: Reporter, resume: Checkpoint | None
    ) -> Inferred:
        """The port mapping of whatever the measurer measures."""

    @abstractmethod
    def page(self, request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
        """What the template of a run's page needs of it beside what every run's page shows."""

    def check_known(self, known: Json) -> None:
        """Raise `InvalidInputError` for facts about schemes that make no sense, or that it cannot use."""
        others = sorted(known.keys() - set(self.knows))
        if others:
            raise InvalidInputError(f"{self.title} makes no use of {', '.join(others)}: leave it out")

    def tunables(self) -> list[Setting]:
        """All settings in the order of the class."""
        labels = {**LABELS, **self.labels}
        return [
            Setting(
                name=entry.name,
                label=labels.get(entry.name) or entry.name.replace("_", " ").capitalize(),
                help=entry.metadata["help"],
                default=entry.default,
                paper=_paper(entry.metadata["paper"]),
                choices=self.choices.get(
                    entry.name, ("True", "False") if isinstance(entry.default, bool) else ()
                ),
            )
            for entry in dataclasses.fields(self.settings)
        ]

    def parse(self, values: Mapping[str, str]) -> Json:
        """The complete settings as JSON; raises `InvalidInputError`."""
        return self.settings.parse(values).as_json()


def _paper(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else as_text(value)
