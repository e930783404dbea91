"""WebSockets in tests: news may come at any time; what counts is whether one stays open."""

from __future__ import annotations

from channels.testing import WebsocketCommunicator

SOON = 20.0


async def is_open(socket: WebsocketCommunicator, doubt: float = 0.3) -> bool:
    """Whether it stays open for so many seconds, or says something else than that it closes."""
    if await socket.receive_nothing(timeout=doubt):
        return True
    return (await socket.receive_output(timeout=SOON))["type"] != "websocket.close"


async def closing_code(socket: WebsocketCommunicator) -> int:
    """The code with which it closes, soon."""
    while (message := await socket.receive_output(timeout=SOON))["type"] != "websocket.close":
        pass
    return message["code"]
