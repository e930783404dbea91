"""Runs that check the port mapping model: three stages on a machine whose truth is known."""

from __future__ import annotations

import dataclasses

import pytest

from inference.core.experiment import OrderedExperiment
from inference.core.mapping import uops_of
from inference.core.model_check import MIX_LENGTHS, ORDER_LENGTHS, AloneVerdict
from inference.features.judging.findings.model_check import check_effort
from inference.measuring.remote import item_id
from inference.measuring.simulated_agent import SimulatedHarness
from inference.models import ExperimentSet, Measurement, PortMapping
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.mappings import store_mapping
from inference.storage.rows import load_measurements
from tests.runs.agents import TRUTH, attempt, do, impatient, make_machine, put_agent
from tests.runs.fixtures import payloads
from tests.simulated import simulated_machine

pytestmark = pytest.mark.django_db

SMALL = {"mixes": 6, "sequences": 4, "permutations": 3}


@pytest.fixture
def machine():
    return make_machine()


@pytest.fixture
def reference(machine):
    return store_mapping("truth", machine.isa, TRUTH, origin=PortMapping.Origin.IMPORT)


def check(machine, reference=None, **config):
    wanted = {"machine": machine.pk, "schemes": "all", **SMALL, **config}
    return do("check-model", {**wanted, "reference": reference and reference.pk})


def rows(run):
    """{scheme: (verdict, note)} as the journal tells them."""
    told = [row for payload in payloads(run, "model_alone") for row in payload["rows"]]
    return {scheme: (verdict, note) for scheme, _, _, verdict, note in told}


def last(run, kind):
    return {payload["length"]: payload for payload in payloads(run, kind)}


def test_a_processor_that_is_its_reference_agrees_with_it(machine, reference, monkeypatch):
    put_agent(monkeypatch, noise=0.002)
    run = check(machine, reference)
    assert run.state == "done", run.error
    found = rows(run)
    assert {scheme for scheme, (verdict, _) in found.items() if verdict == "within"} == set(TRUTH.usage)
    assert found["crash"][0] == AloneVerdict.NOT_MEASURED
    assert (run.result["within"], run.result["compared"]) == (len(TRUTH.usage), len(TRUTH.usage))
    assert [row["length"] for row in run.result["mixes"]] == list(MIX_LENGTHS)
    assert [row["length"] for row in run.result["orders"]] == list(ORDER_LENGTHS)
    for row in last(run, "model_mixes").values():
        assert row["scores"]["mape"] < 1
        assert row["heat_map"]["n"] == row["settled"] == row["asked"] == row["planned"]
    assert all(row["largest"] == 0 for row in run.result["orders"]), "a simulation knows no order"


def test_the_wrong_reference_is_contradicted_by_both_numbers(machine, monkeypatch):
    other = dict(TRUTH.usage) | {"mul": uops_of([(0b11, 1)]), "shuffle": (), "shift": uops_of([(1, 1)])}
    del other["load"]
    wrong = store_mapping(
        "wrong", machine.isa, dataclasses.replace(TRUTH, usage=other), origin=PortMapping.Origin.IMPORT
    )
    put_agent(monkeypatch)
    run = check(machine, wrong)
    found = rows(run)
    assert found["mul"] == ("discrepancy", "100 % slower than modelled")
    assert found["shift"] == ("discrepancy", "50 % faster than modelled")
    assert found["shuffle"][0] == "no ports"
    assert found["load"][0] == "not described"
    told = [row for payload in payloads(run, "model_alone") for row in payload["rows"]]
    assert next(row[1:3] for row in told if row[0] == "mul") == [pytest.approx(1.0), 0.5]
    mixed = {
        s
        for m in load_measurements(ExperimentSet.objects.get(source="measurements"))
        for s in m.experiment.schemes
        if m.experiment.length > 1
    }
    assert mixed == {scheme for scheme, (verdict, _) in found.items() if verdict == "within"}


def test_excluded_schemes_are_told_with_their_reason_and_not_mixed(machine, reference, monkeypatch):
    machine.isa.schemes.filter(text="vec").update(exclusion="its time depends on values")
    ids = list(machine.isa.schemes.filter(text__in=["vec", "alu", "mul"]).values_list("pk", flat=True))
    put_agent(monkeypatch)
    run = check(machine, reference, schemes=ids)
    assert rows(run)["vec"] == ("excluded", "its time depends on values")
    assert run.result["compared"] == 2


def test_without_a_reference_mixes_are_held_against_what_any_mapping_allows(machine, monkeypatch):
    put_agent(monkeypatch)
    run = check(machine)
    assert run.state == "done", run.error
    assert run.result["within"] == len(TRUTH.usage), "all are single µops"
    assert all(row["scores"] is None for row in run.result["mixes"])
    # Four instructions per cycle: six of 1/3 cycle each are slower than any port, but not than in turn.
    assert sum(row["slower"] + row["faster"] for row in run.result["mixes"]) == 0


