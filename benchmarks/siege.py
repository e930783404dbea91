"""A siege: connections that never say what they want, readers who ask for the most expensive there is, and
somebody who wants to know whether the site is well.

1,100 connections send half of a head and wait; where one ends, another takes its place. 30 readers, each a
person at an address of their own, have long listings decoded, one after the other, and come again at once
when they are refused. All come from other loopback addresses than the probe, which opens a connection every
50 ms and asks for `/health/`. It is told beside how long a page takes that is not expensive, and how the
readers fared.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User

from benchmarks import Result
from benchmarks._load_generator import percentile
from benchmarks.pages import database_in
from pmweb.accounts.api_tokens import issue
from pmweb.accounts.roles import give_role
from pmweb.launcher.connections import raise_file_limit
from pmweb.models import Role, Scope
from tests.launched import LaunchedSite

MOST_MILLISECONDS = 300.0
"""What is promised of `/health/` (95th percentile)."""

HALF_OPEN, READERS = 1_100, 30
_PROBE_EVERY = 0.05
_START_SECONDS = 900.0
_INSTRUCTIONS, _OF_A_LOOP = 6_000, 100
_PATIENCE = 60.0


@dataclass(frozen=True)
class Place:
    """Where the site listens."""

    host: str
    port: int


class HalfOpen:
    """A process that keeps connections at their number (`_half_open`), with half of a head each."""

    def __init__(self, place: Place, number: int) -> None:
        self._command = [
            sys.executable,
            "-m",
            "benchmarks._half_open",
            place.host,
            str(place.port),
            str(number),
        ]
        self.told: dict[str, int] = {}

    def __enter__(self) -> HalfOpen:
        self._process = subprocess.Popen(
            self._command, cwd=settings.BASE_DIR, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # they are all there
        return self

    def __exit__(self, *_: object) -> None:
        said, _unused = self._process.communicate("")
        self.told = json.loads(said)


class Readers:
    """People who ask for what is expensive, as fast as they get answers."""

    def __init__(self, place: Place, tokens: Sequence[str]) -> None:
        self._place = place
        self._body = json.dumps({"code": _listing()})
        self._over = threading.Event()
        self.statuses: Counter[int] = Counter()
        self._threads = [
            threading.Thread(target=self._read, args=(f"127.0.3.{number}", token), daemon=True)
            for number, token in enumerate(tokens, 1)
        ]

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(_PATIENCE)

    def _read(self, source: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(
            self._place.host, self._place.port, timeout=_PATIENCE, source_address=(source, 0)
        )
        while not self._over.is_set():
            try:
                connection.request("POST", "/api/v1/decode", self._body, headers)
                answer = connection.getresponse()
                answer.read()
                self.statuses[answer.status] += 1
            except (OSError, http.client.HTTPException):
                self.statuses[0] += 1
                connection.close()
            time.sleep(0.1 if self.statuses[0] else 0.02)


def run(quick: bool) -> Iterator[Result]:
    """The siege once."""
    raise_file_limit()
    seconds = 10.0 if quick else float(os.environ.get("PMWEB_SIEGE_SECONDS", "60"))
    with tempfile.TemporaryDirectory(prefix="pmweb-siege-") as directory:
        home = Path(directory) / "home"
        environment = {"PMWEB_SECRET_KEY": str(settings.SECRET_KEY)}
        site = LaunchedSite(home, "--port", "0", "--no-agent", environment=environment)
        try:
            site.wait_for("Ctrl-C stops everything", _START_SECONDS)
            parts = urlsplit(site.login_link()[0])
            with database_in(home):
                tokens = [_reader(number) for number in range(READERS)]
            yield from _besieged(Place("127.0.0.1", parts.port or 80), tokens, seconds)
        finally:
            site.stop()


def _besieged(place: Place, tokens: Sequence[str], seconds: float) -> Iterator[Result]:
    quiet = _probed(place, "/health/", 3.0)
    with HalfOpen(place, HALF_OPEN) as connections, Readers(place, tokens) as readers:
        time.sleep(3.0)
        health = _probed(place, "/health/", seconds)
        page = _probed(place, "/login/", seconds / 4)
    yield Result(
        "health-p95",
        round(1000 * percentile(health, 0.95), 1),
        "ms",
        MOST_MILLISECONDS,
        {
            "probes": len(health),
            "median": round(1000 * percentile(health, 0.5), 1),
            "most": round(1000 * max(health), 1),
            "quiet_p95": round(1000 * percentile(quiet, 0.95), 1),
            **connections.told,
            "readers": READERS,
            "reader_statuses": dict(readers.statuses),
        },
    )
    yield Result("page-p95", round(1000 * percentile(page, 0.95), 1), "ms", None, {"page": "/login/"})


def _probed(place: Place, path: str, seconds: float) -> list[float]:
    """Seconds of each answer, from before its connection began; an open loop would hide what it waits for."""
    found: list[float] = []
    lock, threads = threading.Lock(), []

    def probe() -> None:
        begun = time.perf_counter()
        connection = http.client.HTTPConnection(place.host, place.port, timeout=_PATIENCE)
        try:
            connection.request("GET", path)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            status = 0
        finally:
            connection.close()
        with lock:
            found.append(time.perf_counter() - begun if status == http.client.OK else _PATIENCE)

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        threads.append(threading.Thread(target=probe))
        threads[-1].start()
        time.sleep(_PROBE_EVERY)
    for thread in threads:
        thread.join()
    return found


def _reader(number: int) -> str:
    """A viewer, and a token of theirs."""
    user = User.objects.create_user(f"reader{number}")
    give_role(user, Role.VIEWER)
    return issue(user, "siege", Scope.READ, None)[1]


def _listing() -> str:
    """Loops of instructions no two of which are equal: what is equal is read once."""
    loops = range(0, _INSTRUCTIONS, _OF_A_LOOP)
    return "\n".join(
        f"l{begin}:\n"
        + "\n".join(f"add rax, {0x1000 + number}" for number in range(begin, begin + _OF_A_LOOP))
        + f"\njne l{begin}"
        for begin in loops
    )
