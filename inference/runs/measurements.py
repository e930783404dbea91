"""A run's measurements in experiment sets of its own: a `MeasurementStore` over the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from django.db import transaction

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.protocols import Json
from inference.models import ISA, ExperimentSet, Machine
from inference.runs.errors import JobError, LeaseLostError
from inference.runs.journal import Lease, fenced_rows
from inference.storage.names import free_name, result_name
from inference.storage.rows import load_measurements, store_experiments, store_measurements


@dataclass(eq=False)
class RunMeasurements:
    """The measurements of a run, including those of its earlier attempts.

    The experiment set is created with the first results. Results are stored only under the lease, and each
    experiment once per repetition.

    Attributes:
        lease: Lease of the attempt.
        isa: Instruction set of the experiments.
        identity: What was measured on and how; an attempt with another identity is refused.
        purpose: Distinguishes several sets of a run; suffix of the set's name.
        machine: The measured machine; None for other sources.
        named_after_run: The set gets the run's name without a suffix.
        repeat: Number of the repetition, from 0.
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
        """Load the results of earlier attempts. Raises `JobError` if their identity differs."""
        self.experiment_set = ExperimentSet.objects.filter(run=self.lease.run_id, source=self.purpose).first()
        self._results: dict[Experiment, Measured] = {}
        if self.experiment_set is not None:
            if self.experiment_set.identity != self.identity:
                raise JobError(
                    f"the machine or its agent has changed since {self.experiment_set.name!r} was measured: "
                    "start a new run"
                )
            results = load_measurements(self.experiment_set, self.repeat)
            self._results = {result.experiment: result for result in results}

    def known(self, experiments: Sequence[Experiment]) -> Mapping[Experiment, Measured]:
        """{experiment: result} of the experiments that this run has measured."""
        return {
            experiment: self._results[experiment] for experiment in experiments if experiment in self._results
        }

    def remember(self, results: Sequence[Measured]) -> None:
        """Store new results in one transaction; a later result replaces a contended one.

        Raises:
            LeaseLostError: Another worker has claimed the run.
        """
        new_results = {result.experiment: result for result in results if self._is_new(result)}
        if not new_results:
            return
        with transaction.atomic():
            # Matching the row also locks it: no worker can claim the run before the results are stored. Like
            # a checkpoint, they are progress: attempts count from here.
            if not fenced_rows(self.lease).update(attempts=1):
                raise LeaseLostError(self.lease.run_id, self.lease.token)
            experiment_set = self.experiment_set or self._get_or_create_set()
            replaced = [experiment for experiment in new_results if experiment in self._results]
            if replaced:
                ids = store_experiments(self.isa, replaced).values()
                experiment_set.measurements.filter(experiment__in=list(ids), repeat=self.repeat).delete()
            store_measurements(experiment_set, new_results.values(), self.repeat)
        self.experiment_set = experiment_set
        self._results |= new_results

    def _is_new(self, result: Measured) -> bool:
        old = self._results.get(result.experiment)
        return old is None or old.state is MeasurementState.CONTENDED

    def _get_or_create_set(self) -> ExperimentSet:
        """The set, which another repetition of the run may have created meanwhile."""
        existing = ExperimentSet.objects.filter(run=self.lease.run_id, source=self.purpose).first()
        if existing is not None:
            return existing
        run = fenced_rows(self.lease).get()
        name = run.name if self.named_after_run else result_name(run.name, self.purpose)
        return ExperimentSet.objects.create(
            name=free_name(ExperimentSet, name),
            isa=self.isa,
            machine=self.machine,
            run=run,
            origin=ExperimentSet.Origin.RUN,
            source=self.purpose,
            identity=self.identity,
            note=note_of(self.identity),
        )


def note_of(identity: Json) -> str:
    """Sentence for the set's page about loop bodies that were adapted to the machine; "" if none were."""
    lines = identity.get("bodies", {}).get("written_lines")
    if lines is None:
        return ""
    return f"Stores alternate over {lines} cache lines: over more, this machine is slower."
