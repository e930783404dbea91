"""The doors of a feature, asked for the same: its operation of the API and its command."""

from __future__ import annotations

import io
import json
from typing import Any

from django.core.management import call_command
from django.test import Client


def printed(*arguments: object, **options: object) -> str:
    """The whole output of a command; what it says of its progress goes where pytest shows it."""
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out, **options)
    return out.getvalue()


def agreed(visitor: Client, address: str, *command: object, query: dict[str, str] | None = None) -> Any:
    """The answer at an address below the API's root, which must be what a command prints with `--json`."""
    response = visitor.get(f"/api/v1{address}", query)
    assert response.status_code == 200, response.content
    assert json.loads(printed(*command, "--json")) == response.json()
    return response.json()


def sent_by_page(visitor: Client, address: str, **changes: object) -> Any:
    """The answer where a page's form is sent as it is proposed there, with these changes."""
    form = (visitor.get(address).context or {}).get("form", ())
    proposed = {field.html_name: field.value() for field in form}
    data = {name: value for name, value in {**proposed, **changes}.items() if value not in (None, "", False)}
    return visitor.post(address, {"press": "start", **data})
