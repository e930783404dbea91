"""Bodies of requests, read as JSON that can be stored."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from inference.formats.json_fields import StrictJsonError, load
from inference.web.api.errors import ProblemError

MOST_VALUES = 50_000
"""Values and keys of a body: were each of them a fault, the answer would take 50 MB of memory."""
MORE_VALUES = {"/api/v1/core-models": 600_000}
"""Of operations that take a document, by their address: several times what all schemes of x86-64 need."""


class StrictParser(Parser):
    """JSON that can be stored, or a problem that says where it cannot."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The object; raises `ProblemError`."""
        try:
            value = load(request.body, "body", MORE_VALUES.get(request.path_info, MOST_VALUES))
        except StrictJsonError as error:
            raise ProblemError(400, str(error), where="body", right="an object {…}") from None
        if not isinstance(value, dict):
            raise ProblemError(400, "the body is not an object", where="body", right="an object {…}")
        return value
