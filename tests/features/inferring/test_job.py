"""Inference runs, done in this process with a small simulated processor."""

from __future__ import annotations

import pytest

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.core.pmevo import PMEvoSettings
from inference.core.sampling import held_out_experiments, random_mixes
from inference.features.learning.inferring import job
from inference.measuring.simulated import SimulatedProcessor
from inference.models import (
    ISA,
    Evaluation,
    ExperimentSet,
    Measurement,
    PortMapping,
    Run,
    StoredCoreModel,
)
from inference.runs import leases, lifecycle
from inference.runs.errors import ConfigError
from inference.runs.fork_server import StopRequests, execute
from inference.storage.core_models import core_model_of_parts
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.rows import load_measurements as loaded
from inference.storage.rows import store_measurements
from tests.fronts import fronted
from tests.runs.fixtures import done_with_interruptions, numbers, payloads, state
from tests.simulated import simulated_machine
from tests.work import work_off

__all__ = ["fronted"]
pytestmark = pytest.mark.django_db

TRUTH = Mapping(
    ("0", "1", "2"),
    {"a": ((1, 1),), "b": ((3, 1),), "c": ((4, 2),), "d": ((7, 1),), "e": ((1, 1), (4, 1))},
)
QUICK = {"search": "evolution", "population": 40, "max_generations": 4, "threads": 1}


@pytest.fixture
def isa():
    made = new_isa("toy", TRUTH.usage, "a test")
    made.schemes.filter(text__in=["d", "e"]).update(exclusion="not today")
    return made


@pytest.fixture
def mapping(isa):
    return store_mapping("truth", isa, TRUTH, origin=PortMapping.Origin.IMPORT)


