"""What a run measured, remembered in an experiment set of its own: a `MeasurementStore` over the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from django.db import transaction

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.protocols import Json
from inference.models import ISA, ExperimentSet, Machine
from inference.runs.errors import JobError, LeaseLostError
from inference.runs.journal import Lease, held
from inference.storage.names import free_name
from inference.storage.rows import load_measurements, store_experiments, store_measurements


@dataclass(eq=False)
class RunMeasurements:
    """The measurements of one run; a run that is taken up again finds those it has made before.

    `purpose` tells several sets of a run apart and completes the set's name, unless that is to be the
    run's own. The set is made with the first results. Nothing is stored without the lease, and no
    experiment twice in one repetition: `repeat` is which one these are.
    """

    lease: Lease
    isa: ISA
    identity: Json
    purpose: str
    machine: Machine | None = None
    _: KW_ONLY
    named_after_run: bool = False
    repeat: int = 0

    def __post_init__(self) -> None:
        """Find what the run has measured before. Raises `JobError` where that was on something else."""
        self.experiment_set = ExperimentSet.objects.filter(run=self.lease.run_id, source=self.purpose).first()
        self._known: dict[Experiment, Measured] = {}
        if self.experiment_set is not None:
            if self.experiment_set.identity != self.identity:
                raise JobError(
                    f"{self.experiment_set.name!r} was measured on something else than this run measures "
                    "now; start a new run"
                )
            results = load_measurements(self.experiment_set, self.repeat)
            self._known = {result.experiment: result for result in results}

    def known(self, experiments: Sequence[Experiment]) -> Mapping[Experiment, Measured]:
        """Those of the experiments that this run has measured."""
        return {
            experiment: self._known[experiment] for experiment in experiments if experiment in self._known
        }

    def remember(self, results: Sequence[Measured]) -> None:
        """Store what is new, in one transaction; a contended answer gives way to a later one.

        Raises `LeaseLostError` where the run is somebody else's now.
        """
        fresh = {result.experiment: result for result in results if self._is_new(result)}
        if not fresh:
            return
        with transaction.atomic():
            # Matching the row also locks it: nobody can take the run over before these results are in. They
            # are progress like a checkpoint, since which attempts are counted.
            if not held(self.lease).update(attempts=1):
                raise LeaseLostError(self.lease.run_id, self.lease.token)
            experiment_set = self.experiment_set or self._found_or_made()
            again = [experiment for experiment in fresh if experiment in self._known]
            if again:
                ids = store_experiments(self.isa, again).values()
                experiment_set.measurements.filter(experiment__in=list(ids), repeat=self.repeat).delete()
            store_measurements(experiment_set, fresh.values(), self.repeat)
        self.experiment_set = experiment_set
        self._known |= fresh

    def _is_new(self, result: Measured) -> bool:
        old = self._known.get(result.experiment)
        return old is None or old.state is MeasurementState.CONTENDED

    def _found_or_made(self) -> ExperimentSet:
        """The set, which another repetition may have made meanwhile."""
        found = ExperimentSet.objects.filter(run=self.lease.run_id, source=self.purpose).first()
        if found is not None:
            return found
        run = held(self.lease).get()
        suffix = "" if self.named_after_run else f" {self.purpose}"
        return ExperimentSet.objects.create(
            name=free_name(ExperimentSet, run.name + suffix),
            isa=self.isa,
            machine=self.machine,
            run=run,
            origin=ExperimentSet.Origin.RUN,
            source=self.purpose,
            identity=self.identity,
            note=note_of(self.identity),
        )


def note_of(identity: Json) -> str:
    """What of the harness was chosen for the machine, in words."""
    lines = identity.get("bodies", {}).get("written_lines")
    if lines is None:
        return ""
    return f"Stores take turns in {lines} cache lines: over more, this machine was found to take longer."
