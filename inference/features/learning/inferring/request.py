"""Configuration of an inference: parsed from JSON, validated and completed; default configurations of quick
starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_serializer,
)

from inference.core.pmevo import PMEvoSettings
from inference.core.protocols import Json
from inference.features.learning.inferring.algorithm import AlgorithmSettings
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.measuring.simulated import COUNTERS, NOTHING
from inference.models import ISA, ExperimentSet, Machine, PortMapping
from inference.models.scheme_search import PROBE_SELECTION
from inference.runs.errors import ConfigError
from inference.runs.machines.facts import read_machine
from inference.runs.request import (
    DEFAULT_SEED,
    MAX_MIXES,
    MAX_SCHEMES,
    AllowedTexts,
    RequestPart,
    RunRequest,
    Schemes,
    Seed,
    as_field_error,
    read_row,
    read_rows,
)

Share = Annotated[float, Field(ge=0, le=0.999)]


POPULATION = 1000
MIXES = 60  # for judging: takes seconds, while the default of 1000 takes half a minute


class RecordedSource(RequestPart):
    """Experiment sets, of one instruction set."""

    datasets: Annotated[list[int], Field(min_length=1)]


class MachineSource(RequestPart):
    machine: int


class SimulatedSource(RequestPart):
    """A simulated port mapping with the errors of its answers; see `SimulatedProcessor`."""

    simulate: int
    noise: Share = 0.0
    noise_cpi: Share = 0.0
    outlier_share: Share = 0.0
    odd_share: Share = 0.0
    outlier_factor: Annotated[float, Field(ge=0.01, le=1000)] = 2.0
    counters: Annotated[str, AllowedTexts(COUNTERS)] = NOTHING


def _source_class(source: object) -> str | None:
    """The class of the source whose key is present; None if there are none or several."""
    keys = source if isinstance(source, Mapping) else vars(source) if isinstance(source, RequestPart) else ()
    classes = [cls.__name__ for cls in (RecordedSource, MachineSource, SimulatedSource) if cls.key() in keys]
    return classes[0] if len(classes) == 1 else None


Source = Annotated[
    Annotated[RecordedSource, Tag("RecordedSource")]
    | Annotated[MachineSource, Tag("MachineSource")]
    | Annotated[SimulatedSource, Tag("SimulatedSource")],
    Discriminator(_source_class),
]


class KnownFacts(RequestPart):
    """Facts about schemes, by their texts; see `CegarProblem` and `ExplainProblem`.

    Attributes:
        uops: Number of µops.
        widths: Size of the port set.
        improper: Schemes one of whose µops has the ports of another scheme.
        documented: Port names.
    """

    uops: dict[str, int] = {}
    widths: dict[str, int] = {}
    improper: list[str] = []
    documented: dict[str, list[str]] = {}

    @model_serializer
    def stated(self) -> Json:
        """The facts that are not empty."""
        return {name: facts for name, facts in self if facts}


class InferConfig(RunRequest):
    """Configuration of an inference.

    `settings` are the algorithm's, as text too; a complete configuration has the number of ports only in
    `ports`, None if the algorithm searches for it. `scheme_filter` is the search text of the ids in
    `schemes`. On a machine or a simulation, `sample` limits the schemes, spread evenly over the selection.
    With data sets, the share `held_out` of the experiments is held out unless `evaluate` names a set to judge
    by; experiments of up to `never_held_out` distinct schemes are not held out, because the algorithm needs
    them. Otherwise `mixes` fresh experiments of five schemes are measured for judging. `bottleneck`: R_max is
    measured if the settings do not give it, on a machine with an agent, and for exact algorithms on a
    simulated processor.
    """

    noun = "an inference run"
    algorithm: Annotated[str, AllowedTexts(ALGORITHMS)] = "pmevo"
    isa: str = ""
    source: Source
    ports: int | None = None
    settings: AlgorithmSettings = Field(default_factory=PMEvoSettings, validate_default=True)
    schemes: Schemes = "all"
    scheme_filter: str = ""
    sample: Annotated[int, Field(ge=1, le=MAX_SCHEMES)] | None = None
    seed: Seed = DEFAULT_SEED
    held_out: Annotated[float, Field(ge=0, le=0.9)] = 0.2
    evaluate: int | None = None
    mixes: Annotated[int, Field(ge=1, le=MAX_MIXES)] = 1000
    bottleneck: bool = True
    known: KnownFacts = KnownFacts()
    never_held_out: Annotated[int, Field(ge=0, le=MAX_SCHEMES)] = 0

    @field_validator("settings", mode="before")
    @classmethod
    def _complete_settings(cls, settings: Any, info: ValidationInfo) -> AlgorithmSettings:
        """The algorithm's settings, completed by `ports`."""
        algorithm, ports = info.data.get("algorithm"), info.data.get("ports")
        if algorithm is None:  # `algorithm` has its own error
            return PMEvoSettings()
        if isinstance(settings, PMEvoSettings):  # the default
            settings = {}
        if isinstance(settings, Mapping) and ports is not None:
            settings = {**settings, "ports": ports}
        with as_field_error():
            return ALGORITHMS[algorithm].settings.parse(settings)

    @field_serializer("settings")
    def _settings_alone(self, settings: AlgorithmSettings) -> Json:
        return {name: value for name, value in vars(settings).items() if name != "ports"}

    @field_validator("known")
    @classmethod
    def _check_known(cls, facts: KnownFacts, info: ValidationInfo) -> KnownFacts:
        if (algorithm := info.data.get("algorithm")) is not None:
            with as_field_error():
                ALGORITHMS[algorithm].check_known(facts.model_dump())
        return facts


