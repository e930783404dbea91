"""What an inference run learns from and what it is judged by: recorded data, a machine, or a simulation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from django.db.models import Model

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as MappingValue
from inference.core.protocols import Measurer
from inference.exchange.parsing import AnyNames, parse
from inference.exchange.recorded import recorded_shares, selected_schemes
from inference.exchange.stored import load_mapping, load_measurements
from inference.measuring.cached import CachedMeasurer
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.simulated import SimulatedProcessor
from inference.models import ISA, ExperimentSet, Machine, PortMapping
from inference.runs.errors import JobError
from inference.runs.job import Task
from inference.runs.jobs.infer_config import NOISE, InferConfig
from inference.runs.measurements import RunMeasurements

Row = TypeVar("Row", bound=Model)

MIX_LENGTH = 5
_SPARE_MIXES = 1000  # draws that make repeats among few schemes unimportant
MIXES = "five-scheme mixes"
MEASUREMENTS = "measurements"


@dataclass(frozen=True)
class Subject:
    """The processor in question as a run sees it.

    `held_out` are the results that the mapping is judged by; `judged_on` is the set they are from, None
    where they are a share of the training data. `machine` is what was measured, where that is known.
    """

    isa: ISA
    schemes: tuple[str, ...]
    measurer: Measurer
    held_out: tuple[Measured, ...]
    judged_on: ExperimentSet | None
    machine: Machine | None


def open_subject(task: Task, config: InferConfig) -> Subject:
    """Load the data, or measure what the mapping will be judged by. Raises `JobError` where rows are gone."""
    isa = ISA.objects.get(name=config.isa)
    judged_on = None
    if config.evaluate is not None:
        judged_on = _existing(ExperimentSet.objects.filter(pk=config.evaluate).first(), "evaluation set")
    if "datasets" in config.source:
        return _recorded(config, isa, judged_on)
    return _measured(task, config, isa, judged_on)


def _recorded(config: InferConfig, isa: ISA, judged_on: ExperimentSet | None) -> Subject:
    sets = list(ExperimentSet.objects.filter(pk__in=config.source["datasets"]))
    if len(sets) < len(config.source["datasets"]):
        raise JobError("an experiment set that this run was to learn from has been deleted")
    share = config.held_out if judged_on is None else 0.0
    shares = recorded_shares(sets, config.schemes, share, config.seed)
    results = [row.value for row in shares.training]
    if not results:
        raise JobError("the experiment sets have no usable measurement of the chosen schemes alone")
    if judged_on is None:
        held_out = tuple(row.value for row in shares.held_out)
    else:
        held_out = tuple(load_measurements(judged_on))
    machines = {row.machine for row in sets}
    return Subject(
        isa=isa,
        schemes=tuple(sorted({scheme for result in results for scheme in result.experiment.schemes})),
        measurer=RecordedMeasurer(results),
        held_out=held_out,
        judged_on=judged_on,
        machine=machines.pop() if len(machines) == 1 else None,
    )


def _measured(task: Task, config: InferConfig, isa: ISA, judged_on: ExperimentSet | None) -> Subject:
    processor, known, machine = _processor(config)
    wanted = selected_schemes(isa, config.schemes)
    schemes = tuple(sorted(known if wanted is None else known & wanted))
    if not schemes:
        raise JobError("none of the chosen schemes can be measured there")
    remember = partial(RunMeasurements, task.lease, isa, processor.identity, machine=machine)
    if judged_on is None:
        mixes = remember(purpose=MIXES)
        results = _ask(
            task, CachedMeasurer(processor, mixes), five_scheme_mixes(schemes, config.mixes, config.seed)
        )
        judged_on = mixes.experiment_set
    else:
        results = load_measurements(judged_on)
    return Subject(
        isa=isa,
        schemes=schemes,
        measurer=CachedMeasurer(processor, remember(purpose=MEASUREMENTS)),
        held_out=tuple(results),
        judged_on=judged_on,
        machine=machine,
    )


def five_scheme_mixes(schemes: Sequence[str], n: int, seed: int) -> list[Experiment]:
    """Up to n distinct random multisets of five schemes, as §5.2 judges by; fewer where there are fewer."""
    random = np.random.default_rng([seed, MIX_LENGTH])
    picks = random.integers(0, len(schemes), size=(4 * n + _SPARE_MIXES, MIX_LENGTH))
    mixes = dict.fromkeys(Experiment.of([schemes[k] for k in row]) for row in picks)
    return list(mixes)[:n]


def _ask(task: Task, measurer: Measurer, experiments: Sequence[Experiment]) -> list[Measured]:
    results = []
    for result in measurer.measure(experiments):
        results.append(result)
        task.reporter.pulse()
    settled = sum(result.usable for result in results)
    text = f"{len(results)} {MIXES} measured to judge the mapping by, {settled} of them usable"
    task.reporter.tell("log", {"level": "info", "text": text})
    return results


def _processor(config: InferConfig) -> tuple[SimulatedProcessor, set[str], Machine | None]:
    """Who measures, the schemes it knows, and the machine it stands for."""
    noise = {name: config.source[name] for name in NOISE if name in config.source}
    machine, seed = None, config.seed
    if "machine" in config.source:
        machine = _existing(Machine.objects.filter(pk=config.source["machine"]).first(), "machine")
        mapping = _truth(machine)
        noise = {name: machine.facts[name] for name in NOISE if name in machine.facts}
        seed = machine.facts.get("seed", 0)
    else:
        row = PortMapping.objects.filter(pk=config.source["simulate"]).first()
        mapping = load_mapping(_existing(row, "port mapping"))
    known = {scheme for scheme, uops in mapping.usage.items() if uops}
    return SimulatedProcessor(mapping, seed=seed, **noise), known, machine


def _truth(machine: Machine) -> MappingValue:
    """The port mapping that a simulated machine keeps as a document of the exchange."""
    document = json.dumps(machine.facts.get("mapping")).encode()
    parsed = parse(document, f"the mapping of {machine.name}", AnyNames())
    if parsed.mapping is None:
        raise JobError("; ".join(parsed.lines()) or f"the machine {machine.name!r} has no port mapping")
    return parsed.mapping


def _existing(row: Row | None, what: str) -> Row:
    if row is None:
        raise JobError(f"the {what} that this run needs has been deleted")
    return row
