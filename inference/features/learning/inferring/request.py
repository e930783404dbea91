"""The description of an inference: read from JSON and checked, made complete; those that a button starts."""

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
    MOST_MIXES,
    MOST_SCHEMES,
    OneOf,
    RequestPart,
    RunRequest,
    Schemes,
    Seed,
    read_row,
    read_rows,
    told_as_flaw,
)

Share = Annotated[float, Field(ge=0, le=0.999)]


class RecordedSource(RequestPart):
    """Experiment sets, of one instruction set."""

    datasets: Annotated[list[int], Field(min_length=1)]


class MachineSource(RequestPart):
    machine: int


class SimulatedSource(RequestPart):
    """A port mapping that is simulated, and how its answers err; see `SimulatedProcessor`."""

    simulate: int
    noise: Share = 0.0
    noise_cpi: Share = 0.0
    outlier_share: Share = 0.0
    odd_share: Share = 0.0
    outlier_factor: Annotated[float, Field(ge=0.01, le=1000)] = 2.0
    counters: Annotated[str, OneOf(COUNTERS)] = NOTHING


def _source_class(source: object) -> str | None:
    """Of the sources, the class of the only one whose key there is; none where there are more."""
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
    """What is known of schemes beforehand, see `CegarProblem` and `ExplainProblem`, by the schemes' texts.

    `uops`: number of µops; `widths`: size of the port set; `improper`: schemes one of whose µops has the
    ports of another; `documented`: ports by name.
    """

    uops: dict[str, int] = {}
    widths: dict[str, int] = {}
    improper: list[str] = []
    documented: dict[str, list[str]] = {}

    @model_serializer
    def stated(self) -> Json:
        """What is known of a scheme at least."""
        return {name: facts for name, facts in self if facts}


class InferConfig(RunRequest):
    """What is inferred, how, from what, and what it is judged by.

    `settings` are those of the algorithm, as text too; a complete description has the number of ports in
    `ports` alone, None where the algorithm shall find it. `scheme_filter` is the search text that ids in
    `schemes` came from. On a machine or a simulation `sample` limits them to so many that can be measured,
    spread evenly over the selection. With data sets, the share `held_out` of the experiments is kept from the
    algorithm unless `evaluate` names a set to judge by; those of up to `never_held_out` different schemes are
    not, since the algorithm needs them. Otherwise `mixes` fresh experiments of five schemes are measured for
    that. `bottleneck`: on a machine with an agent, for an exact algorithm on a simulated processor too, R_max
    is measured where the settings do not give it.
    """

    noun = "an inference run"
    algorithm: Annotated[str, OneOf(ALGORITHMS)] = "pmevo"
    isa: str = ""
    source: Source
    ports: int | None = None
    settings: AlgorithmSettings = Field(default_factory=PMEvoSettings, validate_default=True)
    schemes: Schemes = "all"
    scheme_filter: str = ""
    sample: Annotated[int, Field(ge=1, le=MOST_SCHEMES)] | None = None
    seed: Seed = DEFAULT_SEED
    held_out: Annotated[float, Field(ge=0, le=0.9)] = 0.2
    evaluate: int | None = None
    mixes: Annotated[int, Field(ge=1, le=MOST_MIXES)] = 1000
    bottleneck: bool = True
    known: KnownFacts = KnownFacts()
    never_held_out: Annotated[int, Field(ge=0, le=MOST_SCHEMES)] = 0

    @field_validator("settings", mode="before")
    @classmethod
    def _complete_settings(cls, settings: Any, info: ValidationInfo) -> AlgorithmSettings:
        """With the number of ports that stands beside them: every algorithm has it."""
        algorithm, ports = info.data.get("algorithm"), info.data.get("ports")
        if algorithm is None:  # told by itself
            return PMEvoSettings()
        if isinstance(settings, PMEvoSettings):  # the default
            settings = {}
        if isinstance(settings, Mapping) and ports is not None:
            settings = {**settings, "ports": ports}
        with told_as_flaw():
            return ALGORITHMS[algorithm].settings.parse(settings)

    @field_serializer("settings")
    def _settings_alone(self, settings: AlgorithmSettings) -> Json:
        return {name: value for name, value in vars(settings).items() if name != "ports"}

    @field_validator("known")
    @classmethod
    def _check_known(cls, known: KnownFacts, info: ValidationInfo) -> KnownFacts:
        if (algorithm := info.data.get("algorithm")) is not None:
            with told_as_flaw():
                ALGORITHMS[algorithm].check_known(known.model_dump())
        return known


