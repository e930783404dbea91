from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.protocols import RepeatingMeasurer
from inference.measuring import proxies
from inference.measuring.proxies import LOOKUP_SIZE, RepeatingCache, StoreBackedMeasurer
from inference.measuring.simulated import SimulatedProcessor
from tests.measuring.test_contract import ASKED, MAPPING, STRANGER, MemoryStore


class Counting(SimulatedProcessor):
    """Counts what reaches the processor."""

    def __init__(self) -> None:
        super().__init__(MAPPING, noise=0.1)
        self.asked: list[Experiment] = []

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        for experiment in experiments:
            self.asked.append(experiment)
            yield from super().measure([experiment])


def test_nothing_is_measured_twice() -> None:
    behind, store = Counting(), MemoryStore()
    first = list(StoreBackedMeasurer(behind, store).measure([*ASKED, *ASKED]))
    again = list(StoreBackedMeasurer(behind, store).measure(ASKED))
    assert behind.asked == list(ASKED)
    assert first == [*again, *again]


def test_only_what_is_missing_is_measured_and_the_order_stays() -> None:
    behind, store = Counting(), MemoryStore()
    list(StoreBackedMeasurer(behind, store).measure(ASKED[1::2]))
    behind.asked.clear()
    results = list(StoreBackedMeasurer(behind, store).measure(ASKED))
    assert behind.asked == list(ASKED[::2])
    assert [result.experiment for result in results] == list(ASKED)


def test_what_is_known_up_to_the_first_gap_comes_before_anything_is_measured(monkeypatch) -> None:
    monkeypatch.setattr(proxies, "LOOKUP_SIZE", 2)
    behind, store = Counting(), MemoryStore()
    list(StoreBackedMeasurer(behind, store).measure(ASKED[:4]))
    behind.asked.clear()
    results = StoreBackedMeasurer(behind, store).measure(ASKED)
    assert [next(results).experiment for _ in range(4)] == list(ASKED[:4])
    assert behind.asked == []
    assert [result.experiment for result in results] == list(ASKED[4:])


def test_failures_are_remembered() -> None:
    behind, store = Counting(), MemoryStore()
    for _ in range(2):
        list(StoreBackedMeasurer(behind, store).measure([STRANGER]))
    assert behind.asked == [STRANGER]


def test_a_contended_answer_is_asked_again() -> None:
    store = MemoryStore()
    store.kept[ASKED[0]] = Measured(ASKED[0], 99.0, MeasurementState.CONTENDED)
    (result,) = StoreBackedMeasurer(Counting(), store).measure([ASKED[0]])
    assert result.usable


def test_results_are_stored_when_the_listener_stops_half_way() -> None:
    behind, store = Counting(), MemoryStore()
    stream = StoreBackedMeasurer(behind, store).measure(ASKED)
    taken = [next(stream), next(stream)]
    stream.close()
    assert [store.kept[result.experiment] for result in taken] == taken


def test_results_are_stored_in_batches_not_one_by_one() -> None:
    store = MemoryStore()
    many = [Experiment.of({"add": k}) for k in range(1, 2 * LOOKUP_SIZE + 2)]
    list(StoreBackedMeasurer(Counting(), store).measure(many))
    assert sum(store.batches) == len(many)
    assert len(store.batches) < len(many) / 10


def test_the_measurer_is_asked_once_for_everything_that_is_missing() -> None:
    class InOneGo(Counting):
        questions = 0

        def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
            InOneGo.questions += 1
            return super().measure(experiments)

    many = [Experiment.of({"add": k}) for k in range(1, 3 * LOOKUP_SIZE)]
    results = list(StoreBackedMeasurer(InOneGo(), MemoryStore()).measure([*many, *many[:5]]))
    assert [result.experiment for result in results] == [*many, *many[:5]]
    assert InOneGo.questions == 1


def test_slow_measurements_are_stored_while_the_others_still_run(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 2))
    monkeypatch.setattr(proxies.time, "monotonic", lambda: float(next(clock)))
    store = MemoryStore()
    list(StoreBackedMeasurer(Counting(), store).measure(ASKED))
    assert store.batches == [1] * len(ASKED)


def test_a_repetition_is_measured_anew_and_has_a_memory_of_its_own() -> None:
    behind = Counting()
    stores = {0: MemoryStore(), 1: MemoryStore()}
    cache = RepeatingCache(
        behind, stores[0], lambda number: StoreBackedMeasurer(behind.repetition(number), stores[number])
    )
    assert isinstance(cache, RepeatingMeasurer)
    assert cache.repetition(0) is cache
    first = list(cache.measure(ASKED))
    second = list(cache.repetition(1).measure(ASKED))
    assert [r.experiment for r in first] == [r.experiment for r in second]
    assert [r.cycles for r in first] != [r.cycles for r in second]
    assert list(cache.repetition(1).measure(ASKED)) == second
    assert len(behind.asked) == 2 * len(ASKED)
