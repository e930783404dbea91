"""What port mappings predict for one experiment, and what measuring it gave."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as TextMapping
from dataclasses import dataclass
from statistics import median

from inference.core.experiment import Experiment
from inference.core.mapping import Uops
from inference.core.schedule import Schedule, schedule
from inference.exchange.stored import experiment_key, ids_of_schemes, load_parts
from inference.models import ISA, Measurement, PortMapping
from inference.models import Experiment as ExperimentRow


@dataclass(frozen=True)
class Prediction:
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


def predictions_for(experiment: Experiment, isa: ISA, measured: float | None) -> list[Prediction]:
    """Of every mapping of the instruction set that describes all schemes of the experiment, newest first."""
    wanted = {row: text for text, row in ids_of_schemes(isa.pk, experiment.schemes).items()}
    return [
        Prediction(row, value.usage, schedule(value, experiment), measured)
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
