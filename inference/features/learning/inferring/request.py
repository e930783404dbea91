"""The description of an inference: read from JSON and checked, made complete; those that a button starts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from inference.core.errors import InvalidInputError, as_written
from inference.core.protocols import Json
from inference.features.learning.inferring.algorithms import ALGORITHMS, KNOWN
from inference.formats.archived_parts import read_strictly
from inference.measuring.simulated import COUNTERS, NOISE, NOTHING
from inference.models import ISA, ExperimentSet, Machine, PortMapping
from inference.models.scheme_search import PROBE_SELECTION
from inference.runs.described_rows import read_row, read_rows
from inference.runs.errors import ConfigError
from inference.runs.machines.described import read_machine
from inference.runs.request import DEFAULT_SEED, MOST_MIXES, MOST_SCHEMES, SEED_LIMIT, RunRequest, chosen
from inference.runs.selections import read_schemes

_SOURCES = {"datasets": (), "machine": (), "simulate": NOISE}


class InferConfig(RunRequest):
    """What is inferred, how, from what, and what it is judged by.

    `source` is {"datasets": [experiment set ids]}, {"machine": id} or {"simulate": mapping id, "noise": …}
    with whatever else `NOISE` lists. `schemes` is one of `SELECTIONS` or a list of scheme ids;
    `scheme_filter` is the search text that those ids came from. On a machine or a simulation `sample` limits
    them to so many that can be measured, spread evenly over the selection. With data sets, the share
    `held_out` of the experiments is kept from the algorithm unless `evaluate` names a set to judge by; those
    of up to `never_held_out` different schemes are not, since the algorithm needs them. Otherwise `mixes`
    fresh experiments of five schemes are measured for that. `bottleneck`: on a machine with an agent, for an
    exact algorithm on a simulated processor too, R_max is measured where the settings do not give it. `ports`
    is None where the algorithm shall find the number. `known` is what is known of schemes
    beforehand: {"uops": {scheme text: number}, "widths": {scheme text: size of its port set}, "improper":
    [scheme text], "documented": {scheme text: [names of its ports]}}.
    """

    noun = "an inference run"
    algorithm: Annotated[str, AfterValidator(partial(chosen, tuple(ALGORITHMS)))] = "pmevo"
    isa: str = ""
    source: Json = {}
    ports: int | None = None
    settings: Json = {}
    schemes: Any = "all"
    scheme_filter: str = ""
    sample: Annotated[int, Field(ge=1, le=MOST_SCHEMES)] | None = None
    seed: Annotated[int, Field(ge=0, le=SEED_LIMIT - 1)] = DEFAULT_SEED
    held_out: Annotated[float, Field(ge=0, le=0.9)] = 0.2
    evaluate: int | None = None
    mixes: Annotated[int, Field(ge=1, le=MOST_MIXES)] = 1000
    bottleneck: bool = True
    known: Json = {}
    never_held_out: Annotated[int, Field(ge=0, le=MOST_SCHEMES)] = 0


def read_config(given: Json) -> InferConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = InferConfig.read(given)
    algorithm = ALGORITHMS[config.algorithm]
    source, isa = _source(given.get("source"))
    if config.isa not in ("", isa.name):
        raise ConfigError(f"isa is {config.isa!r}, but the source is for {isa.name!r}")
    evaluate = config.evaluate
    if evaluate is not None and read_row(ExperimentSet, "evaluate", evaluate).isa_id != isa.pk:
        raise ConfigError(f"evaluate: the experiment set {evaluate} is not for {isa.name}")
    if evaluate in source.get("datasets", ()):
        raise ConfigError("evaluate: a set that is learnt from cannot judge the result; choose another one")
    if config.sample is not None and "datasets" in source:
        raise ConfigError("sample: of data sets, all chosen schemes are learnt; choose fewer by a filter")
    machine = Machine.objects.get(pk=source["machine"]) if "machine" in source else None
    has_agent = machine is not None and machine.kind == Machine.Kind.AGENT
    ports, settings = _settings(config)
    found: Json = {
        "isa": isa.name,
        "source": source,
        "ports": ports,
        "settings": settings,
        "schemes": read_schemes(given.get("schemes", "starter" if has_agent else "all")),
        "mixes": given.get("mixes", algorithm.mixes),
        "known": _known(config.algorithm, isa, config.known),
        "never_held_out": given.get("never_held_out", algorithm.never_held_out),
    }
    return config.model_copy(update=found)


def _settings(config: InferConfig) -> tuple[int | None, Json]:
    """The number of ports, and the complete settings without it: every algorithm has it."""
    algorithm = ALGORITHMS[config.algorithm]
    ports = config.settings.get("ports") if config.ports is None else config.ports
    try:
        complete = algorithm.settings({**config.settings, "ports": ports})
    except InvalidInputError as error:
        raise ConfigError(f"settings: {error}") from error
    return complete.pop("ports"), complete


def _known(algorithm: str, isa: ISA, given: object) -> Json:
    """What is known of schemes that there are. Raises `ConfigError`."""
    known = read_known(algorithm, given)
    named = {scheme for facts in known.values() for scheme in facts}
    strangers = sorted(named - set(isa.schemes.filter(text__in=named).values_list("text", flat=True)))
    if strangers:
        raise ConfigError(f"known: {isa.name} has no scheme {strangers[0]!r}")
    return known


def read_known(algorithm: str, given: object) -> Json:
    """What is known of schemes, whatever these are, without what says nothing. Raises `ConfigError`."""
    if not isinstance(given, Mapping) or not given.keys() <= set(KNOWN):
        raise ConfigError(f"known must be an object with {', '.join(KNOWN)}, not {as_written(given)}")
    shapes: dict[str, Any] = {"uops": Mapping, "widths": Mapping, "improper": list, "documented": Mapping}
    for name, facts in given.items():
        if not isinstance(facts, shapes[name]) or not all(isinstance(scheme, str) for scheme in facts):
            wanted = "a list of schemes" if shapes[name] is list else "an object of schemes and numbers"
            raise ConfigError(f"known {name} must be {wanted}, not {as_written(facts)}")
    known: Json = {
        name: list(facts) if name == "improper" else dict(facts) for name, facts in given.items() if facts
    }
    try:
        ALGORITHMS[algorithm].check_known(known)
    except InvalidInputError as error:
        raise ConfigError(f"known: {error}") from error
    return known


def source_kind(given: object) -> str:
    """Which of the sources it is; `given` has nothing that does not go with it. Raises `ConfigError`."""
    kinds = ", ".join(_SOURCES)
    if not isinstance(given, Mapping) or len(given.keys() & _SOURCES.keys()) != 1:
        raise ConfigError(f"source must say exactly one of {kinds}, not {as_written(given)}")
    kind: str = next(iter(given.keys() & _SOURCES.keys()))
    unknown = sorted(given.keys() - {kind} - set(_SOURCES[kind]))
    if unknown:
        raise ConfigError(f"source: {unknown[0]!r} does not go with {kind}")
    return kind


def _source(given: Any) -> tuple[Json, ISA]:
    kind = source_kind(given)
    if kind == "datasets":
        return _datasets(given["datasets"])
    if kind == "machine":
        machine = read_machine("source", given["machine"])
        return {"machine": machine.pk}, machine.isa
    mapping = read_row(PortMapping, "source simulate", given["simulate"])
    return {"simulate": mapping.pk, **read_noise(given)}, mapping.isa


def read_noise(given: Mapping[str, Any]) -> Json:
    """What a simulation is told beside its mapping, made complete. Raises `ConfigError`."""
    simulation: Json = {
        name: _number(f"source {name}", given.get(name, 0.0), 0.0, 0.999)
        for name in ("noise", "noise_cpi", "outlier_share", "odd_share")
    }
    simulation["outlier_factor"] = _number(
        "source outlier_factor", given.get("outlier_factor", 2.0), 0.01, 1000.0
    )
    simulation["counters"] = given.get("counters", NOTHING)
    if simulation["counters"] not in COUNTERS:
        shown = as_written(simulation["counters"])
        raise ConfigError(f"source counters must be one of {', '.join(COUNTERS)}, not {shown}")
    return simulation


def _datasets(ids: object) -> tuple[Json, ISA]:
    sets = read_rows(ExperimentSet, "source datasets", ids, least=1)
    isas = {row.isa_id: row.isa for row in sets}
    if len(isas) > 1:
        names = " and ".join(sorted(isa.name for isa in isas.values()))
        raise ConfigError(f"source datasets are for different instruction sets, {names}: choose those of one")
    return {"datasets": [row.pk for row in sets]}, sets[0].isa


def _number(field: str, value: Any, low: float, high: float) -> float:
    if type(value) not in (int, float) or not low <= value <= high:
        raise ConfigError(f"{field} must be a number from {low:g} to {high:g}, not {as_written(value)}")
    return float(value)


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


_SOURCE_SHAPES: dict[str, Any] = {
    "datasets": Annotated[list[int], Field(min_length=1)],
    "machine": int,
    "simulate": int,
}
"""Numbers of rows."""


def archived(config: Json) -> Json:
    """The description of an inference from elsewhere, made complete: its rows may be gone, its machine cannot
    be asked. Raises `ExchangeError` or `ConfigError`.
    """
    value = InferConfig.archived(config, "algorithm", "isa", "source", "settings")
    if value.algorithm not in ALGORITHMS:
        raise ConfigError(f"there is no algorithm {value.algorithm!r}; there are {', '.join(ALGORITHMS)}")
    algorithm = ALGORITHMS[value.algorithm]
    settings = algorithm.settings({**value.settings, "ports": value.ports})
    ports = settings.pop("ports")
    read_schemes(value.schemes)
    return value.as_json() | {
        "source": _archived_source(value.source),
        "settings": settings,
        "ports": ports,
        "known": read_known(value.algorithm, value.known),
    }


def _archived_source(given: Json) -> Json:
    kind = source_kind(given)
    read_strictly(_SOURCE_SHAPES[kind], given[kind], f"run.config.source.{kind}")
    return {**given, **read_noise(given)} if kind == "simulate" else given
