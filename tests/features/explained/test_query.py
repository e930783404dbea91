"""Verdicts, proofs and repeated measurements as the pages read them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.core.experiment import Measured, MeasurementState
from inference.core.explain import WitnessOutcome
from inference.features.learning.explained.proofs import blocker_uops, proof_of, untested
from inference.features.learning.explained.query import VerdictQuery, counts_of, usages_in, verdicts
from inference.features.learning.explained.remeasuring import repeats_of, unfinished
from inference.models import ExperimentSet, Machine, Run
from inference.storage.characterisations import ExplainedMapping
from inference.storage.rows import store_measurements
from tests.explained import (
    ADD,
    ADD_LOAD,
    ALU,
    CMOV,
    DATA,
    IMUL,
    LOAD,
    MUL,
    STORE,
    VERDICTS,
    explained_mapping,
    toy_isa,
    witness,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def row(db):
    return explained_mapping(toy_isa())


def proof(row, scheme):
    return proof_of(row, row.isa.schemes.get(text=scheme))


def test_outcomes_add_up_to_what_was_asked(row):
    counts = counts_of(row)
    assert counts.requested == len(VERDICTS) == sum(counts.stages.values())
    assert counts.outcomes == {"characterised": 6, "excluded": 2, "ambiguous": 1}
    assert counts.doubtful == 2


def test_filters_combine(row):
    found = verdicts(row, VerdictQuery(outcome="characterised", q="imul", among=(IMUL, LOAD)))
    assert [each.scheme.text for each in found] == [IMUL]


def test_usages_are_those_of_the_mapping(row):
    ids = dict(row.isa.schemes.values_list("text", "pk"))
    assert usages_in(row, [ids[ADD_LOAD], ids[CMOV]]) == {ids[ADD_LOAD]: ((0b0011, 1), (0b0100, 1))}


def test_a_proof_goes_from_few_ports_to_many(row):
    found = proof(row, ADD)
    ((run, steps),) = found.runs
    assert run == 1
    assert [step.witness.mask for step in steps] == [MUL, 0b0100, ALU]
    assert [step.expected_base for step in steps] == [10, 10, 5]
    assert found.headline == "1×[0,1]"


def test_the_formula_has_the_numbers_of_the_witness(row):
    step = proof(row, ADD).steps[2]
    assert (step.formula, step.left) == ("(5.52 − 5.00) · 2 = 1.04", "1 µop")
    less = replace(step, witness=witness(ADD, ALU, -0.02))
    assert less.formula == "(4.99 − 5.00) · 2 = −0.020"
    counted = replace(step, witness=replace(step.witness, surplus=2.0))
    assert counted.formula == "2.00 by the counters of the ports"
    assert replace(step, witness=witness(ADD, ALU, None, seen=WitnessOutcome.FAILED)).formula == ""


def test_the_bottleneck_may_be_slower_than_the_flood(row):
    row.r_max = 1.0
    row.save()
    assert proof(row, ADD).steps[-1].expected_base == 10


def test_what_evades_a_set_needs_no_witness_for_its_subsets(row):
    explained = ExplainedMapping.of(row.report)
    steps = proof(row, LOAD).steps
    assert [(rest.by, rest.sets) for rest in untested(explained, steps)] == [
        (None, (((MUL, 1),), ((DATA, 1),)))
    ]
    free = replace(steps[1], witness=witness(LOAD, ALU, 0.0))
    assert [(rest.by, rest.sets) for rest in untested(explained, [steps[0], free])] == [
        (free, (((MUL, 1),),)),
        (None, (((DATA, 1),),)),
    ]
    assert untested(None, steps) == []


def test_runs_that_disagree_have_their_own_uops(row):
    found = proof(row, CMOV)
    assert (found.usage_in(1), found.usage_in(2)) == (((ALU, 1),), ((MUL, 1),))
    assert found.headline == "ambiguous: repeated tests disagree"
    assert found.explains is None


def test_neighbours_are_those_of_the_list(row):
    first, last = proof(row, VERDICTS[0].scheme), proof(row, VERDICTS[-1].scheme)
    assert (first.neighbours[0], last.neighbours[1]) == (None, None)
    assert first.neighbours[1][1] == VERDICTS[1].scheme
    assert last.neighbours[0][1] == VERDICTS[-2].scheme


def test_an_improper_blocking_instruction_has_its_other_uop(row):
    step = proof(row, STORE).steps[0]
    assert blocker_uops(ExplainedMapping.of(row.report), step) == ((ALU, 1), (DATA, 1))
    assert blocker_uops(None, step) == ((DATA, 1),)


def listed(row, name, state="done", *experiments):
    config = {"plan": "listed", "experiments": [str(each) for each in experiments]}
    return Run.objects.create(name=name, kind="measure", state=state, config=config)


def measured(row, run, *results):
    made = ExperimentSet.objects.create(name=run.name, isa=row.isa, run=run, origin="run")
    for repeat, each in enumerate(results):
        store_measurements(made, each, repeat)
    return made


def test_the_median_of_both_experiments_is_compared(row):
    one = witness(ADD, ALU, 1.0)
    run = listed(row, "again", "done", one.base, one.tested)
    times = [(5.0, 5.5), (5.01, 5.51), (5.0, 9.0)]
    made = measured(
        row, run, *([Measured(one.base, base), Measured(one.tested, tested)] for base, tested in times)
    )
    (found,) = repeats_of(row.isa, [one])[one]
    assert (found.experiment_set, found.base_cycles, found.cycles, found.samples) == (made, 5.0, 5.51, 3)
    assert found.repeated.agrees


def test_other_measurements_of_the_same_experiments_are_no_repetition(row):
    one = witness(ADD, ALU, 1.0)
    pairs = [Measured(one.base, 5.0), Measured(one.tested, 5.5)]
    inference = Run.objects.create(name="inference", kind="infer", state="done")
    measured(row, inference, pairs)
    measured(row, listed(row, "half"), pairs[:1])
    assert repeats_of(row.isa, [one]) == {}


def test_a_repetition_without_a_usable_time_has_no_verdict(row):
    one = witness(ADD, ALU, 1.0)
    failed = Measured(one.tested, None, MeasurementState.FAILED, note="crash")
    measured(row, listed(row, "again"), [Measured(one.base, 5.0), failed])
    (found,) = repeats_of(row.isa, [one])[one]
    assert (found.cycles, found.repeated) == (None, None)


def test_runs_are_shown_until_one_has_ended_well(row):
    one, other = witness(ADD, ALU, 1.0), witness(ADD_LOAD, ALU, 1.0)
    Machine.objects.create(name="box", kind="agent", isa=row.isa)
    listed(row, "failed before", "failed", one.base, one.tested)
    listed(row, "well", "done", one.base, one.tested)
    newer = listed(row, "now", "queued", one.base, one.tested)
    listed(row, "of another scheme", "queued", other.base, other.tested)
    assert unfinished([one]) == [newer]
