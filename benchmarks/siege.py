"""A siege: connections that never say what they want, visitors who send or read slowly, readers who ask for
the most expensive there is, and somebody who wants to know whether the site is well.

1,100 connections send half of a head and wait; 200 send a byte of a body now and then, from the address of
the probe; 100 ask for a long file, 150 WebSockets for a long journal, and read nothing (`_slow_visitors`).
Where one ends, another takes its place. 30 readers, each a person at an address of their own, have long
listings decoded, one after the other, and come again at once when they are refused; every second one spells
token and cookies anew each time. The probe opens a connection every 50 ms and asks for `/health/`. Beside
that is how long a page takes that is not expensive, by how much the memory of the web process grows, and how
many answers those have who spell anew, beside the others.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from benchmarks import Result
from benchmarks._load_generator import percentile
from benchmarks.pages import database_in
from inference.core.events import Log
from inference.models import Run, RunEvent
from pmweb.accounts.api_tokens import issue
from pmweb.accounts.roles import give_role
from pmweb.cookies import name_at
from pmweb.launcher.file_limit import raise_file_limit
from pmweb.models import Role, Scope
from pmweb.origins import origin_in
from tests.launched import LaunchedSite

MOST_MILLISECONDS = 300.0
"""What is promised of `/health/` (95th percentile)."""

MOST_OVER_REST = {"ms": 50.0, "MiB": 400.0}
"""What a siege may add: to that percentile, and to the memory of the web process."""

HALF_OPEN, READERS = 1_100, 30
SLOW = {"bodies": 200, "downloads": 100, "sockets": 150}
_EVENTS, _EVENT_BYTES = 2_048, 8_192
_PROBE_EVERY = 0.05
_START_SECONDS = 900.0
_INSTRUCTIONS, _OF_A_LOOP = 6_000, 100
_PATIENCE = 60.0


@dataclass(frozen=True)
class Place:
    """Where the site listens."""

    host: str
    port: int


class Besiegers:
    """A process that keeps connections at their number, and reports at its end."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._command = [sys.executable, "-m", module, *arguments]
        self.report: dict[str, int] = {}

    def __enter__(self) -> Besiegers:
        self._process = subprocess.Popen(
            self._command, cwd=settings.BASE_DIR, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # they are all there
        return self

    def __exit__(self, *_: object) -> None:
        line, _unused = self._process.communicate("")
        self.report = json.loads(line)


class Readers:
    """People who ask for what is expensive, as fast as they get answers."""

    def __init__(self, place: Place, tokens: Sequence[str]) -> None:
        self._place = place
        self._body = json.dumps({"code": _listing()})
        self._over = threading.Event()
        self.statuses: dict[bool, Counter[int]] = {False: Counter(), True: Counter()}
        """Of those who spell as everybody does, and of those who spell anew."""
        self._threads = [
            threading.Thread(target=self._read, args=(number, token, number % 2 == 0), daemon=True)
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

    def _read(self, number: int, token: str, spells_anew: bool) -> None:
        statuses = self.statuses[spells_anew]
        connection = http.client.HTTPConnection(
            self._place.host, self._place.port, timeout=_PATIENCE, source_address=(f"127.0.3.{number}", 0)
        )
        for turn in itertools.count():
            if self._over.is_set():
                return
            try:
                headers = self._headers(token, turn if spells_anew else 0)
                connection.request("POST", "/api/v1/decode", self._body, headers)
                answer = connection.getresponse()
                answer.read()
                statuses[answer.status] += 1
            except (OSError, http.client.HTTPException):
                statuses[0] += 1
                connection.close()
            time.sleep(0.1 if statuses[0] else 0.02)

    def _headers(self, token: str, turn: int) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {' ' * (turn % 50)}{token}", "Content-Type": "application/json"}
        return {**headers, "Cookie": f"sessionid-{self._place.port}=guess{turn}"} if turn else headers


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
            place = Place("127.0.0.1", parts.port or 80)
            with database_in(home):
                tokens = [_reader(number) for number in range(READERS)]
                attack = {
                    **asdict(place),
                    "numbers": SLOW,
                    "file": _long_file(home),
                    "journal": f"/ws/runs/{_long_run().pk}/",
                    "cookies": [_browser(f"reader{number}", place.port) for number in range(2)],
                }
            yield from _besieged(place, site, tokens, attack, seconds)
        finally:
            site.stop()


def _besieged(
    place: Place, site: LaunchedSite, tokens: Sequence[str], attack: dict[str, Any], seconds: float
) -> Iterator[Result]:
    quiet = _probed(place, "/health/", 3.0)
    with (
        Memory(site.child("pmweb.launcher.daphne")) as memory,
        Besiegers("benchmarks._half_open", place.host, str(place.port), str(HALF_OPEN)) as half_open,
        Besiegers("benchmarks._slow_visitors", json.dumps(attack)) as slow,
        Readers(place, tokens) as readers,
    ):
        time.sleep(3.0)
        health = _probed(place, "/health/", seconds)
        page = _probed(place, "/login/", seconds / 4)
    over_rest = percentile(health, 0.95) - percentile(quiet, 0.95)
    yield Result(
        "health-p95",
        round(1000 * percentile(health, 0.95), 1),
        "ms",
        MOST_MILLISECONDS,
        {
            "probes": len(health),
            "failed": health.count(_PATIENCE),
            "median": round(1000 * percentile(health, 0.5), 1),
            "most": round(1000 * max(health), 1),
            "quiet_p95": round(1000 * percentile(quiet, 0.95), 1),
            **half_open.report,
            **slow.report,
            "readers": READERS,
            "reader_statuses": dict(readers.statuses[False]),
            "spelling_anew": dict(readers.statuses[True]),
        },
    )
    yield Result("health-p95-over-rest", round(1000 * over_rest, 1), "ms", MOST_OVER_REST["ms"])
    yield Result("page-p95", round(1000 * percentile(page, 0.95), 1), "ms", None, {"page": "/login/"})
    yield Result(
        "memory-over-rest",
        round((memory.most - memory.rest) / 2**20, 1),
        "MiB",
        MOST_OVER_REST["MiB"],
        {"rest": round(memory.rest / 2**20, 1), "afterwards": round(memory.now() / 2**20, 1)},
    )
    answered = [readers.statuses[anew][http.client.OK] for anew in (True, False)]
    yield Result("answers-by-spelling-anew", round(answered[0] / max(answered[1], 1), 2), "share", 1.0)


class Memory:
    """The memory of a process: at `rest`, at `most` while this lasts, and `now`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.rest = self.most = self.now()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def now(self) -> int:
        """Bytes at this moment."""
        pages = Path(f"/proc/{self._pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            self.most = max(self.most, self.now())


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


def _browser(name: str, port: int) -> str:
    """A cookie of somebody who has logged in."""
    browser = Client()
    browser.force_login(User.objects.get(username=name))
    cookie = name_at(origin_in(f"http://localhost:{port}"), settings.SESSION_COOKIE_NAME)
    return f"{cookie}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"


def _long_run() -> Run:
    """A run with a journal of 16 MiB."""
    run = Run.objects.create(name="long", kind="infer", state=Run.State.DONE)
    RunEvent.objects.bulk_create(
        RunEvent(run=run, seq=seq, kind=Log.kind, payload={"text": "x" * _EVENT_BYTES}, at=timezone.now())
        for seq in range(1, _EVENTS + 1)
    )
    return run


def _long_file(home: Path) -> str:
    """The address of the longest file that everybody may have."""
    files = (path for path in (home / "static").rglob("*") if path.is_file())
    longest = max(files, key=lambda path: path.stat().st_size)
    return f"/static/{longest.relative_to(home / 'static')}"
