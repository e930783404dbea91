"""The description of a run that checks the port mapping model on a machine, and what it will take."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.model_check import MIX_LENGTHS, ORDER_LENGTHS, most_orders
from inference.core.protocols import Json
from inference.features.inferring.request import (
    DEFAULT_SEED,
    MOST_MIXES,
    SEED_LIMIT,
    read_machine,
    read_schemes,
    read_whole,
)
from inference.features.measure.job import Effort
from inference.formats.run_archive.parts import read_strictly
from inference.models import Machine, PortMapping
from inference.runs.errors import ConfigError
from inference.runs.machines.facts import seconds_for
from inference.runs.stages import ORDERS, RANDOM_MIXES, SINGLETONS

MOST_PERMUTATIONS = 100


@dataclass(frozen=True)
class CheckConfig:
    """What is measured where, and what it is held against.

    `machine`: id. `reference`: id of the port mapping that predicts; None holds single schemes against 1/n
    cycles alone. `schemes` and `scheme_filter` as a measuring run has them. `mixes` random mixes of each
    length; `sequences` experiments of each length in up to `permutations` orders; 0 leaves a stage out. The
    thesis has 5,000, 500 and 10.
    """

    machine: int
    isa: str
    reference: int | None = None
    schemes: str | list[int] = "default"
    scheme_filter: str = ""
    mixes: int = 200
    sequences: int = 50
    permutations: int = 5
    seed: int = DEFAULT_SEED

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of such a run."""
        wanted = ((SINGLETONS, 1), (RANDOM_MIXES, self.mixes), (ORDERS, self.sequences))
        return tuple(stage for stage, number in wanted if number)

    def as_json(self) -> Json:
        """The complete description."""
        return dict(vars(self))


def read_config(config: Json) -> CheckConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    known = CheckConfig.__dataclass_fields__
    unknown = sorted(config.keys() - known.keys())
    if unknown:
        raise ConfigError(
            f"a check of the model has no field {unknown[0]!r}; its fields are {', '.join(known)}"
        )
    machine = read_machine("", config.get("machine"))
    if config.get("isa", machine.isa.name) != machine.isa.name:
        raise ConfigError(f"isa is {config['isa']!r}, but the machine is for {machine.isa.name!r}")
    return CheckConfig(
        machine=machine.pk,
        isa=machine.isa.name,
        reference=_read_reference(config.get("reference"), machine),
        schemes=read_schemes(config.get("schemes", CheckConfig.schemes)),
        scheme_filter=str(config.get("scheme_filter", "")),
        mixes=read_whole("mixes", config.get("mixes", CheckConfig.mixes), 0, MOST_MIXES),
        sequences=read_whole("sequences", config.get("sequences", CheckConfig.sequences), 0, MOST_MIXES),
        permutations=read_whole(
            "permutations", config.get("permutations", CheckConfig.permutations), 2, MOST_PERMUTATIONS
        ),
        seed=read_whole("seed", config.get("seed", DEFAULT_SEED), 0, SEED_LIMIT - 1),
    )


def _read_reference(pk: object, machine: Machine) -> int | None:
    if pk is None:
        return None
    row = PortMapping.objects.filter(pk=pk).first() if type(pk) is int else None
    if row is None:
        raise ConfigError(f"reference: there is no port mapping with the id {pk!r}")
    if row.isa_id != machine.isa_id:
        raise ConfigError(f"reference: {row.name!r} and {machine.name!r} are for different instruction sets")
    return row.pk


def check_effort(machine: Machine, schemes: int, mixes: int, sequences: int, permutations: int) -> Effort:
    """What such a run will take on a machine at most, with so many schemes."""
    mixed = mixes * (len(MIX_LENGTHS) - 1)  # those of one instruction have been measured by then
    ordered = sum(sequences * most_orders(length, permutations) for length in ORDER_LENGTHS)
    experiments = schemes + mixed + ordered
    return Effort(experiments, seconds_for(experiments, machine))


def archived(config: Json) -> Json:
    """The description of a run from elsewhere. Raises `ExchangeError` or `ConfigError`."""
    value = read_strictly(CheckConfig, config, "run.config")
    read_schemes(value.schemes)
    return dict(value.as_json())
