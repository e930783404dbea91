"""Recorded data as a measurer: only what was recorded can be asked."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import tee

from inference.core.experiment import Experiment, Measured, MeasurementState, OrderedExperiment
from inference.core.protocols import Json, Measurer

# Sequences as multisets, for a simulated processor: its port mapping knows no order.


class AsMultisets:
    """A measurer that answers an `OrderedExperiment` as the multiset of its instructions."""

    def __init__(self, measurer: Measurer) -> None:
        self._measurer = measurer

    @property
    def identity(self) -> Json:
        """That of the measurer behind."""
        return self._measurer.identity

    def offers(self) -> Sequence[Experiment] | None:
        """Those of the measurer behind."""
        return self._measurer.offers()

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in the order asked."""
        asked, behind = tee(experiments)
        results = self._measurer.measure(
            each.multiset if isinstance(each, OrderedExperiment) else each for each in behind
        )
        for experiment, result in zip(asked, results, strict=True):
            yield replace(result, experiment=experiment)


class RecordedMeasurer:
    """Answers from results that exist already.

    An experiment recorded several times answers with the median of its usable repeats.
    """

    def __init__(self, results: Iterable[Measured]) -> None:
        repeats: dict[Experiment, list[Measured]] = {}
        for result in results:
            repeats.setdefault(result.experiment, []).append(result)
        self._answers = {experiment: _merge(found) for experiment, found in repeats.items()}

    @property
    def identity(self) -> Json:
        """A digest of everything recorded: other data, other answers."""
        digest = hashlib.sha256()
        for experiment, answer in sorted(self._answers.items(), key=lambda item: item[0]):
            digest.update(f"{experiment.terms!r} {answer.cycles!r} {answer.state}\n".encode())
        return {"kind": "recorded", "digest": digest.hexdigest()}

    def offers(self) -> Sequence[Experiment]:
        """Everything recorded, in the order in which it was given."""
        return tuple(self._answers)

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """The recorded answers; an experiment that was never recorded is a failure that says so."""
        for experiment in experiments:
            answer = self._answers.get(experiment)
            yield (
                answer
                if answer is not None
                else Measured(
                    experiment, None, MeasurementState.FAILED, note="not among the recorded experiments"
                )
            )


def _merge(repeats: Sequence[Measured]) -> Measured:
    usable = [result for result in repeats if result.usable and result.cycles is not None]
    if len(repeats) == 1 or not usable:
        return repeats[0]
    cycles = [result.cycles for result in usable if result.cycles is not None]
    return Measured(
        usable[0].experiment,
        statistics.median(cycles),
        spread=max(cycles) - min(cycles),
        passes=len(cycles),
        note=f"median of {len(cycles)} recorded results" if len(cycles) > 1 else usable[0].note,
        annotations=usable[0].annotations,
    )
