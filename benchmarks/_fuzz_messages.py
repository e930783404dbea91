"""Messages of the agents' protocol for both sides of `fuzz`, sound ones and such as make no sense."""

from __future__ import annotations

from typing import Any

from inference.agent.protocol import Batch, BatchItem, Frame, Settings

NAMES = ("a", "b", "c")
SOON = 60.0  # seconds; what takes longer hangs
FLOOD = "flood"
"""Of many messages that are sound, but not wanted."""


def batch_content(frame: Frame) -> dict[str, Any]:
    """Of a sound batch with an item for each of `NAMES`."""
    items = tuple(BatchItem(name, b"\x90" * 100, 100, 50, 50, 1, ((name, 1),)) for name in NAMES)
    return Batch(frame, Settings(), items).as_json()


def text_of(text: str | bytes) -> str | bytes:
    """What can be sent: lone surrogates cannot, as text."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "replace").decode()
