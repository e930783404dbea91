"""The web process notes how long its answers take."""

from __future__ import annotations

import asyncio

from asgiref.sync import async_to_sync

from pmweb import metrics
from pmweb.timing import LIMITS, Histogram, timed


def answered(
    histogram: Histogram, status: int = 200, kind: bytes = b"text/html", seconds: float = 0.0
) -> list:
    sent = []

    async def pages(scope, receive, send):
        await asyncio.sleep(seconds)  # at least: what is noted must not be less
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": b"x"})

    async def send(message):
        sent.append(message["type"])

    async_to_sync(timed(pages, histogram))({"type": "http"}, None, send)
    return sent


def test_every_answer_counts_once_in_its_class_and_failures_beside():
    histogram = Histogram()
    assert answered(histogram) == ["http.response.start", "http.response.body"]
    answered(histogram, status=500, seconds=0.011)
    assert sum(histogram.counts) == 2
    assert sum(histogram.counts[1:]) >= 1
    assert histogram.errors == 1
    assert histogram.seconds >= 0.011


def test_a_stream_is_no_answer_that_took_long():
    histogram = Histogram()
    answered(histogram, kind=b"text/event-stream; charset=utf-8")
    assert sum(histogram.counts) == 0


def test_classes_are_told_as_sums_up_to_a_limit():
    histogram = Histogram()
    for seconds in (0.005, LIMITS[0], 0.4, 99.0):
        histogram.note(seconds, 200)
    told = {labels["le"]: count for labels, count in metrics._classes(histogram)}
    assert (told["0.01"], told["0.3"], told["0.4"], told["10"], told["+Inf"]) == (2, 2, 3, 3, 4)
