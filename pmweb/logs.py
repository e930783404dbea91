"""How the log looks: words for the person at the terminal, or one JSON object per line for programs.

Neither tells a token that an address has: of a log-in link, or of a shared one.
"""

from __future__ import annotations

import json
import logging
import os
import re
from datetime import UTC, datetime

_LAUNCHER = "pmweb.launcher"
_SLASH = r"(?:/|%(?:25)*2[Ff])"  # quoted, too: as the part of a query that says where to go next
_TOKEN_PATH = re.compile(rf"({_SLASH}(?:login|shared){_SLASH})(?:(?!{_SLASH})[^\s?\"'&#])+")


def without_tokens(text: str) -> str:
    """The text with every token in an address made unreadable."""
    return _TOKEN_PATH.sub(r"\1…", text)


class TerminalFormatter(logging.Formatter):
    """News and whatever the launcher says in plain words, other trouble with time, level and name."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}: {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        """The text of a record, its traceback included."""
        is_news = record.levelno <= logging.INFO or record.name.startswith(_LAUNCHER)
        plain = is_news and not record.exc_info
        text = f"pmweb: {record.getMessage()}" if plain else super().format(record)
        return without_tokens(text)


class JsonFormatter(logging.Formatter):
    """One object per line: `time` (UTC), `level`, `logger`, `process`, `text`, and perhaps `traceback`.

    Lines of the access log have its fields in the place of `text`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record, without its end."""
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
