"""What the terminal shows of the log."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from pmweb.logs import JsonFormatter, TerminalFormatter


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


def test_as_json_each_record_is_one_line_that_says_when_who_and_what():
    record = logging.makeLogRecord(
        {"name": "a.b", "levelno": 30, "levelname": "WARNING", "msg": "two\nlines"}
    )
    line = JsonFormatter().format(record)
    assert "\n" not in line
    told = json.loads(line)
    assert (told["level"], told["logger"], told["text"]) == ("warning", "a.b", "two\nlines")
    assert told["time"].endswith("+00:00")
    assert "traceback" not in told


def test_as_json_a_traceback_comes_along_and_no_log_in_token_is_shown():
    try:
        raise ValueError("cannot open /login/s3cr-et_/")
    except ValueError:
        record = logging.makeLogRecord({"msg": "GET /login/s3cr-et_/ failed", "exc_info": sys.exc_info()})
    line = JsonFormatter().format(record)
    assert "ValueError" in json.loads(line)["traceback"]
    assert "s3cr-et_" not in line
