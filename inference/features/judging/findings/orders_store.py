"""The orders of experiments in an experiment set of their own, where no order can be told from another.

The k-th order that was drawn of a multiset is its repeat k, and its note says which order that is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from inference.core.experiment import Experiment, Measured, OrderedExperiment
from inference.core.protocols import MeasurementStore


class OrdersStore:
    """A `MeasurementStore` for ordered experiments, over one for each repeat.

    `drawn` are the orders of each multiset. The set behind must have an identity of its own: what is in
    there was not measured as other sets are.
    """

    def __init__(
        self, repeat: Callable[[int], MeasurementStore], drawn: Sequence[Sequence[OrderedExperiment]]
    ) -> None:
        self._numbers: Mapping[Experiment, int] = {
            ordered: number for orders in drawn for number, ordered in enumerate(orders)
        }
        self._stores = [repeat(number) for number in range(max(map(len, drawn), default=0))]

    def known(self, experiments: Sequence[Experiment]) -> Mapping[Experiment, Measured]:
        """Those of the orders that were measured before."""
        found: dict[Experiment, Measured] = {}
        for number, asked in self._by_number(experiments).items():
            known = self._stores[number].known([_multiset(each) for each in asked])
            for each in asked:
                if (result := known.get(_multiset(each))) is not None:
                    found[each] = replace(result, experiment=each)
        return found

    def remember(self, results: Sequence[Measured]) -> None:
        by_experiment = {result.experiment: result for result in results}
        for number, measured in self._by_number(list(by_experiment)).items():
            self._stores[number].remember([_told(each, by_experiment[each]) for each in measured])

    def _by_number(self, experiments: Sequence[Experiment]) -> Mapping[int, list[Experiment]]:
        grouped: defaultdict[int, list[Experiment]] = defaultdict(list)
        for each in experiments:
            grouped[self._numbers[each]].append(each)
        return grouped


def _multiset(experiment: Experiment) -> Experiment:
    assert isinstance(experiment, OrderedExperiment), "only orders are asked for here"
    return experiment.multiset


def _told(experiment: Experiment, result: Measured) -> Measured:
    """The result for the set: of the multiset, with a note of the order."""
    assert isinstance(experiment, OrderedExperiment), "only orders are asked for here"
    number = {scheme: place for place, scheme in enumerate(experiment.schemes, start=1)}
    order = "order: " + " ".join(str(number[scheme]) for scheme in experiment.order)
    note = f"{order}; {result.note}" if result.note else order
    return replace(result, experiment=experiment.multiset, note=note)
