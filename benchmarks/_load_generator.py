"""The visitors of `load`, in a process of their own: browsers that listen, requests, and simulated agents.

Reads one JSON object from its standard input (`Load`) and prints one (`VisitorReport`). It keeps to one
processor, so that the site has the other one for itself whatever happens here, and reports how much of it it
has used.
"""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import os
import queue
import resource
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Origin

from inference.agent.session import run_agent
from inference.core.mapping import PortMapping
from inference.measuring.simulated_agent import SimulatedHarness, simulated_facts

REQUEST_THREADS = 24  # requests that wait for answers at the same time
_TIME_OUT = 30.0  # seconds for an answer
_READY = "ready"


@dataclass(frozen=True)
class Load:
    """What to do to the site at `server`, whom `cookie` lets in, for `seconds` once everybody is there.

    `browsers` sockets are shared out evenly among `sockets` (paths); `rate` requests per second go to `pages`
    in turn; each of `tokens` is an agent, whose computer `mapping` is (ports; masks and counts by scheme).
    """

    server: str
    cookie: str
    browsers: int
    sockets: list[str]
    rate: float
    pages: list[str]
    seconds: float
    tokens: list[str]
    pace: float
    mapping: list[object]


@dataclass
class VisitorReport:
    """What came of it: `lags` and `times` in seconds, `cpu` this process's own, as a share of one processor.

    `late`: seconds by which the last request was behind its time, which tells whether the rate was kept.
    """

    lags: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    late: float = 0.0
    cpu: float = 0.0

    def __post_init__(self) -> None:
        self.errors = Counter(self.errors)  # a plain object where it was printed


class Visitors:
    """Browsers, requests and agents that visit the site of a `Load` at the same time."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._report = VisitorReport()
        self._since: datetime | None = None
        self._over = threading.Event()
        self._listening = 0
        self._connections: queue.SimpleQueue[http.client.HTTPConnection] = queue.SimpleQueue()
        for _ in range(load.browsers):
            self._connections.put(_connection(load.server))

    async def visit(self) -> VisitorReport:
        """Come, say so, stay for the time, and go."""
        load = self._load
        sockets = itertools.islice(itertools.cycle(load.sockets), load.browsers)
        tasks = [asyncio.create_task(self._listen(path)) for path in sockets]
        tasks += [
            asyncio.create_task(self._measure(number, token)) for number, token in enumerate(load.tokens)
        ]
        while self._listening < load.browsers and not self._report.errors:
            await asyncio.sleep(0.05)
        sys.stdout.write(_READY + "\n")
        sys.stdout.flush()
        cpu, begun = _cpu(), time.monotonic()
        self._since = datetime.now(UTC)
        await self._request()
        self._over.set()
        self._report.cpu = (_cpu() - cpu) / (time.monotonic() - begun)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return self._report

    async def _listen(self, path: str) -> None:
        """A browser's socket: note the delay of each event until the time is over."""
        address = self._load.server.replace("http", "ws", 1) + path
        headers = {"Cookie": self._load.cookie}
        try:
            async with connect(
                address,
                origin=Origin(self._load.server),
                additional_headers=headers,
                open_timeout=60,
            ) as socket:
                self._listening += 1
                async for message in socket:
                    self._note(json.loads(message))
        except (WebSocketException, OSError) as error:
            self._report.errors[f"socket: {error}"] += 1
            return
        if not self._over.is_set():
            self._report.errors["socket: closed by the site"] += 1

    def _note(self, event: dict[str, object]) -> None:
        if self._since is None or self._over.is_set() or not isinstance(event.get("at"), str):
            return
        told = datetime.fromisoformat(str(event["at"]))
        if told >= self._since:  # earlier ones are what a browser catches up on when it comes
            self._report.lags.append((datetime.now(UTC) - told).total_seconds())

    async def _measure(self, number: int, token: str) -> None:
        ports, usage = self._load.mapping
        mapping = PortMapping(tuple(ports), {name: tuple(map(tuple, uops)) for name, uops in usage.items()})  # type: ignore[arg-type, attr-defined]
        harness = SimulatedHarness(mapping, noise=0.001, seed=number, pace=self._load.pace)
        facts = simulated_facts(f"agent {number}", mapping)
        await run_agent(self._load.server, token, harness, lambda: facts, "load")
        self._report.errors["agent: ended"] += 1

    async def _request(self) -> None:
        """An open loop: a request is sent when its time has come, however many others have no answer yet."""
        loop = asyncio.get_running_loop()
        begun, waiting = time.monotonic(), []
        with ThreadPoolExecutor(REQUEST_THREADS) as threads:
            for number, page in enumerate(itertools.cycle(self._load.pages)):
                due = begun + number / self._load.rate
                if due >= begun + self._load.seconds:
                    break
                await asyncio.sleep(max(due - time.monotonic(), 0))
                waiting.append(loop.run_in_executor(threads, self._ask, page, due))
            await asyncio.gather(*waiting)

    def _ask(self, page: str, due: float) -> None:
        """Request a page that was `due` at a monotonic time; waiting for a free thread counts as waiting."""
        self._report.late = time.monotonic() - due
        try:
            status = self._answer(page)
        except (OSError, http.client.HTTPException) as error:
            self._report.errors[f"{page}: {type(error).__name__}"] += 1
            return
        self._report.times.append(time.monotonic() - due)
        if status != http.client.OK:
            self._report.errors[f"{page}: {status}"] += 1

    def _answer(self, page: str) -> int:
        """Asked by the browser whose turn it is; each has a connection, which it keeps."""
        connection = self._connections.get()
        try:
            connection.request("GET", page, headers={"Cookie": self._load.cookie})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()  # the next request opens it again
            raise
        finally:
            self._connections.put(connection)
        return answer.status


def _connection(server: str) -> http.client.HTTPConnection:
    parts = urlsplit(server)
    return http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=_TIME_OUT)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    load = Load(**json.loads(sys.stdin.readline()))
    report = asyncio.run(Visitors(load).visit())
    sys.stdout.write(json.dumps(vars(report)) + "\n")


if __name__ == "__main__":
    main()