def experiment_set(isa, name, experiments):
    row = ExperimentSet.objects.create(name=name, isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    store_measurements(row, SimulatedProcessor(TRUTH, noise=0.01, seed=5).measure(experiments))
    return row


@pytest.fixture
def recorded(isa):
    alone = [Experiment.of([scheme]) for scheme in TRUTH.usage]
    return experiment_set(isa, "recorded", alone + random_mixes(sorted(TRUTH.usage), 60, 1))


def do(config, name="a run"):
    run = lifecycle.submit("infer", {"ports": 3, "settings": QUICK, **config}, name)
    return work_off(run)


def test_what_loops_take_by_their_size_is_kept_for_core_models(recorded, isa, monkeypatch):
    sizes = {(100, 350): 14.0}
    monkeypatch.setattr(job, "loop_code_of_run", lambda run, config, mapping, begun, stages: sizes)
    run = do({"source": {"datasets": [recorded.pk]}})
    row = PortMapping.objects.get(run=run)
    assert core_model_of_parts(StoredCoreModel(name="core", isa=isa, mapping=row)).loop_code == sizes


def test_a_fifth_of_recorded_data_is_held_out_and_judges_the_mapping(recorded):
    run = do({"source": {"datasets": [recorded.pk]}})
    assert run.state == "done", run.error
    assert run.result["held_out"]["n"] == 13
    assert run.result["experiments"] == 52
    made = PortMapping.objects.get(run=run)
    assert (made.name, made.origin, run.result["mapping"]) == ("a run", "run", made.pk)
    assert set(load_mapping(made).usage) == set(TRUTH.usage)
    evaluation = Evaluation.objects.get()
    assert (evaluation.held_out_by, evaluation.mapping, evaluation.n) == (run, made, 13)
    assert payloads(run, "result")[0]["held_out"] == run.result["held_out"]
    assert payloads(run, "heat_map")[-1]["on"] == "held-out"
    assert payloads(run, "heat_map")[-1]["scores"]["n"] == 13
    assert [p["index"] for p in payloads(run, "phase")] == [1, 2, 3, 4]


def test_an_inference_stopped_to_keep_what_there_is_ends_with_the_best_mapping_so_far(recorded):
    endless = {**QUICK, "max_generations": 100_000, "convergence": 0.0}
    config = {"source": {"datasets": [recorded.pk]}, "ports": 3, "settings": endless}
    run = lifecycle.submit("infer", config, "a run")
    lease = leases.claim("w", only=run.pk)

    class Keeping(StopRequests):
        def __call__(self):
            return lifecycle.keep(run).wanted if payloads(run, "generation") else super().__call__()

    execute(lease, Keeping(lease))
    run.refresh_from_db()
    assert (run.state, run.wanted) == ("done", ""), run.error
    assert run.result["mapping"] == PortMapping.objects.get(run=run).pk
    assert run.result["held_out"]["n"] == 13


def test_an_evaluation_set_replaces_the_held_out_share(isa, recorded):
    judge = experiment_set(isa, "judge", [Experiment.of({"a": 3, "b": 4}), Experiment.of({"c": 7})])
    run = do({"source": {"datasets": [recorded.pk]}, "evaluate": judge.pk})
    assert run.result["experiments"] == 65
    assert run.result["held_out"]["n"] == 2
    assert Evaluation.objects.get().experiment_set == judge


def test_what_the_evaluation_set_has_too_judges_and_is_not_learnt_from(isa, recorded):
    asked = random_mixes(sorted(TRUTH.usage), 20, 9)
    judge = experiment_set(isa, "judge", asked)
    learnt = {row.experiment.key for row in recorded.measurements.select_related("experiment")}
    recurring = learnt & {row.experiment.key for row in judge.measurements.select_related("experiment")}
    assert recurring, "the sets were meant to overlap"
    run = do({"source": {"datasets": [recorded.pk]}, "evaluate": judge.pk})
    assert run.state == "done", run.error
    assert run.result["experiments"] == 65 - len(recurring)
    assert run.result["held_out"]["n"] == 20
    lines = [payload["text"] for payload in payloads(run, "log")]
    assert any(
        line.startswith(f"{len(recurring)} experiment(s) to learn from are in 'judge'") for line in lines
    )


def test_a_set_that_has_all_there_is_to_learn_from_cannot_judge(isa, recorded):
    judge = experiment_set(isa, "all of it", [row.experiment for row in loaded(recorded)])
    run = do({"source": {"datasets": [recorded.pk]}, "evaluate": judge.pk})
    assert run.state == "failed"
    assert "all 65 experiments to learn from are in 'all of it' too" in run.error


def test_a_front_is_stored_with_the_mapping_and_judged_by_what_was_held_out(fronted, recorded):
    run = do({"source": {"datasets": [recorded.pk]}})
    assert run.state == "done", run.error
    made = PortMapping.objects.get(run=run)
    points = list(made.front.all())
    assert [point.kinds for point in points] == [point["kinds"] for point in run.result["front"]]
    assert points[0].picked == made
    assert points[0].mape == Evaluation.objects.get().mape
    assert all(point.mape is not None for point in points)
    assert run.result["exhaustive"] == made.report["exhaustive"]
    assert payloads(run, "front")[-1]["points"][0]["kinds"] == points[0].kinds


def test_a_live_heat_map_tells_errors_by_length_and_the_worst_schemes(recorded):
    run = do({"source": {"datasets": [recorded.pk]}})
    told = payloads(run, "heat_map")[-1]
    assert sum(n for _, n, _ in told["lengths"]) == told["scores"]["n"]
    weighted = sum(n * mape for _, n, mape in told["lengths"]) / told["scores"]["n"]
    assert weighted == pytest.approx(told["scores"]["mape"], abs=1e-3)
    assert told["schemes"] == len(told["worst"]) == len(TRUTH.usage)
    absolutes = [absolute for *_, absolute in told["worst"]]
    assert absolutes == sorted(absolutes, reverse=True)


def test_a_simulation_is_measured_and_judged_by_fresh_mixes(mapping):
    run = do({"source": {"simulate": mapping.pk, "noise": 0.01}, "mixes": 30}, "sim")
    assert run.state == "done", run.error
    mixes = ExperimentSet.objects.get(name="sim · five-scheme mixes")
    assert mixes.measurements.count() == 30
    assert run.result["held_out"]["n"] == 30
    assert Evaluation.objects.get().experiment_set == mixes
    measured = ExperimentSet.objects.get(name="sim · measurements")
    assert measured.measurements.count() == run.result["experiments"] > 15


def test_a_simulation_can_be_sampled_but_data_sets_cannot(mapping, recorded):
    run = do({"source": {"simulate": mapping.pk}, "sample": 3, "mixes": 10}, "few")
    assert run.state == "done", run.error
    assert run.result["schemes"] == 3
    with pytest.raises(ConfigError, match="select fewer by a filter"):
        lifecycle.submit("infer", {"source": {"datasets": [recorded.pk]}, "sample": 3}, "x")


def test_a_simulated_machine_answers_from_the_mapping_it_keeps(isa):
    machine = simulated_machine(isa, TRUTH, noise=0.02, seed=4)
    run = do({"source": {"machine": machine.pk}, "schemes": "default", "mixes": 10})
    assert run.state == "done", run.error
    made = PortMapping.objects.get(run=run)
    assert made.machine == machine
    assert set(load_mapping(made).usage) == {"a", "b", "c"}
    assert {row.machine for row in ExperimentSet.objects.all()} == {machine}


def test_the_same_seed_gives_the_same_mapping_and_interruptions_change_nothing(mapping):
    config = {"source": {"simulate": mapping.pk, "noise": 0.05}, "mixes": 30, "seed": 7}
    undisturbed = do(config, "undisturbed")
    run = lifecycle.submit("infer", {"ports": 3, "settings": QUICK, **config}, "interrupted")
    done_with_interruptions(run, patience=2, most=4)
    first, second = (load_mapping(PortMapping.objects.get(run=r)) for r in (undisturbed, run))
    assert first.usage == second.usage
    assert undisturbed.result["held_out"] == run.result["held_out"]
    assert Measurement.objects.filter(experiment_set__run=undisturbed).count() == (
        Measurement.objects.filter(experiment_set__run=run).count()
    )
    generations = [p["generation"] for p in payloads(run, "generation")]
    assert generations == sorted(set(generations))
    assert numbers(run) == list(range(1, len(numbers(run)) + 1))
    assert PortMapping.objects.filter(run=run).count() == 1


def test_schemes_can_be_chosen_by_id(isa, recorded):
    ids = list(isa.schemes.filter(text__in=["a", "b", "d"]).values_list("pk", flat=True))
    run = do({"source": {"datasets": [recorded.pk]}, "schemes": ids, "scheme_filter": "a b d"})
    assert run.state == "done", run.error
    assert set(load_mapping(PortMapping.objects.get(run=run)).usage) == {"a", "b", "d"}


def test_the_description_is_completed_with_every_setting(recorded):
    run = lifecycle.submit("infer", {"source": {"datasets": [recorded.pk]}, "settings": {"ports": "4"}}, "n")
    assert run.config["algorithm"] == "pmevo"
    assert run.config["isa"] == "toy"
    assert run.config["ports"] == 4
    assert run.config["settings"]["population"] == PMEvoSettings().population
    assert "ports" not in run.config["settings"]
    again = lifecycle.submit("infer", run.config, "again", forked_from=run)
    assert again.config == run.config


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"algorithm": "guess"}, "algorithm must be one of pmevo"),
        ({"source": {}}, "exactly one of datasets, machine, simulate"),
        ({"source": {"datasets": [999]}}, "no experiment set with the id 999"),
        ({"source": {"datasets": []}}, "source datasets must be a list of 1 or more ids"),
        ({"source": {"simulate": 999}}, "no port mapping with the id 999"),
        ({"source": {"machine": "x"}}, "source machine must be a whole number, not 'x'"),
        ({"ports": 0}, "ports must be a whole number from 1"),
        ({"settings": {"populaton": 3}}, "the nearest is 'population'"),
        ({"settings": {"population": "many"}}, "population must be a whole number"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"held_out": 1.5}, "held_out must be a number from 0 to 0.9"),
        ({"evaluate": 999}, "no experiment set with the id 999"),
        ({"schemes": "some"}, "all, default, starter, probes, legacy-sse, .* or a list of 1 or more ids"),
        ({"source": {"machine": 1, "colour": 3}}, "source has no field 'colour'; its fields are machine"),
        ({"source": {"simulate": 1, "noise": 1}}, "source noise must be a number from 0 to 0.999, not 1"),
        ({"known": {"uops": {"a": "2"}}}, "known uops must be an object {…: a whole number}, not '2'"),
        ({"known": {"uops": {"a": 2}}}, "known: PMEvo cannot use uops"),
        ({"colour": "red"}, "no field 'colour'"),
        ({"isa": "arm"}, "the source is for 'toy'"),
    ],
)
def test_a_wrong_description_is_refused_with_the_field_and_what_would_be_right(recorded, change, complaint):
    with pytest.raises(ConfigError, match=complaint):
        lifecycle.submit("infer", {"source": {"datasets": [recorded.pk]}, **change}, "wrong")
    assert not Run.objects.exists()


