"""Small requests that cost much, sent to a real site, while another client asks whether it is well."""

from __future__ import annotations

import http.client
import io
import json
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from benchmarks import Result
from benchmarks._load_generator import percentile
from benchmarks._pumped_texts import pumped_texts
from benchmarks.pages import database_in
from tests.launched import LaunchedSite, descendants

MOST_MILLISECONDS = 50.0
"""Of `/health/` (95th percentile) over what it takes while nothing happens."""
MOST_MIB = 400.0
"""Of memory, all processes of the site together, over what they take at rest."""
LARGEST_ANSWER = 100_000
_PROBE_INTERVAL = 0.05
_START_SECONDS = 900.0
_PATIENCE = 60.0
_PREVIEWS = 60

BODIES: Mapping[str, Callable[[], bytes]] = {
    "unknown keys": lambda: _object(f'"k{number}":0' for number in range(560_000)),
    "as many keys as are read": lambda: _object(f'"k{number}":0' for number in range(24_000)),
    "numbers": lambda: b'{"code":[' + b"0," * 3_000_000 + b"0]}",
    "lists": lambda: b'{"code":[' + b"[]," * 2_000_000 + b"[]]}",
    "a long key": lambda: b'{"' + b"k" * (6 << 20) + b'":0}',
    "a repeated key": lambda: b'{"code":"nop","code":"ret"}',
    "nests": lambda: b'{"code":' + b"[" * 40_000 + b"]" * 40_000 + b"}",
}


def floods(quick: bool) -> Iterator[Result]:
    """All operations with a body, and previews: what became of them, of the probe and of memory."""
    with tempfile.TemporaryDirectory(prefix="pmweb-floods-") as directory:
        home = Path(directory) / "home"
        environment = {"PMWEB_SECRET_KEY": str(settings.SECRET_KEY), "PMWEB_PROCESSOR_SECONDS": "0"}
        site = LaunchedSite(home, "--port", "0", "--no-agent", environment=environment)
        try:
            site.wait_for("Ctrl-C stops everything", _START_SECONDS)
            parts = urlsplit(site.login_link()[0])
            with database_in(home):
                token = _administrators_token()
            yield from _flooded(site, _Client(parts.hostname or "", parts.port or 80, token), quick)
        finally:
            site.stop()


class _Client:
    def __init__(self, host: str, port: int, token: str) -> None:
        self._host, self._port, self._token = host, port, token

    def send(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> tuple[int, bytes]:
        """Status and content of an answer; 0 where there is none."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_PATIENCE)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def upload(self, text: str) -> tuple[int, bytes]:
        """Keep a text as a file, and look at what it would bring."""
        boundary = uuid.uuid4().hex
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="pumped.csv"\r\n\r\n'
        body = head.encode() + text.encode() + f"\r\n--{boundary}--\r\n".encode()
        status, content = self.send(
            "POST", "/api/v1/uploads", body, f"multipart/form-data; boundary={boundary}"
        )
        if status != 201:
            return status, content
        path = f"/api/v1/uploads/{json.loads(content)[0]['id']}"
        answer = self.send("GET", path)
        self.send("DELETE", path)
        return answer


class _Probe:
    """Asks for `/health/` again and again, and for the memory of the site."""

    def __init__(self, client: _Client, site: LaunchedSite) -> None:
        self._client, self._site = client, site
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self.seconds: list[float] = []
        self.mib = 0.0

    def __enter__(self) -> _Probe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(_PATIENCE)

    @property
    def p95(self) -> float:
        """Milliseconds."""
        return 1000 * percentile(self.seconds, 0.95)

    def _ask(self) -> None:
        while not self._over.wait(_PROBE_INTERVAL):
            began = time.perf_counter()
            status, _ = self._client.send("GET", "/health/")
            self.seconds.append(time.perf_counter() - began if status == http.client.OK else _PATIENCE)
            self.mib = max(self.mib, _memory(self._site))


def _flooded(site: LaunchedSite, client: _Client, quick: bool) -> Iterator[Result]:
    client.upload("bb,a\n4801d8,1\n")  # whatever is started at the first use
    with _Probe(client, site) as rest:
        time.sleep(2.0 if quick else 10.0)
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    bodies = {name: body() for name, body in BODIES.items()}  # the probe shares this process
    began = time.monotonic()
    with _Probe(client, site) as probe:
        for what, status, content in _answers(client, bodies, quick):
            outcomes[f"{status}"] += 1
            if not 400 <= status < 500 or len(content) > LARGEST_ANSWER:
                failures.append(f"{what}: {status}, {len(content):,} bytes")
    more = {
        "outcomes": dict(outcomes),
        "failures": failures[:20],
        "seconds": round(time.monotonic() - began, 1),
    }
    total = outcomes.total()
    yield Result("floods", total - len(failures), "answered", total, more)
    slower = round(probe.p95 - rest.p95, 1)
    more = {
        "probes": len(probe.seconds),
        "rest": round(rest.p95, 1),
        "most": round(1000 * max(probe.seconds), 1),
    }
    yield Result("floods-health-p95", slower, "ms over rest", MOST_MILLISECONDS, more)
    yield Result(
        "floods-memory", round(probe.mib - rest.mib, 1), "MiB over rest", MOST_MIB, {"rest": rest.mib}
    )


def _answers(client: _Client, bodies: Mapping[str, bytes], quick: bool) -> Iterator[tuple[str, int, bytes]]:
    """(what was sent, status, content) of every body at every operation, and of previews of pumped texts."""
    from inference.web.api.document import operations_of
    from inference.web.api.site import document

    with_body = [
        (method.upper(), path)
        for method, path, operation in operations_of(document())
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    ]
    for method, path in with_body[:: 10 if quick else 1]:
        for name, body in bodies.items():
            yield f"{name} to {method} {path}", *client.send(method, _filled(path), body)
    texts = list(pumped_texts())
    for text in texts[:: len(texts) // (_PREVIEWS // (10 if quick else 1))]:
        status, content = client.upload(text)
        # A preview that names problems is an answer; one that would be imported is not.
        acceptable = status == http.client.OK and json.loads(content)["acceptable"]
        yield f"preview of {text[:40]!r}", 200 if acceptable else max(status, 422) if status else 0, content


def _filled(path: str) -> str:
    """With a number in place of each name; whether there is such a row does not matter: bodies come first."""
    return "/".join("1" if part.startswith("{") else part for part in path.split("/"))


def _object(fields: Iterator[str]) -> bytes:
    return f"{{{','.join(fields)}}}".encode()


def _memory(site: LaunchedSite) -> float:
    """MiB of all processes of a site, what they share counted once (PSS)."""
    total = 0
    for pid in (site.pid, *descendants(site.pid)):
        try:
            lines = io.StringIO(Path(f"/proc/{pid}/smaps_rollup").read_text())
        except OSError:  # it has ended
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return round(total / 1024, 1)


def _administrators_token() -> str:
    from pmweb.accounts.api_tokens import issue
    from pmweb.accounts.people import ensure_administrator
    from pmweb.models import Scope

    return issue(ensure_administrator(), "floods", Scope.ADMINISTER, None)[1]
