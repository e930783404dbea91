"""The description of a run that checks the port mapping model on a machine, and what it will take."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from inference.core.model_check import MIX_LENGTHS, ORDER_LENGTHS, most_orders
from inference.core.protocols import Json
from inference.features.machines.measure.request import Effort
from inference.models import Machine, PortMapping
from inference.runs.errors import ConfigError
from inference.runs.machines.facts import read_machine, seconds_for
from inference.runs.request import DEFAULT_SEED, MOST_MIXES, RunRequest, Schemes, Seed
from inference.runs.stages import ORDERS, RANDOM_MIXES, SINGLETONS

MOST_PERMUTATIONS = 100


class CheckConfig(RunRequest):
    """What is measured where, and what it is held against.

    `machine`: id. `reference`: id of the port mapping that predicts; None holds single schemes against 1/n
    cycles alone. `schemes` and `scheme_filter` as a measuring run has them. `mixes` random mixes of each
    length; `sequences` experiments of each length in up to `permutations` orders; 0 leaves a stage out. The
    thesis has 5,000, 500 and 10.
    """

    noun = "a check of the model"
    machine: int
    isa: str = ""
    reference: int | None = None
    schemes: Schemes = "default"
    scheme_filter: str = ""
    mixes: Annotated[int, Field(ge=0, le=MOST_MIXES)] = 200
    sequences: Annotated[int, Field(ge=0, le=MOST_MIXES)] = 50
    permutations: Annotated[int, Field(ge=2, le=MOST_PERMUTATIONS)] = 5
    seed: Seed = DEFAULT_SEED

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of such a run."""
        wanted = ((SINGLETONS, 1), (RANDOM_MIXES, self.mixes), (ORDERS, self.sequences))
        return tuple(stage for stage, number in wanted if number)


def read_config(given: Json) -> CheckConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = CheckConfig.read(given)
    machine = read_machine("", config.machine, config.isa)
    found = {"isa": machine.isa.name}
    return config.model_copy(update=found | {"reference": _read_reference(config.reference, machine)})


def _read_reference(pk: int | None, machine: Machine) -> int | None:
    if pk is None:
        return None
    row = PortMapping.objects.filter(pk=pk).first()
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
    return CheckConfig.archived(config, "isa").as_json()
