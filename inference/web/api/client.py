"""Generates the Python client from the OpenAPI document: one typed file without dependencies.

Every operation becomes a method, every shape a `TypedDict`. Operations of sessions only are left out, as a
client has a token. The output depends only on the document.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.http import HttpResponse

from inference.web.api.document import BY_SESSION, FILE, Json, example_of, operations_of
from inference.web.file_answers import file_answer

CLIENT_NAME = "pmweb_client.py"
_FRAME = Path(__file__).parent / "client_frame.py"
"""The part of the client that does not depend on the operations."""

_SHAPES = "# The shapes of the API follow here.\n"
_OPERATIONS = "    # The operations of the API follow here.\n"
_IMPORTS = "from typing import Literal, TypedDict\n\n"
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_JSON, _FORM = "application/json", "multipart/form-data"
_WIDTH = 106
_ROOT = "/api/v1"
"""The frame has the same constant."""


def client_answer(document: Json) -> HttpResponse:
    """The client as a file to download."""
    return file_answer(client_text(document), "text/x-python", *CLIENT_NAME.split("."))


def client_text(document: Json) -> str:
    """Source of the client for a document of `document_of`."""
    shapes = "\n\n".join(_shape(name, schema) for name, schema in document["components"]["schemas"].items())
    methods = "\n".join(_method(*operation) for operation in callable_operations(document))
    frame = _FRAME.read_text(encoding="utf-8").replace("VERSION", document["info"]["version"])
    imports, remainder = frame.split(_SHAPES)
    calling, after = remainder.split(_OPERATIONS)
    return f"{imports.rstrip()}\n{_IMPORTS}\n{shapes}{calling}{methods}{after}"


def callable_operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    """(method, path below the root, operation) of all operations that accept a token."""
    for method, path, operation in operations_of(document):
        if BY_SESSION not in operation:
            yield method, path.removeprefix(_ROOT), operation


def _shape(name: str, schema: Json) -> str:
    """A `TypedDict` with required and optional fields; an alias for other schemas."""
    if schema.get("type") != "object" or "properties" not in schema:
        return f"{_class_name(name)} = {_type(schema)!s}\n"
    required = set(schema.get("required", ()))
    fields = {field: _type(field_schema) for field, field_schema in schema["properties"].items()}
    required_fields = {field: kind for field, kind in fields.items() if field in required}
    optional_fields = {field: kind for field, kind in fields.items() if field not in required}
    doc = _docstring(schema.get("description", ""), 4)
    class_name, base_name = _class_name(name), f"_{_class_name(name)}Sure"
    if not optional_fields:
        return _class(class_name, "TypedDict", required_fields, doc)
    if not required_fields:
        return _class(class_name, "TypedDict, total=False", optional_fields, doc)
    base = _class(base_name, "TypedDict", required_fields, "")
    return f"{base}\n\n{_class(class_name, f'{base_name}, total=False', optional_fields, doc)}"


def _class(name: str, bases: str, fields: Mapping[str, str], doc: str) -> str:
    lines = [f"    {field}: {kind}" for field, kind in fields.items()]
    return "\n".join([f"class {name}({bases}):", *([doc] if doc else []), *(lines or ["    pass"])]) + "\n"


def _class_name(name: str) -> str:
    return name.replace("_", "")


def _type(schema: Mapping[str, Any]) -> str:
    """The annotation of a value with this schema."""
    if "$ref" in schema:
        return _class_name(schema["$ref"].rpartition("/")[2])
    texts = [schema["const"]] if "const" in schema else schema.get("enum", ())
    if texts:
        return f"Literal[{', '.join(map(repr, texts))}]"
    alternatives = next((schema[key] for key in ("anyOf", "oneOf", "allOf") if key in schema), None)
    if alternatives is not None:
        return " | ".join(dict.fromkeys(map(_type, alternatives)))
    return _simple_type(schema)


def _simple_type(schema: Mapping[str, Any]) -> str:
    match schema.get("type"):
        case "array":
            return f"list[{_type(schema.get('items', {}))}]"
        case "object":
            inner = schema.get("additionalProperties")
            return f"dict[str, {_type(inner) if isinstance(inner, dict) else 'Any'}]"
        case "string" if schema.get("format") == "binary":
            return "bytes"
        case kind:
            return _PLAIN.get(str(kind), "Any")


def _method(method: str, path: str, operation: Json) -> str:
    name = operation["operationId"]
    path_params = [param for param in operation["parameters"] if param["in"] == "path"]
    query = [param for param in operation["parameters"] if param["in"] == "query"]
    body = _body_of(operation)
    args = ["self", *(f"{param['name']}: {_type(param['schema'])}" for param in path_params)]
    if body is not None:
        args.append(f"{body[0]}: {body[1]}{'' if body[2] else ' = None'}")
    if query:
        must = [f"{param['name']}: {_type(param['schema'])}" for param in query if param["required"]]
        may = [
            f"{param['name']}: {_optional(_type(param['schema']))} = None"
            for param in query
            if not param["required"]
        ]
        args += ["*", *must, *may]
    answer, reader = _answer_of(operation)
    address = re.sub(r"{(\w+)}", r"{_quote(\1)}", path)
    call = [f'"{method.upper()}"', f'f"{address}"' if path_params else f'"{address}"']
    if query:
        call.append("{" + ", ".join(f'"{param["name"]}": {param["name"]}' for param in query) + "}")
    if body is not None:
        call.append(f"{body[0]}={body[0]}")
    if body is not None and body[0] == "files":
        (field,) = operation["requestBody"]["content"][_FORM]["schema"]["properties"]
        call.append(f'field="{field}"')
    doc = _docstring(str(operation.get("description", operation["summary"])), 8)
    result = f"self.{reader}({', '.join(call)})"
    if answer == "None":
        statement = result
    else:
        statement = (
            f"return cast({json.dumps(answer)}, {result})" if reader == "_json" else f"return {result}"
        )
    head = f"    def {name}({', '.join(args)}) -> {answer}:"
    if len(head) > _WIDTH:
        head = "\n".join(
            [f"    def {name}(", *(f"        {argument}," for argument in args), f"    ) -> {answer}:"]
        )
    return "\n".join([head, doc, f"        {statement}", ""])


def _optional(kind: str) -> str:
    return kind if "None" in kind.split(" | ") else f"{kind} | None"


def _body_of(operation: Json) -> tuple[str, str, bool] | None:
    """(name, type, required) of the body's argument; None without a body."""
    request = operation.get("requestBody", {})
    for kind, content in request.get("content", {}).items():
        if kind == _FORM:
            return "files", "Mapping[str, bytes]", True
        required = request.get("required", False)
        kind_of_body = _type(content["schema"])
        return "body", kind_of_body if required else _optional(kind_of_body), required
    return None


