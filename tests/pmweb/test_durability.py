"""The power fails right after an answer: what it said is done is on the disk by then."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection

from tests.launched import LaunchedSite, wait_until
from tests.prepared import prepared_home

TOKEN = """
from inference.features.library.example.loading import load_example
from pmweb.accounts import api_tokens
from pmweb.accounts.people import ensure_administrator
from pmweb.models import Scope
print(load_example().mapping.pk, api_tokens.issue(ensure_administrator(), "a test", Scope.OPERATE, None)[1])
"""
_CALL = re.compile(r"^(?P<thread>\d+) +(?:<\.\.\. )?(?P<name>\w+)(?: resumed>|\()")


@contextmanager
def traced(pid: int, trace: Path) -> Iterator[None]:
    """While this lasts, what the process sends and brings to the disk is written down, in this order."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed: apt install strace")
    watching = subprocess.Popen(
        [strace, "-f", "-y", "-s", "64", "-e", "trace=fdatasync,fsync,sendto", "-o", trace, "-p", str(pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert watching.stderr is not None
    try:
        said = watching.stderr.readline()
        if "attached" not in said:
            pytest.skip(f"no process can be traced here: {said.strip()}")
        yield
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate()


def ended_calls(trace: str) -> list[str]:
    """In order: "log" whenever the log of SQLite was brought to the disk, "answer" whenever one was sent.

    A call that another thread interrupts stands on two lines, and counts where it has ended.
    """
    found, begun = [], {}
    for line in trace.splitlines():
        match = _CALL.match(line)
        if match is None:
            continue
        thread = match["thread"]
        whole = begun.pop(thread, "") + line
        if "<unfinished ...>" in line:
            begun[thread] = whole
            if "HTTP/1.1 " in line:  # it leaves while it is under way
                found.append("answer")
        elif "sqlite3-wal>" in whole and "sync" in match["name"] and whole.endswith("= 0"):
            found.append("log")
        elif "HTTP/1.1 " in line:
            found.append("answer")
    return found


def test_a_trace_is_read_as_it_was_written() -> None:
    trace = (
        '7 fdatasync(9</h/pmweb.sqlite3-wal> <unfinished ...>\n8 sendto(5, "HTTP/1.1 200", 12) = 12\n'
        "7 <... fdatasync resumed>) = 0\n7 fsync(9</h/pmweb.sqlite3>) = 0\n"
        '7 fdatasync(9</h/pmweb.sqlite3-wal>) = -1 EIO (error)\n8 sendto(5, "more", 4) = 4\n'
    )
    assert ended_calls(trace) == ["answer", "log"]


def test_before_a_change_is_acknowledged_it_is_on_the_disk(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    site = LaunchedSite(prepared_home(tmp_path_factory, tmp_path / "home"), "--port", "0", "--no-agent")
    try:
        address, _ = site.login_link()
        mapping, token = site.told_by(TOKEN).split()[-2:]
        trace = tmp_path / "trace"
        with traced(site.child("daphne"), trace):
            for number in range(3):
                request = urllib.request.Request(
                    f"{address}/api/v1/mappings/{mapping}",
                    json.dumps({"note": f"note {number}"}).encode(),
                    {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
                    method="PATCH",
                )
                with urllib.request.urlopen(request, timeout=60) as answer:
                    assert json.load(answer)["note"] == f"note {number}"
            wait_until(lambda: trace.read_text().count("HTTP/1.1 200") == 3, 20, "the end of the trace")
    finally:
        site.stop()
    calls = ended_calls(trace.read_text())
    rounds = " ".join(calls).split("answer")
    assert len(rounds) == 4, calls
    assert all("log" in each for each in rounds[:3]), calls


@pytest.mark.django_db
def test_every_commit_of_sqlite_waits_for_the_disk() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("a database server decides for itself")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous")
        assert cursor.fetchone() == (2,), "FULL"
