"""WebSockets in tests: news may come at any time; what counts is whether one stays open."""

from __future__ import annotations

from channels.testing import WebsocketCommunicator

SOON = 60.0
"""Seconds after which there is no more hope: looks happen twice a second, but the computer may be busy."""


async def is_open(socket: WebsocketCommunicator, doubt: float = 0.3) -> bool:
    """Whether it stays open for so many seconds, or says something else than that it closes."""
    if await socket.receive_nothing(timeout=doubt):  # its end would have come
        return True
    return (await socket.receive_output(timeout=SOON))["type"] != "websocket.close"


async def closing_code(socket: WebsocketCommunicator) -> int:
    """The code with which it closes, soon."""
    while (message := await socket.receive_output(timeout=SOON))["type"] != "websocket.close":
        pass
    return message["code"]
