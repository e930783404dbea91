"""Whatever comes in: an answer that says what is wrong, where, and what would be right, and never a fault."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from inference.models import ExperimentSet, PortMapping, Run
from inference.runs.kinds import RUN_KINDS
from inference.web.api.document import example_of, operations_of
from inference.web.api.site import document
from tests.api.test_operations import filled
from tests.drawn import examples
from tests.rows.programs import ADD, Program

WITH_BODY = [
    (method.upper(), path.removeprefix("/api/v1"))
    for method, path, operation in operations_of(document())
    if "application/json" in operation.get("requestBody", {}).get("content", {})
]
CHECKED = (
    *("/runs/check", "/campaigns/check", "/decode", "/experiments", "/published-sites"),
    *(
        "/mappings/{mapping_id}/predictions",
        "/mappings/{mapping_id}/block-loads",
        "/machines/{machine_id}/why",
    ),
)
"""What answers to a POST and keeps nothing."""

QUERIES = [
    (
        path.removeprefix("/api/v1"),
        [each["name"] for each in operation["parameters"] if each["in"] == "query"],
    )
    for method, path, operation in operations_of(document())
    if method == "get" and any(each["in"] == "query" for each in operation["parameters"])
]
BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"[]",
    "not a number": b'{"name": NaN}',
    "a NUL": b'{"name": "a\\u0000b"}',
    "half a character": b'{"name": "\\ud800"}',
    "not UTF-8": b'{"name": "\xff"}',
    "endless nesting": b'{"a":' * 3000,
    "deep nesting": b'{"a":' * 200 + b"1" + b"}" * 200,
    "an endless number": b'{"name": ' + b"9" * 5000 + b"}",
    "an unknown field": b'{"surprise": 1}',
}


def is_problem(response: Any) -> dict[str, Any]:
    """The answer, which says what is wrong."""
    assert 400 <= response.status_code < 500, (response.status_code, response.content[:300])
    assert response["Content-Type"] == "application/problem+json", response.content[:300]
    answer = json.loads(response.content)
    assert set(answer) == {"type", "title", "status", "detail", "problems"}
    assert answer["detail"]
    return answer


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_bodies_that_make_no_sense_are_problems(body: bytes, session: Program, world: dict[str, int]) -> None:
    for method, path in WITH_BODY:
        answer = is_problem(session.raw(method, filled(path, world), body))
        assert any(each["where"].startswith("body") for each in answer["problems"]), (path, answer)


OF_PYTHON = re.compile(
    r"\b(\w+Type|[A-Z]\w*Error|None|True|False|dict|dictionary|tuple|int|str|float64|instance of|isinstance|"
    r"list index|invalid literal|has no attribute|subscriptable|argument|Value error|[Ii]nput should|"
    r"__\w+__)\b"
    r"|<class|Traceback"
)
ODD_VALUES: list[Any] = [None, True, 1.5, -1, 2**70, "x", "", [], [None], {}, {"a": [1]}, [[["x"]]]]


def odd_bodies(schema: dict[str, Any], schemas: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Objects with the fields of a body, one of which has an odd value."""
    shape = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    usual = example_of(schema, schemas)
    for field in shape.get("properties", {}):
        for odd in ODD_VALUES:
            yield {**usual, field: odd}


def check_words(response: Any, sent: object) -> None:
    """Whatever came of it, it is no fault, and a refusal is in plain words."""
    assert response.status_code < 500, sent
    if response.status_code >= 400:
        told = {key: value for key, value in response.json().items() if key != "title"}
        assert OF_PYTHON.search(json.dumps(told, ensure_ascii=False)) is None, (sent, told)


def test_no_refusal_has_the_words_of_the_programming_language(
    session: Program, world: dict[str, int]
) -> None:
    """Only what is checked is asked for: nothing starts, whatever the values."""
    schemas = document()["components"]["schemas"]
    checked = [(method, path) for method, path in WITH_BODY if path in CHECKED or method == "PATCH"]
    assert len(checked) > 10
    for method, path in checked:
        operation = document()["paths"][f"/api/v1{path}"][method.lower()]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        for body in odd_bodies(schema, schemas):
            check_words(session.raw(method, filled(path, world), body), (path, body))


def test_no_refusal_of_a_run_has_them_either(session: Program, world: dict[str, int]) -> None:
    """Everything else is right, rows that are there included, so that each field is looked at."""
    for name, kind in RUN_KINDS.items():
        usual = {field: _of_the_world(field, value, world) for field, value in kind.example.items()}
        for field, value in usual.items():
            parts = value if isinstance(value, dict) else {}
            within = [{**parts, part: odd} for part in parts for odd in ODD_VALUES]
            for odd in ODD_VALUES + within:
                body = {"kind": name, "config": {**usual, field: odd}}
                check_words(session.raw("POST", "/runs/check", body), body)


