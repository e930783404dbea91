"""PMEvo from end to end on a small simulated processor."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest

from inference.core import pacing
from inference.core.checkpoint import decode
from inference.core.errors import KEEP, InsufficientDataError, InterruptedRunError, InvalidInputError
from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.pmevo import PMEvoProblem, PMEvoResult, infer
from inference.core.pmevo.events import Generation, Snapshot
from inference.core.pmevo.search_state import identity
from inference.core.protocols import Checkpoint
from inference.core.throughput import inverse_throughput
from inference.measuring.recorded import RecordedMeasurer
from tests.core.pmevo.small import MAPPING, SETTINGS, Listener, problem, processor


@pytest.fixture
def every_chance_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulse and save whenever it is possible, not only when it is time."""
    for limit in ("PULSE_INTERVAL", "SAVE_INTERVAL", "PROGRESS_INTERVAL", "EMIT_INTERVAL"):
        monkeypatch.setattr(pacing, limit, 0.0)
    monkeypatch.setattr(pacing, "MAX_SAVE_SHARE", float("inf"))


@pytest.fixture(scope="module")
def whole() -> tuple[PMEvoResult, Listener]:
    listener = Listener()
    return infer(problem(), processor(), listener, 3), listener


@pytest.fixture
def answer(whole: tuple[PMEvoResult, Listener]) -> PMEvoResult:
    return whole[0]


@pytest.fixture
def heard(whole: tuple[PMEvoResult, Listener]) -> Listener:
    return whole[1]


def test_a_small_processor_is_explained_within_its_noise(answer: PMEvoResult) -> None:
    assert answer.final_error < 0.02
    for counts in ({"add": 3, "mul": 1}, {"store": 2, "load": 1, "sub": 1}, {"mul": 2, "store": 1}):
        mix = Experiment.of(counts)
        truth = inverse_throughput(MAPPING, mix)
        assert inverse_throughput(answer.mapping, mix) == pytest.approx(truth, rel=0.15)


def test_congruent_schemes_share_one_port_usage(answer: PMEvoResult) -> None:
    assert answer.congruence_classes == (("add", "sub"), ("load",), ("mul",), ("store",))
    assert answer.mapping.usage["add"] == answer.mapping.usage["sub"]
    assert set(answer.mapping.usage) == set(MAPPING.usage)


@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_does_not_change_the_answer(answer: PMEvoResult, threads: int) -> None:
    settings = dataclasses.replace(SETTINGS, threads=threads)
    assert infer(problem(settings), processor(), Listener(), 3) == answer


def test_another_seed_searches_elsewhere() -> None:
    listeners = Listener(), Listener()
    for seed, listener in enumerate(listeners):
        infer(problem(), processor(), listener, seed)
    first, second = (
        [e.mean_error for e in listener.events if isinstance(e, Generation)] for listener in listeners
    )
    assert first != second


@pytest.mark.parametrize(
    "changes",
    [
        {"population": 7},
        {"max_generations": 0},
        {"duplicates": "add", "volume_weight": 1.0},
        {"scaling": "zero"},
        {"r_max": 2.0},
    ],
    ids=str,
)
def test_variants_run_to_the_end_and_are_deterministic(changes: dict[str, object]) -> None:
    settings = dataclasses.replace(SETTINGS, **changes)
    first = infer(problem(settings), processor(), Listener(), 1)
    assert first == infer(problem(settings), processor(), Listener(), 1)
    assert first.mapping.r_max == settings.r_max