def read_config(config_json: Json) -> InferConfig:
    """Validates and completes a configuration. Raises `ConfigError` naming the field."""
    config = InferConfig.read(config_json)
    algorithm = ALGORITHMS[config.algorithm]
    source, isa, has_agent = _with_rows(config.source)
    if config.isa not in ("", isa.name):
        raise ConfigError(f"isa is {config.isa!r}, but the source is for {isa.name!r}")
    evaluate = config.evaluate
    if evaluate is not None and read_row(ExperimentSet, "evaluate", evaluate).isa_id != isa.pk:
        raise ConfigError(f"evaluate: the experiment set {evaluate} is not for {isa.name}")
    if isinstance(source, RecordedSource) and evaluate in source.datasets:
        raise ConfigError("evaluate: choose a set that is not learnt from")
    if config.sample is not None and isinstance(source, RecordedSource):
        raise ConfigError("sample: with data sets, all selected schemes are learnt; select fewer by a filter")
    _check_schemes(isa, config.known)
    preset: Json = {
        "schemes": "starter" if has_agent else "all",
        "mixes": algorithm.mixes,
        "never_held_out": algorithm.never_held_out,
    }
    defaults = {name: value for name, value in preset.items() if name not in config.model_fields_set}
    return config.model_copy(
        update={**defaults, "isa": isa.name, "source": source, "ports": config.settings.ports}
    )


def _check_schemes(isa: ISA, known_facts: KnownFacts) -> None:
    names = {scheme for facts in known_facts.model_dump().values() for scheme in facts}
    unknown = sorted(names - set(isa.schemes.filter(text__in=names).values_list("text", flat=True)))
    if unknown:
        raise ConfigError(f"known: {isa.name} has no scheme {unknown[0]!r}")


def _with_rows(source: Source) -> tuple[Source, ISA, bool]:
    """(source without repeated sets, instruction set, whether an agent measures)."""
    if isinstance(source, MachineSource):
        machine = read_machine("source", source.machine)
        return source, machine.isa, machine.kind == Machine.Kind.AGENT
    if isinstance(source, SimulatedSource):
        return source, read_row(PortMapping, "source simulate", source.simulate).isa, False
    sets = read_rows(ExperimentSet, "source datasets", source.datasets)
    isas = {row.isa_id: row.isa for row in sets}
    if len(isas) > 1:
        names = " and ".join(sorted(isa.name for isa in isas.values()))
        raise ConfigError(f"source datasets are for different instruction sets, {names}: choose sets of one")
    return RecordedSource(datasets=[row.pk for row in sets]), sets[0].isa, False


def starter_inference(machine: Machine) -> Json:
    """PMEvo on the starter set, with defaults of the machine, and a searched number of ports.

    With so few schemes a larger population costs half a minute and predicts clearly better.
    """
    return {
        "algorithm": "pmevo",
        "isa": machine.isa.name,
        "source": {"machine": machine.pk},
        "schemes": "starter",
        "bottleneck": True,
        "settings": {"population": POPULATION},
    }


def search_for_ports(machine: Machine) -> Json:
    """A search by counter-examples on the probes, with measured R_max."""
    return {
        "algorithm": "cegar",
        "isa": machine.isa.name,
        "source": {"machine": machine.pk},
        "schemes": PROBE_SELECTION,
        "bottleneck": True,
        "mixes": MIXES,
    }


def archived(config: Json) -> Json:
    """Completes the configuration of an imported inference, whose rows may be missing and whose machine
    cannot measure. Raises `ExchangeError`.
    """
    value = InferConfig.from_archive(config, "algorithm", "isa", "source", "settings")
    return value.as_json() | {"ports": value.settings.ports}
