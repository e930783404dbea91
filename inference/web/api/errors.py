"""Errors as JSON: RFC 9457's problem details, with what is wrong where, and what would be right.

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
from inference.runs.errors import LimitError, RunNameTakenError, RunsError, RunStateError
from inference.storage.errors import NameTakenError as NameTaken
from inference.storage.errors import UnknownNameError
from inference.web.validation import MOST_FLAWS, RequestError, what_is_right, what_is_wrong

CONTENT_TYPE = "application/problem+json"
_TITLES = {422: "Unprocessable Content", 413: "Content Too Large"}  # older Pythons say otherwise


LONGEST_TEXT = 1000


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


@dataclass(frozen=True)
class Flaw:
    """One thing that is wrong with a request; `where` names the part of it and the field."""

    what: str
    where: str = ""
    right: str = ""

    def as_json(self) -> dict[str, str]:
        """The object in the answer."""
        return {"where": _cut(self.where), "what": _cut(self.what), "right": _cut(self.right)}


class ProblemError(Exception):
    """An operation cannot do what was asked; becomes an answer of this status."""

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


def answer(
    status: int, detail: str, flaws: Sequence[Flaw] = (), headers: Mapping[str, str] | None = None
) -> JsonResponse:
    """The problem as a response, with the first `MOST_FLAWS` flaws; what a request brought is cut short."""
    title = _TITLES.get(status) or HTTPStatus(status).phrase
    content = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": _cut(detail),
        "problems": [flaw.as_json() for flaw in flaws[:MOST_FLAWS]],
    }
    return JsonResponse(content, status=status, content_type=CONTENT_TYPE, headers=headers)


def install(api: NinjaAPI) -> None:
    """Let the API answer all that its operations raise on purpose in this form."""
    for kind, handler in _HANDLERS.items():
        api.add_exception_handler(kind, handler)


Handler = Callable[[HttpRequest, Any], JsonResponse]

_ELSEWHERE = "see the description of the operation at /api/"


def _problem(_request: HttpRequest, error: ProblemError) -> JsonResponse:
    return answer(error.status, error.what, error.flaws, error.headers)


def _invalid(_request: HttpRequest, error: ValidationError) -> JsonResponse:
    found: dict[str, list[Flaw]] = {}
    for each in error.errors:
        flaw = Flaw(what_is_wrong(each), _where(each["loc"]), what_is_right(each, _ELSEWHERE))
        found.setdefault(flaw.where, []).append(flaw)
    flaws = [_as_one(several) for several in found.values()]
    first = flaws[0]
    more = f" (and {len(flaws) - 1} more)" if len(flaws) > 1 else ""
    return answer(422, f"{first.where}: {first.what}{more}", flaws)


def _where(location: Sequence[Any]) -> str:
    """`query limit`, `body config.seed`: the part of the request, then the path in it."""
    source, *path = location
    if source == "body" and path[:1] == ["data"]:  # what our operations call their body
        path = path[1:]
    places = [str(place) for place in path if not (isinstance(place, str) and _ALTERNATIVE.match(place))]
    return f"{source} {'.'.join(places)}".strip()


_ALTERNATIVE = re.compile(
    r"(int|float|str|bool|none|bytes|datetime|dict|list|tuple|set|frozenset|literal|nullable|constrained-\w+|"
    r"function-\w+|lax-or-strict|json-or-python|tagged-union)(\[.*)?$"
)
"""What pydantic puts into a place where a value may have one of several types."""


def _as_one(flaws: Sequence[Flaw]) -> Flaw:
    """Several of one place, which each say that a value is not of one of the types it may have."""
    if len(flaws) == 1:
        return flaws[0]
    what = " and ".join(dict.fromkeys(flaw.what for flaw in flaws))
    right = " or ".join(dict.fromkeys(flaw.right for flaw in flaws if flaw.right))
    return Flaw(what, flaws[0].where, right)


def _field(_request: HttpRequest, error: RequestError) -> JsonResponse:
    where = f"query {error.field}"
    return answer(422, f"{where}: {error.what}", [Flaw(error.what, where, error.right)])


def _spoken(request: HttpRequest, error: HttpError) -> JsonResponse:
    if isinstance(error.__cause__, ProblemError):  # of a body that could not be read, in ninja's words
        return _problem(request, error.__cause__)
    return answer(error.status_code, error.message)


def _taken(_request: HttpRequest, error: RunNameTakenError | NameTaken) -> JsonResponse:
    return answer(409, str(error), [Flaw("the name is taken", "body name", f"e.g. {error.suggestion!r}")])


def _unknown_name(_request: HttpRequest, error: UnknownNameError) -> JsonResponse:
    nearest = ", ".join(map(repr, error.nearest))
    return answer(422, str(error), [Flaw(f"there is no {error.kind} {error.name!r}", "body", nearest)])


def _with_status(status: int, otherwise: str = "") -> Handler:
    """For errors whose text says all that is to be said; `otherwise` where it is empty."""
    return lambda _request, error: answer(status, str(error) or otherwise)


def _refused(part: str) -> Handler:
    """For errors whose text says all: what, where in the part of the request, and what would be right."""

    def handler(request: HttpRequest, error: Exception) -> JsonResponse:
        where = part if request.method != "GET" else "query"
        return answer(422, str(error), [Flaw(str(error), where)])

    return handler


def _unreachable(_request: HttpRequest, _error: OperationalError) -> JsonResponse:
    return answer(503, "The database does not answer; try again in a moment", headers={"Retry-After": "2"})


_HANDLERS: dict[type[Exception], Handler] = {
    ProblemError: _problem,
    ValidationError: _invalid,
    HttpError: _spoken,
    Http404: _with_status(404, "There is nothing at this address"),
    RunNameTakenError: _taken,
    NameTaken: _taken,
    UnknownNameError: _unknown_name,
    RunStateError: _with_status(409),
    LimitError: _with_status(429),
    RunsError: _refused("body config"),
    ExchangeError: _refused("body"),
    CoreError: _refused("body"),
    BlockError: _refused("body code"),
    SearchError: _refused("query q"),
    RequestError: _field,
    BadRequest: _with_status(400),
    RequestDataTooBig: _with_status(413),
    SuspiciousOperation: _with_status(400),
    OperationalError: _unreachable,
}
