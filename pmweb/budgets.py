"""What expensive requests may cost, so that nobody keeps the processor from all others.

A request is expensive by what its address has taken of the processor before; nobody has to say so, and one
that only waits is none. Expensive ones are answered few at a time, each person or address has few at once,
and `settings.PROCESSOR_SECONDS` of them a minute. What is more is refused with 429 and the time to wait.
Whoever may change things is refused no change: that has limits of its own.

A person has one budget for all sessions and tokens, whoever is not known one by address (of IPv6, by /64). Of
several web processes each counts for itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from pmweb.callers import ConnectionCaller, network_of

CHEAP_SECONDS = 0.1
"""Of processor time; what usually takes less is no concern of this module."""

AT_ONCE = 1
"""Expensive requests that are answered at a time: Python does one after the other anyway."""

OF_ONE = 6
"""Expensive requests of one visitor that are being answered or wait for it."""

_READING = frozenset(("GET", "HEAD", "OPTIONS"))
_DIGITS = re.compile(r"\d+")
_COOKIE = re.compile(rb"(?:^|;\s*)sessionid=([^;]+)")
_MOST_ADDRESSES, _MOST_VISITORS = 1_000, 20_000
_MINUTE = 60.0
_FIRST_SECONDS = 2.0
"""For so long requests wait for the first one to an address to show what it costs."""


class Costs:
    """What addresses cost, by method and path without numbers: seconds of the last few requests of those
    that are expensive.
    """

    def __init__(self) -> None:
        self._seconds: OrderedDict[str, float] = OrderedDict()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._first: dict[str, asyncio.Event] = {}

    async def known(self, scope: dict[str, Any]) -> None:
        """Return once the first request to there has shown what it costs, but to that one at once: many that
        come together shall not all be taken for cheap.
        """
        key = _address(scope)
        if key in self._known:
            return
        if key not in self._first:
            self._first[key] = asyncio.Event()
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._first[key].wait(), _FIRST_SECONDS)

    def is_expensive(self, scope: dict[str, Any]) -> bool:
        """Whether a request to there is likely to be."""
        return self._seconds.get(_address(scope), 0.0) >= CHEAP_SECONDS

    def note(self, scope: dict[str, Any], seconds: float) -> None:
        """One that took so long, or has taken so long already."""
        key = _address(scope)
        self._know(key)
        before = self._seconds.pop(key, None)
        if before is None and seconds < CHEAP_SECONDS:
            return
        usual = seconds if before is None else (before + seconds) / 2
        if usual >= CHEAP_SECONDS / 2:
            self._seconds[key] = usual
        if len(self._seconds) > _MOST_ADDRESSES:
            self._seconds.popitem(last=False)

    def _know(self, key: str) -> None:
        self._known.pop(key, None)
        self._known[key] = None
        if len(self._known) > _MOST_ADDRESSES:
            self._known.popitem(last=False)
        waited_for = self._first.pop(key, None)
        if waited_for is not None:
            waited_for.set()


@dataclass(frozen=True)
class Visitor:
    """Whom a request counts for."""

    key: str
    may_change: bool = False


class Visitors:
    """Who comes with which session or token, as far as that has been found out before."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Visitor] = OrderedDict()

    def of(self, scope: dict[str, Any]) -> Visitor:
        """The person, or the address where the person is not known."""
        shown = _shown(scope)
        known = self._known.get(shown) if shown else None
        return known or Visitor(network_of((scope.get("client") or [""])[0]))

    def learn(self, scope: dict[str, Any], caller: ConnectionCaller) -> None:
        """A request has told who it was from, or that it was nobody's."""
        shown = _shown(scope)
        if not shown or not caller.asked:
            return
        self._known.pop(shown, None)
        if caller.account is not None:
            self._known[shown] = Visitor(f"account {caller.account}", caller.may_change)
            if len(self._known) > _MOST_VISITORS:
                self._known.popitem(last=False)


class Budgets:
    """Seconds of the processor that visitors have left; they fill up evenly within a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._spent: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """{visitor: (seconds spent, when that was so)}, who has spent last at the end."""
        self.at_once: Counter[str] = Counter()
        """Expensive requests of each visitor that are being answered or wait."""

    def wait(self, scope: dict[str, Any], visitor: Visitor) -> int:
        """Seconds after which an expensive request may come; 0: now."""
        if visitor.may_change and scope["method"] not in _READING:
            return 0
        most = settings.PROCESSOR_SECONDS
        if not most:
            return 0
        over = self._left_over(visitor.key) - most
        if over > 0:
            return math.ceil(over * _MINUTE / most)
        return 1 if self.at_once[visitor.key] >= OF_ONE else 0

    def spend(self, visitor: Visitor, seconds: float) -> None:
        """An expensive request took so long; nobody has to wait for more than a minute because of it."""
        most = settings.PROCESSOR_SECONDS
        if not most:
            return
        spent = min(self._left_over(visitor.key) + seconds, 2.0 * most)
        self._spent.pop(visitor.key, None)
        self._spent[visitor.key] = (spent, self._clock())
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


def _address(scope: dict[str, Any]) -> str:
    return f"{scope['method']} {_DIGITS.sub('0', scope['path'])[:200]}"


def _shown(scope: dict[str, Any]) -> bytes:
    """A digest of the token or session that a request shows; empty for none."""
    for wanted in (b"authorization", b"cookie"):
        for name, value in scope["headers"]:
            if name == wanted:
                found = value if wanted == b"authorization" else b"".join(_COOKIE.findall(value))
                if found:
                    return hashlib.blake2b(found, digest_size=16).digest()
    return b""
