from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from inference.core import pacing
from inference.core.checkpoint import decode, encode
from inference.core.errors import InterruptedRunError, InvalidInputError
from inference.core.pacing import LocalExecutor
from inference.core.pmevo import PMEvoSettings, infer
from inference.core.pmevo.breeding import Evolution
from inference.core.pmevo.events import Cloud, Generation
from inference.core.pmevo.evolution import evolve
from inference.core.pmevo.packing import pack_evolution, unpack_evolution
from inference.core.pmevo.variation import fingerprints
from inference.core.protocols import Checkpoint
from tests.core.pmevo.islanders import ISLANDS, evolved, facts, judge_of
from tests.core.pmevo.small import Listener, problem, processor


@pytest.fixture(scope="module")
def epochs() -> list[Evolution]:
    """The states after each epoch."""
    heard: list[Evolution] = []
    evolved(LocalExecutor(1), listen=heard.append)
    return heard


@pytest.mark.parametrize("threads", [2, 8])
def test_the_number_of_workers_does_not_change_the_answer(epochs: list[Evolution], threads: int) -> None:
    assert evolved(LocalExecutor(threads)) == facts(epochs[-1])


def test_the_number_of_islands_does() -> None:
    fewer = dataclasses.replace(ISLANDS, islands=2)
    assert evolved(None, settings=fewer) != evolved(None)


def test_islands_share_out_the_population(epochs: list[Evolution]) -> None:
    for state in epochs:
        assert [island.population.n_mappings for island in state.islands] == [13, 13, 12, 12]
        assert state.population.n_mappings == 50
        both = [np.sort(fingerprints(state.population))]
        both.append(np.sort(np.concatenate([fingerprints(island.population) for island in state.islands])))
        assert np.array_equal(*both)
        assert np.all(np.diff(state.slopes.fitness(state.errors, state.volumes)) >= 0)


def test_an_epoch_ends_where_its_length_divides_the_generation(epochs: list[Evolution]) -> None:
    assert [state.generation for state in epochs] == [0, 3, 6, 8]


def test_islands_differ_until_their_best_migrate_in_a_ring(epochs: list[Evolution]) -> None:
    first = [set(fingerprints(island.population).tolist()) for island in epochs[0].islands]
    assert not set.intersection(*first)
    listener = Listener()
    alone = dataclasses.replace(ISLANDS, migrants=0)
    kept: list[Evolution] = []
    evolved(None, listener, alone, listen=kept.append)
    assert facts(kept[0]) == facts(epochs[0])
    assert facts(kept[1]) != facts(epochs[1])


@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_a_search_goes_on_from_any_epoch(epochs: list[Evolution], epoch: int) -> None:
    told, arrays = pack_evolution(epochs[epoch])
    stored = decode(encode(Checkpoint(told, arrays)))
    again = unpack_evolution(stored.meta, dict(stored.arrays), ISLANDS.ports)
    assert facts(again) == facts(epochs[epoch])
    assert [facts(island) for island in again.islands] == [facts(i) for i in epochs[epoch].islands]
    assert evolved(None, state=again) == facts(epochs[-1])


def test_what_comes_back_is_one_population(epochs: list[Evolution]) -> None:
    judge, times = judge_of(Listener(), ISLANDS)
    end = evolve(judge, times, 3, None, lambda state: None)
    assert facts(end) == facts(epochs[-1])
    assert len(epochs[-1].islands) == 4
    assert end.islands == ()
    assert judge.evaluations >= 50 * 9


def test_every_generation_of_all_islands_is_told_once() -> None:
    listener = Listener()
    kept: list[Evolution] = []
    evolved(None, listener, listen=kept.append)
    told = [event for event in listener.events if isinstance(event, Generation)]
    assert [event.generation for event in told] == list(range(9))
    for state in kept:
        event = told[state.generation]
        assert event.mean_error == pytest.approx(state.errors.mean())
        assert event.mean_volume == pytest.approx(state.volumes.mean())
        assert event.best_error in state.errors
        assert event.best_volume in state.volumes


@pytest.mark.parametrize("islands", [1, 4])
def test_the_whole_population_is_shown_at_the_end(islands: int) -> None:
    listener = Listener()
    kept: list[Evolution] = []
    evolved(None, listener, dataclasses.replace(ISLANDS, islands=islands), listen=kept.append)
    shown = [event for event in listener.events if isinstance(event, Cloud)]
    assert shown[-1].generation == kept[-1].generation
    assert len({event.generation for event in shown}) == len(shown)
    assert shown[-1].errors == [round(error, 6) for error in kept[-1].errors.tolist()]
    assert shown[-1].population == 50


def test_an_inference_on_islands_goes_on_from_any_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "SAVE_INTERVAL", 0.0)
    monkeypatch.setattr(pacing, "MAX_SAVE_SHARE", float("inf"))
    asked = problem(dataclasses.replace(ISLANDS, climb_share=0.02))
    listener = Listener()
    answer = infer(asked, processor(), listener, 3)
    stages = {}
    for data in listener.saved:
        checkpoint = decode(data)
        if checkpoint.meta["evolved"] is not None:
            stage = (checkpoint.meta["evolved"]["generation"], checkpoint.meta["climbed"])
            stages.setdefault(stage, checkpoint)
    assert {(0, None), (3, None), (6, None), (8, None), (8, 0), (8, 1)} <= stages.keys()
    for checkpoint in stages.values():
        assert infer(asked, processor(), Listener(), 3, checkpoint) == answer


def test_a_pause_gets_through_while_islands_evolve() -> None:
    long = dataclasses.replace(ISLANDS, max_generations=100_000, migrate_every=50_000, repeats="replace")
    listener = Listener(lambda heard: "generation" in heard.kinds())
    with pytest.raises(InterruptedRunError):
        evolved(LocalExecutor(2), listener, long)


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"islands": 26, "population": 50}, "islands must be a whole number from 1 to 25"),
        ({"migrate_every": 0}, "migrate_every"),
        ({"migrants": -1}, "migrants"),
    ],
)
def test_impossible_islands_are_refused(options: dict[str, int], culprit: str) -> None:
    with pytest.raises(InvalidInputError, match=culprit):
        PMEvoSettings(**options)
