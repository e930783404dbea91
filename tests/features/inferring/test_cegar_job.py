"""Counter-example-guided inference as a run: recorded data, simulations, machines; clashes; interruptions."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest
from django.utils import timezone

from inference.core.experiment import Experiment, Measured
from inference.core.identity import same_up_to_renaming
from inference.core.mapping import PortMapping as Mapping
from inference.core.sampling import random_mixes
from inference.features.learning.inferring.core_facts import fits_single_uop
from inference.features.running.runs.archive import store_archive
from inference.formats.run_archive_reading import read_archive
from inference.isa.x86.probes import PROBES
from inference.measuring.simulated import SimulatedProcessor
from inference.models import ExperimentSet, Measurement, PortMapping, Run
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.evidence import Evidence, verdict_in_words
from inference.storage.exporting import MAPPING_EXPORTS
from inference.storage.instruction_sets import new_isa
from inference.storage.judging import (
    allowed_report,
    allowed_result,
    archived_report,
    grounds_of,
    newest_checks,
    search_verdict,
)
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.results import store_result
from inference.storage.rows import store_measurements
from inference.storage.run_archive_writing import write_archive
from tests.runs.fixtures import child_of, done_with_interruptions, numbers, payloads, state, wait_for
from tests.simulated import simulated_machine
from tests.work import work_off

TRUTH = Mapping(
    ("0", "1", "2"),
    {"a x": ((1, 1),), "b x": ((3, 1),), "c x": ((4, 1),), "d x": ((7, 1),), "a y": ((6, 1),)},
)
WITHOUT_DOUBT = Mapping(("0", "1", "2"), {"a x": ((1, 1),), "b x": ((3, 1),), "c x": ((4, 1),)})
"""No bottleneck beside these ports can hide another one."""
WITH_TWO = Mapping(("0", "1", "2"), {**TRUTH.usage, "e z": ((1, 1), (4, 1))})


@pytest.fixture
def isa(db):
    return new_isa("toy", WITH_TWO.usage, "a test")


@pytest.fixture
def mapping(isa):
    return store_mapping("truth", isa, TRUTH, origin=PortMapping.Origin.IMPORT)


def recorded(isa, truth=TRUTH, wrong=()):
    row = ExperimentSet.objects.create(name="recorded", isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    experiments = [Experiment.of([scheme]) for scheme in truth.usage] + random_mixes(
        sorted(truth.usage), 60, 1
    )
    exact = {each.experiment: each for each in SimulatedProcessor(truth).measure(experiments)}
    exact |= {Experiment.of(terms): Measured(Experiment.of(terms), cycles) for terms, cycles in wrong}
    store_measurements(row, exact.values())
    return row


def submitted(source, name="a run", **config):
    settings = config.pop("settings", {})
    if "algorithm" not in config:
        settings = {"most_ports": 4, **settings}
    asked = {"algorithm": "cegar", "source": source, "mixes": 20, "settings": settings, **config}
    return lifecycle.submit("infer", asked, name)


def do(source, name="a run", **config):
    run = submitted(source, name, **config)
    return work_off(run)


def evidence_of(run):
    return Evidence.of(PortMapping.objects.get(run=run).report)


def test_a_simulated_processor_is_found_again_and_the_result_says_how_sure_it_is(mapping):
    run = do({"simulate": mapping.pk}, settings={"epsilon": 0.01})
    assert run.state == "done", run.error
    assert run.config["ports"] is None, "the number of ports is searched for"
    found = load_mapping(PortMapping.objects.get(run=run))
    assert same_up_to_renaming(found, TRUTH)
    evidence = evidence_of(run)
    # One scheme has all ports: whether they or a bottleneck let three through, nothing tells.
    assert (run.result["verdict"], evidence.verdict) == ("ambiguous", "ambiguous")
    assert "mappings to 4 ports explain as much" in verdict_in_words(evidence)
    assert evidence.solver.startswith("z3 ")
    assert len(evidence.experiments) == run.result["experiments"] >= len(TRUTH.usage)
    assert run.result["counter_examples"] == evidence.counter_examples == len(payloads(run, "decision"))
    assert run.result["held_out"]["pearson"] == pytest.approx(1.0)
    labels = payloads(run, "phase")[0]["labels"]
    assert labels[-2:] == ["List what measuring cannot tell apart", "Measure mixes that were not asked"]


def test_a_mapping_that_held_out_experiments_contradict_is_not_called_unique(isa):
    truth = store_mapping("t", isa, WITHOUT_DOUBT, origin=PortMapping.Origin.IMPORT)
    run = do({"simulate": truth.pk}, settings={"epsilon": 0.01})
    row = PortMapping.objects.get(run=run)
    verdict = search_verdict(row, evidence_of(run))
    assert (run.result["verdict"], verdict.is_strong) == ("unique", True)
    assert verdict.words.partition(":")[0] == "Unique"
    row.report["judging"] |= {"off": 2, "error": 7.5}
    row.save()
    verdict = search_verdict(row, evidence_of(run))
    assert (verdict.determinacy, verdict.is_strong) == ("unproven", False)
    assert verdict.words.startswith("Best of 1, 2 experiments unexplained: 2 of ")
    assert allowed_report(row)["cegar"]["verdict"] == "unproven"
    assert allowed_result(run)["verdict"] == "unproven"


def test_a_later_result_that_says_otherwise_takes_the_word_from_what_a_run_left(isa, client, administrator):
    client.force_login(administrator)
    machine = simulated_machine(isa, WITHOUT_DOUBT)
    run = do({"machine": machine.pk}, settings={"epsilon": 0.01})

    def said():
        archived = read_archive(write_archive(run)).manifest
        return {
            "result": allowed_result(run)["verdict"],
            "API": client.get(f"/api/v1/runs/{run.pk}").json()["result"]["verdict"],
            "archived result": archived.run.result["verdict"],
            "archived report": archived.mappings[0].report["cegar"]["verdict"],
            "journal": {payload.get("verdict") for payload in payloads(run, "result")},
        }

    assert said() == {**dict.fromkeys(said(), "unique"), "journal": {None}}
    kept = Run.objects.get(pk=run.pk).result
    value = load_mapping(PortMapping.objects.get(run=run))
    scheme, uops = next(iter(value.usage.items()))
    doubled = replace(value, usage={**value.usage, scheme: tuple((mask, 2 * n) for mask, n in uops)})
    later = store_result("later", isa, doubled, machine=machine)
    assert said() == {**dict.fromkeys(said(), "unproven"), "journal": {None}}
    archive = read_archive(write_archive(run))
    imported = store_archive(archive, "run.zip")
    there = PortMapping.objects.get(run=imported)
    here = PortMapping.objects.get(run=run)
    assert grounds_of(there).conflict_words(scheme) == grounds_of(here).conflict_words(scheme) != []
    assert not grounds_of(there).uops_word(scheme).is_strong
    assert "not settled" in MAPPING_EXPORTS["csv"].write(there)
    assert archived_report(there)["judging"] == archived_report(here)["judging"]
    assert Run.objects.get(pk=run.pk).result == kept, "it does not depend on which run ends first"
    later.delete()
    assert said()["API"] == "unique"


def test_the_newest_check_of_the_model_on_the_machine_allows_the_word_or_not(isa):
    machine = simulated_machine(isa, WITHOUT_DOUBT)
    run = do({"machine": machine.pk}, settings={"epsilon": 0.01})
    row = PortMapping.objects.get(run=run)
    asked = {"machine": machine.pk, "schemes": "all", "mixes": 6, "sequences": 3, "permutations": 3}
    passed = work_off(lifecycle.submit("check-model", asked, "calm"))
    assert sum(mixes["settled"] for mixes in passed.result["mixes"]) > 0
    assert search_verdict(row, evidence_of(run)).is_strong
    failed = Run.objects.create(name="noisy", kind="check-model", config=passed.config, state="done")
    failed.result = {**passed.result, "mixes": [{**m, "slower": 2} for m in passed.result["mixes"]]}
    failed.finished = timezone.now()
    failed.save()
    verdict = search_verdict(row, evidence_of(run))
    assert (verdict.determinacy, verdict.is_strong) == ("unproven", False)
    assert "the model's check “noisy” fails on this core" in verdict.words
    assert "noisy" in " ".join(grounds_of(row).uops_word("a x").reasons)
    assert allowed_result(run)["verdict"] == "unproven"
    there = PortMapping.objects.get(run=store_archive(read_archive(write_archive(run)), "run.zip"))
    assert "noisy" in " ".join(grounds_of(there).uops_word("a x").reasons)
    other = simulated_machine(isa, WITHOUT_DOUBT, name="other")
    assert newest_checks([other.pk]) == {}
    failed.delete()
    assert search_verdict(row, evidence_of(run)).is_strong


def test_what_no_experiment_can_tell_is_told_scheme_by_scheme(isa):
    """Three ports or four: that is less than a noise of 0.09 cycles per instruction."""
    processor = Mapping(tuple("0123"), {"a x": ((1, 1),), "d x": ((15, 1),)})
    truth = store_mapping("t", isa, processor, origin=PortMapping.Origin.IMPORT)
    run = do({"simulate": truth.pk}, settings={"epsilon": 0.09, "ports": 4})
    assert run.state == "done", run.error
    assert run.result["verdict"] == "ambiguous"
    doubts = evidence_of(run).doubts(load_mapping(PortMapping.objects.get(run=run)))
    assert [doubt.scheme for doubt in doubts] == run.result["ambiguous"]
    assert all(
        other.reasons == ("their predictions differ by no more than the noise",)
        for other in doubts[0].alternatives
    )


def test_of_recorded_data_only_recorded_experiments_are_asked(isa):
    made = recorded(isa)
    run = do({"datasets": [made.pk]}, settings={"epsilon": 0.01}, held_out=0.1)
    assert run.state == "done", run.error
    offered = {str(experiment) for experiment in map(str, _experiments(made))}
    assert {str(each.experiment) for each in evidence_of(run).experiments} <= offered
    assert not Measurement.objects.filter(experiment_set__run=run).exists()
    assert same_up_to_renaming(load_mapping(PortMapping.objects.get(run=run)), TRUTH)


def _experiments(row):
    from inference.storage.rows import load_measurements

    return [each.experiment for each in load_measurements(row)]


WRONG = [({"a x": 1, "b x": 1}, 7.0)]


def test_contradicting_measurements_end_the_run_with_the_evidence_in_words(isa):
    source = {"datasets": [recorded(isa, wrong=WRONG).pk]}
    run = do(source, settings={"epsilon": 0.01, "on_clash": "stop"}, held_out=0.0)
    assert run.state == "failed"
    assert "a x; b x 7 cycles: no assignment of" in run.error
    (clash,) = payloads(run, "contradiction")
    assert {"experiment": "a x; b x", "cycles": 7.0} in [
        {**each, "experiment": each["experiment"].replace("1*", "")} for each in clash["experiments"]
    ]
    assert not PortMapping.objects.filter(run=run).exists()


def test_one_bad_reading_ends_no_search_and_is_listed(isa):
    source = {"datasets": [recorded(isa, wrong=WRONG).pk]}
    run = do(source, settings={"epsilon": 0.01}, held_out=0.0)
    assert run.state == "done", run.error
    row = PortMapping.objects.get(run=run)
    assert same_up_to_renaming(load_mapping(row), TRUTH)
    (left,) = evidence_of(run).unexplained
    assert (str(left.experiment), left.cycles, left.predicted) == ("a x; b x", 7.0, 1.0)
    assert run.result["excess"] == row.report["excess"] == 1
    assert "does not explain" in verdict_in_words(evidence_of(run))


@pytest.mark.parametrize(("how", "dropped"), [("drop-scheme", 1), ("drop-mnemonic", 2)])
def test_a_clashing_scheme_can_be_dropped_to_go_on(isa, how, dropped):
    source = {"datasets": [recorded(isa, wrong=[({"a x": 1}, 7.0)]).pk]}
    run = do(source, settings={"epsilon": 0.01, "on_clash": how}, held_out=0.0)
    assert run.state == "done", run.error
    assert len(run.result["dropped"]) == dropped
    assert set(load_mapping(PortMapping.objects.get(run=run)).usage) == set(TRUTH.usage) - set(
        run.result["dropped"]
    )


def test_what_is_known_of_schemes_reaches_the_search(isa):
    truth = store_mapping("two", isa, WITH_TWO, origin=PortMapping.Origin.IMPORT)
    known = {"uops": {"e z": 2}, "widths": {"d x": 3}, "improper": ["e z"]}
    run = do({"simulate": truth.pk}, ports=3, settings={"epsilon": 0.01}, known=known)
    assert run.state == "done", run.error
    assert sum(count for _, count in load_mapping(PortMapping.objects.get(run=run)).usage["e z"]) == 2


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"known": {"uops": {"zz": 2}}}, "toy has no scheme 'zz'"),
        ({"known": {"uops": {"a x": 0}}}, "'a x' must have 1 to 8 µops, not 0"),
        ({"known": {"uops": ["a x"]}}, "known uops must be an object"),
        ({"known": {"widths": {"a x": 2}, "uops": {"a x": 2}}}, "no single size of a port set"),
        ({"known": {"colour": {}}}, "uops, widths, improper"),
        (
            {"algorithm": "pmevo", "ports": 3, "known": {"uops": {"a x": 2}}},
            "PMEvo cannot use uops: omit it",
        ),
        ({"settings": {"epsilon": 3}}, "epsilon must be a number"),
        ({"settings": {"ports": 99}}, "ports must be a whole number"),
    ],
)
def test_wrong_facts_and_settings_are_refused_before_anything_runs(mapping, change, complaint):
    with pytest.raises(ConfigError, match=complaint):
        submitted({"simulate": mapping.pk}, **change)
    assert not Run.objects.exists()


def test_interruptions_change_neither_the_answer_nor_the_story(mapping):
    source = {"simulate": mapping.pk, "noise": 0.002}
    undisturbed = do(source, "undisturbed")
    run = submitted(source, "interrupted")
    done_with_interruptions(run, patience=12, most=6)
    first, second = (load_mapping(PortMapping.objects.get(run=each)) for each in (undisturbed, run))
    assert first == second
    assert [p["experiment"] for p in payloads(run, "decision")] == [
        p["experiment"] for p in payloads(undisturbed, "decision")
    ]
    told = [p["number"] for p in payloads(run, "candidates")]
    assert told == sorted(set(told))
    assert numbers(run) == list(range(1, len(numbers(run)) + 1))
    assert evidence_of(run).experiments == evidence_of(undisturbed).experiments


@pytest.mark.django_db
def test_probes_of_more_than_one_uop_are_left_out_and_the_log_says_so():
    chosen = sorted(PROBES)[:4]
    usage = dict(zip(chosen, [((1, 1),), ((3, 1),), ((7, 1),), ((1, 3),)], strict=True))
    truth = Mapping(("0", "1", "2"), usage)
    isa = new_isa("x", usage, "a test")
    machine = simulated_machine(isa, truth)
    run = do({"machine": machine.pk}, schemes="probes")
    assert run.state == "done", run.error
    assert set(load_mapping(PortMapping.objects.get(run=run)).usage) == set(chosen[:3])
    assert any("not a single µop" in p["text"] and chosen[3] in p["text"] for p in payloads(run, "log"))


@pytest.mark.parametrize(
    ("cycles", "alike"), [(0.25, True), (0.26, True), (0.5, True), (1.01, True), (0.75, False), (2.0, False)]
)
def test_one_uop_takes_a_fraction_of_a_cycle_that_ports_explain(cycles, alike):
    assert fits_single_uop(cycles, 0.02) is alike


def test_a_run_whose_process_is_killed_goes_on_where_it_was(site):
    wide = Mapping(
        tuple(map(str, range(8))),
        {f"s{k} x": ((mask, 1),) for k, mask in enumerate((1, 3, 12, 48, 192, 7, 56, 255, 96))},
    )
    isa = new_isa("wide", wide.usage, "a test")
    truth = store_mapping("wide", isa, wide, origin=PortMapping.Origin.IMPORT)
    run = submitted(
        {"simulate": truth.pk}, "killed", settings={"most_ports": 8, "epsilon": 0.005}, bottleneck=False
    )
    worker = site.worker()
    wait_for(lambda: payloads(run, "decision"))
    process = wait_for(lambda: child_of(worker, run) or state(run) == "done")
    if process is not True:
        os.kill(process, signal.SIGKILL)
    wait_for(lambda: state(run) == "done", 90)
    assert same_up_to_renaming(load_mapping(PortMapping.objects.get(run=run)), wide)
    told = [p["number"] for p in payloads(run, "decision")]
    assert told == list(range(1, len(told) + 1))
    assert numbers(run) == list(range(1, len(numbers(run)) + 1))
