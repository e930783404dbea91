"""Reading the bodies of requests."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from inference.api.errors import ProblemError
from inference.exchange.strict_json import StrictJsonError, load


class StrictParser(Parser):
    """JSON that can be stored, or a problem that says where it cannot."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The object; raises `ProblemError`."""
        try:
            value = load(request.body, "body")
        except StrictJsonError as error:
            raise ProblemError(400, str(error), where="body", right="an object {…}") from None
        if not isinstance(value, dict):
            raise ProblemError(400, "the body is not an object", where="body", right="an object {…}")
        return value
