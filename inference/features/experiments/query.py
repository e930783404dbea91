"""What port mappings predict for an experiment, what measuring it gave, and snippets for other tools."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as TextMapping
from dataclasses import dataclass
from statistics import median

from django.db.models import QuerySet

from inference.core.experiment import Experiment
from inference.core.mapping import Uops
from inference.core.schedule import Schedule, schedule
from inference.formats.exegesis import write_exegesis
from inference.models import ISA, ExperimentSet, ExperimentTerm, Measurement, PortMapping
from inference.models import Experiment as ExperimentRow
from inference.storage.recorded import settled_medians
from inference.storage.rows import experiment_key, ids_of_schemes, load_parts

# What port mappings predict for one experiment, and what measuring it gave.


@dataclass(frozen=True)
class MappingPrediction:
    """What one mapping says; `usage` are the µops of the experiment's schemes in it, `measured` cycles."""

    mapping: PortMapping
    usage: TextMapping[str, Uops]
    schedule: Schedule
    measured: float | None

    @property
    def cycles(self) -> float:
        """Predicted inverse throughput."""
        return self.schedule.cycles

    @property
    def error(self) -> float | None:
        """Prediction against measurement in per cent of the measurement, None without one."""
        return None if self.measured is None else 100 * (self.cycles - self.measured) / self.measured


def predictions_for(experiment: Experiment, isa: ISA, measured: float | None) -> list[MappingPrediction]:
    """Of every mapping of the instruction set that describes all schemes of the experiment, newest first."""
    wanted = {row: text for text, row in ids_of_schemes(isa.pk, experiment.schemes).items()}
    return [
        MappingPrediction(row, value.usage, schedule(value, experiment), measured)
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


# Experiments as snippets for other tools, with what is known of them here.


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


# What measuring single instances of schemes gave.


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
