"""Daphne's WebSockets, whose refusals say why: an agent must know whether to come back."""

from __future__ import annotations

from typing import Any

from autobahn.websocket.types import ConnectionDeny
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet.defer import Deferred

from inference.agent.protocol import NO_ENTRY, TRY_AGAIN

_STATUS = {NO_ENTRY: (401, "Unauthorized"), TRY_AGAIN: (503, "Service Unavailable")}
_FORBIDDEN = (403, "Forbidden")


class Socket(WebSocketProtocol):  # type: ignore[misc]
    """A WebSocket; the code with which the application closes it in the handshake tells the status."""

    _refusal = _STATUS[TRY_AGAIN]  # of one that is not answered in time

    def handle_reply(self, message: dict[str, Any]) -> None:
        """What the application says."""
        if message.get("type") == "websocket.close":
            self._refusal = _STATUS.get(message.get("code", 0), _FORBIDDEN)
        super().handle_reply(message)

    def serverReject(self) -> None:  # noqa: N802  Daphne calls it so
        """End the handshake."""
        handshake = self.handshake_deferred
        self.handshake_deferred = Deferred()
        self.handshake_deferred.addErrback(lambda _: handshake.errback(ConnectionDeny(*self._refusal)))
        super().serverReject()
