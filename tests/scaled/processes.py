"""The processes of a spread-out site, as on hosts of their own: they share PostgreSQL and Redis alone."""

from __future__ import annotations

import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from email.message import Message
from functools import partial
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from pmweb.accounts import links
from pmweb.accounts.administrator import ensure_administrator
from pmweb.launcher.lifeline import die_with
from tests.launched import START_SECONDS, STOP_SECONDS, LaunchedSite, wait_until

_FIELD = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_ADDRESS = re.compile(r"pmweb serves at (http://[^/]+)/")


class Served(LaunchedSite):
    """`manage.py serve`: pages and WebSockets alone."""

    command = "serve"

    def address(self) -> str:
        """Where it answers, once it does."""
        self.wait_for("pmweb serves at")
        match = _ADDRESS.search(self.output)
        assert match is not None, self.output
        return match.group(1)


class Process:
    """Any command of `manage.py` in a home of its own; what it says is in a file."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        within: Sequence[str] = (),
    ) -> None:
        home.mkdir(exist_ok=True)
        self.log = home / "log"
        self._process = subprocess.Popen(
            [*within, sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments],
            env={**os.environ, "PMWEB_HOME": str(home), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=self.log.open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(die_with, os.getpid()),  # noqa: PLW1509
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def output(self) -> str:
        """All that it has said so far."""
        return self.log.read_text(errors="replace")

    def wait_for(self, text: str, seconds: float = START_SECONDS) -> None:
        """Wait until it has said so; fails at once when it has ended."""
        wait_until(lambda: text in self.output or self._process.poll() is not None, seconds, repr(text))
        assert text in self.output, f"it ended without saying {text!r}:\n{self.output}"

    def kill(self) -> None:
        """`kill -9`, of this process alone."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """SIGTERM, and its exit status."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


class Browser:
    """A visitor with cookies, who fills in the forms that the site sends."""

    def __init__(self, address: str, trust: ssl.SSLContext | None = None) -> None:
        self._address = address
        self.cookies = CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self.cookies), urllib.request.HTTPSHandler(context=trust)
        )
        self._opener.addheaders = [("Referer", f"{address}/")]  # asked for by the forms of a site with TLS
        self._open = self._opener.open

    def log_in(self) -> str:
        """By a link; the address to which it leads."""
        return self.post(reverse("login-link", args=[links.issue(ensure_administrator())]))

    def pretend(self, **headers: str) -> None:
        """Send these headers from now on, with underscores for dashes."""
        self._opener.addheaders += [(name.replace("_", "-"), value) for name, value in headers.items()]

    def headers(self, path: str) -> Message:
        """The headers of a page."""
        with self._open(self._address + path, timeout=60) as answer:
            return answer.headers

    def get(self, path: str) -> str:
        """A page."""
        with self._open(self._address + path, timeout=60) as answer:
            return answer.read().decode()

    def post(self, path: str, **fields: str) -> str:
        """Send the form of a page; the address to which it leads."""
        return self._send(path, urlencode({**fields, **self._token(path)}).encode())

    def upload(self, path: str, name: str, content: bytes) -> str:
        """Send a file by the form of a page; the address to which it leads."""
        bound = "a-boundary-that-no-file-has"
        parts = [
            f'--{bound}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
            for field, value in self._token(path).items()
        ]
        head = f'--{bound}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
        body = b"".join(parts) + head.encode() + content + f"\r\n--{bound}--\r\n".encode()
        return self._send(path, body, f"multipart/form-data; boundary={bound}")

    def _token(self, path: str) -> dict[str, str]:
        found = _FIELD.search(self.get(path))
        assert found is not None, f"{path} has no form"
        return {"csrfmiddlewaretoken": found.group(1)}

    def _send(self, path: str, body: bytes, kind: str = "application/x-www-form-urlencoded") -> str:
        request = urllib.request.Request(self._address + path, body, {"Content-Type": kind})
        with self._open(request, timeout=60) as answer:
            return answer.url.removeprefix(self._address)
