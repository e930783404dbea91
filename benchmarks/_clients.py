"""Clients of a site in processes of its own: requests, a probe that watches it, processes of visitors."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from benchmarks._measured import percentile

PATIENCE = 60.0
"""Seconds that a client waits for an answer."""

_PROBE_INTERVAL = 0.05  # seconds
_PROBES_PER_LOOK = 10  # reading how much memory processes have costs them time


@dataclass(frozen=True)
class Sender:
    """Sends requests to a site from an address (`source`), each on a connection of its own."""

    host: str
    port: int
    headers: Mapping[str, str] = field(default_factory=dict)
    source: str = "127.0.0.1"

    def send(
        self, method: str, path: str, body: str | bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Status and content of the answer; 0 where there is none."""
        connection = http.client.HTTPConnection(self.host, self.port, PATIENCE, (self.source, 0))
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()


class Probe:
    """Requests a page every 50 ms, and looks at memory, while this context lasts.

    Each request has a thread of its own: a loop that waits for answers would not see what it waits for.
    """

    def __init__(
        self, sender: Sender, path: str = "/health/", memory: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._sender, self._path, self._memory = sender, path, memory
        self._over = threading.Event()
        self._loop = threading.Thread(target=self._run, daemon=True)
        self._requests: list[threading.Thread] = []
        self.seconds: list[float] = []
        self.mebibytes = 0.0

    def __enter__(self) -> Probe:
        self._loop.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in (self._loop, *self._requests):
            thread.join()

    def milliseconds(self, share: float) -> float:
        """What this share of the answers took at most; one that failed counts as the longest."""
        return 1000 * percentile(self.seconds, share)

    def _run(self) -> None:
        while not self._over.wait(_PROBE_INTERVAL):
            self._requests.append(threading.Thread(target=self._request))
            self._requests[-1].start()
            if len(self._requests) % _PROBES_PER_LOOK == 1:
                self.mebibytes = max(self.mebibytes, self._memory())

    def _request(self) -> None:
        began = time.perf_counter()
        status, _ = self._sender.send("GET", self._path)
        self.seconds.append(time.perf_counter() - began if status == http.client.OK else PATIENCE)


class VisitorProcess:
    """A process of visitors: reads its task, says that all are there, and reports in its last line.

    Its standard input ends with this context; `report` is known then.
    """

    def __init__(self, module: str, task: Mapping[str, object]) -> None:
        self._command = [sys.executable, "-m", module]
        self._task = json.dumps(task)
        self.report: dict[str, Any] = {}

    def __enter__(self) -> VisitorProcess:
        self._process = subprocess.Popen(
            self._command, cwd=settings.BASE_DIR, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{self._task}\n")
        self._process.stdin.flush()
        self._process.stdout.readline()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._process.kill()
        output, _unused = self._process.communicate()
        self.report = json.loads(output.splitlines()[-1]) if output else {}
