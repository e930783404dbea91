"""What drift checks show goes into the run's journal, and contradicted results give way to the new ones."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from inference.core.events import Event, Log
from inference.core.experiment import Measured
from inference.measuring.drift import DriftCheck, DriftComparison, DriftVerdict
from inference.models import ISA, ExperimentSet, Measurement
from inference.runs.errors import LeaseLostError
from inference.runs.events import DriftChecked
from inference.runs.journal import Lease, held
from inference.storage.rows import store_experiments, store_measurements


class DriftJournal:
    """Takes the rounds of one attempt of a run.

    The run that is under way goes on with the answer it was given; what is stored is the amended one, whose
    note has the number before, and the journal has all of them. Raises `LeaseLostError` where the run is
    somebody else's now.
    """

    def __init__(self, lease: Lease, isa: ISA, emit: Callable[[Event], None]) -> None:
        self._lease = lease
        self._isa = isa
        self._emit = emit

    def __call__(self, check: DriftCheck) -> None:
        for before, result in check.amended:
            self._amend(before, result)
        self._emit(DriftChecked.of(check))
        for each in check.compared:
            if each.verdict in {DriftVerdict.REPLACED, DriftVerdict.UNSETTLED}:
                self._emit(Log("warning", _told(each)))

    def _amend(self, before: float, result: Measured) -> None:
        """Put the new result where the contradicted one is; rows are never changed, so it is another row."""
        with transaction.atomic():
            # Matching the row also locks it: nobody can take the run over meanwhile.
            if not held(self._lease).update(lease_token=self._lease.token):
                raise LeaseLostError(self._lease.run_id, self._lease.token)
            experiment = store_experiments(self._isa, [result.experiment])[result.experiment]
            contradicted = Measurement.objects.filter(
                experiment_set__run=self._lease.run_id,
                experiment=experiment,
                state=Measurement.State.SETTLED,
                cycles=before,
            )
            for row, made, repeat in contradicted.values_list("pk", "experiment_set", "repeat"):
                Measurement.objects.filter(pk=row).delete()
                store_measurements(ExperimentSet.objects.get(pk=made), [result], repeat)


def _told(comparison: DriftComparison) -> str:
    again = " and ".join(f"{cycles:.4g}" for cycles in comparison.after)
    what = (
        "the last number replaces it"
        if comparison.verdict is DriftVerdict.REPLACED
        else "it counts as unsettled"
    )
    return (
        f"{comparison.experiment}: {comparison.before:.4g} cycles before, measured again as {again}: {what}"
    )
