"""What this process opens, asks of the system's files or starts: told by Python's own audit events."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_WATCHED = (
    "open",
    "os.",
    "subprocess.",
    "shutil.",
    "socket.",
    "ctypes.dlopen",
    "glob.",
    "tempfile.",
    "import",
    "exec",
)
_current: list[str] | None = None
_hooked = False


@contextmanager
def traced() -> Iterator[list[str]]:
    """A list that grows by each event, "open ('/etc/passwd', 'r', 524288)", for as long as this lasts."""
    global _current, _hooked  # noqa: PLW0603  a hook stays for as long as the process
    if not _hooked:
        sys.addaudithook(_hear)
        _hooked = True
    events: list[str] = []
    before = _current
    _current = events
    try:
        yield events
    finally:
        _current = before


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _current is not None and event.startswith(_WATCHED):
        _current.append(f"{event} {arguments!r:.200}")
