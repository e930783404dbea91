"""Configuration of a profile, and its stages with the configurations of their runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import Field

from inference.core.protocols import Json
from inference.features.learning.inferring.request import starter_inference
from inference.models import Machine, Run
from inference.models.scheme_search import NAMED_SELECTIONS, latency_schemes
from inference.runs.machines.facts import read_block_machine
from inference.runs.request import RowId, RunRequest, Schemes

HOUR, MIN_MINUTES, MAX_MINUTES = 60, 10, 10_000

SCHEDULER_SECONDS = 60
"""Time limit of the search for a scheduler, without its measurements."""

MAX_INFERRED = 60
"""Number of sampled schemes for the inference from pairs, whose number grows quadratically."""


class KnowConfig(RunRequest):
    """Configuration of a profile.

    `machine`: id. `schemes` is a selection by word or a list of scheme ids, `scheme_filter` the search text
    of that list. `isa` is the machine's. `minutes`: time limit; parts that can end early are stopped in time
    for later ones. `measure_again`: no earlier results are reused. `reused`, filled in when a run is
    submitted: {stage: id of the run whose result takes the place of a part}.
    """

    noun = "a profile of a core"
    machine: int
    isa: str = ""
    schemes: Schemes = "starter"
    scheme_filter: str = ""
    minutes: int = Field(HOUR, ge=MIN_MINUTES, le=MAX_MINUTES)
    measure_again: bool = False
    reused: dict[str, RowId] = Field(default_factory=dict)


def read_config(config_json: Json) -> KnowConfig:
    """Validates and completes a configuration. Raises `ConfigError` naming the field."""
    config = KnowConfig.read(config_json)
    machine = read_block_machine(config.machine)
    return config.model_copy(update={"isa": machine.isa.name})


@dataclass(frozen=True)
class KnowStage:
    """A stage: the kind of its run, the algorithm of an inference, and the function that makes the run's
    configuration.

    Attributes:
        ends_by: The share of the time limit after which it must end.
        completes: Whether it extends the core model of the earlier stages.
    """

    name: str
    label: str
    kind: str
    algorithm: str
    config_of: Callable[[Machine, KnowConfig], Json]
    ends_by: float = 1.0
    completes: bool = False

    def is_done_by(self, run: Run) -> bool:
        return run.kind == self.kind and run.config.get("algorithm", "") == self.algorithm


def _ports(machine: Machine, config: KnowConfig) -> Json:
    return {**starter_inference(machine), **_schemes(config), "sample": MAX_INFERRED}


def _explain(machine: Machine, config: KnowConfig) -> Json:
    source = {"machine": machine.pk}
    return {"algorithm": "explain", "isa": machine.isa.name, "source": source, **_schemes(config)}


def _latencies(machine: Machine, config: KnowConfig) -> Json:
    selection = _schemes(config)
    if config.scheme_filter in NAMED_SELECTIONS and isinstance(config.schemes, list):
        # The shell resolves selections to ids; latencies can be measured of more schemes.
        ids = latency_schemes(machine.isa.schemes.all(), config.scheme_filter).values_list("pk", flat=True)
        selection |= {"schemes": sorted({*config.schemes, *ids})}
    return {"machine": machine.pk, **selection}


def _machine_config(machine: Machine, _config: KnowConfig) -> Json:
    return {"machine": machine.pk}


def _scheduler(machine: Machine, _config: KnowConfig) -> Json:
    return {"machine": machine.pk, "seconds": SCHEDULER_SECONDS}


def _schemes(config: KnowConfig) -> Json:
    return {"schemes": config.schemes, "scheme_filter": config.scheme_filter}


INFER = "infer"
STAGES = (
    KnowStage("latencies", "Latencies", "latencies", "", _latencies, ends_by=0.5),
    KnowStage("front_end", "Front end", "front-end", "", _machine_config),
    KnowStage("ports", "Ports and slots", INFER, "pmevo", _ports),
    KnowStage("explained", "Explained µops", INFER, "explain", _explain, ends_by=0.75),
    KnowStage("scheduler", "Scheduler", "scheduler", "", _scheduler, completes=True),
)
"""In order. Latencies and front end come first because the inference of ports needs them to tell lost cycles
from µops; each stage is useful even if later ones fail.
"""
