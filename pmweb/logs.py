"""What the terminal shows of the log."""

from __future__ import annotations

import logging
import re

_LAUNCHER = "pmweb.launcher"
_LOGIN_PATH = re.compile(r"(/login/)[^/\s?\"']+")


class TerminalFormatter(logging.Formatter):
    """News and whatever the launcher says in plain words, other trouble with time, level and name.

    Nobody tells a log-in token.
    """

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}: {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        """The text of a record, its traceback included."""
        is_news = record.levelno <= logging.INFO or record.name.startswith(_LAUNCHER)
        plain = is_news and not record.exc_info
        text = f"pmweb: {record.getMessage()}" if plain else super().format(record)
        return _LOGIN_PATH.sub(r"\1…", text)
