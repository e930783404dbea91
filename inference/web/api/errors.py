"""Errors of the API as problem details (RFC 9457): what is wrong, where, and what would be right.

{"type": "about:blank", "title": "Unprocessable Content", "status": 422, "detail": "…",
 "problems": [{"where": "query limit", "what": "…", "right": "…"}]}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from inference.core.errors import CoreError
from inference.formats.problems import ExchangeError
from inference.isa.code.block import BlockError
from inference.isa.search import SearchError
from inference.runs.errors import DuplicateRunNameError, LimitError, RunsError, RunStateError
from inference.storage.errors import NameInUseError, UnknownNameError
from inference.web.validation import MAX_FLAWS, RequestError, error_message, expected_value

CONTENT_TYPE = "application/problem+json"
_TITLES = {422: "Unprocessable Content", 413: "Content Too Large"}  # older Pythons say otherwise


MAX_TEXT_LENGTH = 1000


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 1]}…"


@dataclass(frozen=True)
class Flaw:
    """One problem of a request; `where` names the part of the request and the field."""

    what: str
    where: str = ""
    right: str = ""

    def as_json(self) -> dict[str, str]:
        """The object in the answer; texts are cut to `MAX_TEXT_LENGTH` characters."""
        return {
            "where": _truncate(self.where),
            "what": _truncate(self.what),
            "right": _truncate(self.right),
        }


class ProblemError(Exception):
    """An operation is refused; becomes an answer of this status."""

    def __init__(
        self,
        status: int,
        what: str,
        *,
        where: str = "",
        right: str = "",
        flaws: Sequence[Flaw] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(what)
        self.status = status
        self.what = what
        self.flaws = tuple(flaws) or ((Flaw(what, where, right),) if where or right else ())
        self.headers = dict(headers or {})


def problem(
    status: int, detail: str, flaws: Sequence[Flaw] = (), headers: Mapping[str, str] | None = None
) -> JsonResponse:
    """A problem as a response, with the first flaws only; long texts of the request are cut."""
    title = _TITLES.get(status) or HTTPStatus(status).phrase
    content = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": _truncate(detail),
        "problems": [flaw.as_json() for flaw in flaws[:MAX_FLAWS]],
    }
    return JsonResponse(content, status=status, content_type=CONTENT_TYPE, headers=headers)


def install(api: NinjaAPI) -> None:
    """Register handlers for the errors that operations raise on purpose."""
    for kind, handler in _HANDLERS.items():
        api.add_exception_handler(kind, handler)


Handler = Callable[[HttpRequest, Any], JsonResponse]

_REFERENCE_HINT = "see the description of the operation at /api/"


def _problem(_request: HttpRequest, error: ProblemError) -> JsonResponse:
    return problem(error.status, error.what, error.flaws, error.headers)


def _invalid(_request: HttpRequest, error: ValidationError) -> JsonResponse:
    flaws_by_place: dict[str, list[Flaw]] = {}
    for detail in error.errors:
        flaw = Flaw(error_message(detail), _where(detail["loc"]), expected_value(detail, _REFERENCE_HINT))
        flaws_by_place.setdefault(flaw.where, []).append(flaw)
    flaws = [_merge(alternatives) for alternatives in flaws_by_place.values()]
    first = flaws[0]
    suffix = f" (and {len(flaws) - 1} more)" if len(flaws) > 1 else ""
    return problem(422, f"{first.where}: {first.what}{suffix}", flaws)


def _where(location: Sequence[Any]) -> str:
    """`query limit`, `body config.seed`: the part of the request, then the path in it."""
    source, *path = location
    if source == "body" and path[:1] == ["data"]:  # name of the body's argument in our operations
        path = path[1:]
    places = [str(place) for place in path if not (isinstance(place, str) and _ALTERNATIVE.match(place))]
    return f"{source} {'.'.join(places)}".strip()


_ALTERNATIVE = re.compile(
    r"(int|float|str|bool|none|bytes|datetime|dict|list|tuple|set|frozenset|literal|nullable|constrained-\w+|"
    r"function-\w+|lax-or-strict|json-or-python|tagged-union)(\[.*)?$"
)
"""Names of alternatives that pydantic adds to the path of an error in a union."""


def _merge(flaws: Sequence[Flaw]) -> Flaw:
    """One flaw for a value that matches no alternative of a union, for which pydantic reports several."""
    if len(flaws) == 1:
        return flaws[0]
    message = " and ".join(dict.fromkeys(flaw.what for flaw in flaws))
    right = " or ".join(dict.fromkeys(flaw.right for flaw in flaws if flaw.right))
    return Flaw(message, flaws[0].where, right)


def _field(_request: HttpRequest, error: RequestError) -> JsonResponse:
    where = f"query {error.field}"
    return problem(422, f"{where}: {error.what}", [Flaw(error.what, where, error.right)])


def _http_error(request: HttpRequest, error: HttpError) -> JsonResponse:
    if isinstance(error.__cause__, ProblemError):  # ninja wraps the parser's error of a malformed body
        return _problem(request, error.__cause__)
    return problem(error.status_code, error.message)


def _name_conflict(_request: HttpRequest, error: DuplicateRunNameError | NameInUseError) -> JsonResponse:
    return problem(409, str(error), [Flaw("the name is taken", "body name", f"e.g. {error.suggestion!r}")])


def _unknown_name(_request: HttpRequest, error: UnknownNameError) -> JsonResponse:
    nearest = ", ".join(map(repr, error.nearest))
    return problem(422, str(error), [Flaw(f"there is no {error.kind} {error.name!r}", "body", nearest)])


def _with_status(status: int, otherwise: str = "") -> Handler:
    """A handler that answers with the error's text; with `otherwise` if that is empty."""
    return lambda _request, error: problem(status, str(error) or otherwise)


def _refusal_handler(part: str) -> Handler:
    """A handler that answers 422 with the error's text, which names the field, for a part of the request."""

    def handler(request: HttpRequest, error: Exception) -> JsonResponse:
        where = part if request.method != "GET" else "query"
        return problem(422, str(error), [Flaw(str(error), where)])

    return handler


def _unreachable(_request: HttpRequest, _error: OperationalError) -> JsonResponse:
    return problem(503, "The database does not answer; try again in a moment", headers={"Retry-After": "2"})


_HANDLERS: dict[type[Exception], Handler] = {
    ProblemError: _problem,
    ValidationError: _invalid,
    HttpError: _http_error,
    Http404: _with_status(404, "There is nothing at this address"),
    DuplicateRunNameError: _name_conflict,
    NameInUseError: _name_conflict,
    UnknownNameError: _unknown_name,
    RunStateError: _with_status(409),
    LimitError: _with_status(429),
    RunsError: _refusal_handler("body config"),
    ExchangeError: _refusal_handler("body"),
    CoreError: _refusal_handler("body"),
    BlockError: _refusal_handler("body code"),
    SearchError: _refusal_handler("query q"),
    RequestError: _field,
    BadRequest: _with_status(400),
    RequestDataTooBig: _with_status(413),
    SuspiciousOperation: _with_status(400),
    OperationalError: _unreachable,
}
