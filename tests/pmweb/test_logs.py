"""What the terminal shows of the log."""

from __future__ import annotations

import logging

import pytest

from pmweb.logs import TerminalFormatter


def shown(name: str, message: str, *values: object, **more: object) -> str:
    record = logging.makeLogRecord(
        {
            "name": name,
            "levelno": logging.WARNING,
            "levelname": "WARNING",
            "msg": message,
            "args": values,
            **more,
        }
    )
    return TerminalFormatter().format(record)


def test_the_launcher_speaks_plainly():
    assert shown("pmweb.launcher.prepare", "collecting %s", "files") == "pmweb: collecting files"


def test_news_are_plain_whoever_brings_them():
    assert shown("inference.runs.worker", "ready", levelno=logging.INFO) == "pmweb: ready"


def test_trouble_of_others_comes_with_time_level_and_name():
    assert shown("inference.runs.worker", "gone").endswith(" WARNING inference.runs.worker: gone")


@pytest.mark.parametrize("name", ["django.security.csrf", "pmweb.launcher.site"])
@pytest.mark.parametrize(
    "message",
    ["Forbidden: /login/s3cr-et_/", "GET /login/s3cr-et_?x HTTP", "http://localhost:8000/login/s3cr-et_"],
)
def test_no_log_in_token_is_shown(name: str, message: str):
    text = shown(name, "%s", message)
    assert "s3cr-et_" not in text
    assert "/login/…" in text


def test_no_log_in_token_is_shown_in_a_traceback():
    error = ValueError("cannot open /login/s3cr-et_/")
    assert "s3cr-et_" not in shown("daphne", "trouble", exc_info=(ValueError, error, None))
