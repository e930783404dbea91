"""The addresses of the API, and its reference as a page, drawn from the OpenAPI document."""

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
_BRIEF = 80  # characters of a body in one line
_LINE_BREAK = re.compile(r"(?<!\n)\n(?!\n)")
"""Of the source, within a paragraph."""


def marked(text: str) -> SafeString:
    """A text of the document, what stands between backticks as code."""
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
"""A request or an answer: what tells it from others of the operation, "" where it is alone, and its text."""


@dataclass(frozen=True)
class Operation:
    """What the page shows of an operation."""

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
        """As the sidebar has it: the name of the operation in words."""
        return self.anchor.replace("-", " ")

    @property
    def words(self) -> str:
        """What a search looks through, in lower case."""
        names = " ".join(parameter.name for parameter in self.parameters)
        return f"{self.method} {self.path} {self.anchor} {self.summary} {self.description} {names}".lower()


@dataclass(frozen=True)
class OperationGroup:
    title: str
    operations: tuple[Operation, ...]

    @property
    def anchor(self) -> str:
        return self.title.lower().replace(" ", "-")


@gzip_page  # nearly a megabyte, in which nothing comes from whoever asks
def reference(request: HttpRequest) -> HttpResponse:
    """Every operation with its parameters, an example of a request and of an answer."""
    found = groups()
    context = {
        "groups": found,
        "count": sum(len(group.operations) for group in found),
        "site": f"{request.scheme}://{request.get_host()}",
        "root": ROOT,
        "version": document()["info"]["version"],
        "client": CLIENT_NAME,
    }
    return render(request, "inference/web/api.html", context)


def api_client(_request: HttpRequest) -> HttpResponse:
    """The client in Python, for whoever looks at the page."""
    return client_answer(document())


@cache
def groups() -> tuple[OperationGroup, ...]:
    """All operations, in the order of the document's headings."""
    whole = document()
    by_heading: dict[str, list[Operation]] = {}
    for method, address, operation in operations_of(whole):
        by_heading.setdefault(operation["tags"][0], []).append(_operation(method, address, operation, whole))
    return tuple(OperationGroup(heading, tuple(each)) for heading, each in by_heading.items())


def _operation(method: str, path: str, operation: Json, whole: Json) -> Operation:
    summary, _, rest = str(operation.get("description", operation["summary"])).partition("\n")
    return Operation(
        anchor=operation["operationId"].replace("_", "-"),
        method=method.upper(),
        path=path,
        summary=marked(summary),
        description=marked(_LINE_BREAK.sub(" ", rest.strip())),
        scope=operation[SCOPE],
        by_session=BY_SESSION in operation,
        parameters=(*_parameters(operation), *_fields(operation, whole["components"]["schemas"])),
        requests=tuple(_requests(method, path, operation)),
        answers=tuple(_answers(operation)),
        python=python_example(operation, whole["components"]["schemas"]),
    )


def _parameters(operation: Json) -> Iterator[Parameter]:
    for each in operation["parameters"]:
        schema = each["schema"]
        yield Parameter(each["name"], each["in"], _kind(schema), each["required"], _meaning(schema))


def _fields(operation: Json, schemas: Json) -> Iterator[Parameter]:
    """Of the body, one level deep."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = _resolved(content["schema"], schemas)
        required = schema.get("required", ())
        for name, each in schema.get("properties", {}).items():
            yield Parameter(name, "body", _kind(each), name in required, _meaning(each))


def _meaning(schema: Json) -> SafeString:
    """Of a list, that of its entries will do."""
    return marked(schema.get("description") or schema.get("items", {}).get("description", ""))


def _resolved(schema: Json, schemas: Json) -> Json:
    name = schema.get("$ref", "").rpartition("/")[2]
    return schemas[name] if name else schema


def _kind(schema: Mapping[str, Any]) -> str:
    """The type in words, with its limits and default."""
    if "anyOf" in schema:
        kinds = [_kind(each) for each in schema["anyOf"] if each.get("type") != "null"]
        return f"{' or '.join(kinds)} or null"
    if "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema["enum"])
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
    address = f"{_SITE}{_filled(path, operation)}"
    bodies = operation.get("requestBody", {}).get("content", {})
    verb = [] if method == "get" else ["-X", method.upper()]
    if not bodies:
        yield "", _curl(operation, address, verb, [])
    for kind, content in bodies.items():
        examples = content["examples"]
        for name, example in examples.items():
            body = _body(kind, example["value"])
            yield name if len(examples) > 1 else "", _curl(operation, address, verb, body)


def _filled(path: str, operation: Json) -> str:
    """The path with examples in place of its parameters, and those of the query that have one."""
    query = {}
    for each in operation["parameters"]:
        if each["in"] == "path":
            path = path.replace(f"{{{each['name']}}}", str(each["example"]))
        elif "example" in each and each["required"]:
            query[each["name"]] = each["example"]
    return f"{path}?{urlencode(query)}" if query else path


def _body(kind: str, value: Any) -> list[str]:
    if kind == _JSON:
        text = json.dumps(value, ensure_ascii=False)
        if len(text) > _BRIEF:
            text = json.dumps(value, ensure_ascii=False, indent=2)
        return ["-H 'Content-Type: application/json'", f"-d {shlex.quote(text)}"]
    return [f"-F {name}=@pairs.csv" for name in value]


def _curl(operation: Json, address: str, verb: list[str], more: list[str]) -> str:
    shown = '-b cookies.txt -H "X-CSRFToken: $CSRF"' if BY_SESSION in operation else _BEARER
    lines = [" ".join(["curl", *verb, shown]), *more, f'"{address}"']
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
            shown = f"a file: {operation[FILE]}" if FILE in operation else text
            yield f"{status} {response['description']}, {kind}", shown


def operation(request: HttpRequest) -> HttpResponseBase:
    """Whatever answers at an address below `ROOT`; the first request of a process makes all of them."""
    found = resolver().resolve(request.path_info)
    answer: HttpResponseBase = found.func(request, *found.args, **found.kwargs)
    return answer


operation.csrf_exempt = True  # type: ignore[attr-defined]  # `access` checks requests of sessions itself

urlpatterns = [
    path("api/", reference, name="api"),
    path(f"api/{CLIENT_NAME}", api_client, name="api-client"),
    re_path(rf"^{ROOT.removeprefix('/')}", operation, name=NAME),
]
