"""Measuring what a result rests on once more: with which machine, which experiments, and what that showed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.http import HttpRequest

from inference.core.experiment import Experiment
from inference.core.explain import Witness
from inference.core.explain.repeating import Repeated, measured_again
from inference.features.machines.machines.query import machines
from inference.features.machines.measure.request import listed_config
from inference.models import ISA, ExperimentSet, Machine, Measurement, PortMapping, Run
from inference.models import Experiment as ExperimentRow
from inference.runs.machines.facts import obstacle_to_measuring
from inference.storage.rows import BATCH, experiment_key, ids_of_schemes
from inference.web.api.errors import ProblemError
from inference.web.request_fields import start_run
from inference.web.validation import row_number

PLAN = {"kind": "measure", "config__plan": "listed"}
"""Runs that measure what they are told; see `inference.features.machines.measure.job`."""

_LATEST = 200  # such runs, and sets, that are looked through


@dataclass(frozen=True)
class Means:
    """`able`: machines that answer now, the one that the mapping is of at the top. `lacking`: why others
    cannot be asked, with what would help.
    """

    able: Sequence[Machine]
    lacking: Sequence[str]


def means_of(row: PortMapping) -> Means:
    """The machines of the mapping's instruction set."""
    able, lacking = [], []
    for machine in machines().filter(isa=row.isa).exclude(kind=Machine.Kind.PUBLISHED):
        if obstacle := obstacle_to_measuring(machine):
            lacking.append(obstacle)
        elif machine.kind == Machine.Kind.SIMULATED or machine.is_online():
            able.append(machine)
        else:
            lacking.append(f"the agent of {machine.name!r} is not connected: start it there")
    return Means(sorted(able, key=lambda machine: machine.pk != row.machine_id), lacking)


def measure_listed(
    request: HttpRequest, machine: Machine, experiments: Sequence[Experiment], repeats: int, what: str
) -> Run | None:
    """Submit a run that measures each experiment so often; None after telling the user what is wrong."""
    config = listed_config(machine.pk, experiments, repeats)
    return start_run(request, "measure", config, f"{what} on {machine.name}"[:180])


def posted_number(request: HttpRequest, name: str) -> int:
    """The whole number under `name`; -1, which no row has, for anything else."""
    number = row_number(request.POST.get(name, ""))
    return -1 if number is None else number


def machine_of(row: PortMapping, machine_id: int) -> Machine:
    """A machine of the mapping's instruction set. Raises `ProblemError` (422)."""
    machine = Machine.objects.filter(pk=machine_id, isa=row.isa_id).first()
    if machine is None:
        raise ProblemError(
            422,
            f"There is no machine {machine_id} for {row.isa.name}",
            where="body machine",
            right="one of the mapping's instruction set",
        )
    return machine


@dataclass(frozen=True)
class Remeasured:
    """Both experiments of a witness in one set: medians of `samples` measurements each.

    `repeated` is None where one of the times is missing.
    """

    made: ExperimentSet
    at: datetime
    base_cycles: float | None
    cycles: float | None
    samples: int
    repeated: Repeated | None


def remeasured(isa: ISA, witnesses: Sequence[Witness]) -> dict[Witness, list[Remeasured]]:
    """For each witness the sets in which both experiments were measured again, newest first."""
    ids = rows_of(isa, {each for witness in witnesses for each in (witness.base, witness.tested)})
    times, sets = _times(ids.values())
    found: dict[Witness, list[Remeasured]] = {}
    for witness in witnesses:
        base, tested = ids.get(witness.base), ids.get(witness.tested)
        for made in sets if base is not None and tested is not None else ():
            mine = times[made.pk]
            if base in mine and tested in mine:
                found.setdefault(witness, []).append(_compared(witness, made, mine[base], mine[tested]))
    return found


def _compared(
    witness: Witness, made: ExperimentSet, base: Sequence[float], tested: Sequence[float]
) -> Remeasured:
    before = median(base) if base else None
    after = median(tested) if tested else None
    at = made.created if made.run is None or made.run.finished is None else made.run.finished
    return Remeasured(
        made,
        at,
        before,
        after,
        min(len(base), len(tested)),
        None if before is None or after is None else measured_again(witness, before, after),
    )


def rows_of(isa: ISA, experiments: Iterable[Experiment]) -> dict[Experiment, int]:
    """{experiment: row} of those that were ever measured."""
    wanted = list(experiments)
    schemes = {scheme for each in wanted for scheme in each.schemes}
    ids = ids_of_schemes(isa.pk, schemes)
    keys = {experiment_key(each, ids): each for each in wanted if ids.keys() >= set(each.schemes)}
    names = list(keys)
    found: dict[Experiment, int] = {}
    for start in range(0, len(names), BATCH):
        rows = ExperimentRow.objects.filter(isa=isa, key__in=names[start : start + BATCH])
        found |= {keys[key]: pk for key, pk in rows.values_list("key", "pk")}
    return found


def _times(ids: Iterable[int]) -> tuple[dict[int, dict[int, list[float]]], list[ExperimentSet]]:
    """{set: {experiment: usable times}}, and the sets that listed experiments were measured for."""
    runs = Run.objects.filter(**PLAN)
    rows = Measurement.objects.filter(experiment__in=list(ids), experiment_set__run__in=runs)
    times: defaultdict[int, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for made, experiment, state, cycles in rows.values_list(
        "experiment_set_id", "experiment_id", "state", "cycles"
    ):
        usable = times[made][experiment]
        if state == Measurement.State.SETTLED and cycles is not None:
            usable.append(cycles)
    sets = ExperimentSet.objects.filter(pk__in=list(times)).select_related("machine", "run").order_by("-pk")
    return {made: dict(found) for made, found in times.items()}, list(sets[:_LATEST])


def unfinished(witnesses: Sequence[Witness]) -> list[Run]:
    """Runs that measure any of the witnesses again and have not ended well, since the last one that did.

    By the experiments with the scheme: floods alone are part of the witnesses of many schemes.
    """
    names = {str(witness.tested) for witness in witnesses}
    found = []
    for run in Run.objects.filter(**PLAN).order_by("-pk")[:_LATEST]:
        if names.isdisjoint(run.config["experiments"]):
            continue
        if run.state == Run.State.DONE:
            break
        found.append(run)
    return found
