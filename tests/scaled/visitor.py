"""A visitor of a site, as far as forms and cookies go."""

from __future__ import annotations

import re
import ssl
import urllib.request
from email.message import Message
from http.cookiejar import CookieJar
from urllib.parse import urlencode

from django.urls import reverse

from pmweb.accounts import people
from pmweb.accounts.people import ensure_administrator

_FIELD = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Browser:
    """A visitor with cookies, who fills in the forms that the site sends."""

    def __init__(
        self, address: str, trust: ssl.SSLContext | None = None, cookies: CookieJar | None = None
    ) -> None:
        self._address = address
        self.cookies = CookieJar() if cookies is None else cookies
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self.cookies), urllib.request.HTTPSHandler(context=trust)
        )
        self._opener.addheaders = [("Referer", f"{address}/")]  # asked for by the forms of a site with TLS
        self._open = self._opener.open

    def log_in(self) -> str:
        """By a link; the address to which it leads."""
        return self.post(reverse("login-link", args=[people.issue_link(ensure_administrator())]))

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

    def led_to(self, path: str) -> str:
        """Where a page leads to: itself, or the log-in."""
        with self._open(self._address + path, timeout=60) as answer:
            return answer.url.removeprefix(self._address)

    def post(self, path: str, *, page: str = "", **fields: str) -> str:
        """Send the form of a page, of the one at `path` unless it is another; where it leads to."""
        return self._send(path, urlencode({**fields, **self._token(page or path)}).encode())

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