@pytest.mark.usefixtures("every_chance_taken")
def test_resuming_from_any_checkpoint_gives_the_same_answer(
    answer: PMEvoResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference.core.pmevo.climb.MAPPINGS_PER_STEP", 1)
    listener = Listener()
    assert infer(problem(), processor(), listener, 3) == answer
    stages = set()
    for data in listener.saved:
        checkpoint = decode(data)
        evolved = checkpoint.meta["evolved"]
        stage = (
            len(checkpoint.arrays["answers"]) // 5,
            evolved and evolved["generation"],
            checkpoint.meta["climbed"],
        )
        if stage not in stages:
            stages.add(stage)
            assert infer(problem(), processor(), Listener(), 3, checkpoint) == answer
    generations = {generation for _, generation, climbed in stages if climbed is None}
    assert {None, 0, 1, 2, 3} <= generations
    assert {climbed for _, _, climbed in stages} >= {None, 0, 1}


@pytest.mark.usefixtures("every_chance_taken")
def test_a_search_stopped_again_and_again_still_gives_the_same_answer(answer: PMEvoResult) -> None:
    checkpoint: Checkpoint | None = None
    stops = 0
    while True:
        listener = Listener(lambda heard: len(heard.saved) >= 4)
        try:
            result = infer(problem(), processor(), listener, 3, checkpoint)
        except InterruptedRunError:
            stops += 1
            checkpoint = listener.last()
            continue
        break
    assert stops > 5
    assert result == answer


@pytest.mark.usefixtures("every_chance_taken")
def test_answers_in_a_checkpoint_are_not_measured_again() -> None:
    listener = Listener()
    infer(problem(), processor(), listener, 3)
    half = next(c for c in map(decode, listener.saved) if len(c.arrays["answers"]) == 9)

    class Watched(type(processor())):
        asked = 0

        def measure(self, experiments):
            for result in super().measure(experiments):
                Watched.asked += 1
                yield result

    whole = len(decode(listener.saved[-1]).arrays["answers"])
    infer(problem(), Watched(MAPPING, noise=0.004, seed=5), Listener(), 3, half)
    assert Watched.asked == whole - 9


def test_experiments_are_counted_by_state_unless_an_older_checkpoint_has_forgotten_it() -> None:
    def told(listener: Listener) -> dict[str, int]:
        return [event.payload() for event in listener.events if event.kind == "experiments"][-1]

    recorded = list(processor().measure([Experiment.of([scheme]) for scheme in MAPPING.usage]))
    shared = Experiment.of(sorted(MAPPING.usage)[:2])
    recorded.insert(0, Measured(shared, 2.0, MeasurementState.UNSETTLED))
    twice = Experiment.of(dict.fromkeys(shared.schemes, 2))
    recorded.insert(0, Measured(twice, None, MeasurementState.FAILED))
    listener = Listener()
    infer(problem(), RecordedMeasurer(recorded), listener, 3)
    counts = {"asked": len(recorded), "settled": len(recorded) - 2}
    assert told(listener) == {**counts, "unsettled": 1, "contended": 0, "failed": 1}
    saved, again = decode(listener.saved[-1]), Listener()
    infer(problem(), RecordedMeasurer(recorded), again, 3, saved)
    assert told(again) == told(listener)
    older = Checkpoint({key: fact for key, fact in saved.meta.items() if key != "unusable"}, saved.arrays)
    infer(problem(), RecordedMeasurer(recorded), again, 3, older)
    assert told(again) == {**counts, "failed": 2}


@pytest.mark.parametrize(
    ("change", "culprit"), [({"population": 201}, "settings"), ({"r_max": 3.0}, "settings"), (None, "seed")]
)
def test_a_checkpoint_of_another_search_is_refused(
    change: dict[str, object] | None, culprit: str, heard: Listener
) -> None:
    other = problem(dataclasses.replace(SETTINGS, **change)) if change else problem()
    with pytest.raises(InvalidInputError, match=culprit):
        infer(other, processor(), Listener(), 3 if change else 4, heard.last())


def test_a_search_is_the_same_in_whatever_order_the_judging_mixes_come() -> None:
    asked = problem(dataclasses.replace(SETTINGS, learnt_mixes=2))
    mixes = [Measured(Experiment.of(pair), 1.0) for pair in itertools.combinations(sorted(MAPPING.usage), 2)]
    orders = [dataclasses.replace(asked, held_out=held_out) for held_out in (mixes, mixes[::-1], mixes[1:])]
    first, again, other = (identity(each, 3, None) for each in orders)
    assert first == again != other


def test_a_stop_saves_where_the_search_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "PULSE_INTERVAL", 0.0)  # else a quick search is over before the first pulse
    heard = Listener(lambda listener: "generation" in listener.kinds())
    with pytest.raises(InterruptedRunError):
        infer(problem(dataclasses.replace(SETTINGS, max_generations=100_000)), processor(), heard, 3)
    told = [event.generation for event in heard.events if isinstance(event, Generation)]
    assert heard.last().meta["evolved"]["generation"] == told[-1]


class Keeping(Listener):
    """Asks for what there is, once something was told."""

    def __init__(self, after: str) -> None:
        super().__init__()
        self._after = after

    def pulse(self) -> None:
        if self._after in self.kinds():
            raise InterruptedRunError(KEEP)


@pytest.mark.parametrize(
    ("after", "changes"),
    [
        ("generation", {}),
        ("generation", {"search": "both", "refits": 1}),
        ("generation", {"islands": 2, "population": 60}),
        ("front", {"search": "refit", "objective": "mean"}),
        ("front", {"search": "refit", "objective": "bounded"}),
    ],
)
@pytest.mark.usefixtures("every_chance_taken")
def test_whoever_wants_what_there_is_gets_the_best_mapping_so_far(
    after: str, changes: dict[str, object]
) -> None:
    settings = dataclasses.replace(SETTINGS, **{"max_generations": 100_000, "convergence": 0.0, **changes})
    heard = Keeping(after)
    result = infer(problem(settings), processor(), heard, 3)
    assert set(result.mapping.usage) == set(MAPPING.usage)
    assert result.generations < 1000
    again = Keeping("phase")  # from its checkpoint, still wanted
    resumed = infer(problem(settings), processor(), again, 3, heard.last())
    assert set(resumed.mapping.usage) == set(MAPPING.usage)


def test_while_nothing_is_there_yet_the_wish_to_keep_it_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "PULSE_INTERVAL", 0.0)
    with pytest.raises(InterruptedRunError):
        infer(problem(), processor(), Keeping("phase"), 3)


