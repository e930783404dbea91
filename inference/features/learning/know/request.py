"""What can be asked of a machine's core as a whole, and the runs that answer it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import Field

from inference.core.protocols import Json
from inference.features.learning.inferring.request import starter_inference
from inference.models import Machine, Run
from inference.models.scheme_search import NAMED_SELECTIONS, latency_schemes
from inference.runs.machines.facts import read_block_machine
from inference.runs.request import RunRequest, Schemes

HOUR, LEAST_MINUTES, MOST_MINUTES = 60, 10, 10_000

MOST_INFERRED = 60
"""Schemes of which a port mapping is inferred from pairs: these grow with the square of their number."""


class KnowConfig(RunRequest):
    """`machine`: id. `schemes` is a selection by word or a list of scheme ids, `scheme_filter` the search
    text that those came from. `isa` is that of the machine. `minutes`: how long it may take; parts that can
    end with what they have are asked to in time for those after them.
    """

    noun = "a run over a whole core"
    machine: int
    isa: str = ""
    schemes: Schemes = "starter"
    scheme_filter: str = ""
    minutes: int = Field(HOUR, ge=LEAST_MINUTES, le=MOST_MINUTES)


def read_config(given: Json) -> KnowConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = KnowConfig.read(given)
    machine = read_block_machine(config.machine)
    return config.model_copy(update={"isa": machine.isa.name})


@dataclass(frozen=True)
class KnowStage:
    """A part of the whole: the kind of its run, for an inference the algorithm, and its description.

    `ends_by`: the share of all the time after which it is asked to end with what it has. `completes`: whether
    it is about the core model that the stages before have made.
    """

    name: str
    label: str
    kind: str
    algorithm: str
    described: Callable[[Machine, KnowConfig], Json]
    ends_by: float = 1.0
    completes: bool = False

    def is_done_by(self, run: Run) -> bool:
        """Whether a run is this part."""
        return run.kind == self.kind and run.config.get("algorithm", "") == self.algorithm


def _ports(machine: Machine, config: KnowConfig) -> Json:
    return {**starter_inference(machine), **_schemes(config), "sample": MOST_INFERRED}


def _explained(machine: Machine, config: KnowConfig) -> Json:
    source = {"machine": machine.pk}
    return {"algorithm": "explain", "isa": machine.isa.name, "source": source, **_schemes(config)}


def _latencies(machine: Machine, config: KnowConfig) -> Json:
    chosen = _schemes(config)
    if config.scheme_filter in NAMED_SELECTIONS and isinstance(config.schemes, list):
        # The shell names all schemes of a selection, which has more of them for latencies.
        more = latency_schemes(machine.isa.schemes.all(), config.scheme_filter).values_list("pk", flat=True)
        chosen |= {"schemes": sorted({*config.schemes, *more})}
    return {"machine": machine.pk, **chosen}


def _whole_core(machine: Machine, _config: KnowConfig) -> Json:
    return {"machine": machine.pk}


def _schemes(config: KnowConfig) -> Json:
    return {"schemes": config.schemes, "scheme_filter": config.scheme_filter}


INFER = "infer"
STAGES = (
    KnowStage("latencies", "Latencies", "latencies", "", _latencies, ends_by=0.5),
    KnowStage("front_end", "Front end", "front-end", "", _whole_core),
    KnowStage("ports", "Ports and slots", INFER, "pmevo", _ports),
    KnowStage("explained", "Explained µops", INFER, "explain", _explained, ends_by=0.75),
    KnowStage("scheduler", "Scheduler", "scheduler", "", _whole_core, completes=True),
)
"""In their order. Each is of use when it is done, whatever becomes of the others; the search for ports tells
waste from µops by latencies and front end."""