class Fussy(SimulatedHarness):
    """A processor on which the order matters: every other item takes 0.1 cycles more per instruction."""

    async def _answers(self, batch):
        answers = await super()._answers(batch)
        return [
            dataclasses.replace(answer, cycles=answer.cycles + 0.1 * item.instructions)
            if item.instructions > 1 and int(item.id, 16) % 2
            else answer
            for item, answer in zip(batch.items, answers, strict=True)
        ]


def test_what_orders_cost_is_found_and_kept_apart_from_ordinary_measurements(machine, reference, monkeypatch):
    boards = put_agent(monkeypatch, Fussy(TRUTH))
    run = check(machine, reference, mixes=0, sequences=6)
    assert run.state == "done", run.error
    ordinary = ExperimentSet.objects.get(source="measurements")
    ordered = ExperimentSet.objects.get(source="orders")
    assert {m.experiment.length for m in load_measurements(ordinary)} == {1}
    assert ordered.identity == {**ordinary.identity, "order": "as drawn"}
    for row in run.result["orders"]:
        assert row["largest"] in (0, pytest.approx(0.1))
        assert row["mean"] == pytest.approx(0.1 * row["notable"] / row["samples"])
    assert any(row["notable"] for row in run.result["orders"])
    kept = Measurement.objects.filter(experiment_set=ordered)
    posted = [item for board in boards.opened for batch in board.posted for item in batch.items]
    assert kept.count() == sum(item.instructions > 1 for item in posted)
    assert set(kept.values_list("repeat", flat=True)) == {0, 1, 2}
    row = kept.filter(experiment__length=4).order_by("pk").first()
    value = next(m for m in load_measurements(ordered, row.repeat) if m.note == row.note)
    places = [int(place) - 1 for place in row.note.removeprefix("order: ").split()]
    order = OrderedExperiment.in_order(value.experiment.schemes[place] for place in places)
    assert order.multiset == value.experiment
    assert item_id(order) in {item.id for item in posted}


def test_an_interrupted_run_goes_on_with_the_same_plan(machine, reference, monkeypatch):
    put_agent(monkeypatch, noise=0.01)
    config = {"machine": machine.pk, "schemes": "all", "reference": reference.pk, **SMALL}
    whole = do("check-model", config, "at once")
    run = lifecycle.submit("check-model", config, "in parts")
    stops = 0
    while run.state != "done":
        stops += 1
        attempt(run, impatient(30 * stops))  # every attempt goes through what there is already
        assert stops < 100, run.error
    assert stops > 3
    for key in ("within", "mixes", "orders"):
        assert run.result[key] == whole.result[key]
    assert last(run, "model_orders") == last(whole, "model_orders")
    for purpose in ("measurements", "orders"):
        one, two = (
            {
                (m.experiment, m.note): m.cycles
                for m in load_measurements(ExperimentSet.objects.get(run=each, source=purpose))
            }
            for each in (whole, run)
        )
        assert one == two  # in whatever order they came


def test_a_simulated_machine_is_checked_as_well(machine, reference):
    sim = simulated_machine(machine.isa, TRUTH)
    run = check(sim, reference)
    assert run.state == "done", run.error
    assert run.result["within_share"] == 1
    assert {row["share"] for row in run.result["orders"]} == {0}


def test_nothing_within_ends_after_the_single_schemes(machine, monkeypatch):
    wrong = {scheme: uops_of([(1, 9)]) for scheme in TRUTH.usage}
    row = store_mapping(
        "wrong", machine.isa, dataclasses.replace(TRUTH, usage=wrong), origin=PortMapping.Origin.IMPORT
    )
    put_agent(monkeypatch)
    run = check(machine, row)
    assert run.state == "done", run.error
    assert (run.result["within"], run.result["mixes"], run.result["orders"]) == (0, [], [])
    assert any("no mixes are measured" in line["text"] for line in payloads(run, "log"))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"machine": 999}, "machine: there is no machine with the id 999"),
        ({"reference": 999}, "reference: there is no port mapping with the id 999"),
        ({"mixes": -1}, "mixes must be a whole number from 0"),
        ({"permutations": 1}, "permutations must be a whole number from 2"),
        ({"schemes": "some"}, "schemes must be one of all, default, starter"),
        ({"colour": 1}, "no field 'colour'"),
        ({"isa": "arm"}, "the machine is for 'toy'"),
    ],
)
def test_a_wrong_description_is_refused_with_the_field(machine, change, complaint):
    with pytest.raises(ConfigError, match=complaint):
        lifecycle.submit("check-model", {"machine": machine.pk, **change}, "wrong")


def test_a_deleted_reference_is_a_readable_failure(machine, reference, monkeypatch):
    put_agent(monkeypatch)
    run = lifecycle.submit("check-model", {"machine": machine.pk, "reference": reference.pk}, "late")
    reference.delete()
    attempt(run)
    assert run.error == "the port mapping to compare with has been deleted"


def test_the_effort_is_told_beforehand(machine):
    machine.rate = 100
    # 300 schemes, 8 lengths of 200 mixes, 50 experiments in two orders and 9 lengths of 50 in five
    assert check_effort(machine, 300, 200, 50, 5).experiments == 300 + 1600 + 100 + 9 * 250
    assert check_effort(machine, 300, 0, 0, 5).seconds == 3
