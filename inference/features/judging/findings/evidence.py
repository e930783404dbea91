"""Which experiments speak for a doubtful scheme: those that are its evidence, and one that would decide; and
runs that measure them, started by a page or a program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from ninja import Status

from inference.core.doubting import Doubt, DoubtKind
from inference.core.experiment import Experiment
from inference.core.identity import Distinction, MappingComparison, deciding_experiment
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import Uops
from inference.core.measured_slots import padding_of
from inference.features.judging.evaluations.query import worst_of
from inference.features.learning.explained.remeasuring import (
    machine_of,
    measure_listed,
    posted_number,
    rows_of,
)
from inference.features.library.mappings.query import comparison_of
from inference.features.machines.measure.request import listed_config
from inference.features.running.runs.runs_of_kind import started
from inference.models import Evaluation, InstructionScheme, Machine, Measurement, PortMapping
from inference.storage.characterisations import load_characterisation
from inference.storage.evidence import Evidence
from inference.storage.recorded import settled_medians
from inference.storage.rows import load_mapping

MOST_AGAIN = 20
"""Experiments that are measured again for one doubt."""

REPEATS = 5
"""Measurements of each experiment that is measured again: enough for a median."""


@dataclass(frozen=True)
class DoubtDecision:
    """An experiment that tells what a scheme's µops are, and what measuring it gave.

    `distinction.first` is predicted with the µops that the mapping gives the scheme, `second` with the
    others, in cycles. `measured`: the median of the settled measurements, None without one; `experiment_id`
    the row it is stored under.
    """

    distinction: Distinction
    measured: float | None = None
    experiment_id: int | None = None

    @property
    def nearer(self) -> int | None:
        """Which prediction is nearer to the measurement: 0 the first, 1 the second; None if neither is."""
        if self.measured is None:
            return None
        said = self.distinction
        first, second = (abs(cycles - self.measured) for cycles in (said.first, said.second))
        return None if first == second else int(second < first)

    def in_words(self, otherwise: str = "otherwise") -> str:
        """Both predictions and the measurement; `otherwise` is where the other µops are."""
        told = self.distinction
        predicted = f"here {told.first:.2f}, {otherwise} {told.second:.2f} cycles"
        if self.measured is None:
            return f"{predicted}; not measured yet"
        nearer = {0: ", nearer to here", 1: f", nearer to {otherwise}", None: ""}[self.nearer]
        return f"{predicted}; measured {self.measured:.2f}{nearer}"


def decisions(
    row: PortMapping, other: PortMapping | None, doubts: Sequence[Doubt]
) -> dict[Doubt, DoubtDecision]:
    """For each doubt about other µops an experiment that would decide, where a short one does."""
    found = {each: told for each in doubts if (told := _decider(row, other, each)) is not None}
    stored = rows_of(row.isa, {each.experiment for each in found.values()})
    cycles = _settled(stored.values())
    return {
        doubt: DoubtDecision(told, cycles.get(stored.get(told.experiment, 0)), stored.get(told.experiment))
        for doubt, told in found.items()
    }


def again(
    row: PortMapping, doubt: Doubt, other: PortMapping | None = None, evaluation: Evaluation | None = None
) -> list[Experiment]:
    """The experiments that a doubt rests on, at most `MOST_AGAIN`; the scheme alone where there are none."""
    found: list[Experiment] = []
    if doubt.kind in (DoubtKind.AMBIGUOUS, DoubtKind.EXCLUDED):
        found = [*_asked(row, doubt.scheme), *_witnessed(row, doubt.scheme)]
    elif doubt.kind is DoubtKind.MISPREDICTED and evaluation is not None:
        scheme = InstructionScheme.objects.select_related("isa").get(isa=row.isa_id, text=doubt.scheme)
        found = [item.stored.value.experiment for item in worst_of(evaluation, scheme)]
    elif doubt.kind is DoubtKind.SLOTS and (padding := padding_of(row.isa.name)) is not None:
        found = [*padding.around(doubt.scheme), *padding.calibration()]
    elif doubt.kind is DoubtKind.CONFLICT and (told := _decider(row, other, doubt)) is not None:
        found = [told.experiment]
    alone = Experiment.of([doubt.scheme])
    return list(dict.fromkeys([alone, *found]))[:MOST_AGAIN]


def _decider(row: PortMapping, other: PortMapping | None, doubt: Doubt) -> Distinction | None:
    if doubt.here is None or not doubt.others:
        return None
    if doubt.kind is DoubtKind.CONFLICT:
        if other is None:
            return None
        return _between(_key(row), _key(other), doubt.scheme)
    return next(filter(None, (_instead(_key(row), doubt.scheme, uops) for uops in doubt.others)), None)


_Key = tuple[int, datetime]


def _key(row: PortMapping) -> _Key:
    return row.pk, row.created


@lru_cache(maxsize=8)
def _loaded(key: _Key) -> Mapping:
    """Remembered, since what a mapping says never changes; a new mapping has a new number and date."""
    return load_mapping(PortMapping.objects.get(pk=key[0]))


@lru_cache(maxsize=2000)
def _between(row: _Key, other: _Key, scheme: str) -> Distinction | None:
    """What tells two mappings apart by this scheme."""
    first, second = (PortMapping.objects.get(pk=key[0]) for key in (row, other))
    comparison: MappingComparison = comparison_of(first, second)
    return deciding_experiment(_loaded(row), _loaded(other), scheme, comparison.agreement.agreeing)


@lru_cache(maxsize=2000)
def _instead(row: _Key, scheme: str, uops: Uops) -> Distinction | None:
    """What tells the mapping from itself with other µops for this scheme."""
    value = _loaded(row)
    if any(mask >> len(value.ports) for mask, _ in uops):
        return None
    changed = replace(value, usage={**value.usage, scheme: uops})
    return deciding_experiment(value, changed, scheme, value.usage.keys() - {scheme})


def _asked(row: PortMapping, scheme: str) -> list[Experiment]:
    """What a search by counter-examples measured with the scheme, and what clashed because of it."""
    evidence = Evidence.of(row.report)
    if evidence is None:
        return []
    found = [each.experiment for each in evidence.asked if scheme in each.experiment.schemes]
    return sorted(found, key=lambda each: each.length)


def _witnessed(row: PortMapping, scheme: str) -> list[Experiment]:
    """What explainable inference measured with the scheme: facts, then the witnesses' pairs."""
    found = row.characterisations.filter(scheme__text=scheme).select_related("scheme").first()
    if found is None:
        return []
    value = load_characterisation(found, ())
    pairs = [each for witness in value.witnesses for each in (witness.base, witness.tested)]
    return [*(fact.experiment for fact in value.facts), *pairs]


def _settled(experiments: Iterable[int]) -> dict[int, float]:
    """{experiment: median of its settled measurements in cycles} of those that have any (one query)."""
    return settled_medians(Measurement.objects.filter(experiment__in=list(experiments)))


@dataclass(frozen=True)
class Remeasurement:
    """Experiments about a mapping, how often each is measured, and what for."""

    row: PortMapping
    experiments: Sequence[Experiment]
    repeats: int
    purpose: str

    def from_page(self, request: HttpRequest, back: str) -> HttpResponse:
        """Start it on the posted machine and show the run; `back`: where it is said that it cannot be."""
        machine = get_object_or_404(Machine, pk=posted_number(request, "machine"), isa=self.row.isa_id)
        run = measure_listed(request, machine, self.experiments, self.repeats, self.purpose)
        return redirect(back) if run is None else redirect("run", run.pk)

    def from_program(self, request: HttpRequest, machine_id: int) -> Status[dict[str, Any]]:
        """Start it; the answer is the run. Raises `ProblemError` (422) for a machine that cannot."""
        machine = machine_of(self.row, machine_id)
        config = listed_config(machine.pk, self.experiments, self.repeats)
        return started(request, "measure", config, f"{self.purpose} on {machine.name}"[:180])
