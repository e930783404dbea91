"""Sequences as multisets, for a simulated processor: its port mapping knows no order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import tee

from inference.core.experiment import Experiment, Measured, OrderedExperiment
from inference.core.protocols import Json, Measurer


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