def _of_the_world(field: str, value: Any, world: dict[str, int]) -> Any:
    """The example of a field of a run, with ids of rows that there are."""
    if isinstance(value, dict):
        return {name: _of_the_world(name, one, world) for name, one in value.items()}
    row = _ROWS.get(field)
    if row is None:
        return value
    return [world[row]] if isinstance(value, list) else world[row]


_ROWS = {
    "machine": "machine_id",
    "predictors": "predictor_id",
    "upload": "upload_id",
    "block_set": "block_set_id",
    "campaign": "campaign_id",
    "campaigns": "campaign_id",
    "excluded": "discovery_id",
    "experiment_set": "set_id",
    "datasets": "set_id",
    "first": "set_id",
    "second": "other_set_id",
    "mapping": "mapping_id",
    "mappings": "mapping_id",
    "reference": "mapping_id",
}
"""{field of a run: the parameter of a path that stands for the same row}."""


# Rows are only read: what a query changes would be a fault of its own.
@examples(40, suppress=(HealthCheck.function_scoped_fixture,))
@given(data=st.data())
def test_no_query_is_a_fault(data: st.DataObject, program: Program, world: dict[str, int]) -> None:
    path, names = data.draw(st.sampled_from(QUERIES))
    odd = st.one_of(
        st.text(max_size=30), st.integers().map(str), st.sampled_from(["", "nan", "-1", "9" * 40])
    )
    given_ = data.draw(st.dictionaries(st.sampled_from(names), odd, max_size=3))
    response = program.client.get(
        f"/api/v1{filled(path, world)}", given_, headers={"Authorization": f"Bearer {program.token}"}
    )
    assert response.status_code in (200, 400, 404, 409, 422), (path, given_, response.status_code)


def test_a_problem_names_the_place_and_what_would_be_right(program: Program, world: dict[str, int]) -> None:
    status, answer = program("GET", "/sets?limit=0&sort=colour")
    assert status == 422
    told = {each["where"]: each for each in answer["problems"]}
    assert told["query limit"]["right"] == "at least 1"
    assert "'added'" in told["query sort"]["right"]
    status, answer = program("PATCH", f"/sets/{world['set_id']}", {"name": "x", "colour": "red"})
    assert [each["where"] for each in answer["problems"]] == ["body colour"]
    assert answer["problems"][0]["right"] == "leave it out"


def test_cursors_that_no_answer_gave_are_refused(program: Program, world: dict[str, int]) -> None:
    for path in ("/sets", f"/mappings/{world['mapping_id']}/comparisons/{world['other_id']}/schemes"):
        answer = is_problem(program.raw("GET", f"{path}?cursor=nonsense"))
        assert answer["problems"][0]["where"] == "query cursor"


def test_a_nul_in_an_address_is_a_problem(program: Program, isa: Any) -> None:
    is_problem(program.raw("GET", "/sets?q=%00"))


def test_whoever_has_too_much_is_told_so(
    program: Program, run: Run, settings: Any, administrator: Any
) -> None:
    Run.objects.update(created_by=administrator)
    settings.RUNS_PER_USER = 1
    status, answer = program("POST", "/runs", {"kind": "infer", "config": run.config})
    assert status == 429
    assert "1 unfinished run" in answer["detail"]


def test_a_search_that_cannot_be_read_is_a_problem(program: Program, world: dict[str, int]) -> None:
    for path in ("/isas/{isa_id}/schemes", "/sets/{set_id}/measurements", "/mappings/{mapping_id}/usage"):
        answer = is_problem(program.raw("GET", f"{filled(path, world)}?q=colour:red"))
        assert "colour" in answer["detail"]


def test_unknown_schemes_come_with_near_ones(program: Program, mapping: PortMapping) -> None:
    body = {"experiments": [ADD, "ad GPR[64]:RW, GPR[64]:R"]}
    answer = is_problem(program.raw("POST", f"/mappings/{mapping.pk}/predictions", body))
    (problem,) = answer["problems"]
    assert problem["where"] == "body experiments.1"
    assert ADD in problem["right"]


def test_names_that_are_taken_come_with_a_free_one(
    program: Program, experiment_set: ExperimentSet, isa: Any
) -> None:
    ExperimentSet.objects.create(name="other", isa=isa, origin="upload")
    status, answer = program("PATCH", f"/sets/{experiment_set.pk}", {"name": "other"})
    assert status == 409
    assert "other (2)" in answer["problems"][0]["right"]
    experiment_set.refresh_from_db()
    assert experiment_set.name == "small"


def test_what_is_needed_is_not_deleted(program: Program, run: Run, experiment_set: ExperimentSet) -> None:
    status, answer = program("DELETE", f"/sets/{experiment_set.pk}")
    assert status == 409
    assert "1 unfinished run" in answer["problems"][0]["what"]
    assert ExperimentSet.objects.filter(pk=experiment_set.pk).exists()
    assert program("POST", f"/runs/{run.pk}/cancel")[0] == 200
    assert program("DELETE", f"/sets/{experiment_set.pk}")[0] == 204
