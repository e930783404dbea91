"""Programs that have a token follow no redirect to another origin: client, agent, and what comes next."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from inference.agent import connection
from tests.api.generated import generated_client

TOKEN = "pmwebapi_secret"
STATUSES = (301, 302, 303, 307, 308)


class Redirecting(BaseHTTPRequestHandler):
    """Answers as its server's `target` says, and notes what it was told."""

    server: Any
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.heard.append((self.path, self.headers.get("Authorization")))
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, location = self.server.target(self.path)
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "2")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def server(target: Any) -> Iterator[Any]:
    """At the host's loopback address; `target`: path → (status, location)."""
    running: Any = ThreadingHTTPServer(("127.0.0.1", 0), Redirecting)
    running.target, running.heard = target, []
    running.address = f"http://127.0.0.1:{running.server_port}"
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def elsewhere(address: str) -> list[str]:
    """Other origins: another port, host, scheme; and spellings that some take for this one."""
    port = address.rpartition(":")[2]
    return [
        address.replace("127.0.0.1", "localhost"),
        address.replace("http:", "https:"),
        f"//localhost:{port}/",
        f"http://127.0.0.1:{port}@localhost:{port}/",
    ]


@pytest.mark.parametrize("status", STATUSES)
def test_the_client_tells_its_token_to_no_other_origin(status):
    made = generated_client()
    with server(lambda _: (200, "")) as thief:
        for target in [thief.address, *elsewhere(thief.address)]:
            with server(lambda _, target=target: (status, target)) as site:
                pmweb = made.Pmweb(site.address, TOKEN)
                with pytest.raises(made.PmwebError, match="another origin"):
                    pmweb._json("GET", "/isas")
        assert thief.heard == []


@pytest.mark.parametrize("status", STATUSES)
def test_nor_does_it_send_a_body_there(status):
    made = generated_client()
    with (
        server(lambda _: (200, "")) as thief,
        server(lambda _: (status, thief.address)) as site,
        pytest.raises(made.PmwebError),
    ):
        made.Pmweb(site.address, TOKEN)._json("POST", "/runs", body={"a": 1})
    assert thief.heard == []


def test_the_client_still_goes_from_one_path_to_another():
    made = generated_client()
    with server(lambda path: (200, "") if path == "/there" else (302, "/there")) as site:
        assert made.Pmweb(site.address, TOKEN)._json("GET", "/isas") == {}
        assert site.heard == [("/api/v1/isas", f"Bearer {TOKEN}"), ("/there", f"Bearer {TOKEN}")]


async def dial(address: str) -> str:
    """What becomes of it."""
    with pytest.raises(connection.ConnectionLostError) as refused:
        async with connection.dial(address, TOKEN, connection.tls_context(None)):
            pass
    return str(refused.value)


@pytest.mark.asyncio
@pytest.mark.parametrize("status", STATUSES)
async def test_the_agent_dials_no_other_origin(status):
    with server(lambda _: (200, "")) as thief:
        for target in [thief.address, *elsewhere(thief.address)]:
            for location in (target, target.replace("http", "ws", 1)):
                with server(lambda _, location=location: (status, location)) as site:
                    assert "another origin" in await dial(site.address)
        assert thief.heard == []


@pytest.mark.asyncio
@pytest.mark.parametrize("location", ["http://[evil", "ws://127.0.0.1:port/", "javascript:alert(1)"])
async def test_a_redirect_to_what_is_no_address_is_a_lost_connection(location):
    with server(lambda _: (302, location)) as site:
        assert site.address.removeprefix("http") in await dial(site.address)


@pytest.mark.asyncio
async def test_the_agent_still_goes_from_one_path_to_another():
    with server(lambda path: (200, "") if path == "/there" else (302, "/there")) as site:
        assert "HTTP 200" in await dial(site.address)
        assert [path for path, _ in site.heard] == ["/ws/agent/", "/there"]


CAREFUL = {
    "inference/web/api/client_frame.py": {"build_opener"},  # with a handler of redirects
    "inference/agent/connection.py": {"connect"},  # as the base class of one
}
"""Where requests follow redirects, and see to it where to."""
FOLLOWING = {"urlopen", "build_opener", "urlretrieve", "URLopener", "FancyURLopener", "install_opener"}
LIBRARIES = {"requests", "httpx", "aiohttp", "urllib3", "pycurl"}


def followers(path: Path) -> set[str]:
    """Names in a file by which a request could follow redirects: calls and imports."""
    found = set()
    text = path.read_text()
    if not any(word in text for word in (*FOLLOWING, *LIBRARIES, "websockets")):
        return found
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in FOLLOWING:
                found.add(name)
            case ast.ImportFrom(module=module, names=names) if module:
                root = module.partition(".")[0]
                found |= {root} & LIBRARIES
                found |= {each.name for each in names if root == "websockets" and each.name == "connect"}
            case ast.Import(names=names):
                found |= {each.name.partition(".")[0] for each in names} & LIBRARIES
    return found


def test_no_other_program_of_the_site_follows_redirects():
    places = [*(settings.BASE_DIR / name for name in ("inference", "pmweb", "anica_app", "deploy"))]
    files = [path for place in places for path in place.rglob("*.py")]
    files += [settings.BASE_DIR / "manage.py"]
    files += [
        path
        for path in (settings.BASE_DIR / ".ci").iterdir()
        if path.is_file() and b"python" in path.read_bytes()[:40]
    ]
    assert len(files) > 500
    found = {str(path.relative_to(settings.BASE_DIR)): followers(path) for path in files}
    assert {path: names for path, names in found.items() if names} == CAREFUL
