"""Experiments asked so far, in order; a resumed search asks the same ones and is answered from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.protocols import Json, Measurer


class AnsweredOnce:
    """A measurer that is asked everything once.

    `earlier` are the answers of an interrupted search. `on_answer` is called after every new one.
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
        """The answers, measuring what is new; an experiment that is not on offer has failed."""
        new = [e for e in dict.fromkeys(experiments) if e not in self._known and self.has(e)]
        if new:  # what is still ahead will not be asked again: another solver finds other candidates
            self._ahead.clear()
        for measured in self._measurer.measure(new):
            self._known[measured.experiment] = measured
            self._on_answer()
        return [self._use(experiment) for experiment in experiments]

    def has(self, experiment: Experiment) -> bool:
        """Whether it can be asked at all."""
        return self.offered is None or experiment in self.offered

    @property
    def replaying(self) -> bool:
        """Whether answers of the interrupted search are still to be asked for again."""
        return bool(self._ahead)

    @property
    def known(self) -> tuple[Measured, ...]:
        """Everything answered, in the order in which it was measured."""
        return tuple(self._known.values())

    @property
    def used(self) -> tuple[Measured, ...]:
        """Everything asked in this search, in order."""
        return tuple(self._used.values())

    def _use(self, experiment: Experiment) -> Measured:
        if experiment not in self._known:
            note = "not among the recorded experiments"
            return Measured(experiment, None, MeasurementState.FAILED, note=note)
        self._ahead.discard(experiment)
        return self._used.setdefault(experiment, self._known[experiment])


def as_json(answers: Iterable[Measured]) -> list[Json]:
    """For a checkpoint: what the search needs of the answers."""
    return [
        {
            "terms": [list(term) for term in each.experiment.terms],
            "cycles": each.cycles,
            "state": each.state.value,
            "note": each.note,
        }
        for each in answers
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
