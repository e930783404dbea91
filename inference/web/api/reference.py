"""The addresses of the API, and its reference page, generated from the OpenAPI document."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import path, re_path
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.gzip import gzip_page

from inference.web.api.client import CLIENT_NAME, client_answer, python_example
from inference.web.api.document import BY_SESSION, FILE, SCOPE, Json, operations_of
from inference.web.api.site import NAME, ROOT, document, resolver

_BEARER = '-H "Authorization: Bearer $PMWEB_TOKEN"'
_SITE = "$PMWEB"
_JSON = "application/json"
_MAX_INLINE_BODY = 80  # characters of a body in one line
_LINE_BREAK = re.compile(r"(?<!\n)\n(?!\n)")
"""A line break within a paragraph of a docstring."""


def with_code(text: str) -> SafeString:
    """HTML of a text in which backticks enclose code."""
    parts = enumerate(text.split("`"))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if number % 2 else part,) for number, part in parts)
    )


@dataclass(frozen=True)
class Parameter:
    """A row of the table of parameters."""

    name: str
    place: str
    kind: str
    required: bool
    description: SafeString


Example = tuple[str, str]
"""(label, text) of a request or an answer; the label is "" for an operation's only example."""


@dataclass(frozen=True)
class Operation:
    """An operation on the page; `scope` is the scope that a caller needs."""

    anchor: str
    method: str
    path: str
    summary: SafeString
    description: SafeString
    scope: str
    by_session: bool
    parameters: tuple[Parameter, ...]
    requests: tuple[Example, ...]
    answers: tuple[Example, ...]
    python: str = ""

    @property
    def title(self) -> str:
        """The operation's id as words, for the sidebar."""
        return self.anchor.replace("-", " ")

    @property
    def words(self) -> str:
        """Text for the page's search, in lower case."""
        names = " ".join(parameter.name for parameter in self.parameters)
        return f"{self.method} {self.path} {self.anchor} {self.summary} {self.description} {names}".lower()


@dataclass(frozen=True)
class OperationGroup:
    title: str
    operations: tuple[Operation, ...]

    @property
    def anchor(self) -> str:
        return self.title.lower().replace(" ", "-")


@gzip_page  # nearly a megabyte; safe to compress, as nothing in it comes from the request
def reference(request: HttpRequest) -> HttpResponse:
    """The page of all operations with parameters and examples."""
    operation_groups = groups()
    context = {
        "groups": operation_groups,
        "count": sum(len(group.operations) for group in operation_groups),
        "site": f"{request.scheme}://{request.get_host()}",
        "root": ROOT,
        "version": document()["info"]["version"],
        "client": CLIENT_NAME,
    }
    return render(request, "inference/web/api.html", context)


def api_client(_request: HttpRequest) -> HttpResponse:
    """The Python client, for visitors of the page."""
    return client_answer(document())


@cache
def groups() -> tuple[OperationGroup, ...]:
    """All operations, in the order of the document's headings."""
    spec = document()
    by_heading: dict[str, list[Operation]] = {}
    for method, address, operation in operations_of(spec):
        by_heading.setdefault(operation["tags"][0], []).append(_operation(method, address, operation, spec))
    return tuple(OperationGroup(heading, tuple(operations)) for heading, operations in by_heading.items())


def _operation(method: str, path: str, operation: Json, spec: Json) -> Operation:
    summary, _, remainder = str(operation.get("description", operation["summary"])).partition("\n")
    return Operation(
        anchor=operation["operationId"].replace("_", "-"),
        method=method.upper(),
        path=path,
        summary=with_code(summary),
        description=with_code(_LINE_BREAK.sub(" ", remainder.strip())),
        scope=operation[SCOPE],
        by_session=BY_SESSION in operation,
        parameters=(*_parameters(operation), *_fields(operation, spec["components"]["schemas"])),
        requests=tuple(_requests(method, path, operation)),
        answers=tuple(_answers(operation)),
        python=python_example(operation, spec["components"]["schemas"]),
    )


def _parameters(operation: Json) -> Iterator[Parameter]:
    for param in operation["parameters"]:
        schema = param["schema"]
        yield Parameter(param["name"], param["in"], _kind(schema), param["required"], _description(schema))


