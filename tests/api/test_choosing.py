"""No operation lets a token choose a program, its arguments or files, whatever it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from inference.containment import client as starter
from inference.features.asking.predictors.kinds import all_kinds, kind_of
from inference.features.asking.predictors.query import predictor_row, row_for
from inference.models import Predictor
from inference.predictors.protocol import PredictorError
from inference.web.api.site import document
from pmweb.models import AuditEntry
from tests.api.test_operations import OPERATIONS, _body, filled, query
from tests.predictors import fakes
from tests.rows.programs import Program, session_of

pytestmark = pytest.mark.usefixtures("trusting_operator")

CONFIGURATIONS = "/predictors/configurations"


@pytest.fixture
def evil(tmp_path: Path) -> str:
    """A program that no rule for tools stands against: they may lie there."""
    return fakes.script(tmp_path / "q7x9" / "evil", f"touch {tmp_path}/ran; echo 1")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Words of all commands that are started."""
    words: list[str] = []
    start = starter.start

    def recorded(command, *others, **named):  # type: ignore[no-untyped-def]
        words.extend(command)
        return start(command, *others, **named)

    monkeypatch.setattr(starter, "start", recorded)
    return words


def choices(evil: str) -> Iterator[tuple[str, str, Any]]:
    """(kind, option, value) of each option of each kind that chooses something of what is started."""
    for kind in all_kinds().values():
        for option in kind.options:
            if option.metadata.get("chooses"):
                value: Any = [evil] if str(option.type).startswith("tuple") else evil
                yield kind.name, option.name, f"-debug-file={evil}" if option.name == "flags" else value


def nothing_came_of_it(evil: str, started: list[str], tmp_path: Path) -> bool:
    rows = [
        row for row in Predictor.objects.exclude(kind__in=("planted", "imported")) if row.kind in all_kinds()
    ]
    stored = [row for row in rows if kind_of(row.kind).launch_options(row.options)]
    return not stored and not any("q7x9" in word for word in started) and not (tmp_path / "ran").exists()


def test_a_token_configures_nothing_that_chooses(
    program: Program, evil: str, started: list[str], tmp_path: Path
) -> None:
    tried = list(choices(evil))
    assert len(tried) >= 17
    for kind, option, value in tried:
        body = {"kind": kind, "options": {option: value}}
        status, answer = program("POST", CONFIGURATIONS, body)
        assert (status, answer["problems"][0]["where"]) == (403, "header Authorization"), (kind, option)
    assert nothing_came_of_it(evil, started, tmp_path)


def test_a_session_does_so_after_confirming_alone(
    administrator: User, evil: str, started: list[str], tmp_path: Path
) -> None:
    browser = session_of(administrator)
    session = browser.client.session
    session["shown-at"] -= 24 * 3600
    session.save()
    body = {"kind": "command", "options": {"command": [evil], "form": "hex"}, "name": "mine"}
    status, answer = browser("POST", CONFIGURATIONS, body)
    assert (status, answer["problems"][0]["where"]) == (403, "cookie of the session")
    assert nothing_came_of_it(evil, started, tmp_path)
    assert session_of(administrator)("POST", CONFIGURATIONS, body)[0] == 201
    assert AuditEntry.objects.filter(action="changed", name="mine", actor=administrator).exists()


def test_a_token_adds_a_tool_that_the_site_finds_for_another_processor(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes.script(tmp_path / "iaca", "echo Block Throughput: 1.00")
    monkeypatch.setenv("PATH", str(tmp_path))
    body = {"kind": "iaca", "options": {"arch": "SKL", "program": ""}}
    assert program("POST", CONFIGURATIONS, body)[0] == 201


def specifications(evil: str) -> list[str]:
    """Predictors as people write them."""
    return [
        f"{kind}:{option}={value[0] if isinstance(value, list) else value}"
        for kind, option, value in choices(evil)
    ]


def simplest(evil: str) -> list[str]:
    """One of them without any tool, and one of a tool."""
    return [text for text in specifications(evil) if text.startswith(("command:command=", "iaca:program="))]


def test_what_a_user_writes_chooses_nothing(db: None, evil: str, started: list[str], tmp_path: Path) -> None:
    for text in specifications(evil):
        with pytest.raises(PredictorError, match="chooses what runs on this computer"):
            predictor_row(text)
    for kind, option, value in choices(evil):
        with pytest.raises(PredictorError, match=f"{option} of {kind} chooses"):
            row_for(kind, {option: value})
    assert nothing_came_of_it(evil, started, tmp_path)


def members_of(schema: Any, schemas: dict[str, Any]) -> Iterator[str]:
    """Names of the members of a body."""
    reference = schema.get("$ref", "").rpartition("/")[2]
    yield from schemas.get(reference, schema).get("properties", {})


def poisoned(members: list[str], text: str) -> Iterator[dict[str, Any]]:
    """Changes to a body with these members: each has the text in the shapes that it may have, then all."""
    kind, _, rest = text.partition(":")
    option, _, value = rest.partition("=")
    options = {option: [value] if option == "command" else value}
    described = {"kind": kind, "options": options, "predictors": [text, text], "predictor": text, **options}
    for member in members:
        yield from ({member: shape} for shape in (text, [text, text], described))
    yield {member: described.get(member, text) for member in members}
    yield {member: described[member] for member in members if member in described}


def test_no_operation_is_a_way_around(
    program: Program, world: dict[str, int], evil: str, started: list[str], tmp_path: Path
) -> None:
    """With every kind of text in every member of every body and in every parameter."""
    schemas = document()["components"]["schemas"]
    texts = simplest(evil)
    tries = 0
    for name, (method, path, operation) in OPERATIONS.items():
        if method == "DELETE":
            continue
        where = filled(path, world) + query(name, world)
        for content in operation.get("requestBody", {}).get("content", {}).values():
            members = list(members_of(content["schema"], schemas))
            for text in texts:
                for change in poisoned(members, text):
                    program.raw(method, where, {**_body(name, world), **change})
                    tries += 1
        for parameter in operation["parameters"]:
            if parameter["in"] == "query" and method != "GET":
                program.raw(
                    method, f"{filled(path, world)}?{parameter['name']}={texts[0]}", _body(name, world)
                )
                tries += 1
    assert tries > 500
    assert nothing_came_of_it(evil, started, tmp_path)


def test_no_form_of_a_page_is_a_way_around(
    client: Client, world: dict[str, int], administrator: User, evil: str, started: list[str], tmp_path: Path
) -> None:
    client.force_login(administrator)
    fields = (
        "predictors",
        "predictor",
        "first",
        "second",
        "judge",
        "cpu",
        "arch",
        "flags",
        "program",
        "command",
        "tools",
    )
    pages = (
        "blocks",
        "campaign-new",
        "matrix-new",
        "comparison-new",
        "accuracy-check-new",
        "block-set-upload",
    )
    for text in simplest(evil):
        for page in pages:
            data = {**dict.fromkeys(fields, text), "code": "90", "press": "start", "set": world["set_id"]}
            assert client.post(reverse(page), data).status_code < 500, page
        for page in ("block-set-ask", "discovery-ask", "family-measure"):
            for number in set(world.values()):
                client.post(reverse(page, args=[number]), dict.fromkeys((*fields, "machine"), text))
    assert nothing_came_of_it(evil, started, tmp_path)
