"""The OpenAPI document: ninja's, completed with examples, problems and scopes.

Examples of answers are composed from the examples of their fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ninja import NinjaAPI, Schema
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic import Field

from inference.web.api.access import ScopeRule
from inference.web.api.errors import CONTENT_TYPE

Json = dict[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")
FILE = "x-file"
"""Extension of an operation: content type of the file that it returns."""
STREAM = "x-stream"
"""Extension of an operation: content type of the stream that it can return."""
SCOPE = "x-scope"
BY_SESSION = "x-by-session"

_JSON = "application/json"
_REFERENCE = "#/components/schemas/"
_PROBLEM_NAME = "Problem"
_PLAIN = {"boolean": True, "integer": 1, "number": 1.0, "null": None}
_TEXTS = {"date-time": "2026-11-22T09:30:00Z", "binary": "(a file)"}


class ProblemPart(Schema):
    """One problem of a request."""

    where: str = Field(description="The part of the request, and the field in it.", examples=["query limit"])
    what: str = Field(examples=["it is more than 1000"])
    right: str = Field(description="What would be accepted.", examples=["at most 1000"])


class Problem(Schema):
    """Why an operation was refused (RFC 9457)."""

    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Unprocessable Content"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["query limit: it is more than 1000"])
    problems: list[ProblemPart]


class _OperationsSchema(OpenAPISchema):
    """Adds scopes to the operations."""

    def operation_details(self, operation: Operation) -> Json:
        details: Json = super().operation_details(operation)
        (rule,) = operation.auth_callbacks
        assert isinstance(rule, ScopeRule), "nobody is let in otherwise"
        details[SCOPE] = rule.needed(operation.methods[0]).value
        if not rule.by_token:
            details[BY_SESSION] = True
        return details


@cache
def document_of(api: NinjaAPI, root: str) -> Json:
    """The OpenAPI document of an API whose operations are below `root`."""
    document: Json = dict(_OperationsSchema(api, root))
    problem = Problem.model_json_schema(ref_template=f"{_REFERENCE}{{model}}")
    schemas = document["components"]["schemas"]
    schemas |= {**problem.pop("$defs"), _PROBLEM_NAME: problem}
    document["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "A token of your account."},
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid-443",
            "description": "A browser's log-in. The name ends with the port of the site's address.",
        },
    }
    document["security"] = [{"token": []}, {"session": []}]
    document["servers"] = [{"url": "/"}]
    for _, _, operation in operations_of(document):
        _complete(operation, schemas)
    return document


def operations_of(document: Json) -> Iterator[tuple[str, str, Json]]:
    """(method, path, operation) in the order of the paths."""
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield method, path, methods[method]


def example_of(schema: Mapping[str, Any], schemas: Mapping[str, Any], visited: tuple[str, ...] = ()) -> Any:
    """A value of a schema: its first example, or one composed of its parts' examples."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_REFERENCE)
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        return example_of({**schemas[name], **siblings}, schemas, (*visited, name))
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    if "const" in schema:
        return schema["const"]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return example_of(
                next(option for option in schema[key] if option.get("type") != "null"), schemas, visited
            )
    if schema.get("default") is not None:
        return schema["default"]
    return _example_of_type(schema, schemas, visited)


def _example_of_type(schema: Mapping[str, Any], schemas: Mapping[str, Any], visited: tuple[str, ...]) -> Any:
    kind = schema.get("type")
    if kind == "array":
        return [example_of(schema["items"], schemas, visited)]
    if kind == "string":
        return _TEXTS.get(schema.get("format", ""), "")
    if kind in _PLAIN:
        return schema.get("minimum", _PLAIN[kind])
    properties = schema.get("properties", {})
    return {name: example_of(field, schemas, visited) for name, field in properties.items()}


def _complete(operation: Json, schemas: Json) -> None:
    for parameter in operation["parameters"]:
        parameter.pop("examples", None)
        if "default" not in parameter["schema"] or parameter["schema"].get("examples"):
            parameter["example"] = example_of(parameter["schema"], schemas)
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        content["examples"] = _examples(content["schema"], schemas, kind)
    for status, response in operation["responses"].items():
        _complete_answer(int(status), response, operation, schemas)
    problem = {"$ref": f"{_REFERENCE}{_PROBLEM_NAME}"}
    operation["responses"]["default"] = {
        "description": "The request was refused; the problem says why",
        "content": {CONTENT_TYPE: {"schema": problem, "example": example_of(problem, schemas)}},
    }


def _complete_answer(status: int, response: Json, operation: Json, schemas: Json) -> None:
    if FILE in operation:
        binary = {"type": "string", "format": "binary"}
        response["content"] = {operation[FILE]: {"schema": binary, "example": "(a file)"}}
        return
    for content in response.get("content", {}).values():
        content["example"] = example_of(content["schema"], schemas)
    if STREAM in operation and status < 300:
        event = response["content"][_JSON]["example"]["items"][0]
        text = f"id: {event['seq']}\nevent: {event['kind']}\ndata: {{…}}\n\n"
        response["content"][operation[STREAM]] = {"schema": {"type": "string"}, "example": text}


def _examples(schema: Mapping[str, Any], schemas: Mapping[str, Any], kind: str) -> Json:
    """{name: example} of a body."""
    name = schema.get("$ref", "").removeprefix(_REFERENCE)
    examples = schemas.get(name, {}).get("examples")
    if kind == _JSON and examples:
        fields = schemas[name]["properties"]
        ordered = [{field: body[field] for field in fields if field in body} for body in examples]
        return {str(body.get("kind", number)): {"value": body} for number, body in enumerate(ordered)}
    return {"usual": {"value": example_of(schema, schemas)}}
