"""The generated client as a module."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from inference.web.api.client import CLIENT_NAME, client_text
from inference.web.api.site import document


@cache
def generated_client() -> ModuleType:
    """`pmweb_client`, as somebody imports it who has stored it."""
    made = ModuleType(CLIENT_NAME.removesuffix(".py"))
    exec(compile(client_text(document()), CLIENT_NAME, "exec"), made.__dict__)
    return made
