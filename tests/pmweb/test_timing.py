"""The web process notes how long its answers take."""

from __future__ import annotations

import asyncio

from asgiref.sync import async_to_sync

from pmweb.metrics import BUCKETS, PROCESS, timed

NAME = "pmweb_process_answer_seconds"


def answered(status: int = 200, kind: bytes = b"text/html", seconds: float = 0.0) -> list:
    sent = []

    async def pages(scope, receive, send):
        await asyncio.sleep(seconds)  # at least: what is noted must not be less
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": b"x"})

    async def send(message):
        sent.append(message["type"])

    async_to_sync(timed(pages))({"type": "http"}, None, send)
    return sent


def counted() -> tuple[float, float, float, float]:
    """Answers, those of the first class, their seconds, and failures of this process."""
    names = (("_count", {}), ("_bucket", {"le": str(BUCKETS[0])}), ("_sum", {}))
    answers = [PROCESS.get_sample_value(NAME + part, labels) for part, labels in names]
    return *answers, PROCESS.get_sample_value("pmweb_process_failed_answers_total")


def test_every_answer_counts_once_in_its_class_and_failures_beside():
    number, quick, seconds, failures = counted()
    assert answered() == ["http.response.start", "http.response.body"]
    answered(status=500, seconds=0.011)
    after = counted()
    assert after[0] == number + 2
    assert after[1] <= quick + 1
    assert after[2] >= seconds + 0.011
    assert after[3] == failures + 1


def test_a_stream_is_no_answer_that_took_long():
    before = counted()
    answered(kind=b"text/event-stream; charset=utf-8")
    assert counted() == before
