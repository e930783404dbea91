"""Whether the site stays responsive under a denial-of-service attack by slow and by expensive requests.

Slow visitors (`_slow_visitors`) hold connections; where one ends, another takes its place:

- 1,100 send half of a request's head and wait;
- 200 send a byte of a body now and then, from the address of the probe;
- 100 ask for a long file and 150 WebSockets for a long journal, and read nothing.

30 readers, each a user with an address of their own, have long listings decoded one after the other, and try
again at once when they are refused. Every second reader varies the spelling of token and cookies with each
request, in order to evade limits that are counted per token or session.

A probe opens a connection every 50 ms and asks for `/health/`. Also measured are the time of an inexpensive
page, the growth of the web process's memory, and whether varied spelling gets more answers than the usual.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from django.contrib.auth.models import User
from django.utils import timezone

from benchmarks import Result
from benchmarks._clients import PATIENCE, Probe, Sender, VisitorProcess
from benchmarks._measured import mebibytes_of
from benchmarks._sites import database_in, launched_site, session_cookie
from inference.core.events import Log
from inference.models import Run, RunEvent
from pmweb.accounts.api_tokens import issue
from pmweb.accounts.roles import set_role
from pmweb.launcher.connections import raise_file_limit
from pmweb.models import Role, Scope
from tests.launched import LaunchedSite

MAX_MILLISECONDS = 300.0
"""What is promised of `/health/` (95th percentile)."""

MAX_EXCESS = {"ms": 50.0, "MiB": 400.0}
"""What a siege may add: to that percentile, and to the memory of the web process."""

READERS = 30
"""Users who have listings decoded at the same time."""

SLOW = {"half_open": 1_100, "bodies": 200, "downloads": 100, "sockets": 150}
"""Slow visitors by kind; together more than the 1,024 open files that a process has by default."""

_EVENTS, _EVENT_BYTES = 2_048, 8_192
"""Of the long journal, which is 16 MiB: more than the buffers of a connection hold."""

_INSTRUCTIONS, _OF_A_LOOP = 6_000, 100
"""Of the listing that is decoded, and of each of its loops."""


class Readers:
    """People who ask for what is expensive, as fast as they get answers.

    `statuses` counts HTTP statuses by whether the reader varies the spelling of token and cookies.
    """

    def __init__(self, port: int, tokens: Sequence[str]) -> None:
        self._port = port
        self._body = json.dumps({"code": _listing()})
        self._over = threading.Event()
        self.statuses: dict[bool, Counter[int]] = {False: Counter(), True: Counter()}
        self._threads = [
            threading.Thread(target=self._read, args=(number, token), daemon=True)
            for number, token in enumerate(tokens, 1)
        ]

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _read(self, number: int, token: str) -> None:
        """What one reader does until the siege is over."""
        varies_spelling = number % 2 == 0
        reader = Sender("127.0.0.1", self._port, source=f"127.0.3.{number}")
        for turn in itertools.count():
            if self._over.is_set():
                return
            headers = self._headers(token, turn if varies_spelling else 0)
            status, _ = reader.send("POST", "/api/v1/decode", self._body, headers)
            self.statuses[varies_spelling][status] += 1
            time.sleep(0.02 if status else 0.1)  # status 0: no answer

    def _headers(self, token: str, turn: int) -> dict[str, str]:
        """Headers with the token; after turn 0 with other blanks before it and another session to guess."""
        headers = {"Authorization": f"Bearer {' ' * (turn % 50)}{token}", "Content-Type": "application/json"}
        return {**headers, "Cookie": f"sessionid-{self._port}=guess{turn}"} if turn else headers


def run(quick: bool) -> Iterator[Result]:
    """A siege of 10 seconds if `quick`, otherwise of PMWEB_SIEGE_SECONDS (default 60)."""
    raise_file_limit()
    seconds = 10.0 if quick else float(os.environ.get("PMWEB_SIEGE_SECONDS", "60"))
    with launched_site("--no-agent") as site:
        server, _ = site.login_link()
        with database_in(site.home):
            users = [User.objects.create_user(f"reader{number}") for number in range(READERS)]
            for user in users:
                set_role(user, Role.VIEWER)
            tokens = [issue(user, "siege", Scope.READ, None)[1] for user in users]
            attack = {
                "host": "127.0.0.1",
                "port": site.port,
                "numbers": SLOW,
                "file": _long_file(site.home),
                "journal": f"/ws/runs/{_long_run().pk}/",
                "cookies": [session_cookie(user, server) for user in users[:2]],
            }
        yield from _besieged(site, tokens, attack, seconds)


def _besieged(
    site: LaunchedSite, tokens: Sequence[str], attack: Mapping[str, object], seconds: float
) -> Iterator[Result]:
    """Probe the site at rest, then under attack, and compare.

    Args:
        site: The site, with an account per reader.
        tokens: Their API tokens.
        attack: Arguments of `_slow_visitors`.
        seconds: How long `/health/` is probed; the page is probed for a quarter of that.
    """
    sender = Sender("127.0.0.1", site.port)
    web = site.child("pmweb.launcher.daphne")
    with Probe(sender, memory=lambda: mebibytes_of([web])) as rest:
        time.sleep(3.0)
    slow, readers = VisitorProcess("benchmarks._slow_visitors", attack), Readers(site.port, tokens)
    with slow, readers:
        time.sleep(3.0)  # for all visitors to connect
        with Probe(sender, memory=lambda: mebibytes_of([web])) as health:
            time.sleep(seconds)
        with Probe(sender, "/login/") as page:
            time.sleep(seconds / 4)
    p95, quiet_p95 = health.milliseconds(0.95), rest.milliseconds(0.95)
    more = {
        "probes": len(health.seconds),
        "failed": health.seconds.count(PATIENCE),
        "median": round(health.milliseconds(0.5), 1),
        "most": round(health.milliseconds(1.0), 1),
        "quiet_p95": round(quiet_p95, 1),
        **slow.report,
        "readers": READERS,
        "reader_statuses": dict(readers.statuses[False]),
        "spelling_anew": dict(readers.statuses[True]),
    }
    yield Result("health-p95", round(p95, 1), "ms", MAX_MILLISECONDS, more)
    yield Result("health-p95-over-rest", round(p95 - quiet_p95, 1), "ms", MAX_EXCESS["ms"])
    yield Result("page-p95", round(page.milliseconds(0.95), 1), "ms", None, {"page": "/login/"})
    memory = {"rest": round(rest.mebibytes, 1), "afterwards": round(mebibytes_of([web]), 1)}
    over_rest = round(health.mebibytes - rest.mebibytes, 1)
    yield Result("memory-over-rest", over_rest, "MiB", MAX_EXCESS["MiB"], memory)
    varied, usual = (readers.statuses[varies][http.client.OK] for varies in (True, False))
    yield Result("answers-by-spelling-anew", round(varied / max(usual, 1), 2), "share", 1.0)


def _listing() -> str:
    """Loops of instructions no two of which are equal, because the site decodes equal ones only once."""
    loops = range(0, _INSTRUCTIONS, _OF_A_LOOP)
    return "\n".join(
        f"l{begin}:\n"
        + "\n".join(f"add rax, {0x1000 + number}" for number in range(begin, begin + _OF_A_LOOP))
        + f"\njne l{begin}"
        for begin in loops
    )


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
