"""Explainable inference as a run: simulated or from recorded data, its verdicts and witnesses stored."""

from __future__ import annotations

import os
import signal

import pytest

from inference.core.identity import structural_agreement
from inference.core.mapping import PortMapping as Mapping
from inference.measuring.simulated_agent import SimulatedHarness, simulated_facts
from inference.models import (
    Characterisation,
    ExperimentSet,
    Machine,
    Measurement,
    PortMapping,
    Run,
    Witness,
)
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.characterisations import ExplainedMapping, load_characterisation
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import load_mapping, store_mapping
from tests.core.explain.small import STORES, ZENLIKE, mapping_of
from tests.runs.agents import put_agent
from tests.runs.fixtures import child_of, done_with_interruptions, numbers, payloads, state, wait_for
from tests.work import work_off


@pytest.fixture
def truth(db):
    isa = new_isa("toy", ZENLIKE.usage, "a test")
    return store_mapping("truth", isa, ZENLIKE, origin=PortMapping.Origin.IMPORT)


def submitted(source, name="a run", **config):
    asked = {"algorithm": "explain", "source": source, "mixes": 20, **config}
    return lifecycle.submit("infer", asked, name)


def do(source, name="a run", **config):
    run = submitted(source, name, **config)
    return work_off(run)


def counted(mapping, **more):
    return {"simulate": mapping.pk, "counters": "uops", **more}


def agrees(found: Mapping, expected: Mapping) -> bool:
    return structural_agreement(expected, found).agreeing == tuple(sorted(expected.usage))


def test_a_simulated_processor_is_explained_and_every_verdict_is_stored(truth):
    run = do(counted(truth))
    assert run.state == "done", run.error
    row = PortMapping.objects.get(run=run)
    assert agrees(load_mapping(row), ZENLIKE)
    told = run.result
    assert (told["asked"], told["characterised"], told["excluded"]) == (
        len(ZENLIKE.usage),
        len(ZENLIKE.usage),
        0,
    )
    assert row.characterisations.count() == len(ZENLIKE.usage)
    explained = ExplainedMapping.of(row.report)
    assert explained is not None
    assert explained.funnel["remaining"] == explained.funnel["asked"] == len(ZENLIKE.usage)
    assert {each.width for each in explained.classes} == {1, 2, 4}
    assert told["held_out"]["mape"] == pytest.approx(0.0, abs=0.5)


def test_witnesses_come_back_as_they_were_found(truth):
    run = do(counted(truth))
    row = Characterisation.objects.get(mapping__run=run, scheme__text="complex")
    value = load_mapping(row.mapping)
    found = load_characterisation(row, value.usage["complex"])
    assert found.counted == 5
    assert {(w.mask, w.uops) for w in found.witnesses if w.seen == "uses"} == set(value.usage["complex"])
    for witness in found.witnesses:
        assert witness.cycles == pytest.approx(witness.expected_cycles)
        assert witness.tested.length == witness.base.length + 1 == witness.copies + 1


def test_what_an_agent_counts_is_where_numbers_of_uops_come_from(truth, monkeypatch):
    facts = simulated_facts("toy", ZENLIKE, "uops")
    machine = Machine.objects.create(name="box", kind="agent", isa=truth.isa, facts=facts)
    put_agent(monkeypatch, SimulatedHarness(ZENLIKE, counters="uops"))
    run = do({"machine": machine.pk}, schemes="all")
    assert run.state == "done", run.error
    found = PortMapping.objects.get(run=run)
    assert agrees(load_mapping(found), ZENLIKE)
    row = Characterisation.objects.get(mapping=found, scheme__text="complex")
    assert load_characterisation(row, load_mapping(found).usage["complex"]).counted == 5
    assert not Measurement.objects.filter(counters={}).exists()


def test_mixes_to_judge_by_are_measured_last_and_of_characterised_schemes_alone(db):
    usage = {**ZENLIKE.usage, "nop": ()}
    isa = new_isa("with nop", usage, "a test")
    row = store_mapping("t", isa, Mapping(ZENLIKE.ports, usage, 6.0), origin=PortMapping.Origin.IMPORT)
    run = do(counted(row, odd_share=0.2), seed=3)
    assert run.state == "done", run.error
    labels = payloads(run, "phase")[0]["labels"]
    assert labels[0] == "Measure every scheme alone"
    assert labels[-1] == "Measure mixes to test on"
    assert payloads(run, "phase")[-1]["name"] == "mixes"
    characterised = set(load_mapping(PortMapping.objects.get(run=run)).usage)
    mixes = ExperimentSet.objects.get(run=run, source="five-scheme mixes")
    used = set(mixes.measurements.values_list("experiment__terms__scheme__text", flat=True))
    assert used <= characterised
    assert (
        run.result["characterised"] + run.result["excluded"] + run.result["ambiguous"] == run.result["asked"]
    )


