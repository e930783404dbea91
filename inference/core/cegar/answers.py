"""Measurements of a search, which a resumed search replays in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.protocols import Json, Measurer


class CachedMeasurer:
    """A measurer that measures each experiment once and returns the same result from then on.

    Args:
        measurer: Measures what is new.
        earlier: Results of an interrupted search, which its repetition gets without measuring.
        on_answer: Called after every new result.
    """

    def __init__(
        self, measurer: Measurer, earlier: Iterable[Measured], on_answer: Callable[[], None]
    ) -> None:
        self._measurer = measurer
        self._known = {measured.experiment: measured for measured in earlier}
        self._ahead = set(self._known)
        self._on_answer = on_answer
        self._used: dict[Experiment, Measured] = {}
        offers = measurer.offers()
        self.offered = None if offers is None else frozenset(offers)

    def measure(self, experiments: Sequence[Experiment]) -> list[Measured]:
        """Results in the order of the experiments; `FAILED` for those that recorded data lack."""
        new = [e for e in dict.fromkeys(experiments) if e not in self._known and self.has(e)]
        if new:
            # The search has left the path of the interrupted one, for instance because another version of
            # z3 finds other candidates. Results still ahead may never be requested: the replay is over.
            self._ahead.clear()
        for measured in self._measurer.measure(new):
            self._known[measured.experiment] = measured
            self._on_answer()
        return [self._use(experiment) for experiment in experiments]

    def has(self, experiment: Experiment) -> bool:
        """Whether it can be measured: always on a machine, else where it was recorded."""
        return self.offered is None or experiment in self.offered

    @property
    def is_replaying(self) -> bool:
        """Whether the search still repeats the steps, and thus the events, of the interrupted one."""
        return bool(self._ahead)

    @property
    def known(self) -> tuple[Measured, ...]:
        """All results, in the order in which they were measured."""
        return tuple(self._known.values())

    @property
    def used(self) -> tuple[Measured, ...]:
        """The results that this search has used, in order."""
        return tuple(self._used.values())

    def _use(self, experiment: Experiment) -> Measured:
        if experiment not in self._known:
            note = "not among the recorded experiments"
            return Measured(experiment, None, MeasurementState.FAILED, note=note)
        self._ahead.discard(experiment)
        return self._used.setdefault(experiment, self._known[experiment])


def as_json(answers: Iterable[Measured]) -> list[Json]:
    """The results as JSON for a checkpoint: terms, cycles, state and note of each."""
    return [
        {
            "terms": [list(term) for term in measured.experiment.terms],
            "cycles": measured.cycles,
            "state": measured.state.value,
            "note": measured.note,
        }
        for measured in answers
    ]


def from_json(entries: Iterable[Json]) -> list[Measured]:
    return [
        Measured(
            Experiment.of(dict(entry["terms"])),
            entry["cycles"],
            MeasurementState(entry["state"]),
            note=entry["note"],
        )
        for entry in entries
    ]
