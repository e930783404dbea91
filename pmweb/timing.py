"""How long this web process takes to answer: from a request's arrival until the answer is there.

Outside of Django, so that waiting for a thread counts as well. How soon a visitor reads the answer does not
count, nor do streams, which last as long as somebody listens.
"""

from __future__ import annotations

import time
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

from pmweb.origins import Application, Message, Receive, Send

LIMITS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0)
"""Seconds, upper limits of the classes; the last class has none."""

disable_created_metrics()
PROCESS = CollectorRegistry()
"""Numbers of this process, since it began."""

ProcessCollector(namespace="pmweb", registry=PROCESS)
ANSWERS = Histogram(
    "pmweb_process_answer_seconds",
    "How long the web process that answered took for each answer.",
    buckets=LIMITS,
    registry=PROCESS,
)
FAILURES = Counter(
    "pmweb_process_failed_answers",
    "Answers with status 500 or more of the web process that answered.",
    registry=PROCESS,
)
_STREAM = b"text/event-stream"


def timed(pages: Application) -> Application:
    """The same application with every answer noted."""

    async def answer(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        begun = time.perf_counter()

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and not _is_stream(message):
                ANSWERS.observe(time.perf_counter() - begun)
                FAILURES.inc(message["status"] >= 500)
            await send(message)

        await pages(scope, receive, noting)

    return answer


def _is_stream(message: Message) -> bool:
    return any(value.startswith(_STREAM) for _, value in message.get("headers", ()))