def read_config(given: Json) -> InferConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = InferConfig.read(given)
    algorithm = ALGORITHMS[config.algorithm]
    source, isa, has_agent = _with_rows(config.source)
    if config.isa not in ("", isa.name):
        raise ConfigError(f"isa is {config.isa!r}, but the source is for {isa.name!r}")
    evaluate = config.evaluate
    if evaluate is not None and read_row(ExperimentSet, "evaluate", evaluate).isa_id != isa.pk:
        raise ConfigError(f"evaluate: the experiment set {evaluate} is not for {isa.name}")
    if isinstance(source, RecordedSource) and evaluate in source.datasets:
        raise ConfigError("evaluate: a set that is learnt from cannot judge the result; choose another one")
    if config.sample is not None and isinstance(source, RecordedSource):
        raise ConfigError("sample: of data sets, all chosen schemes are learnt; choose fewer by a filter")
    _check_schemes(isa, config.known)
    usual: Json = {
        "schemes": "starter" if has_agent else "all",
        "mixes": algorithm.mixes,
        "never_held_out": algorithm.never_held_out,
    }
    defaults = {name: value for name, value in usual.items() if name not in config.model_fields_set}
    return config.model_copy(
        update={**defaults, "isa": isa.name, "source": source, "ports": config.settings.ports}
    )


def _check_schemes(isa: ISA, known: KnownFacts) -> None:
    named = {scheme for facts in known.model_dump().values() for scheme in facts}
    strangers = sorted(named - set(isa.schemes.filter(text__in=named).values_list("text", flat=True)))
    if strangers:
        raise ConfigError(f"known: {isa.name} has no scheme {strangers[0]!r}")


def _with_rows(source: Source) -> tuple[Source, ISA, bool]:
    """The source with each set once, its instruction set, and whether an agent measures."""
    if isinstance(source, MachineSource):
        machine = read_machine("source", source.machine)
        return source, machine.isa, machine.kind == Machine.Kind.AGENT
    if isinstance(source, SimulatedSource):
        return source, read_row(PortMapping, "source simulate", source.simulate).isa, False
    sets = read_rows(ExperimentSet, "source datasets", source.datasets)
    isas = {row.isa_id: row.isa for row in sets}
    if len(isas) > 1:
        names = " and ".join(sorted(isa.name for isa in isas.values()))
        raise ConfigError(f"source datasets are for different instruction sets, {names}: choose those of one")
    return RecordedSource(datasets=[row.pk for row in sets]), sets[0].isa, False


POPULATION = 1000
MIXES = 60  # to judge by: a second or two, not half a minute


def starter_inference(machine: Machine) -> Json:
    """PMEvo on the starter set; what is not said here follows from the machine, its number of ports too.

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
    """Counter-examples on the probes: ports are searched for, R_max is measured."""
    return {
        "algorithm": "cegar",
        "isa": machine.isa.name,
        "source": {"machine": machine.pk},
        "schemes": PROBE_SELECTION,
        "bottleneck": True,
        "mixes": MIXES,
    }


def archived(config: Json) -> Json:
    """The description of an inference from elsewhere, made complete: its rows may be gone, its machine cannot
    be asked. Raises `ExchangeError`.
    """
    value = InferConfig.archived(config, "algorithm", "isa", "source", "settings")
    return value.as_json() | {"ports": value.settings.ports}
