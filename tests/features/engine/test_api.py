"""Comparisons of predictors by the API."""

from __future__ import annotations

import pytest

from inference.models import ExperimentSet, PortMapping, Run
from tests.rows.programs import Program


def test_a_comparison_is_started_by_names_and_ids(
    program: Program, experiment_set: ExperimentSet, mapping: PortMapping
) -> None:
    path = "/predictor-comparisons"
    body = {"experiment_set": experiment_set.pk, "mappings": [mapping.pk], "most": 50}
    status, run = program("POST", path, body)
    assert (status, run["kind"], run["state"]) == (201, "comparison", "queued")
    assert Run.objects.get(pk=run["id"]).config["instructions"] == 10
    assert program("POST", path, {**body, "mappings": [10**6]})[0] == 422
    assert program("POST", path, {**body, "predictors": ["no such thing"]})[0] == 422
    assert program("GET", f"{path}/{run['id']}")[0] == 409  # not done yet


def test_its_numbers_are_those_of_its_page(program: Program, comparison: Run) -> None:
    path = f"/predictor-comparisons/{comparison.pk}"
    found = program.get(path)
    (column,) = found["columns"]
    assert column["n"] == comparison.result["scores"][0]["n"] > 0
    assert column["mape"] == pytest.approx(comparison.result["scores"][0]["mape"])
    heat_map = program.get(f"{path}/columns/0/heat-map?unit=cpi")
    assert heat_map["n"] == sum(map(sum, heat_map["counts"])) + heat_map["outside"]
    row, place = next((r, c) for r, line in enumerate(heat_map["counts"]) for c, n in enumerate(line) if n)
    listed = program.get(f"{path}/columns/0/measurements?unit=cpi&row={row}&column={place}")
    assert len(listed) == heat_map["counts"][row][place]
    lengths = program.get(f"{path}/columns/0/lengths")
    assert sum(each["n"] for each in lengths) == column["n"]
    assert program.get(f"{path}/columns/0/schemes")["total"] > 0
    assert program.get(f"{path}?q=imul")["selected"] < found["n"]
    for wrong in ("q=colour:red", "unit=furlongs"):
        assert program("GET", f"{path}?{wrong}")[0] == 422
    assert program("GET", f"{path}/columns/7/heat-map")[0] == 404
    lines = b"".join(program.raw("GET", f"{path}/answers").streaming_content).decode().splitlines()
    assert len(lines) == found["n"] + 1
