"""All operations: who may call them, what they answer, how many queries that takes, and their examples."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from ninja import Schema
from pydantic import BaseModel

from inference.models import ExperimentSet, Machine, PortMapping, Predictor
from inference.runs import lifecycle
from inference.web import contributions
from inference.web.api.document import BY_SESSION, FILE, SCOPE, STREAM, operations_of
from inference.web.api.site import document
from pmweb.accounts.people import invite
from pmweb.models import AuditEntry, Role, Scope
from tests.predictors.fakes import script
from tests.rows.programs import ADD, Program, program_of

OPERATIONS = {
    operation["operationId"]: (method.upper(), path.removeprefix("/api/v1"), operation)
    for method, path, operation in operations_of(document())
}
WHOLE = {"get_archive", "export_campaign"}
"""Archives of everything: each kind of row in them is a query."""

READING = [name for name, (method, _, _) in OPERATIONS.items() if method == "GET" and name not in WHOLE]
MAX_QUERIES = 22
QUERY = {
    "compare_core_models": "?other=Recorded%20Zen%204",
    "predict_experiment": f"?experiment=2*{ADD}",
    "get_snippet": f"?experiment={ADD}",
    "get_accuracy": "?reference=one",
    "get_baseline": "?reference=one",
    "search": "?q=three",
    "compare_campaigns": "?campaigns={campaign_id}&campaigns={other_campaign_id}",
    "list_found_alone": "?campaigns={campaign_id}&campaigns={other_campaign_id}",
}


def schemas() -> dict[str, type[BaseModel]]:
    """The shapes of all answers and bodies, by name."""
    modules = {
        operation.view_func.__module__
        for router, _ in contributions.routers()
        for mount in router.build_routers("")
        for view in mount.template.path_operations.values()
        for operation in view.operations
    }
    modules |= {
        "inference.web.api.shapes",
        "inference.web.api.document",
        "anica_app.features.discoveries.shapes",
    }
    found = [
        value
        for name in modules
        for value in vars(import_module(name)).values()
        if isinstance(value, type) and issubclass(value, Schema) and value.__module__ == name
    ]
    twice = [name for name, n in Counter(each.__name__ for each in found).items() if n > 1]
    assert not twice, f"the document knows shapes by their names; there are several {twice}"
    return {each.__name__: each for each in found}


def query(name: str, world: dict[str, int]) -> str:
    """What stands behind the path of an operation that asks for parameters."""
    return filled(QUERY.get(name, ""), world)


def filled(path: str, world: dict[str, int]) -> str:
    """The path with numbers of rows."""
    for name, number in world.items():
        path = path.replace(f"{{{name}}}", str(number))
    path = path.replace("{table}", "mixes").replace("{mnemonic}", "add")
    return path.replace("{file_format}", "csv" if path.startswith("/sets") else "json")


def test_every_get_answers_with_a_bounded_number_of_queries(program: Program, world: dict[str, int]) -> None:
    for name in READING:
        path = filled(OPERATIONS[name][1], world) + query(name, world)
        program.raw("GET", path)  # what is remembered per process is looked up
        with CaptureQueriesContext(connection) as queries:
            response = program.raw("GET", path)
        assert response.status_code == 200, (name, response.content)
        assert len(queries) <= MAX_QUERIES, (name, len(queries), [query["sql"][:90] for query in queries])


@pytest.mark.parametrize("path", ["/sets", "/mappings", "/runs", "/machines", "/isas/{isa_id}/schemes"])
def test_a_longer_list_takes_as_many_queries_as_a_short_one(
    path: str, program: Program, world: dict[str, int]
) -> None:
    path = filled(path, world)
    program.raw("GET", path)
    with CaptureQueriesContext(connection) as few:
        program.get(path)
    row = PortMapping.objects.get(pk=world["mapping_id"])
    for number in range(5):
        row.pk, row.name, row.run = None, f"copy {number}", None
        row.save()
        ExperimentSet.objects.create(name=f"set {number}", isa=row.isa, origin="upload")
        lifecycle.submit("evaluate", {"mapping": row.pk, "experiment_set": world["set_id"]}, f"run {number}")
    with CaptureQueriesContext(connection) as many:
        program.get(path)
    assert len(many) == len(few)


def test_rows_that_are_not_there_are_said_to_be_missing(session: Program, world: dict[str, int]) -> None:
    for name, (method, path, _) in OPERATIONS.items():
        for missing in ("999999", str(2**63 - 1)):
            where = filled(path, {key: int(missing) for key in world})
            if where == path:
                continue
            status, answer = session(method, where + query(name, world), _body(name, world))
            empty = name == "pick_point"  # a mapping without a front is one thing, none another
            assert status == 404 or (empty and status == 404), (name, status, answer)
            assert answer["status"] == 404
            assert answer["detail"]


def test_words_and_endless_numbers_are_no_numbers_of_rows(program: Program) -> None:
    for wrong in ("one", "-1", "1.5", str(2**63), "9" * 5000):
        status, answer = program("GET", f"/sets/{wrong}")
        assert status == 422, (wrong, status)
        assert answer["problems"][0]["where"] == "path set_id"


def test_nobody_gets_in_without_a_token(client: Client, world: dict[str, int]) -> None:
    for name, (method, path, _) in OPERATIONS.items():
        response = client.generic(method, f"/api/v1{filled(path, world)}")
        assert response.status_code == 401, name
        assert response["Content-Type"] == "application/problem+json"
        assert "WWW-Authenticate" in response


def test_a_token_does_what_its_scope_says_and_no_more(administrator: User, world: dict[str, int]) -> None:
    """Asked for rows that are not there, so that what is allowed is done by other tests alone."""
    nowhere = dict.fromkeys(world, 999999)
    ranks = {scope.value: rank for rank, scope in enumerate((Scope.READ, Scope.OPERATE, Scope.ADMINISTER))}
    for scope in (Scope.READ, Scope.OPERATE):
        program = program_of(administrator, scope)
        for name, (method, path, operation) in OPERATIONS.items():
            needed = operation[SCOPE]
            if BY_SESSION in operation:
                continue  # no scope is enough: see below
            path_there = filled(path, nowhere) + query(name, nowhere)
            status = program.raw(method, path_there, _body(name, nowhere)).status_code
            assert (status == 403) == (ranks[needed] > ranks[scope.value]), (name, scope, status)


def test_no_token_does_what_only_a_session_may(program: Program, world: dict[str, int]) -> None:
    found = [
        (method, path, name)
        for name, (method, path, operation) in OPERATIONS.items()
        if BY_SESSION in operation
    ]
    assert {name for _, _, name in found} == {
        "invite",
        "make_link",
        "add_a_machine",
        "issue_token",
        "share_item",
    }
    for method, path, name in found:
        status, answer = program(method, filled(path, world), _body(name, world))
        assert (status, answer["problems"][0]["where"]) == (403, "header Authorization"), name


def _deeds(world: dict[str, int]) -> dict[str, tuple[str, Any]]:
    """{an operation of administrators: a path, and a body with which it does something}."""
    user = invite("grace", Role.OPERATOR)[0].pk
    old = Predictor.objects.create(name="old", kind="iaca", key="o" * 64, origin="configured")
    unused = Machine.objects.create(name="unused", kind="agent", isa_id=world["isa_id"])
    token = f"/machines/{world['machine_id']}/tokens"
    return {
        "add_predictor": ("/predictors/configurations", {"kind": "iaca", "options": {"arch": "SKL"}}),
        "remove_predictor": (f"/predictors/configurations/{old.pk}", None),
        "delete_machine": (f"/machines/{unused.pk}", None),
        "add_a_machine": ("/machines", {"name": "another"}),
        "issue_token": (token, {}),
        "revoke_token": (f"{token}/{world['token_id']}", None),
        "invite": ("/accounts", {"name": "ada"}),
        "make_link": (f"/accounts/{user}/links", {}),
        "change_account": (f"/accounts/{user}", {"active": False}),
        "end_sessions_of_account": (f"/accounts/{user}/sessions", None),
        "ask_for_pruning": ("/storage/prunings", {}),
    }


def test_all_that_administrators_change_by_the_api_is_noted(
    program: Program,
    session: Program,
    administrator: User,
    world: dict[str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script(tmp_path / "iaca", "echo Block Throughput: 1.00")
    monkeypatch.setenv("PATH", str(tmp_path))
    deeds = _deeds(world)
    administering = {
        name
        for name, (method, _, operation) in OPERATIONS.items()
        if operation[SCOPE] == Scope.ADMINISTER and method != "GET"
    }
    assert deeds.keys() == administering
    for name, (path, body) in deeds.items():
        AuditEntry.objects.all().delete()
        caller = session if BY_SESSION in OPERATIONS[name][2] else program
        status, answer = caller(OPERATIONS[name][0], path, body)
        assert status < 300, (name, answer)
        assert AuditEntry.objects.filter(actor=administrator, via="API").exists(), name


def test_a_token_that_is_wrong_is_worth_less_than_none(visitor_client: Client, isa: Any) -> None:
    assert visitor_client.get("/api/v1/isas").status_code == 200
    response = visitor_client.get("/api/v1/isas", headers={"Authorization": "Bearer pmwebapi_wrong"})
    assert response.status_code == 401


@pytest.fixture
def visitor_client(client: Client, administrator: User) -> Client:
    """A browser that is logged in."""
    client.force_login(administrator)
    return client


def test_a_session_changes_things_only_with_the_token_against_forged_requests(
    administrator: User, experiment_set: ExperimentSet
) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(administrator)
    path, body = f"/api/v1/sets/{experiment_set.pk}", '{"note": "seen"}'
    refused = browser.patch(path, body, content_type="application/json")
    assert refused.status_code == 403
    assert refused.json()["problems"][0]["where"] == "header X-CSRFToken"
    browser.get("/sets/upload/")  # a page with a form brings the cookie
    token = browser.cookies["csrftoken"].value
    taken = browser.patch(path, body, content_type="application/json", headers={"X-CSRFToken": token})
    assert taken.status_code == 200, taken.content
    experiment_set.refresh_from_db()
    assert experiment_set.note == "seen"


def test_unknown_addresses_and_methods_are_problems_too(program: Program) -> None:
    status, answer = program("GET", "/nothing/here")
    assert (status, answer["status"]) == (404, 404)
    response = program.raw("DELETE", "/isas")
    assert response.status_code == 405
    assert set(response["Allow"].split(", ")) == {"GET", "POST"}
    assert response["Content-Type"] == "application/problem+json"


def test_every_operation_has_examples_that_fit(program: Program) -> None:
    shapes = schemas()
    for name, (_, path, operation) in OPERATIONS.items():
        for parameter in operation["parameters"]:
            assert parameter["in"] != "path" or "example" in parameter, (name, parameter)
        for content in operation.get("requestBody", {}).get("content", {}).values():
            assert content["examples"], name
            for example in content["examples"].values():
                _fits(content["schema"], example["value"], shapes)
        for status, response in operation["responses"].items():
            for content in response.get("content", {}).values():
                assert "example" in content, (name, status)
                if FILE not in operation and not isinstance(content["example"], str):
                    _fits(content["schema"], content["example"], shapes)
        assert operation["summary"]
        assert operation["description"], (name, path)
    assert [name for name, (_, _, each) in OPERATIONS.items() if STREAM in each] == ["list_events"]


def _fits(schema: dict[str, Any], value: Any, shapes: dict[str, type[BaseModel]]) -> None:
    """The example of a shape that has a name is one."""
    if schema.get("type") == "array":
        for each in value:
            _fits(schema["items"], each, shapes)
    name = schema.get("$ref", "").rpartition("/")[2]
    if name in shapes:
        shapes[name].model_validate(value)


def test_the_document_is_for_readers_and_names_every_operation_once(reader: Program, client: Client) -> None:
    assert client.get("/api/v1/openapi.json").status_code == 401
    answer = reader.get("/openapi.json")
    names = [each["operationId"] for _, _, each in operations_of(answer)]
    assert len(names) == len(set(names)) == len(OPERATIONS) > 60
    assert answer["openapi"].startswith("3.")


def _body(name: str, world: dict[str, int]) -> Any:
    """One that passes the checks of its shape, for operations with a body."""
    return {
        "start_run": {"kind": "evaluate", "config": {"mapping": world["mapping_id"]}},
        "check_run": {"kind": "evaluate", "config": {"mapping": world["mapping_id"]}},
        "set_webhook": {"url": ""},
        "predict": {"experiments": [ADD]},
        "decode_blocks": {"code": "add rax, rbx"},
        "explain_blocks": {"code": "add rax, rbx"},
        "name_ports_of_core_model": {"names": {"0": "ALU0"}},
        "make_core_model": {"name": "of parts", "mapping": world["mapping_id"]},
        "load_ports": {"code": "add rax, rbx"},
        "add_block_columns": {"predictors": ["a tool"]},
        "find_accuracy": {"reference": "one"},
        "judge_columns": {
            "baseline": {
                "set": "three blocks",
                "blocks": 3,
                "digest": "0" * 64,
                "reference": "one",
                "numbers": 3,
                "columns": [],
            }
        },
        "start_campaign": {"like": world["campaign_id"]},
        "check_campaign": {"like": world["campaign_id"]},
        "ask_about_step": {"predictors": ["a tool"]},
        "add_predictor": {"kind": "no such kind"},
        "start_llvm_difference": {"mapping": world["mapping_id"], "cpu": "haswell"},
        "start_coverage": {"campaigns": [1]},
        "publish_site": {"items": [f"mapping:{world['mapping_id']}"]},
        "share_item": {"items": [f"mapping:{world['mapping_id']}"]},
        "start_accuracy_check": {"machine": world["machine_id"], "block_set": world["block_set_id"]},
        "convert_mapping": {"name": "as resources"},
        "invite": {"name": "ada"},
        "add_a_machine": {"name": "another machine"},
        "go_on_without": {"scheme": ADD},
        "measure_witnesses": {"machine": world["machine_id"]},
        "measure_congruence": {"machine": world["machine_id"]},
        "measure_doubt": {"machine": world["machine_id"], "kind": "ambiguous"},
    }.get(name, {})
