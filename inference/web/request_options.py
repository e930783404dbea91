"""Options of the shell whose type, default and choices are those of a request's fields, and theirs alone."""

from __future__ import annotations

from argparse import _ActionsContainer
from typing import Any

from inference.runs.request import RequestPart


def add_request_options(parser: _ActionsContainer, request: type[RequestPart], **fields: str) -> None:
    """Add an option for each of these fields, by its name, with its help.

    The word for a value may stand before the help, as in "N: how many"; limits are left to the request, whose
    error names the field.
    """
    for name, text in fields.items():
        shape, usual = request.shape(name), request.usual(name)
        metavar, colon, rest = text.partition(": ")
        is_named = bool(colon) and metavar.isupper()
        options: dict[str, Any] = {"help": rest if is_named else text, "default": usual}
        if shape.choices:
            options["choices"] = shape.choices
        elif shape.kind in (int, float):
            options["type"] = shape.kind
        if is_named:
            options["metavar"] = metavar
        parser.add_argument(f"--{name.replace('_', '-')}", **options)
