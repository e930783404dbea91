"""The client in Python that is written from the OpenAPI document, against the API itself."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import urllib.error
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from inference.models import PortMapping
from inference.web.api import reference
from inference.web.api.client import CLIENT_NAME, callable_operations, client_text
from inference.web.api.document import FILE
from inference.web.api.site import document
from tests.api.generated import generated_client
from tests.api.test_operations import QUERY, WHOLE
from tests.rows.programs import ADD, Program


def opener(client: Client) -> Any:
    """As `urlopen`, to the site in this process."""

    def opened(request: Any, timeout: float) -> Any:
        parts = urlsplit(request.full_url)
        response = client.generic(
            request.get_method(),
            f"{parts.path}?{parts.query}",
            request.data or b"",
            content_type=request.get_header("Content-type", "application/json"),
            headers={"Authorization": request.get_header("Authorization", "")},
        )
        content = response.getvalue() if response.streaming else response.content
        if response.status_code >= 400:
            told = dict(response.headers)
            raise urllib.error.HTTPError(
                request.full_url, response.status_code, "", told, io.BytesIO(content)
            )
        return io.BytesIO(content)

    return opened


@pytest.fixture
def pmweb(program: Program) -> Any:
    """The client of a program that may do everything."""
    return generated_client().Pmweb("http://testserver", program.token, opener=opener(program.client))


def test_every_operation_of_a_token_has_a_method_and_no_other() -> None:
    whole = document()
    names = {operation["operationId"] for _, _, operation in callable_operations(whole)}
    made = {name for name in vars(generated_client().Pmweb) if not name.startswith("_")}
    assert made - {"every", "wait_for"} == names
    assert "invite" not in made


def test_every_list_and_row_is_read_as_the_document_says(pmweb: Any, world: dict[str, int]) -> None:
    """Each method that reads is called, and its answer has the fields that its type says."""
    shapes = vars(generated_client())
    for method, path, operation in callable_operations(document()):
        name = operation["operationId"]
        if method != "get" or name in WHOLE or name in QUERY:
            continue
        given = []
        for each in operation["parameters"]:
            if each["in"] == "path":
                words = {
                    "table": "mixes",
                    "mnemonic": "add",
                    "file_format": "csv" if path.startswith("/sets") else "json",
                }
                given.append(world.get(each["name"], words.get(each["name"])))
        answer = getattr(pmweb, name)(*given)
        returned = getattr(type(pmweb), name).__annotations__["return"]
        if FILE in operation:
            assert isinstance(answer, bytes), name
        elif returned in shapes:
            needed = getattr(shapes[returned], "__required_keys__", frozenset())
            assert needed <= answer.keys(), (name, needed - answer.keys())


def test_the_examples_on_the_page_are_calls_of_methods_with_what_they_take() -> None:
    made = generated_client().Pmweb
    shown = [each.python for group in reference.groups() for each in group.operations if each.python]
    assert len(shown) > 150
    for text in shown:
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        (call,) = (
            each
            for each in calls
            if isinstance(each.func, ast.Attribute) and getattr(each.func.value, "id", "") == "pmweb"
        )
        method = getattr(made, call.func.attr)
        code = method.__code__
        taken = code.co_varnames[1 : code.co_argcount]
        least = len(taken) - len(method.__defaults__ or ())
        assert least <= len(call.args) <= len(taken), text


def test_an_example_runs_as_it_stands(pmweb: Any, mapping: PortMapping) -> None:
    shown = {each.anchor: each.python for group in reference.groups() for each in group.operations}
    names = {"pmweb": pmweb}
    exec(shown["predict"].replace("(7,", f"({mapping.pk},"), names)
    (said,) = names["result"]
    assert said["experiment"] == f"2*{ADD}"
    exec(shown["list-mappings"], names)
    assert names["result"]["total"] == 1


def test_rows_come_page_by_page(pmweb: Any, mapping: PortMapping) -> None:
    for number in range(4):
        PortMapping.objects.create(name=f"copy {number}", isa=mapping.isa, origin="import", ports=["a"])
    assert len(list(pmweb.every(pmweb.list_mappings, limit=2))) == 5


def test_a_refusal_says_what_where_and_what_is_right(pmweb: Any, mapping: PortMapping) -> None:
    with pytest.raises(generated_client().PmwebError) as caught:
        pmweb.list_mappings(limit=0)
    assert caught.value.status == 422
    assert caught.value.problems == [
        {"where": "query limit", "what": "it is less than 1", "right": "at least 1"}
    ]


def test_the_client_is_typed_and_runs_with_the_standard_library_alone(tmp_path: Path) -> None:
    file = tmp_path / CLIENT_NAME
    call_command("api-client", "--output", str(file))
    text = file.read_text()
    assert text == client_text(document())
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= sys.stdlib_module_names
    use = tmp_path / "use.py"
    use.write_text(
        "from pmweb_client import Pmweb\n"
        "row = Pmweb('http://localhost').get_mapping(7)\n"
        "name: str = row['name']\n"
        "number: int = row['name']\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir",
        str(tmp_path),
        use.name,
    ]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert said.splitlines()[0].startswith("use.py:4: error: Incompatible types in assignment"), said
    assert "Found 1 error" in said


def test_the_page_and_the_api_give_the_file(client: Client, administrator: User, reader: Program) -> None:
    client.force_login(administrator)
    by_page = client.get(f"/api/{CLIENT_NAME}")
    assert by_page["Content-Disposition"] == f'attachment; filename="{CLIENT_NAME}"'
    assert reader.raw("GET", f"/{CLIENT_NAME}").content == by_page.content
    assert Client().get(f"/api/v1/{CLIENT_NAME}").status_code == 401
