"""API of a run's journal: pages of JSON, or a stream of server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Annotated, Any

from channels.db import database_sync_to_async
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from inference.core.protocols import Json
from inference.features.running.runs.shared_journal import Messages, first_page
from inference.models import Run, RunEvent
from inference.runs.journal import events_since
from inference.runs.watcher import RunSubscription, shared_watcher
from inference.web.api import document
from inference.web.api.access import access
from inference.web.api.errors import ProblemError
from inference.web.api.shapes import Time
from inference.web.validation import Id

router = Router()
MAX_EVENTS = 1000
STREAM = "text/event-stream"
KEEP_ALIVE = 15.0
"""Seconds without events after which a stream sends a comment, because proxies close idle connections."""

_PAGE = 500


class EventOut(Schema):
    """An event. Its kind says what the payload has: docs/api.md."""

    seq: int = Field(description="Number in its run, from 1.", examples=[12])
    kind: str = Field(examples=["progress"])
    payload: dict[str, Any] = Field(examples=[{"phase": "evolution", "done": 40, "total": 200}])
    at: Time


class EventsOut(Schema):
    """Events in order. Request the next page with `since` = `next`; once `ended` is true, there are no
    more.
    """

    items: list[EventOut]
    next: int = Field(examples=[12])
    ended: bool = Field(examples=[False])


@router.get("/runs/{run_id}/events", response=EventsOut, openapi_extra={document.STREAM: STREAM})
def list_events(
    request: HttpRequest,
    run_id: Id,
    since: Annotated[
        int, Query(ge=0, le=2**63 - 1, description="Number of the last event that you have.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_EVENTS)] = _PAGE,
) -> HttpResponseBase:
    """The events after number `since`.

    With `Accept: text/event-stream` they come as a stream until the run ends: `id` is the number, `event` the
    kind, `data` the event as JSON; the last one is `event: end`. A stream that closes without it was
    interrupted, for instance because the token or session has expired: reconnect with the last number as
    `Last-Event-ID` or `since`. Of kinds where only the newest event matters (progress, heat_map, experiments,
    front, counters), only the newest is sent: numbers may have gaps.
    """
    get_object_or_404(Run.objects.only("pk"), pk=run_id)
    if STREAM in request.headers.get("Accept", ""):
        events = _stream(run_id, _last_event_id(request, since), access().watch(request))
        stream = StreamingHttpResponse(events, content_type=STREAM)
        stream["Cache-Control"] = "no-store"
        stream["X-Accel-Buffering"] = "no"  # nginx would buffer it
        return stream
    ended = _has_ended(run_id)  # read first: a run's last event is written before its final state
    items = events_since(run_id, since, limit)
    last = items[-1]["seq"] if items else since
    has_more = RunEvent.objects.filter(run=run_id, seq__gt=last).exists()
    return JsonResponse({"items": items, "next": last, "ended": ended and not has_more})


def _last_event_id(request: HttpRequest, since: int) -> int:
    """The `Last-Event-ID` of a client that reconnects, else `since`. Raises `ProblemError` if it is no
    number.
    """
    text = request.headers.get("Last-Event-ID", "")
    if not text:
        return since
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ProblemError(
            422,
            "The value is not an event number",
            where="header Last-Event-ID",
            right="the `id` of an event",
        )
    return max(since, int(text))


async def _stream(
    run_id: int, seq: int, access_watch: AbstractContextManager[asyncio.Event]
) -> AsyncIterator[str]:
    """Yields events until the run has ended, is deleted, or the client's access has ended."""
    watcher = shared_watcher()
    watch = watcher.add(run_id)
    try:
        with access_watch as access_ended:
            while not watch.is_deleted:
                ended = await database_sync_to_async(_has_ended)(run_id)
                while page := await database_sync_to_async(_page)(run_id, seq):
                    for _, text in page:
                        if access_ended.is_set():
                            return
                        yield text
                    seq, _ = page[-1]
                if ended:
                    yield "event: end\ndata: {}\n\n"
                    return
                if not await _wait_for_news(watch, access_ended):
                    yield ": still there\n\n"
                if access_ended.is_set():
                    return
    finally:
        watcher.remove(watch)


async def _wait_for_news(watch: RunSubscription, access_ended: asyncio.Event) -> bool:
    """Waits for new events or the end of access; False if neither came within `KEEP_ALIVE` seconds."""
    tasks = {asyncio.ensure_future(watch.wait_for_news()), asyncio.ensure_future(access_ended.wait())}
    try:
        done, _ = await asyncio.wait(tasks, timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    return bool(done)


def _page(run_id: int, seq: int) -> Messages:
    return first_page((event["seq"], _server_sent_event(event)) for event in events_since(run_id, seq, _PAGE))


def _server_sent_event(event: Json) -> str:
    return f"id: {event['seq']}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n"


def _has_ended(run_id: int) -> bool:
    return Run.objects.filter(pk=run_id, state__in=Run.FINAL).exists()
