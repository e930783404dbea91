"""Validates the messages of a measuring process.

Foreign code shares the process, its memory and its connection, and can send anything. So messages are
accepted only in the order in which the process sends them, with contents that a timing can have. Foreign code
can still lie about its own time, and about items timed after it in the same process; it cannot confuse the
agent, or report on items that were not requested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inference.agent.protocol import MAX_COUNTERS
from inference.agent.reading import Json

MAX_CYCLES = 1e9
"""Of one copy of an experiment: a large part of a second."""

_MAX_WORD_LENGTH = 500  # characters of a name or an error that come from another process


class CounterReportError(ValueError):
    """A message that an unmodified measuring process does not send."""


class CounterReport:
    """Checks the messages about a list of items: each starts, and then has one outcome."""

    def __init__(self, items: Sequence[str]) -> None:
        self._items = items
        self._reached = 0
        self._started = False

    def check(self, message: Json) -> None:
        """Check the next message. Raises `CounterReportError` where it is out of place."""
        if "start" in message:
            sound = not self._started and self._is_about(message["start"]) and len(message) == 1
            self._started = True
        elif "done" in message:
            sound = not self._started and self._reached == len(self._items)
        else:
            sound = self._started and self._is_about(message.get("id")) and _is_outcome(message)
            self._started = False
            self._reached += 1
        if not sound:
            raise CounterReportError(f"{message!r:.80} is out of place")

    def _is_about(self, name: object) -> bool:
        return self._reached < len(self._items) and name == self._items[self._reached]


def _is_outcome(message: Json) -> bool:
    """Whether a message is a valid timing, disturbed timing, or error."""
    if "error" in message:
        return isinstance(message["error"], str) and 0 < len(message["error"]) <= _MAX_WORD_LENGTH
    if "disturbed" in message:
        return _is_duration(message["disturbed"])
    counters = message.get("counters")
    return (
        _is_duration(message.get("cycles"))
        and _is_number(message.get("ghz"))
        and _is_number(message.get("sentinel"))
        and isinstance(counters, dict)
        and len(counters) <= MAX_COUNTERS
        and all(len(name) <= _MAX_WORD_LENGTH for name in counters)
        and all(map(_is_number, counters.values()))
    )


def _is_duration(value: Any) -> bool:
    return _is_number(value) and 0 < value <= MAX_CYCLES


def _is_number(value: Any) -> bool:
    return type(value) in {int, float} and abs(value) <= MAX_CYCLES  # which "not a number" is not
