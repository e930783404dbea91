"""The re-fit as a search: alone, after an evolution, on threads, interrupted."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from inference.core import pacing
from inference.core.errors import InterruptedRunError
from inference.core.experiment import Experiment
from inference.core.pmevo import PMEvoProblem, PMEvoResult, PMEvoSettings, infer
from inference.core.pmevo.events import Snapshot
from inference.core.throughput import inverse_throughput
from inference.measuring.simulated import SimulatedProcessor
from tests.core.pmevo.refit.small import SCHEMES, SETTINGS, TRUTH
from tests.core.pmevo.small import Listener

TWO = dataclasses.replace(SETTINGS, starts=2)


def found(settings: PMEvoSettings, listener: Listener | None = None, resume=None) -> PMEvoResult:
    processor = SimulatedProcessor(TRUTH, noise=0.004, seed=3)
    return infer(PMEvoProblem(SCHEMES, settings), processor, listener or Listener(), 5, resume)


@pytest.fixture(scope="module")
def answer() -> PMEvoResult:
    return found(TWO)


def test_unseen_mixes_are_predicted_within_the_noise(answer: PMEvoResult) -> None:
    random = np.random.default_rng(9)
    for _ in range(50):
        mix = Experiment.of(random.choice(SCHEMES, size=5).tolist())
        assert inverse_throughput(answer.mapping, mix) == pytest.approx(
            inverse_throughput(TRUTH, mix), rel=0.1
        )


def test_the_mapping_is_a_point_of_the_front(answer: PMEvoResult) -> None:
    (chosen,) = [point for point in answer.front if point.mapping == answer.mapping]
    assert (chosen.error, chosen.volume, chosen.kinds) == (
        answer.final_error,
        answer.mapping.volume,
        answer.mapping.uop_kinds,
    )
    assert all(point.mapping.usage.keys() == TRUTH.usage.keys() for point in answer.front)
    assert answer.generations == 0


def test_threads_do_not_change_the_answer(answer: PMEvoResult) -> None:
    assert found(dataclasses.replace(TWO, threads=2)) == answer


@pytest.mark.parametrize("search", ["refit", "both"])
def test_interrupted_anywhere_the_answer_is_the_same(monkeypatch, search: str) -> None:
    for limit in ("PULSE_INTERVAL", "SAVE_INTERVAL", "PROGRESS_INTERVAL", "EMIT_INTERVAL"):
        monkeypatch.setattr(pacing, limit, 0.0)
    settings = dataclasses.replace(TWO, search=search, rounds=1, population=20, max_generations=3)
    quiet = Listener()
    undisturbed = found(settings, quiet)
    resume, stops, told = None, 0, []
    for patience in (9, 21, 33, 45, 57, 69, 10**9):
        pulses = itertools.count()
        listener = Listener(lambda _, n=pulses, most=patience: next(n) > most)
        try:
            result = found(settings, listener, resume)
            break
        except InterruptedRunError:
            resume, stops = listener.last(), stops + 1
        finally:
            told += swept_by(listener)
    assert stops > 2
    assert result == undisturbed
    assert told
    assert sorted(told) == sorted(swept_by(quiet)), "each sweep is told once"


def swept_by(listener: Listener) -> list[tuple[int, int, float]]:
    """Which chain, which sweep, and what came of it."""
    sweeps = [event.payload() for event in listener.events if event.kind == "sweep"]
    return [(each["start"], each["sweep"], each["error"]) for each in sweeps]


def test_what_evolved_is_where_the_re_fit_starts() -> None:
    result = found(dataclasses.replace(TWO, search="both", population=50, max_generations=5))
    assert result.generations > 0
    assert result.final_error < 0.02


def test_re_fits_inside_the_evolution_make_it_more_accurate() -> None:
    errors = []
    for refits in (0, 4):
        listener = Listener()
        chosen = dataclasses.replace(
            TWO, search="both", population=20, max_generations=8, refits=refits, rounds=1
        )
        found(chosen, listener)
        errors.append(
            [event.payload()["best_error"] for event in listener.events if event.kind == "generation"]
        )
    assert errors[1][0] == errors[0][0]
    assert errors[1][-1] < errors[0][-1]


def test_sweeps_and_the_front_are_told(answer: PMEvoResult) -> None:
    listener = Listener()
    found(SETTINGS, listener)
    sweeps = [event.payload() for event in listener.events if event.kind == "sweep"]
    assert [sweep["sweep"] for sweep in sweeps] == list(range(1, len(sweeps) + 1))
    fronts = [event.payload()["points"] for event in listener.events if event.kind == "front"]
    assert fronts[-1] == sorted(fronts[-1], key=lambda point: (point["error"], point["volume"]))
    assert isinstance(listener.events[-1], Snapshot)


def test_many_ports_are_no_obstacle() -> None:
    usage = {f"i{k}": ((0b11 << k, 1), (1 << (k + 20), 1)) for k in range(6)}
    mapping = dataclasses.replace(TRUTH, ports=tuple(str(k) for k in range(40)), usage=usage)
    settings = PMEvoSettings(ports=40, search="refit", rounds=1, starts=1, sweeps=1)
    result = infer(PMEvoProblem(tuple(usage), settings), SimulatedProcessor(mapping), Listener(), 1)
    assert result.final_error < 0.1
