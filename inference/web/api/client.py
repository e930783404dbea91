"""A client in Python, written from the OpenAPI document: one file, typed, with nothing to install.

Each operation is a method of its name; each shape is a `TypedDict`. What a session alone may do is left out,
since a client has a token. Like the document, the client of a version is always the same.
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
"""What does not depend on the operations."""

_SHAPES = "# The shapes of the API follow here.\n"
_OPERATIONS = "    # The operations of the API follow here.\n"
_IMPORTS = "from typing import Literal, TypedDict\n\n"
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_JSON, _FORM = "application/json", "multipart/form-data"
_WIDTH = 106
_ROOT = "/api/v1"
"""As the frame has it, too."""


def client_answer(whole: Json) -> HttpResponse:
    """The module, to be stored."""
    return file_answer(client_text(whole), "text/x-python", *CLIENT_NAME.split("."))


def client_text(whole: Json) -> str:
    """The whole module, of a document as `document_of` makes it."""
    shapes = "\n\n".join(_shape(name, schema) for name, schema in whole["components"]["schemas"].items())
    methods = "\n".join(_method(*each) for each in callable_operations(whole))
    frame = _FRAME.read_text(encoding="utf-8").replace("VERSION", whole["info"]["version"])
    imports, rest = frame.split(_SHAPES)
    calling, after = rest.split(_OPERATIONS)
    return f"{imports.rstrip()}\n{_IMPORTS}\n{shapes}{calling}{methods}{after}"


def callable_operations(whole: Json) -> Iterator[tuple[str, str, Json]]:
    """(method, path, operation) of those that a token can do."""
    for method, path, operation in operations_of(whole):
        if BY_SESSION not in operation:
            yield method, path.removeprefix(_ROOT), operation


def _shape(name: str, schema: Json) -> str:
    """A `TypedDict`, of what is always there and what may be left out; another name of a choice of texts."""
    if schema.get("type") != "object" or "properties" not in schema:
        return f"{_class_name(name)} = {_type(schema)!s}\n"
    required = set(schema.get("required", ()))
    fields = {field: _type(each) for field, each in schema["properties"].items()}
    sure = {field: kind for field, kind in fields.items() if field in required}
    maybe = {field: kind for field, kind in fields.items() if field not in required}
    told = _docstring(schema.get("description", ""), 4)
    made, other = _class_name(name), f"_{_class_name(name)}Sure"
    if not maybe:
        return _class(made, "TypedDict", sure, told)
    if not sure:
        return _class(made, "TypedDict, total=False", maybe, told)
    return f"{_class(other, 'TypedDict', sure, '')}\n\n{_class(made, f'{other}, total=False', maybe, told)}"


def _class(name: str, bases: str, fields: Mapping[str, str], told: str) -> str:
    lines = [f"    {field}: {kind}" for field, kind in fields.items()]
    return "\n".join([f"class {name}({bases}):", *([told] if told else []), *(lines or ["    pass"])]) + "\n"


def _class_name(name: str) -> str:
    return name.replace("_", "")


def _type(schema: Mapping[str, Any]) -> str:
    """The annotation of a value."""
    if "$ref" in schema:
        return _class_name(schema["$ref"].rpartition("/")[2])
    texts = [schema["const"]] if "const" in schema else schema.get("enum", ())
    if texts:
        return f"Literal[{', '.join(map(repr, texts))}]"
    several = next((schema[key] for key in ("anyOf", "oneOf", "allOf") if key in schema), None)
    if several is not None:
        return " | ".join(dict.fromkeys(map(_type, several)))
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
    parts = [each for each in operation["parameters"] if each["in"] == "path"]
    asked = [each for each in operation["parameters"] if each["in"] == "query"]
    body = _body_of(operation)
    given = ["self", *(f"{each['name']}: {_type(each['schema'])}" for each in parts)]
    if body is not None:
        given.append(f"{body[0]}: {body[1]}{'' if body[2] else ' = None'}")
    if asked:
        must = [f"{each['name']}: {_type(each['schema'])}" for each in asked if each["required"]]
        may = [
            f"{each['name']}: {_optional(_type(each['schema']))} = None"
            for each in asked
            if not each["required"]
        ]
        given += ["*", *must, *may]
    answer, reader = _answer_of(operation)
    address = re.sub(r"{(\w+)}", r"{_quoted(\1)}", path)
    call = [f'"{method.upper()}"', f'f"{address}"' if parts else f'"{address}"']
    if asked:
        call.append("{" + ", ".join(f'"{each["name"]}": {each["name"]}' for each in asked) + "}")
    if body is not None:
        call.append(f"{body[0]}={body[0]}")
    if body is not None and body[0] == "files":
        (field,) = operation["requestBody"]["content"][_FORM]["schema"]["properties"]
        call.append(f'field="{field}"')
    told = _docstring(str(operation.get("description", operation["summary"])), 8)
    result = f"self.{reader}({', '.join(call)})"
    if answer == "None":
        done = result
    else:
        done = f"return cast({json.dumps(answer)}, {result})" if reader == "_json" else f"return {result}"
    head = f"    def {name}({', '.join(given)}) -> {answer}:"
    if len(head) > _WIDTH:
        head = "\n".join([f"    def {name}(", *(f"        {one}," for one in given), f"    ) -> {answer}:"])
    return "\n".join([head, told, f"        {done}", ""])


def _optional(kind: str) -> str:
    return kind if "None" in kind.split(" | ") else f"{kind} | None"


def _body_of(operation: Json) -> tuple[str, str, bool] | None:
    """(name, type, whether it has to be given) of the body."""
    request = operation.get("requestBody", {})
    for kind, content in request.get("content", {}).items():
        if kind == _FORM:
            return "files", "Mapping[str, bytes]", True
        required = request.get("required", False)
        kind_of_body = _type(content["schema"])
        return "body", kind_of_body if required else _optional(kind_of_body), required
    return None


def _answer_of(operation: Json) -> tuple[str, str]:
    """(type, method that reads it) of the answer."""
    if FILE in operation:
        return "bytes", "_bytes"
    kinds = []
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get(_JSON)
        if status != "default":
            kinds.append("None" if content is None else _type(content["schema"]))
    known = list(dict.fromkeys(kinds))
    if known == ["None"]:
        return "None", "_json"
    return " | ".join(known), "_json"


def _docstring(text: str, indent: int) -> str:
    """The first paragraphs of a description, wrapped; "" for none."""
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
    """A call of an operation, with the examples of its parameters; "" for what a session alone may do."""
    if BY_SESSION in operation:
        return ""
    given = [repr(each["example"]) for each in operation["parameters"] if each["in"] == "path"]
    body = _body_of(operation)
    if body is not None:
        content = operation["requestBody"]["content"]
        if body[0] == "files":
            given.append('{"pairs.csv": open("pairs.csv", "rb").read()}')
        elif body[2]:
            given.append(repr(example_of(content[_JSON]["schema"], schemas)))
    given += [
        f"{each['name']}={each['example']!r}"
        for each in operation["parameters"]
        if each["in"] == "query" and each["required"]
    ]
    name = operation["operationId"]
    call = f"pmweb.{name}({', '.join(given)})"
    if FILE in operation:
        extension = operation[FILE].rpartition("/")[2].partition("+")[0]
        return f'open("{name}.{extension}", "wb").write({call})'
    return f"found = {call}"
