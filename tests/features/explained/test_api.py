"""Proofs, doubts and deviations by the API, and measuring again."""

from __future__ import annotations

import csv
import io

import pytest

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Value
from inference.features.judging.findings.doubts import REPEATS
from inference.models import ISA, ExperimentSet, Machine, PortMapping, Run
from inference.storage.rows import store_mapping, store_measurements
from tests.explained import ADD, IMUL, LOAD, PORTS, TRUTH, explained_mapping, toy_isa
from tests.heads import behind_head
from tests.rows.programs import Program
from tests.simulated import simulated_machine

OTHER = Value(PORTS, {**TRUTH.usage, IMUL: ((0b0001, 1), (0b0010, 1))}, 5.0)


@pytest.fixture
def isa(db: None) -> ISA:
    return toy_isa()


@pytest.fixture
def row(isa: ISA) -> PortMapping:
    return explained_mapping(isa)


@pytest.fixture
def other(isa: ISA) -> PortMapping:
    return store_mapping("other", isa, OTHER, origin=PortMapping.Origin.IMPORT)


@pytest.fixture
def machine(isa: ISA) -> Machine:
    return simulated_machine(isa, TRUTH)


def scheme_id(row: PortMapping, text: str) -> int:
    return row.isa.schemes.get(text=text).pk


def test_a_scheme_is_proven_and_its_witnesses_are_measured_again(
    program: Program, row: PortMapping, machine: Machine
) -> None:
    path = f"/mappings/{row.pk}/verdicts/{scheme_id(row, ADD)}"
    proof = program.get(path)
    assert proof["outcome"] == "characterised"
    steps = [step for run in proof["runs"] for step in run["steps"]]
    assert {step["seen"] for step in steps} >= {"uses"}
    assert all(step["conclusion"] for step in steps)
    body = {"machine": machine.pk, "witness": steps[0]["witness_id"]}
    status, run = program("POST", f"{path}/measurements", body)
    assert status == 201, run
    config = Run.objects.get(pk=run["id"]).config
    assert config["experiments"] == [steps[0]["base"], steps[0]["tested"]]
    assert config["repeats"] == steps[0]["samples"]
    assert [one["id"] for one in program.get(path)["working"]] == [run["id"]]
    assert program("POST", f"{path}/measurements", {"machine": machine.pk, "witness": 10**6})[0] == 422
    assert program("POST", f"{path}/measurements", {"machine": 10**6})[0] == 422


def test_what_is_doubtful_is_exported_and_measured(
    program: Program, row: PortMapping, other: PortMapping, machine: Machine
) -> None:
    path, against = f"/mappings/{row.pk}/doubts", f"?other={other.pk}"
    text = behind_head(program.raw("GET", f"{path}/export{against}&kind=conflict").content.decode())
    assert [line["scheme"] for line in csv.DictReader(io.StringIO(text))] == [IMUL]
    mine = f"{path}/{scheme_id(row, IMUL)}"
    (doubt,) = [one for one in program.get(f"{mine}{against}") if one["kind"] == "conflict"]
    body = {"machine": machine.pk, "kind": "conflict", "what": "decide"}
    status, run = program("POST", f"{mine}/measurements{against}", body)
    assert status == 201, run
    config = Run.objects.get(pk=run["id"]).config
    assert (config["experiments"], config["repeats"]) == ([doubt["decides"]["experiment"]], REPEATS)
    run = program("POST", f"{mine}/measurements{against}", {**body, "what": "again"})[1]
    assert Run.objects.get(pk=run["id"]).config["experiments"] == doubt["again"]
    wrong = f"{path}/{scheme_id(row, LOAD)}/measurements{against}"
    assert program("POST", wrong, body)[0] == 422


def test_doubts_are_compared_with_the_usual_mapping_unless_told_otherwise(
    program: Program, row: PortMapping, other: PortMapping, machine: Machine
) -> None:
    PortMapping.objects.filter(pk__in=(row.pk, other.pk)).update(machine=machine)

    def conflicts(against: str) -> list[str]:
        listed = program.get(f"/mappings/{row.pk}/doubts?kind=conflict{against}")["items"]
        return [one["scheme"] for one in listed]

    assert conflicts("") == conflicts(f"&other={other.pk}") == [IMUL]
    assert conflicts("&other=none") == []
    status, answer = program("GET", f"/mappings/{row.pk}/doubts?over=20000")
    assert (status, answer["problems"][0]["where"]) == (422, "query over")


def test_a_port_mapping_stands_beside_a_resource_mapping(program: Program, row: PortMapping) -> None:
    converted = program("POST", f"/mappings/{row.pk}/conversions", {"name": "as resources"})[1]["id"]
    path = f"/mappings/{row.pk}/resource-comparisons/{converted}"
    assert program.get(f"{path}/deviation?experiments=50")["scores"]["mape"] == pytest.approx(0, abs=1e-6)
    (add,) = program.get(f'{path}/schemes?show=equal&q="{ADD}"')["items"]
    assert add["first_cycles"] == pytest.approx(add["second_cycles"])
    assert add["uops"]
    assert add["loads"]
    assert program.get(f"{path}/schemes?show=different")["total"] == 0


def test_a_data_set_tells_which_uops_of_two_mappings_can_be_seen(
    program: Program, row: PortMapping, other: PortMapping
) -> None:
    measured = ExperimentSet.objects.create(name="seen", isa=row.isa, origin=ExperimentSet.Origin.UPLOAD)
    store_measurements(measured, [Measured(Experiment.of([IMUL]), 1.0)])
    path = f"/mappings/{row.pk}/comparisons/{other.pk}"
    plain = program.get(path)
    assert plain["up_to_hidden"] is None
    assert 0 <= plain["share"] <= plain["same_number_of_uops"] <= 1
    assert 0 <= program.get(f"{path}?dataset={measured.pk}")["up_to_hidden"] <= 1
    assert program("GET", f"{path}?dataset=99999")[0] == 404


def test_two_mappings_are_apart_on_random_experiments(
    program: Program, row: PortMapping, other: PortMapping
) -> None:
    path = f"/mappings/{row.pk}/comparisons/{other.pk}/deviation?experiments=200"
    found = program.get(path)
    assert found["scores"]["n"] == 200
    assert found["scores"]["mape"] > 0
    assert IMUL in found["furthest"]["experiment"]
    assert sum(map(sum, found["heat_map"]["counts"])) + found["heat_map"]["outside"] == 200
    assert program.get(path) == found, "the same seed"
    assert program("GET", f"{path}&unit=furlongs")[0] == 422
