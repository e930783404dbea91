"""Formats of the log: text for the terminal, or one JSON object per line for programs.

The optional access log has a line per answer and WebSocket, with its caller. As text it is the Combined Log
Format of web servers with the seconds appended. The field of the HTTP user has the account: `ada/token:7` is
ada's token 7, `agent-token:3` an agent.

Tokens in addresses (log-in links, shared links) are masked in all logs.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from pmweb.callers import CALLER, ConnectionCaller
from pmweb.origins import Application, Message, Receive, Send

_LAUNCHER = "pmweb.launcher"
_SLASH = r"(?:/|%(?:25)*2[Ff])"  # also quoted, as in the parameter `next`
_TOKEN_PATH = re.compile(rf"({_SLASH}(?:login|shared){_SLASH})(?:(?!{_SLASH})[^\s?\"'&#])+")


logger = logging.getLogger("pmweb.access")
_CLOSED = 499
"""Status in the log for a visitor who disconnected before the answer, as nginx has it; it is never sent."""


def without_tokens(text: str) -> str:
    """The text with masked tokens.

    >>> without_tokens("GET /login/abc/")
    'GET /login/…/'
    """
    return _TOKEN_PATH.sub(r"\1…", text)


class TerminalFormatter(logging.Formatter):
    """Plain text for information and the launcher's messages; others have time, level and logger."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}: {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        """The text of a record, with its traceback."""
        is_news = record.levelno <= logging.INFO or record.name.startswith(_LAUNCHER)
        plain = is_news and not record.exc_info
        text = f"pmweb: {record.getMessage()}" if plain else super().format(record)
        return without_tokens(text)


class JsonFormatter(logging.Formatter):
    """One object per line: `time` (UTC), `level`, `logger`, `process`, `text`, optionally `traceback`.

    Lines of the access log have its fields instead of `text`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record, without the line break."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": os.getpid(),
            **getattr(record, "access", {"text": without_tokens(record.getMessage())}),
        }
        if record.exc_info:
            line["traceback"] = without_tokens(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class AccessLog:
    """ASGI middleware that logs every answer when it is complete."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if not settings.ACCESS_LOG or "headers" not in scope:
            await self._application(scope, receive, send)
            return
        started, caller, status, size = time.time(), scope.get(CALLER) or ConnectionCaller(), 0, 0

        async def record_message(message: Message) -> None:
            nonlocal status, size
            match message["type"]:
                case "http.response.start":
                    status = message["status"]
                case "http.response.body":
                    size += len(message.get("body", b""))
                case "websocket.accept":
                    status = 101
                case "websocket.close" if not status:
                    status = 403
            await send(message)

        try:
            await self._application({**scope, CALLER: caller}, receive, record_message)
        finally:
            logger.info("", extra={"access": _fields(scope, started, caller.name, status or _CLOSED, size)})


class AccessFormatter(logging.Formatter):
    """Combined Log Format, followed by the seconds."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record, without the line break; no field can inject one."""
        fields: dict[str, Any] = record.access  # type: ignore[attr-defined]
        at = datetime.fromtimestamp(record.created, UTC).strftime("%d/%b/%Y:%H:%M:%S %z")
        request = f"{fields['method']} {fields['path']} HTTP/{fields['version']}"
        return (
            f"{fields['address'] or '-'} - {fields['caller']} [{at}] {_quote(request)} {fields['status']} "
            f"{fields['bytes']} {_quote(fields['referer'])} {_quote(fields['browser'])} "
            f"{fields['seconds']:.3f}"
        )


def _fields(scope: dict[str, Any], started: float, caller: str, status: int, size: int) -> dict[str, Any]:
    headers = dict(scope["headers"])
    query = scope.get("query_string", b"").decode("latin-1")
    path = scope["path"] + (f"?{query}" if query else "")
    return {
        "address": (scope.get("client") or [""])[0],
        "caller": caller,
        "method": scope.get("method", "GET"),
        "path": without_tokens(path),
        "version": scope.get("http_version", "1.1"),
        "status": status,
        "bytes": size,
        "referer": without_tokens(headers.get(b"referer", b"-").decode("latin-1")),
        "browser": headers.get(b"user-agent", b"-").decode("latin-1"),
        "seconds": round(time.time() - started, 3),
    }


def _quote(text: str) -> str:
    safe = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{safe}"'
