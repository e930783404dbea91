"""Requests that the API's own document gives rise to: sound ones, and such as contradict it."""

from __future__ import annotations

import json
import logging
import math
import random
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from django.db import transaction
from django.test import Client

from benchmarks import MissingDataError
from benchmarks._input_site import row_counts
from benchmarks._survey import Survey

MAX_SECONDS = 5.0
"""Seconds of computing until an answer."""


def fuzz_requests(token: str, seed: int, n: int) -> Survey:
    """At least `n` requests, as many of each operation; each is taken back, so all find the same site."""
    try:
        import schemathesis
    except ImportError:
        raise MissingDataError(
            "schemathesis is not installed: pip install -r requirements-dev.lock"
        ) from None
    from schemathesis.core.result import Ok

    from inference.web.api.site import document

    logging.getLogger("django.request").setLevel(logging.CRITICAL)
    survey = Survey("requests", seed)
    client = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token}"})
    results = schemathesis.openapi.from_dict(document()).get_all_operations()
    operations = [result.ok() for result in results if isinstance(result, Ok)]
    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    n_each = math.ceil(n / (len(operations) * len(modes)))
    for number, operation in enumerate(operations):
        for mode in modes:
            drawn = random.Random(f"{seed} {operation.label} {mode.value}")
            send = _sender(client, survey, drawn, f"{mode.value} {operation.label}")
            _generate(operation, mode, n_each, seed + number, send)
    return survey


def _generate(operation: Any, mode: Any, n: int, seed: int, send: Callable[[Any], None]) -> None:
    """Draw cases of an operation until there are `n`, where it has so many."""
    import hypothesis
    from hypothesis.errors import Unsatisfiable

    calm = list(hypothesis.HealthCheck)
    few = hypothesis.settings(max_examples=n, deadline=None, database=None, suppress_health_check=calm)
    try:
        # Nothing is raised for what is found, so that nothing is tried twice to make it smaller.
        given: Any = hypothesis.given(operation.as_strategy(generation_mode=mode))
        search: Any = few(given(send))
        hypothesis.seed(seed)(search)()
    except Unsatisfiable:
        return  # nothing contradicts an operation without parameters


def _sender(client: Client, survey: Survey, drawn: random.Random, label: str) -> Callable[[Any], None]:
    """A function that sends a case, rolls back its effects, and notes what is wrong with the answer."""

    def send(case: Any) -> None:
        survey.sent[case.method] += 1
        before, began = row_counts(), time.process_time()
        path, body = _path(case, drawn), _body(case)
        with transaction.atomic():
            answer = client.generic(
                case.method, path, body, content_type="application/json", query_params=_query(case)
            )
            content = b"".join(answer) if answer.streaming else answer.content
            status, after = answer.status_code, row_counts()
            transaction.set_rollback(True)
        seconds = time.process_time() - began
        survey.outcomes[f"{status // 100}xx"] += 1
        where = f"{label}: {path} {case.query} {body[:200]!r}"
        survey.expect(status < 500, f"{status} {where} {content[-200:]!r}")
        survey.expect(status < 400 or after == before, f"rows are left by a refused request, {where}")
        survey.expect(seconds < MAX_SECONDS, f"{seconds:.1f} s {where}")

    return send


def _path(case: Any, drawn: random.Random) -> str:
    """With the numbers of rows that there are, most of the time."""
    path = case.path
    for name, value in (case.path_parameters or {}).items():
        exists = drawn.random() < 0.8 and name.endswith("_id")
        path = path.replace(f"{{{name}}}", quote(str(drawn.choice((1, 1, 1, 2)) if exists else value)))
    return str(path)


def _query(case: Any) -> dict[str, Any]:
    """The query as a browser sends it: text, or several."""
    query = case.query or {}
    return {
        str(name): [str(entry) for entry in value] if isinstance(value, list) else str(value)
        for name, value in query.items()
    }


def _body(case: Any) -> bytes:
    if isinstance(case.body, bytes):
        return case.body
    try:
        return json.dumps(case.body).encode()
    except (TypeError, ValueError):  # no body at all
        return b""