def test_a_checkpoint_may_go_on_with_other_threads(answer: PMEvoResult, heard: Listener) -> None:
    settings = dataclasses.replace(SETTINGS, threads=2)
    assert infer(problem(settings), processor(), Listener(), 3, heard.last()) == answer


def test_a_listener_hears_every_stage_in_order(heard: Listener) -> None:
    phases = [event.payload() for event in heard.events if event.kind == "phase"]
    assert [phase["name"] for phase in phases] == ["measuring", "congruence", "evolution", "climb"]
    assert [(phase["index"], len(phase["labels"])) for phase in phases] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert {"experiments", "progress", "congruence", "generation", "log"} <= set(heard.kinds())
    assert any(isinstance(event, Snapshot) for event in heard.events)
    for event in heard.events:
        if event.kind:
            assert json.loads(json.dumps(event.payload(), allow_nan=False)) == event.payload()
            event.read(event.payload(), strict=True)


def test_every_generation_is_told_and_the_mean_fitness_improves(heard: Listener) -> None:
    told = [event for event in heard.events if isinstance(event, Generation)]
    assert [event.generation for event in told] == list(range(len(told)))
    assert told[-1].mean_error < told[0].mean_error
    assert told[-1].mean_volume < told[0].mean_volume


def test_before_the_first_generation_its_mappings_are_counted(heard: Listener) -> None:
    kinds = heard.kinds()
    first = kinds.index("generation")
    told = [event.payload() for event in heard.events[:first] if event.kind == "progress"][-1]
    assert (told["phase"], told["unit"]) == ("evolution", "mappings of the first generation")
    assert 0 <= told["done"] < told["total"] == SETTINGS.population
    assert (
        "preparing" in [event.payload()["text"] for event in heard.events[:first] if event.kind == "log"][-1]
    )


def test_snapshots_predict_the_held_out_experiments_and_nothing_is_learnt_from_them(
    answer: PMEvoResult,
) -> None:
    mixes = [Experiment.of({"add": 2, "mul": k}) for k in range(1, 4)]
    held_out = [Measured(mix, 50.0) for mix in mixes]  # absurd on purpose: learning from them would show
    held_out.append(Measured(Experiment.of({"stranger": 1}), 1.0))
    held_out.append(Measured(Experiment.of({"add": 9}), None, MeasurementState.FAILED))
    listener = Listener()
    asked = PMEvoProblem(tuple(MAPPING.usage), SETTINGS, held_out)
    assert infer(asked, processor(), listener, 3) == answer
    last = [event for event in listener.events if isinstance(event, Snapshot)][-1]
    assert last.on == "held-out"
    assert last.mapping == answer.mapping
    assert last.measured.tolist() == [50.0] * 3
    assert last.table.lengths.tolist() == [mix.length for mix in mixes]
    assert last.predicted.tolist() == [inverse_throughput(answer.mapping, mix) for mix in mixes]


def test_without_held_out_results_snapshots_show_the_training_data(
    answer: PMEvoResult, heard: Listener
) -> None:
    last = [event for event in heard.events if isinstance(event, Snapshot)][-1]
    assert last.on == "training"
    each = np.abs(last.predicted - last.measured) / last.measured
    assert each.mean() == pytest.approx(answer.final_error)


def test_recorded_data_is_learnt_from_as_far_as_it_goes() -> None:
    results = [
        Measured(Experiment.of(counts), cycles)
        for counts, cycles in (
            ({"mul": 1}, 1.0),
            ({"add": 2, "mul": 1}, 1.5),  # "add" has no singleton
            ({"other": 1, "mul": 1}, 7.0),  # not asked for
        )
    ]
    results.append(Measured(Experiment.of({"broken": 1}), None, MeasurementState.FAILED))
    listener = Listener()
    result = infer(PMEvoProblem(("add", "mul", "broken"), SETTINGS), RecordedMeasurer(results), listener, 0)
    assert result.experiments == 2
    assert set(result.mapping.usage) == {"add", "mul"}
    assert any(e.kind == "log" and "broken" in e.payload()["text"] for e in listener.events)


def test_a_scheme_that_cannot_be_measured_is_left_out_with_a_warning() -> None:
    listener = Listener()
    asked = PMEvoProblem((*MAPPING.usage, "stranger"), SETTINGS)
    result = infer(asked, processor(), listener, 3)
    assert set(result.mapping.usage) == set(MAPPING.usage)
    warnings = [e.payload() for e in listener.events if e.kind == "log" and e.payload()["level"] == "warning"]
    assert ["stranger" in warning["text"] for warning in warnings] == [True]


@pytest.mark.parametrize(
    "results",
    [[], [Measured(Experiment.of({"add": 1}), None, MeasurementState.FAILED)]],
    ids=["none", "failed"],
)
def test_no_usable_data_is_said_so(results: list[Measured]) -> None:
    with pytest.raises(InsufficientDataError):
        infer(PMEvoProblem(("add",), SETTINGS), RecordedMeasurer(results), Listener(), 0)
