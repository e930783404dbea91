"""The experiments of a doubt: its evidence, one that decides it, and the runs that measure them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from ninja import Status

from inference.core.experiment import Experiment
from inference.core.identity import Distinction, MappingComparison, deciding_experiment
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import Uops
from inference.core.measured_slots import padding_of
from inference.core.misfits import Doubt, DoubtKind
from inference.features.judging.evaluations.query import worst_of
from inference.features.learning.explained.remeasuring import (
    machine_of,
    measure_listed,
    posted_number,
    rows_of,
)
from inference.features.library.mappings.query import comparison_of
from inference.features.machines.measure.request import listed_config
from inference.features.running.runs.runs_of_kind import start_response
from inference.models import Evaluation, InstructionScheme, Machine, Measurement, PortMapping
from inference.storage.characterisations import load_characterisation
from inference.storage.evidence import Evidence
from inference.storage.mappings import load_mapping
from inference.storage.names import processor_name, result_name
from inference.storage.singletons import settled_medians

MAX_EXPERIMENTS = 20
"""Experiments that are repeated for one doubt."""

REPEATS = 5
"""Measurements of each repeated experiment, for a median."""


@dataclass(frozen=True)
class DoubtDecision:
    """An experiment that decides between two sets of µops of a scheme, and its measurement.

    `distinction.first`: cycles predicted with the mapping's µops; `second`: with the others.

    Attributes:
        measured: The median of the settled measurements, None without one.
        experiment_id: Row id, None if it is not stored.
    """

    distinction: Distinction
    measured: float | None = None
    experiment_id: int | None = None

    @property
    def nearer(self) -> int | None:
        """Which prediction is nearer to the measurement: 0 the first, 1 the second; None if neither is."""
        if self.measured is None:
            return None
        distinction = self.distinction
        first, second = (abs(cycles - self.measured) for cycles in (distinction.first, distinction.second))
        return None if first == second else int(second < first)

    def in_words(self, otherwise: str = "otherwise") -> str:
        """Both predictions and the measurement in words; `otherwise` names the source of the other µops."""
        distinction = self.distinction
        predicted = f"here {distinction.first:.2f}, {otherwise} {distinction.second:.2f} cycles"
        if self.measured is None:
            return f"{predicted}; not measured yet"
        nearer = {0: ", nearer to here", 1: f", nearer to {otherwise}", None: ""}[self.nearer]
        return f"{predicted}; measured {self.measured:.2f}{nearer}"


def decisions(
    row: PortMapping, other: PortMapping | None, doubts: Sequence[Doubt]
) -> dict[Doubt, DoubtDecision]:
    """{doubt: an experiment that decides it}, for doubts that a short experiment decides."""
    distinctions = {
        doubted: distinction
        for doubted in doubts
        if (distinction := _deciding_experiment(row, other, doubted)) is not None
    }
    stored = rows_of(row.isa, {doubted.experiment for doubted in distinctions.values()})
    cycles = _settled_medians(stored.values())
    return {
        doubt: DoubtDecision(
            distinction, cycles.get(stored.get(distinction.experiment, 0)), stored.get(distinction.experiment)
        )
        for doubt, distinction in distinctions.items()
    }


def experiments_of_doubt(
    row: PortMapping, doubt: Doubt, other: PortMapping | None = None, evaluation: Evaluation | None = None
) -> list[Experiment]:
    """The scheme alone and the experiments of a doubt's evidence, at most `MAX_EXPERIMENTS`."""
    experiments: list[Experiment] = []
    if doubt.kind in (DoubtKind.AMBIGUOUS, DoubtKind.EXCLUDED):
        experiments = [*_experiments_of_search(row, doubt.scheme), *_witness_experiments(row, doubt.scheme)]
    elif doubt.kind is DoubtKind.MISPREDICTED and evaluation is not None:
        scheme = InstructionScheme.objects.select_related("isa").get(isa=row.isa_id, text=doubt.scheme)
        experiments = [item.stored.value.experiment for item in worst_of(evaluation, scheme)]
    elif doubt.kind is DoubtKind.SLOTS and (padding := padding_of(row.isa.name)) is not None:
        experiments = [*padding.around(doubt.scheme), *padding.calibration()]
    elif (
        doubt.kind is DoubtKind.CONFLICT
        and (distinction := _deciding_experiment(row, other, doubt)) is not None
    ):
        experiments = [distinction.experiment]
    alone = Experiment.of([doubt.scheme])
    return list(dict.fromkeys([alone, *experiments]))[:MAX_EXPERIMENTS]


