"""Predictions of port mappings for experiments, measured times, and snippets for llvm-exegesis."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as TextMapping
from dataclasses import dataclass
from statistics import median

from django.db.models import QuerySet

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as PortMappingValue
from inference.core.mapping import Uops
from inference.core.misfits import Change, is_within_tolerance, smallest_changes
from inference.core.schedule import Schedule, schedule
from inference.formats.exegesis import write_exegesis
from inference.models import ISA, ExperimentSet, ExperimentTerm, Measurement, PortMapping
from inference.models import Experiment as ExperimentRow
from inference.storage.mappings import load_parts
from inference.storage.recorded import settled_medians
from inference.storage.rows import experiment_key, ids_of_schemes


@dataclass(frozen=True)
class MappingPrediction:
    """A mapping's prediction; `value` is the mapping restricted to the experiment's schemes, `measured` in
    cycles.
    """

    mapping: PortMapping
    value: PortMappingValue
    schedule: Schedule
    measured: float | None

    @property
    def usage(self) -> TextMapping[str, Uops]:
        return self.value.usage

    @property
    def cycles(self) -> float:
        return self.schedule.cycles

    @property
    def error(self) -> float | None:
        """The error in per cent of the measurement, None without one."""
        return None if self.measured is None else 100 * (self.cycles - self.measured) / self.measured


@dataclass(frozen=True)
class Gap:
    """The difference between measurement and prediction.

    `missing` cycles are negative if the prediction is too large. `changes`: small changes of the mapping that
    would close the gap, smallest first; empty if there are none.
    """

    missing: float
    is_within_tolerance: bool
    changes: tuple[Change, ...]

    @property
    def surplus(self) -> float:
        """Predicted cycles beyond the measurement."""
        return -self.missing

    @property
    def further_changes(self) -> int:
        """The number of changes beyond the four that a page lists."""
        return max(0, len(self.changes) - 4)


_MAX_SCHEMES = 10
"""Maximum number of schemes for which changes are searched: more take too long for a page."""


def gap_of(prediction: MappingPrediction, experiment: Experiment) -> Gap | None:
    """The gap of a mapping's prediction; None without a measurement."""
    measured = prediction.measured
    if measured is None or measured <= 0:
        return None
    missing = measured - prediction.cycles
    if is_within_tolerance(prediction.cycles, measured):
        return Gap(missing, True, ())
    if len(experiment.schemes) > _MAX_SCHEMES:
        return Gap(missing, False, ())
    row = prediction.mapping
    kinds = set(row.usages.filter(count__gt=0).order_by().values_list("mask", flat=True).distinct())
    return Gap(missing, False, smallest_changes(prediction.value, experiment, measured, kinds=kinds))


def predictions_for(experiment: Experiment, isa: ISA, measured: float | None) -> list[MappingPrediction]:
    """Predictions of all mappings that describe all schemes of the experiment, newest first."""
    texts = {row: text for text, row in ids_of_schemes(isa.pk, experiment.schemes).items()}
    return [
        MappingPrediction(row, value, schedule(value, experiment), measured)
        for row, value in load_parts(isa, texts)
        if len(value.usage) == len(texts)
    ]


def measured_row(experiment: Experiment, isa: ISA) -> ExperimentRow | None:
    """The stored experiment, None if no set has a measurement of it."""
    key = experiment_key(experiment, ids_of_schemes(isa.pk, experiment.schemes))
    return ExperimentRow.objects.filter(isa=isa, key=key, measurements__isnull=False).first()


def settled_cycles(measurements: Iterable[Measurement]) -> float | None:
    """The median of the settled measurements in cycles, None without any."""
    settled = [row.cycles for row in measurements if row.state == Measurement.State.SETTLED]
    return median(cycles for cycles in settled if cycles is not None) if settled else None


def exegesis_snippet(experiment: Experiment, isa: ISA) -> str:
    """An experiment as llvm-exegesis reads it; its head lists all measurements and predictions.

    Raises `ExchangeError` if the experiment has no code.
    """
    row = measured_row(experiment, isa)
    measurements = [] if row is None else row.measurements.select_related("experiment_set__machine")
    ordered = sorted(measurements, key=lambda measurement: measurement.pk)
    comments = []
    for measurement in ordered:
        if measurement.cycles is not None:
            machine = measurement.experiment_set.machine
            machine_text = "" if machine is None else f", {machine.name}"
            time_text = f"{measurement.cycles:.4g} cycles ({measurement.state})"
            comments.append(f"measured: {time_text} in “{measurement.experiment_set.name}”{machine_text}")
    comments += [
        f"predicted: {prediction.cycles:.4g} cycles by “{prediction.mapping.name}”"
        for prediction in predictions_for(experiment, isa, settled_cycles(ordered))
    ]
    return write_exegesis(isa.name, experiment, comments)


@dataclass(frozen=True)
class Singleton:
    """The time of one instance of a scheme, the median over sets, and its experiment."""

    cycles: float
    experiment_id: int


def measured_singletons(isa: ISA, set_id: int | None = None) -> dict[int, Singleton]:
    """{scheme id: time of one instance}, in one set or in all of the instruction set."""
    alone = ExperimentRow.objects.filter(isa=isa, length=1)
    measured = Measurement.objects.filter(experiment__in=alone)
    if set_id is not None:
        measured = measured.filter(experiment_set=set_id)
    terms = ExperimentTerm.objects.filter(experiment__in=alone)
    schemes = dict(terms.values_list("experiment_id", "scheme_id"))
    return {schemes[pk]: Singleton(cycles, pk) for pk, cycles in settled_medians(measured).items()}


def sets_with_singletons(isa: ISA) -> QuerySet[ExperimentSet]:
    """The sets of an instruction set with measurements of single instances."""
    alone = Measurement.objects.filter(experiment__in=ExperimentRow.objects.filter(isa=isa, length=1))
    return ExperimentSet.objects.filter(pk__in=alone.order_by().values("experiment_set"))