def test_the_journal_tells_of_funnel_blocking_instructions_and_verdicts(truth):
    run = do(counted(truth))
    assert [p["stage"] for p in payloads(run, "funnel")] == [
        "alone",
        "candidates",
        "classes",
        "bottleneck",
        "blocking",
    ]
    assert all(each["mask"] for each in payloads(run, "blocking")[-1]["classes"])
    told = {scheme for p in payloads(run, "verdicts") for scheme, _, _ in p["schemes"]}
    assert told == set(ZENLIKE.usage)


def test_the_same_seed_gives_the_same_answer_however_often_it_is_interrupted(truth):
    source = counted(truth, noise_cpi=0.001, odd_share=0.2)
    undisturbed = do(source, "undisturbed")
    run = submitted(source, "interrupted")
    done_with_interruptions(run, patience=12, most=6)
    first, second = (PortMapping.objects.get(run=each) for each in (undisturbed, run))
    assert load_mapping(first) == load_mapping(second)
    for kind in ("funnel", "excluded", "blocking", "verdicts"):
        assert payloads(run, kind) == payloads(undisturbed, kind)
    assert numbers(run) == list(range(1, len(numbers(run)) + 1))
    fields = ("scheme__text", "outcome", "reason", "text")
    assert list(first.characterisations.values_list(*fields)) == list(
        second.characterisations.values_list(*fields)
    )
    assert Witness.objects.filter(characterisation__mapping=first).count() == (
        Witness.objects.filter(characterisation__mapping=second).count()
    )


def test_what_one_run_measured_explains_again_as_recorded_data(truth):
    first = do(counted(truth))
    measured = ExperimentSet.objects.get(run=first, source="measurements")
    again = do({"datasets": [measured.pk]}, "again", held_out=0.0, settings={"runs": 1})
    assert again.state == "done", again.error
    assert agrees(load_mapping(PortMapping.objects.get(run=again)), ZENLIKE)


def test_documented_ports_name_the_ports_and_decide_what_measuring_cannot(db):
    value = mapping_of("abcdef", {"add": "abcd", "vadd": "ef", "vmul": "e", "both": "abcd ef"}, r_max=5.0)
    row = store_mapping("t", new_isa("toy", value.usage, "a test"), value, origin=PortMapping.Origin.IMPORT)
    known = {"documented": {"add": ["6", "7", "8", "9"], "vadd": ["0", "1"]}}
    run = do(counted(row), known=known, settings={"r_max": 5.0}, ports=6)
    assert run.state == "done", run.error
    assert load_mapping(PortMapping.objects.get(run=run)).describe("add") == "1×[6,7,8,9]"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"known": {"widths": {"add": 4}}}, "cannot use widths"),
        ({"known": {"documented": {"add": []}}}, "documented ports"),
        ({"known": {"documented": {"zz": ["1"]}}}, "toy has no scheme 'zz'"),
        ({"settings": {"runs": 0}}, "runs must be a whole number"),
        ({"settings": {"floods": "some"}}, "floods must be one of"),
        ({"settings": {"nonsense": 1}}, "has no setting 'nonsense'"),
    ],
)
def test_wrong_facts_and_settings_are_refused_before_anything_runs(truth, change, complaint):
    with pytest.raises(ConfigError, match=complaint):
        submitted(counted(truth), **change)
    assert not Run.objects.exists()


def test_unknown_counters_are_refused(truth):
    with pytest.raises(ConfigError, match="counters must be one of nothing, uops, ports"):
        submitted({"simulate": truth.pk, "counters": "all"})


def test_a_run_whose_process_is_killed_goes_on_where_it_was(site):
    large = mapping_of("01234", {f"{s} {k}": "" for k in range(20) for s in STORES.usage})
    usage = {scheme: STORES.usage[scheme.rpartition(" ")[0]] for scheme in large.usage}
    truth = Mapping(STORES.ports, usage, STORES.r_max)
    row = store_mapping("t", new_isa("toy", usage, "a test"), truth, origin=PortMapping.Origin.IMPORT)
    run = submitted(counted(row, noise_cpi=0.002), "killed")
    worker = site.worker()
    wait_for(lambda: payloads(run, "funnel"))
    process = wait_for(lambda: child_of(worker, run) or state(run) == "done")
    if process is not True:
        os.kill(process, signal.SIGKILL)
    wait_for(lambda: state(run) == "done", 120)
    assert agrees(load_mapping(PortMapping.objects.get(run=run)), truth)
    assert [p["stage"] for p in payloads(run, "funnel")].count("alone") == 1
    assert numbers(run) == list(range(1, len(numbers(run)) + 1))