def _deciding_experiment(row: PortMapping, other: PortMapping | None, doubt: Doubt) -> Distinction | None:
    if doubt.uops is None or not doubt.alternatives:
        return None
    if doubt.kind is DoubtKind.CONFLICT:
        if other is None:
            return None
        return _between(_key(row), _key(other), doubt.scheme)
    return next(
        filter(None, (_with_other_uops(_key(row), doubt.scheme, uops) for uops in doubt.alternatives)), None
    )


_Key = tuple[int, datetime]


def _key(row: PortMapping) -> _Key:
    return row.pk, row.created


@lru_cache(maxsize=8)
def _cached_mapping(key: _Key) -> Mapping:
    """Cached, since a stored mapping never changes, and a new one has a new id and time of creation."""
    return load_mapping(PortMapping.objects.get(pk=key[0]))


@lru_cache(maxsize=2000)
def _between(row: _Key, other: _Key, scheme: str) -> Distinction | None:
    """An experiment with this scheme that distinguishes two mappings."""
    first, second = (PortMapping.objects.get(pk=key[0]) for key in (row, other))
    comparison: MappingComparison = comparison_of(first, second)
    return deciding_experiment(
        _cached_mapping(row), _cached_mapping(other), scheme, comparison.agreement.agreeing
    )


@lru_cache(maxsize=2000)
def _with_other_uops(row: _Key, scheme: str, uops: Uops) -> Distinction | None:
    """An experiment that distinguishes the mapping from itself with other µops of this scheme."""
    value = _cached_mapping(row)
    if any(mask >> len(value.ports) for mask, _ in uops):
        return None
    changed = replace(value, usage={**value.usage, scheme: uops})
    return deciding_experiment(value, changed, scheme, value.usage.keys() - {scheme})


def _experiments_of_search(row: PortMapping, scheme: str) -> list[Experiment]:
    """The experiments with the scheme of a search by counter-examples, the shortest first."""
    evidence = Evidence.of(row.report)
    if evidence is None:
        return []
    experiments = [
        record.experiment for record in evidence.experiments if scheme in record.experiment.schemes
    ]
    return sorted(experiments, key=lambda experiment: experiment.length)


def _witness_experiments(row: PortMapping, scheme: str) -> list[Experiment]:
    """The experiments of explainable inference with the scheme: facts, then both of each witness."""
    characterisation = row.characterisations.filter(scheme__text=scheme).select_related("scheme").first()
    if characterisation is None:
        return []
    value = load_characterisation(characterisation, ())
    pairs = [experiment for witness in value.witnesses for experiment in (witness.base, witness.tested)]
    return [*(fact.experiment for fact in value.facts), *pairs]


def _settled_medians(experiments: Iterable[int]) -> dict[int, float]:
    """{experiment id: median of its settled measurements in cycles} (one query)."""
    return settled_medians(Measurement.objects.filter(experiment__in=list(experiments)))


@dataclass(frozen=True)
class Remeasurement:
    """Experiments about a mapping, the measurements of each, and the purpose, which names the run."""

    row: PortMapping
    experiments: Sequence[Experiment]
    repeats: int
    purpose: str

    def from_page(self, request: HttpRequest, back: str) -> HttpResponse:
        """Start the run on the posted machine and redirect to it, or with an error to `back`."""
        machine = get_object_or_404(Machine, pk=posted_number(request, "machine"), isa=self.row.isa_id)
        run = measure_listed(request, machine, self.experiments, self.repeats, self.purpose)
        return redirect(back) if run is None else redirect("run", run.pk)

    def from_program(self, request: HttpRequest, machine_id: int) -> Status[dict[str, Any]]:
        """Start the run and answer with it. Raises `ProblemError` (422) for a machine that cannot measure."""
        machine = machine_of(self.row, machine_id)
        config = listed_config(machine.pk, self.experiments, self.repeats)
        name = result_name(processor_name(machine), self.purpose)
        return start_response(request, "measure", config, default_name=name)