def test_a_set_that_is_learnt_from_cannot_judge(recorded):
    with pytest.raises(ConfigError, match="choose a set that is not learnt from"):
        lifecycle.submit("infer", {"source": {"datasets": [recorded.pk]}, "evaluate": recorded.pk}, "vain")


def test_data_of_two_instruction_sets_is_refused(isa, recorded):
    other = new_isa("other", ["x"], "a test")
    foreign = ExperimentSet.objects.create(name="foreign", isa=other, origin="upload")
    store_measurements(foreign, [Measured(Experiment.of(["x"]), 1.0)])
    with pytest.raises(ConfigError, match="other and toy"):
        lifecycle.submit("infer", {"source": {"datasets": [recorded.pk, foreign.pk]}}, "mixed")
    assert ISA.objects.count() == 2


def test_a_set_deleted_while_the_run_waited_is_a_readable_failure(recorded):
    run = lifecycle.submit("infer", {"source": {"datasets": [recorded.pk]}}, "late")
    recorded.delete()
    work_off(run)
    assert state(run) == "failed"
    assert run.error == "an experiment set of this run's source was deleted"


def test_held_out_experiments_are_a_seeded_fifth_without_single_instructions():
    alone = [Experiment.of([scheme]) for scheme in TRUTH.usage]
    mixes = random_mixes(sorted(TRUTH.usage), 45, 3)
    chosen = held_out_experiments(alone + mixes + mixes, 0.2, 1)
    assert len(chosen) == 10
    assert not any(experiment.is_singleton for experiment in chosen)
    assert chosen == held_out_experiments(alone + mixes, 0.2, 1)
    assert chosen != held_out_experiments(alone + mixes, 0.2, 2)
    assert held_out_experiments(alone, 0.2, 1) < set(alone)
    assert held_out_experiments(alone + mixes, 0.0, 1) == set()


def test_mixes_are_distinct_multisets_of_five():
    mixes = random_mixes(["a", "b", "c"], 15, 2)
    assert len(set(mixes)) == len(mixes) == 15
    assert {mix.length for mix in mixes} == {5}
    assert mixes == random_mixes(["a", "b", "c"], 15, 2)
    assert random_mixes(["a"], 10, 0) == [Experiment.of({"a": 5})]