def _answer_of(operation: Json) -> tuple[str, str]:
    """(type, name of the method that reads it) of the answer."""
    if FILE in operation:
        return "bytes", "_bytes"
    kinds = []
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get(_JSON)
        if status != "default":
            kinds.append("None" if content is None else _type(content["schema"]))
    distinct = list(dict.fromkeys(kinds))
    if distinct == ["None"]:
        return "None", "_json"
    return " | ".join(distinct), "_json"


def _docstring(text: str, indent: int) -> str:
    """A description as a docstring, wrapped; "" for an empty one."""
    if not text:
        return ""
    margin = " " * indent
    plain = text.replace("\\", "\\\\").replace('"""', "'''")
    parts = re.split(r"\n\s*\n", plain)  # bounded: a description of an operation of ours
    paragraphs = [" ".join(part.split()) for part in parts if part.strip()]
    wrapped = [textwrap.fill(part, _WIDTH - indent, break_long_words=False) for part in paragraphs]
    lines = "\n\n".join(wrapped).splitlines()
    body = "\n".join(f"{margin}{line}" if line else "" for line in lines[1:])
    first = f'{margin}"""{lines[0]}'
    ends_in_quote = lines[-1].endswith('"')
    if body:
        return f'{first}\n{body}\n{margin}"""'
    return f'{first}{" " if ends_in_quote else ""}"""'


def python_example(operation: Json, schemas: Json) -> str:
    """Example call of an operation; "" for operations of sessions only."""
    if BY_SESSION in operation:
        return ""
    args = [repr(param["example"]) for param in operation["parameters"] if param["in"] == "path"]
    body = _body_of(operation)
    if body is not None:
        content = operation["requestBody"]["content"]
        if body[0] == "files":
            args.append('{"pairs.csv": open("pairs.csv", "rb").read()}')
        elif body[2]:
            args.append(repr(example_of(content[_JSON]["schema"], schemas)))
    args += [
        f"{param['name']}={param['example']!r}"
        for param in operation["parameters"]
        if param["in"] == "query" and param["required"]
    ]
    name = operation["operationId"]
    call = f"pmweb.{name}({', '.join(args)})"
    if FILE in operation:
        extension = operation[FILE].rpartition("/")[2].partition("+")[0]
        return f'open("{name}.{extension}", "wb").write({call})'
    return f"result = {call}"
