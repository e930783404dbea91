"""What requests may cost, so that nobody keeps the processor from all others.

A request is expensive by what its route has taken of the processor before; nobody has to say so, and one that
only waits is none. Expensive ones are answered few at a time, and each person or address has few at once.

Everybody has `settings.PROCESSOR_SECONDS` a minute, of which every request takes what it has cost, with the
programs that it has started. When they are spent, expensive requests are refused with 429 and the time to
wait; requests that are cheap go on until `CHEAP_SHARE` of them are spent, which only many of them can bring
about. Whoever may change things is refused no change: that has limits of its own.

A person has one budget for all sessions and tokens, whoever is not known one by address (of IPv6, by /64). Of
several web processes each counts for itself.
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
"""Of processor time; what usually takes less is cheap."""

AT_ONCE = 1
"""Expensive requests that are answered at a time: Python does one after the other anyway."""

OF_ONE = 6
"""Expensive requests of one visitor that are being answered or wait for it."""

EXPENSIVE_SHARE, CHEAP_SHARE, MOST_SHARE = 1.25, 1.5, 2.0
"""Of the budget: up to the first expensive requests count, so that they leave room for cheap ones, which are
refused beyond the second; up to the third they count, so that nobody waits for more than a minute.
"""

_READING = frozenset(("GET", "HEAD", "OPTIONS"))
_METHODS = frozenset((*_READING, "POST", "PUT", "PATCH", "DELETE"))
_MOST_ROUTES, _MOST_VISITORS = 1_000, 20_000
_MINUTE = 60.0
_FIRST_SECONDS = 2.0
"""For so long requests wait for the first one to a route to show what it costs."""


def route_of(scope: dict[str, Any]) -> str:
    """Method and route, however the address is spelled; one for all addresses that lead nowhere."""
    method = scope["method"].upper()
    if method not in _METHODS:
        method = "other"
    try:
        route = resolve(scope["path"]).route
    except Resolver404:
        route = ""
    return f"{'GET' if method == 'HEAD' else method} {route}"


class Costs:
    """What routes cost: seconds of the last few requests of those that are expensive."""

    def __init__(self) -> None:
        self._seconds: OrderedDict[str, float] = OrderedDict()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._first: dict[str, asyncio.Event] = {}

    async def known(self, route: str) -> None:
        """Return once the first request to there has shown what it costs, but to that one at once: many that
        come together shall not all be taken for cheap.
        """
        if route in self._known:
            return
        if route not in self._first:
            self._first[route] = asyncio.Event()
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._first[route].wait(), _FIRST_SECONDS)

    def is_expensive(self, route: str) -> bool:
        """Whether a request to there is likely to be."""
        return self._seconds.get(route, 0.0) >= CHEAP_SECONDS

    def note(self, route: str, seconds: float) -> None:
        """One that took so long, or has taken so long already."""
        self._know(route)
        before = self._seconds.pop(route, None)
        if before is None and seconds < CHEAP_SECONDS:
            return
        usual = seconds if before is None else (before + seconds) / 2
        if usual >= CHEAP_SECONDS / 2:
            self._seconds[route] = usual
        if len(self._seconds) > _MOST_ROUTES:
            self._seconds.popitem(last=False)

    def _know(self, route: str) -> None:
        self._known.pop(route, None)
        self._known[route] = None
        if len(self._known) > _MOST_ROUTES:
            self._known.popitem(last=False)
        waited_for = self._first.pop(route, None)
        if waited_for is not None:
            waited_for.set()


class Budgets:
    """Seconds of the processor that visitors have left; they fill up evenly within a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._spent: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """{visitor: (seconds spent, when that was so)}, who has spent last at the end."""
        self.at_once: Counter[str] = Counter()
        """Expensive requests of each visitor that are being answered or wait."""

    def wait(self, method: str, visitor: Visitor, *, expensive: bool) -> int:
        """Seconds after which a request may come; 0: now."""
        if visitor.may_change and method.upper() not in _READING:
            return 0
        most = settings.PROCESSOR_SECONDS
        if not most:
            return 0
        over = self._left_over(visitor.key) - most * (1.0 if expensive else CHEAP_SHARE)
        if over > 0:
            return math.ceil(over * _MINUTE / most)
        return 1 if expensive and self.at_once[visitor.key] >= OF_ONE else 0

    def spend(self, visitor: Visitor, seconds: float, *, expensive: bool) -> None:
        """A request took so long."""
        most = settings.PROCESSOR_SECONDS
        if not most:
            return
        before = self._left_over(visitor.key)
        spent = min(before + seconds, most * (EXPENSIVE_SHARE if expensive else MOST_SHARE))
        self._spent.pop(visitor.key, None)
        self._spent[visitor.key] = (max(before, spent), self._clock())
        if len(self._spent) > _MOST_VISITORS:
            self._spent.popitem(last=False)

    def leave(self, visitor: Visitor) -> None:
        """One of those that are counted in `at_once` is over."""
        self.at_once[visitor.key] -= 1
        if not self.at_once[visitor.key]:
            del self.at_once[visitor.key]

    def _left_over(self, key: str) -> float:
        spent, at = self._spent.get(key, (0.0, 0.0))
        return max(spent - (self._clock() - at) * settings.PROCESSOR_SECONDS / _MINUTE, 0.0)
