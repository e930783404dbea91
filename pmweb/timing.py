"""How long this web process takes to answer: from a request's arrival until the answer is there.

Outside of Django, so that waiting for a thread counts as well. How soon a visitor reads the answer does not
count, nor do streams, which last as long as somebody listens.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

LIMITS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0)
"""Seconds, upper limits of the classes; the last class has none."""

_STREAM = b"text/event-stream"


@dataclass
class Histogram:
    """Answers by class: `counts` has one place more than `LIMITS`. `errors` have status 500 or more."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(LIMITS) + 1))
    seconds: float = 0.0
    errors: int = 0

    def note(self, seconds: float, status: int) -> None:
        """One more answer."""
        self.counts[bisect_left(LIMITS, seconds)] += 1
        self.seconds += seconds
        self.errors += status >= 500


ANSWERS = Histogram()
"""Of this process, since it began; only its event loop writes to it."""


def timed(pages: Application, histogram: Histogram = ANSWERS) -> Application:
    """The same application with every answer noted."""

    async def answer(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        begun = time.perf_counter()

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and not _is_stream(message):
                histogram.note(time.perf_counter() - begun, message["status"])
            await send(message)

        await pages(scope, receive, noting)

    return answer


def _is_stream(message: Message) -> bool:
    return any(value.startswith(_STREAM) for _, value in message.get("headers", ()))
