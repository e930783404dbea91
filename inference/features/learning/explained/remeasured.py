"""Witnesses whose two experiments were measured another time: on which machine, when, and what that shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from inference.core.experiment import Experiment
from inference.core.explain import Witness
from inference.core.explain.repeating import Repeated, measured_again
from inference.models import ISA, ExperimentSet, Measurement, Run
from inference.models import Experiment as ExperimentRow
from inference.storage.rows import BATCH, experiment_key, ids_of_schemes

PLAN = {"kind": "measure", "config__plan": "listed"}
"""Runs that measure what they are told; see `inference.features.machines.measure.job`."""

_LATEST = 200  # such runs, and sets, that are looked through


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
