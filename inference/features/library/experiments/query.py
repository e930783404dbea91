"""Predictions of port mappings for experiments, measured times, and snippets for llvm-exegesis."""

from __future__ import annotations

from collections import defaultdict
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
from inference.models import (
    ISA,
    Machine,
    Measurement,
    PortMapping,
    ResourceMapping,
)
from inference.models import Experiment as ExperimentRow
from inference.storage.instruction_sets import core_of
from inference.storage.mappings import load_parts
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


class SettledTimes:
    """The settled measurements of an experiment by source: a machine, or a set without one.

    Medians are of one source, since sets of other sources may be of other CPUs. Measurements have
    `experiment_set__machine` selected.
    """

    def __init__(self, measurements: Iterable[Measurement] = ()) -> None:
        self._cycles: defaultdict[tuple[bool, int], list[float]] = defaultdict(list)
        self._machines: dict[tuple[bool, int], Machine | None] = {}
        for row in measurements:
            if row.state == Measurement.State.SETTLED and row.cycles is not None:
                machine = row.experiment_set.machine
                source = (machine is not None, row.experiment_set_id if machine is None else machine.pk)
                self._cycles[source].append(row.cycles)
                self._machines[source] = machine

    def of(self, mapping: PortMapping | ResourceMapping | None) -> tuple[float | None, Machine | None]:
        """(median in cycles, machine) to compare a mapping with: of its own machine, else of the newest
        machine, else of the newest set; (None, None) if that is known to have another core.
        """
        machine_of_mapping = None if mapping is None else mapping.machine
        source = (
            max(self._cycles, default=None) if machine_of_mapping is None else (True, machine_of_mapping.pk)
        )
        if source not in self._cycles:
            source = max(self._cycles, default=None)
        if source is None:
            return None, None
        machine = self._machines[source]
        if machine_of_mapping is not None and machine is not None and machine.pk != machine_of_mapping.pk:
            cores = core_of(machine_of_mapping), core_of(machine)
            if None not in cores and cores[0] != cores[1]:
                return None, None
        return median(self._cycles[source]), machine


def predictions_for(experiment: Experiment, isa: ISA, measured: SettledTimes) -> list[MappingPrediction]:
    """Predictions of all mappings that describe all schemes of the experiment, newest first."""
    texts = {row: text for text, row in ids_of_schemes(isa.pk, experiment.schemes).items()}
    return [
        MappingPrediction(row, value, schedule(value, experiment), measured.of(row)[0])
        for row, value in load_parts(isa, texts)
        if len(value.usage) == len(texts)
    ]


def measurements_with_machines(row: ExperimentRow | None) -> QuerySet[Measurement]:
    """The measurements of a stored experiment, as `SettledTimes` reads them; none without one."""
    rows = Measurement.objects.none() if row is None else row.measurements.order_by("id")
    return rows.select_related("experiment_set__machine__isa")


def measured_row(experiment: Experiment, isa: ISA) -> ExperimentRow | None:
    """The stored experiment, None if no set has a measurement of it."""
    key = experiment_key(experiment, ids_of_schemes(isa.pk, experiment.schemes))
    return ExperimentRow.objects.filter(isa=isa, key=key, measurements__isnull=False).first()


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
        for prediction in predictions_for(experiment, isa, SettledTimes(ordered))
    ]
    return write_exegesis(isa.name, experiment, comments)
