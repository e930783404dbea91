"""What port mappings predict for an experiment, what measuring it gave, and snippets for other tools."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as TextMapping
from dataclasses import dataclass
from statistics import median

from django.db.models import QuerySet

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as PortMappingValue
from inference.core.mapping import Uops
from inference.core.misfits import Change, fits, smallest_changes
from inference.core.schedule import Schedule, schedule
from inference.formats.exegesis import write_exegesis
from inference.models import ISA, ExperimentSet, ExperimentTerm, Measurement, PortMapping
from inference.models import Experiment as ExperimentRow
from inference.storage.recorded import settled_medians
from inference.storage.rows import experiment_key, ids_of_schemes, load_parts


@dataclass(frozen=True)
class MappingPrediction:
    """What one mapping says; `value` is what it has of the experiment's schemes, `measured` cycles."""

    mapping: PortMapping
    value: PortMappingValue
    schedule: Schedule
    measured: float | None

    @property
    def usage(self) -> TextMapping[str, Uops]:
        """The µops of the experiment's schemes."""
        return self.value.usage

    @property
    def cycles(self) -> float:
        return self.schedule.cycles

    @property
    def error(self) -> float | None:
        """Prediction against measurement in per cent of the measurement, None without one."""
        return None if self.measured is None else 100 * (self.cycles - self.measured) / self.measured


@dataclass(frozen=True)
class Gap:
    """How far a prediction is from the measurement: the `missing` cycles (negative: there are too many), and
    what would close the gap, the smallest `changes` first; none where nothing small does."""

    missing: float
    fits: bool
    changes: tuple[Change, ...]

    @property
    def surplus(self) -> float:
        """Cycles that are predicted beyond the measurement."""
        return -self.missing

    @property
    def others(self) -> int:
        """Changes beyond the four that a page has room for."""
        return max(0, len(self.changes) - 4)


_MOST_SCHEMES = 10
"""Of an experiment: the changes of a longer one are too many to try on a page."""


def gap_of(prediction: MappingPrediction, experiment: Experiment) -> Gap | None:
    """What a mapping lacks or has too much of for an experiment; None without a measurement."""
    measured = prediction.measured
    if measured is None or measured <= 0:
        return None
    missing = measured - prediction.cycles
    if fits(prediction.cycles, measured):
        return Gap(missing, True, ())
    if len(experiment.schemes) > _MOST_SCHEMES:
        return Gap(missing, False, ())
    row = prediction.mapping
    kinds = set(row.usages.filter(count__gt=0).order_by().values_list("mask", flat=True).distinct())
    return Gap(missing, False, smallest_changes(prediction.value, experiment, measured, kinds=kinds))


def predictions_for(experiment: Experiment, isa: ISA, measured: float | None) -> list[MappingPrediction]:
    """Of every mapping of the instruction set that describes all schemes of the experiment, newest first."""
    wanted = {row: text for text, row in ids_of_schemes(isa.pk, experiment.schemes).items()}
    return [
        MappingPrediction(row, value, schedule(value, experiment), measured)
        for row, value in load_parts(isa, wanted)
        if len(value.usage) == len(wanted)
    ]


def measured_row(experiment: Experiment, isa: ISA) -> ExperimentRow | None:
    """The stored experiment, if any set has a measurement of it."""
    key = experiment_key(experiment, ids_of_schemes(isa.pk, experiment.schemes))
    return ExperimentRow.objects.filter(isa=isa, key=key, measurements__isnull=False).first()


def settled_cycles(measurements: Iterable[Measurement]) -> float | None:
    """The median of the settled measurements in cycles, None where there are none."""
    settled = [row.cycles for row in measurements if row.state == Measurement.State.SETTLED]
    return median(cycles for cycles in settled if cycles is not None) if settled else None


def exegesis_snippet(experiment: Experiment, isa: ISA) -> str:
    """For llvm-exegesis; its head tells every set's measurement and every mapping's prediction.

    Raises `ExchangeError` where there is no code for the experiment.
    """
    row = measured_row(experiment, isa)
    measurements = [] if row is None else row.measurements.select_related("experiment_set__machine")
    found = sorted(measurements, key=lambda measurement: measurement.pk)
    known = []
    for measurement in found:
        if measurement.cycles is not None:
            machine = measurement.experiment_set.machine
            where = "" if machine is None else f", {machine.name}"
            told = f"{measurement.cycles:.4g} cycles ({measurement.state})"
            known.append(f"measured: {told} in “{measurement.experiment_set.name}”{where}")
    known += [
        f"predicted: {prediction.cycles:.4g} cycles by “{prediction.mapping.name}”"
        for prediction in predictions_for(experiment, isa, settled_cycles(found))
    ]
    return write_exegesis(isa.name, experiment, known)


@dataclass(frozen=True)
class Singleton:
    """What measuring one instance of a scheme gave: the median over the sets, and its experiment."""

    cycles: float
    experiment_id: int


def measured_singletons(isa: ISA, set_id: int | None = None) -> dict[int, Singleton]:
    """{scheme id: what one instance was measured to take}, in one set or in all of the instruction set."""
    alone = ExperimentRow.objects.filter(isa=isa, length=1)
    measured = Measurement.objects.filter(experiment__in=alone)
    if set_id is not None:
        measured = measured.filter(experiment_set=set_id)
    terms = ExperimentTerm.objects.filter(experiment__in=alone)
    schemes = dict(terms.values_list("experiment_id", "scheme_id"))
    return {schemes[pk]: Singleton(cycles, pk) for pk, cycles in settled_medians(measured).items()}


def sets_with_singletons(isa: ISA) -> QuerySet[ExperimentSet]:
    """The sets of an instruction set in which single instances were measured."""
    alone = Measurement.objects.filter(experiment__in=ExperimentRow.objects.filter(isa=isa, length=1))
    return ExperimentSet.objects.filter(pk__in=alone.order_by().values("experiment_set"))
