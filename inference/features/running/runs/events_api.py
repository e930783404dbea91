"""The journal of a run: pages of JSON, or a stream that goes on while the run does."""

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
MOST = 1000
STREAM = "text/event-stream"
KEEP_ALIVE = 15.0
"""Seconds after which a stream without news sends a comment: proxies close what is silent for long."""

_PAGE = 500


class EventOut(Schema):
    """An event. Its kind says what the payload has: docs/api.md."""

    seq: int = Field(description="Number in its run, from 1.", examples=[12])
    kind: str = Field(examples=["progress"])
    payload: dict[str, Any] = Field(examples=[{"phase": "evolution", "done": 40, "total": 200}])
    at: Time


class EventsOut(Schema):
    """Events in order. Ask again with `since` = `next`; when `ended`, there will be no more."""

    items: list[EventOut]
    next: int = Field(examples=[12])
    ended: bool = Field(examples=[False])


@router.get("/runs/{run_id}/events", response=EventsOut, openapi_extra={document.STREAM: STREAM})
def list_events(
    request: HttpRequest,
    run_id: Id,
    since: Annotated[
        int, Query(ge=0, le=2**63 - 1, description="The number of the last event that you have.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST)] = _PAGE,
) -> HttpResponseBase:
    """The events after number `since`.

    With `Accept: text/event-stream` they come as a stream until the run ends: `id` is the number, `event` the
    kind, `data` the event as JSON; the last one is `event: end`. Without that, it breaks off: also when the
    token or session that asked lets nobody in any more. After a break, send the last number as
    `Last-Event-ID` or `since`. Kinds of which only the newest says something (progress, heat_map,
    experiments, front, counters) come once, the newest: numbers may have gaps.
    """
    get_object_or_404(Run.objects.only("pk"), pk=run_id)
    if STREAM in request.headers.get("Accept", ""):
        events = _stream(run_id, _last_seen(request, since), access().watch(request))
        stream = StreamingHttpResponse(events, content_type=STREAM)
        stream["Cache-Control"] = "no-store"
        stream["X-Accel-Buffering"] = "no"  # nginx would keep it back
        return stream
    ended = _ended(run_id)  # asked first: whoever ends a run has written all of its events
    items = events_since(run_id, since, limit)
    last = items[-1]["seq"] if items else since
    more = RunEvent.objects.filter(run=run_id, seq__gt=last).exists()
    return JsonResponse({"items": items, "next": last, "ended": ended and not more})


def _last_seen(request: HttpRequest, since: int) -> int:
    """What a browser that reconnects says; raises `ProblemError` for nonsense."""
    text = request.headers.get("Last-Event-ID", "")
    if not text:
        return since
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ProblemError(
            422, "That is no number of an event", where="header Last-Event-ID", right="the `id` of an event"
        )
    return max(since, int(text))


async def _stream(
    run_id: int, seq: int, watching: AbstractContextManager[asyncio.Event]
) -> AsyncIterator[str]:
    """Until the run has ended and all is said, or it is gone, or whoever listens may not any longer."""
    watcher = shared_watcher()
    watch = watcher.add(run_id)
    try:
        with watching as over:
            while not watch.gone:
                ended = await database_sync_to_async(_ended)(run_id)
                while page := await database_sync_to_async(_page)(run_id, seq):
                    for _, text in page:
                        if over.is_set():
                            return
                        yield text
                    seq, _ = page[-1]
                if ended:
                    yield "event: end\ndata: {}\n\n"
                    return
                if not await _news(watch, over):
                    yield ": still there\n\n"
                if over.is_set():
                    return
    finally:
        watcher.remove(watch)


async def _news(watch: RunSubscription, over: asyncio.Event) -> bool:
    """Whether anything came within the time after which silence is broken, be it that it is over."""
    awaited = {asyncio.ensure_future(watch.news()), asyncio.ensure_future(over.wait())}
    try:
        came, _ = await asyncio.wait(awaited, timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in awaited:
            each.cancel()
    return bool(came)


def _page(run_id: int, seq: int) -> Messages:
    return first_page((event["seq"], _told(event)) for event in events_since(run_id, seq, _PAGE))


def _told(event: Json) -> str:
    return f"id: {event['seq']}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n"


def _ended(run_id: int) -> bool:
    return Run.objects.filter(pk=run_id, state__in=Run.FINAL).exists()
