"""Measuring the experiments behind a result again: available machines, runs, and results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.http import HttpRequest

from inference.core.experiment import Experiment
from inference.core.explain import Witness
from inference.core.explain.repeated_witness import RepeatedWitness, repeat_witness
from inference.features.machines.machines.query import machines
from inference.features.machines.measure.request import listed_config
from inference.models import ISA, ExperimentSet, Machine, Measurement, PortMapping, Run
from inference.models import Experiment as ExperimentRow
from inference.runs.machines.facts import obstacle_to_measuring
from inference.storage.names import processor_name, result_name
from inference.storage.rows import BATCH, experiment_key, ids_of_schemes
from inference.web.api.errors import ProblemError
from inference.web.request_fields import start_run
from inference.web.validation import row_id_or_none

PLAN = {"kind": "measure", "config__plan": "listed"}
"""Filter of runs that measure listed experiments; see `inference.features.machines.measure.job`."""

_LATEST = 200  # newest runs and sets that are searched


@dataclass(frozen=True)
class MachineOptions:
    """Machines for measuring again.

    Attributes:
        able: Available ones, the mapping's machine first.
        lacking: Per other machine, why it is unavailable and what would help.
    """

    able: Sequence[Machine]
    lacking: Sequence[str]


def machine_options(row: PortMapping) -> MachineOptions:
    able, lacking = [], []
    for machine in machines().filter(isa=row.isa).exclude(kind=Machine.Kind.PUBLISHED):
        if obstacle := obstacle_to_measuring(machine):
            lacking.append(obstacle)
        elif machine.kind == Machine.Kind.SIMULATED or machine.is_online():
            able.append(machine)
        else:
            lacking.append(f"the agent of {machine.name!r} is not connected: start it on that computer")
    return MachineOptions(sorted(able, key=lambda machine: machine.pk != row.machine_id), lacking)


def measure_listed(
    request: HttpRequest, machine: Machine, experiments: Sequence[Experiment], repeats: int, description: str
) -> Run | None:
    """Starts a run that measures each experiment `repeats` times; None after an error message."""
    config = listed_config(machine.pk, experiments, repeats)
    return start_run(request, "measure", config, result_name(processor_name(machine), description))


def posted_number(request: HttpRequest, name: str) -> int:
    """The posted row id; -1, which no row has, for an invalid one."""
    number = row_id_or_none(request.POST.get(name, ""))
    return -1 if number is None else number


def machine_of(row: PortMapping, machine_id: int) -> Machine:
    """A machine of the mapping's instruction set. Raises `ProblemError` (422)."""
    machine = Machine.objects.filter(pk=machine_id, isa=row.isa_id).first()
    if machine is None:
        raise ProblemError(
            422,
            f"There is no machine {machine_id} for {row.isa.name}",
            where="body machine",
            right="a machine of the mapping's instruction set",
        )
    return machine


@dataclass(frozen=True)
class Remeasured:
    """A witness measured again in one set: medians of `samples` measurements per experiment.

    `repeated` is None if a time is missing.
    """

    experiment_set: ExperimentSet
    at: datetime
    base_cycles: float | None
    cycles: float | None
    samples: int
    repeated: RepeatedWitness | None


def repeats_of(isa: ISA, witnesses: Sequence[Witness]) -> dict[Witness, list[Remeasured]]:
    """{witness: repeated measurements of both experiments, newest first}."""
    ids = rows_of(isa, {experiment for witness in witnesses for experiment in (witness.base, witness.tested)})
    times, sets = _times(ids.values())
    repeats: dict[Witness, list[Remeasured]] = {}
    for witness in witnesses:
        base, tested = ids.get(witness.base), ids.get(witness.tested)
        for row in sets if base is not None and tested is not None else ():
            cycles = times[row.pk]
            if base in cycles and tested in cycles:
                repeats.setdefault(witness, []).append(
                    _repeat_in_set(witness, row, cycles[base], cycles[tested])
                )
    return repeats


def _repeat_in_set(
    witness: Witness, row: ExperimentSet, base: Sequence[float], tested: Sequence[float]
) -> Remeasured:
    before = median(base) if base else None
    after = median(tested) if tested else None
    at = row.created if row.run is None or row.run.finished is None else row.run.finished
    return Remeasured(
        row,
        at,
        before,
        after,
        min(len(base), len(tested)),
        None if before is None or after is None else repeat_witness(witness, before, after),
    )


def rows_of(isa: ISA, experiments: Iterable[Experiment]) -> dict[Experiment, int]:
    """{experiment: row id} of experiments that were ever measured."""
    requested = list(experiments)
    schemes = {scheme for experiment in requested for scheme in experiment.schemes}
    ids = ids_of_schemes(isa.pk, schemes)
    keys = {experiment_key(e, ids): e for e in requested if ids.keys() >= set(e.schemes)}
    names = list(keys)
    row_ids: dict[Experiment, int] = {}
    for start in range(0, len(names), BATCH):
        rows = ExperimentRow.objects.filter(isa=isa, key__in=names[start : start + BATCH])
        row_ids |= {keys[key]: pk for key, pk in rows.values_list("key", "pk")}
    return row_ids


def _times(ids: Iterable[int]) -> tuple[dict[int, dict[int, list[float]]], list[ExperimentSet]]:
    """({set: {experiment: usable times}}, sets of runs that measure listed experiments)."""
    runs = Run.objects.filter(**PLAN)
    rows = Measurement.objects.filter(experiment__in=list(ids), experiment_set__run__in=runs)
    times: defaultdict[int, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for set_id_, experiment, state, cycles in rows.values_list(
        "experiment_set_id", "experiment_id", "state", "cycles"
    ):
        usable = times[set_id_][experiment]
        if state == Measurement.State.SETTLED and cycles is not None:
            usable.append(cycles)
    sets = ExperimentSet.objects.filter(pk__in=list(times)).select_related("machine", "run").order_by("-pk")
    return {set_id: dict(by_experiment) for set_id, by_experiment in times.items()}, list(sets[:_LATEST])


def unfinished(witnesses: Sequence[Witness]) -> list[Run]:
    """Runs that measure any of the witnesses again, newer than the last finished one.

    Matched by the experiments with the scheme: floods alone belong to witnesses of many schemes.
    """
    names = {str(witness.tested) for witness in witnesses}
    runs = []
    for run in Run.objects.filter(**PLAN).order_by("-pk")[:_LATEST]:
        if names.isdisjoint(run.config["experiments"]):
            continue
        if run.state == Run.State.DONE:
            break
        runs.append(run)
    return runs
