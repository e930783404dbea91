"""Budgets of processor time per visitor, so that no visitor occupies the processor.

Whether a request is expensive follows from the processor time of earlier requests of its route; waiting does
not count. Few expensive requests are answered at a time, and each visitor may have few of them pending.

Every visitor has `settings.PROCESSOR_SECONDS` a minute. A request is charged with its processor time,
including that of programs it started. When the budget is used up, expensive requests are refused with 429 and
the time to wait; cheap ones are refused above `CHEAP_SHARE` of it, which only many of them reach. Changes by
users who may change things are never refused: other limits apply to them.

A user has one budget for all sessions and tokens; other visitors have one per address (IPv6: per /64). Each
web process counts separately.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.urls import Resolver404, resolve

from pmweb.callers import Visitor

CHEAP_SECONDS = 0.1
"""Processor seconds below which a route is cheap."""

MAX_CONCURRENT = 1
"""Expensive requests answered at a time: Python executes one at a time anyway."""

MAX_PER_VISITOR = 6
"""Expensive requests of one visitor that are pending."""

EXPENSIVE_SHARE, CHEAP_SHARE, MAX_SHARE = 1.25, 1.5, 2.0
"""Shares of the budget: expensive requests are counted up to the first, which leaves room for cheap ones;
cheap ones are refused above the second, and counted up to the third, so that no visitor waits longer than a
minute.
"""

_READING = frozenset(("GET", "HEAD", "OPTIONS"))
_METHODS = frozenset((*_READING, "POST", "PUT", "PATCH", "DELETE"))
_MAX_ROUTES, _MAX_VISITORS = 1_000, 20_000
_MINUTE = 60.0
_FIRST_SECONDS = 2.0
"""Seconds that requests wait for the first one of their route to show its cost."""


def route_of(scope: dict[str, Any]) -> str:
    """Method and route of a request; all unknown addresses share one, and all unknown methods."""
    method = scope["method"].upper()
    if method not in _METHODS:
        method = "other"
    try:
        route = resolve(scope["path"]).route
    except Resolver404:
        route = ""
    return f"{'GET' if method == 'HEAD' else method} {route}"


class RouteCosts:
    """Processor seconds per route, a running average, kept for expensive routes only."""

    def __init__(self) -> None:
        self._seconds: OrderedDict[str, float] = OrderedDict()
        self._known_routes: OrderedDict[str, None] = OrderedDict()
        self._first: dict[str, asyncio.Event] = {}

    async def wait_until_known(self, route: str) -> None:
        """Wait until the first request of the route has shown its cost; that one itself does not wait.

        Otherwise many concurrent requests of an unknown route would all count as cheap.
        """
        if route in self._known_routes:
            return
        if route not in self._first:
            self._first[route] = asyncio.Event()
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._first[route].wait(), _FIRST_SECONDS)

    def is_expensive(self, route: str) -> bool:
        """Whether the route's average reaches `CHEAP_SECONDS`."""
        return self._seconds.get(route, 0.0) >= CHEAP_SECONDS

    def record(self, route: str, seconds: float) -> None:
        """Record the processor seconds of a request, or those so far of a running one."""
        self._mark_known(route)
        before = self._seconds.pop(route, None)
        if before is None and seconds < CHEAP_SECONDS:
            return
        average = seconds if before is None else (before + seconds) / 2
        if average >= CHEAP_SECONDS / 2:
            self._seconds[route] = average
        if len(self._seconds) > _MAX_ROUTES:
            self._seconds.popitem(last=False)

    def _mark_known(self, route: str) -> None:
        self._known_routes.pop(route, None)
        self._known_routes[route] = None
        if len(self._known_routes) > _MAX_ROUTES:
            self._known_routes.popitem(last=False)
        event = self._first.pop(route, None)
        if event is not None:
            event.set()


class Budgets:
    """Processor seconds that visitors have used; they decay evenly, the whole budget within a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._usage: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """{visitor: (seconds used, clock of the last charge)}, in the order of the last charge."""
        self.active: Counter[str] = Counter()
        """Pending expensive requests per visitor."""

    def wait(self, method: str, visitor: Visitor, *, expensive: bool) -> int:
        """Seconds until the visitor may send such a request; 0: now."""
        if visitor.may_change and method.upper() not in _READING:
            return 0
        budget = settings.PROCESSOR_SECONDS
        if not budget:
            return 0
        excess = self._used_seconds(visitor.key) - budget * (1.0 if expensive else CHEAP_SHARE)
        if excess > 0:
            return math.ceil(excess * _MINUTE / budget)
        return 1 if expensive and self.active[visitor.key] >= MAX_PER_VISITOR else 0

    def charge(self, visitor: Visitor, seconds: float, *, expensive: bool) -> None:
        """Charge a visitor with the processor seconds of a request."""
        budget = settings.PROCESSOR_SECONDS
        if not budget:
            return
        before = self._used_seconds(visitor.key)
        used = min(before + seconds, budget * (EXPENSIVE_SHARE if expensive else MAX_SHARE))
        self._usage.pop(visitor.key, None)
        self._usage[visitor.key] = (max(before, used), self._clock())
        if len(self._usage) > _MAX_VISITORS:
            self._usage.popitem(last=False)

    def leave(self, visitor: Visitor) -> None:
        """End a pending expensive request of the visitor."""
        self.active[visitor.key] -= 1
        if not self.active[visitor.key]:
            del self.active[visitor.key]

    def _used_seconds(self, key: str) -> float:
        used, at = self._usage.get(key, (0.0, 0.0))
        return max(used - (self._clock() - at) * settings.PROCESSOR_SECONDS / _MINUTE, 0.0)