def _fields(operation: Json, schemas: Json) -> Iterator[Parameter]:
    """Fields of the body, one level deep."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = _resolve(content["schema"], schemas)
        required = schema.get("required", ())
        for name, field_schema in schema.get("properties", {}).items():
            yield Parameter(name, "body", _kind(field_schema), name in required, _description(field_schema))


def _description(schema: Json) -> SafeString:
    """The description of a schema; for a list without one, that of its entries."""
    return with_code(schema.get("description") or schema.get("items", {}).get("description", ""))


def _resolve(schema: Json, schemas: Json) -> Json:
    name = schema.get("$ref", "").rpartition("/")[2]
    return schemas[name] if name else schema


def _kind(schema: Mapping[str, Any]) -> str:
    """The type, limits and default as a text."""
    if "anyOf" in schema:
        kinds = [_kind(alternative) for alternative in schema["anyOf"] if alternative.get("type") != "null"]
        return f"{' or '.join(kinds)} or null"
    if "enum" in schema:
        return " | ".join(json.dumps(alternative) for alternative in schema["enum"])
    kind: str = schema.get("type", schema.get("$ref", "object").rpartition("/")[2])
    if kind == "array":
        kind = f"list of {_kind(schema['items'])}"
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None and high < 2**53:
        kind += f", {low if low is not None else '…'} to {high:,}"
    if schema.get("default") not in (None, ""):
        kind += f", default {json.dumps(schema['default'])}"
    return kind


def _requests(method: str, path: str, operation: Json) -> Iterator[Example]:
    address = f"{_SITE}{_example_path(path, operation)}"
    bodies = operation.get("requestBody", {}).get("content", {})
    verb = [] if method == "get" else ["-X", method.upper()]
    if not bodies:
        yield "", _curl(operation, address, verb, [])
    for kind, content in bodies.items():
        examples = content["examples"]
        for name, example in examples.items():
            body = _body(kind, example["value"])
            yield name if len(examples) > 1 else "", _curl(operation, address, verb, body)


def _example_path(path: str, operation: Json) -> str:
    """The path with examples in the place of its parameters, and the required ones of the query."""
    query = {}
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(parameter["example"]))
        elif "example" in parameter and parameter["required"]:
            query[parameter["name"]] = parameter["example"]
    return f"{path}?{urlencode(query)}" if query else path


def _body(kind: str, value: Any) -> list[str]:
    if kind == _JSON:
        text = json.dumps(value, ensure_ascii=False)
        if len(text) > _MAX_INLINE_BODY:
            text = json.dumps(value, ensure_ascii=False, indent=2)
        return ["-H 'Content-Type: application/json'", f"-d {shlex.quote(text)}"]
    return [f"-F {name}=@pairs.csv" for name in value]


def _curl(operation: Json, address: str, verb: list[str], options: list[str]) -> str:
    credentials = '-b cookies.txt -H "X-CSRFToken: $CSRF"' if BY_SESSION in operation else _BEARER
    lines = [" ".join(["curl", *verb, credentials]), *options, f'"{address}"']
    return " \\\n  ".join(lines)


def _answers(operation: Json) -> Iterator[Example]:
    for status, response in operation["responses"].items():
        if status == "default":
            continue
        contents = response.get("content", {})
        if not contents:
            yield f"{status} {response['description']}", ""
        for kind, content in contents.items():
            example = content["example"]
            text = example if isinstance(example, str) else json.dumps(example, ensure_ascii=False, indent=2)
            body = f"a file: {operation[FILE]}" if FILE in operation else text
            yield f"{status} {response['description']}, {kind}", body


def operation(request: HttpRequest) -> HttpResponseBase:
    """Answer at an address below `ROOT`; the first request of a process builds all operations."""
    match = resolver().resolve(request.path_info)
    answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return answer


operation.csrf_exempt = True  # type: ignore[attr-defined]  # `access` checks requests of sessions itself

urlpatterns = [
    path("api/", reference, name="api"),
    path(f"api/{CLIENT_NAME}", api_client, name="api-client"),
    re_path(rf"^{ROOT.removeprefix('/')}", operation, name=NAME),
]
