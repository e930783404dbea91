"""A site that is broken on purpose, each time in one place: proves that the checks would find it.

| `PMWEB_BROKEN` | what is broken | what the checks must say |
|---|---|---|
| `lost` | an attempt that takes a run up again loses a measurement that it believes to have | lost |
| `doubled` | such an attempt stores its first measurements twice, as if they had been repeated | doubled |
| `different` | such an attempt stores its measurements one percent too large | different |
| `gap` | such an attempt tells its first event under a number too high | gap |
| `told-twice` | whatever such an attempt tells again stays in the journal twice | doubled |

Only attempts after the first are broken, so nothing of it shows unless something was killed. Each notes the
run in a file, by which the checks are judged.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig

from benchmarks._chaos.world import SABOTAGED

if TYPE_CHECKING:  # apps are not there yet
    from inference.core.events import Event
    from inference.core.experiment import Measured
    from inference.runs.measurements import RunMeasurements
    from inference.runs.reporter import JournalReporter

VARIABLE = "PMWEB_BROKEN"
SORTS = {
    "lost": "lost",
    "doubled": "doubled",
    "different": "different",
    "gap": "gap",
    "told-twice": "doubled",
}
"""What the checks must call each."""

_FIRST_LEASE = 1  # token of a run's first attempt; a higher one means that the run was resumed


class Sabotage(AppConfig):
    """Replaces one function of `inference.runs` by a broken one."""

    name = "benchmarks._chaos"

    def ready(self) -> None:
        """Break what the environment says."""
        how = os.environ.get(VARIABLE, "")
        if how:
            _WAYS[how]()


def _note(run_id: int) -> None:
    from django.conf import settings

    with (settings.HOME / SABOTAGED).open("a") as file:
        file.write(f"{run_id}\n")


def _break_remembering(change: Callable[[RunMeasurements, Sequence[Measured]], Sequence[Measured]]) -> None:
    """Attempts after the first remember other results than they have measured."""
    from inference.runs import measurements

    remember = measurements.RunMeasurements.remember

    def changed(self: RunMeasurements, results: Sequence[Measured]) -> None:
        remember(self, change(self, results) if self.lease.token > _FIRST_LEASE else results)

    measurements.RunMeasurements.remember = changed  # type: ignore[method-assign]


def _lose() -> None:
    """Mark the first result of an attempt as known, so that it is never stored."""
    lost: set[int] = set()

    def without_first(self: RunMeasurements, results: Sequence[Measured]) -> Sequence[Measured]:
        fresh = [result for result in results if self._is_new(result)]
        if fresh and id(self) not in lost:
            lost.add(id(self))
            self._results[fresh[0].experiment] = fresh[0]
            _note(self.lease.run_id)
        return results

    _break_remembering(without_first)


def _differ() -> None:
    """Store cycles that are 1 % more than measured."""

    def one_percent_more(self: RunMeasurements, results: Sequence[Measured]) -> Sequence[Measured]:
        if not any(self._is_new(result) for result in results):
            return results
        _note(self.lease.run_id)
        return [
            result if result.cycles is None else dataclasses.replace(result, cycles=result.cycles * 1.01)
            for result in results
        ]

    _break_remembering(one_percent_more)


def _double() -> None:
    """Store each measurement of a resumed run twice."""
    from inference.runs import measurements

    module: Any = measurements
    store = module.store_measurements

    def stored(experiment_set: Any, fresh: Any, repeat: int = 0) -> Any:
        rows = list(fresh)
        if experiment_set.run.lease_token > _FIRST_LEASE:
            store(experiment_set, rows, repeat + 1)
            _note(experiment_set.run_id)
        return store(experiment_set, rows, repeat)

    module.store_measurements = stored


def _skip() -> None:
    """Leave out one number of the journal of each resumed run."""
    from django.db.models import F

    from inference.models import Run
    from inference.runs import journal

    append = journal.append
    skipped: set[int] = set()

    def skipping(lease: Any, *arguments: Any, **options: Any) -> int:
        if lease.token > _FIRST_LEASE and lease.run_id not in skipped:
            skipped.add(lease.run_id)
            Run.objects.filter(pk=lease.run_id).update(next_seq=F("next_seq") + 1)
            _note(lease.run_id)
        return append(lease, *arguments, **options)

    journal.append = skipping


def _retell() -> None:
    """Let events of a resumed run into the journal that it has already."""
    from inference.runs import reporter

    is_repeated = reporter.JournalReporter._is_repeated

    def never(self: JournalReporter, event: Event) -> bool:
        if not is_repeated(self, event):
            return False
        if event.is_numbered():
            _note(self._lease.run_id)
            return False
        return True

    reporter.JournalReporter._is_repeated = never  # type: ignore[method-assign]


_WAYS = {"lost": _lose, "doubled": _double, "different": _differ, "gap": _skip, "told-twice": _retell}
