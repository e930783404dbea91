"""A client of pmweb's HTTP API, version VERSION. Python 3.9 or newer, with nothing to install.

It is generated from the OpenAPI document of the API: do not edit it, but get a new one from the page API of a
site, or with `manage.py api-client`.

    from pmweb_client import Pmweb

    pmweb = Pmweb("http://localhost:8000", "TOKEN")
    for mapping in pmweb.every(pmweb.list_mappings):
        print(mapping["name"], mapping["schemes"])

A request that is refused raises `PmwebError`, which says what is wrong, where, and what would be right.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

# The shapes of the API follow here.


class PmwebError(Exception):
    """A refused request: its status, and `where`, `what` and `right` of every problem."""

    def __init__(self, status: int, detail: str, problems: list[dict[str, str]], wait: float = 0.0) -> None:
        super().__init__(f"{detail} (status {status})")
        self.status = status
        self.detail = detail
        self.problems = problems
        self.wait = wait
        """Seconds after which to try again; 0 if the site did not say."""


Open = Callable[..., Any]
"""Has the signature of `urllib.request.urlopen`."""


class _SameOrigin(urllib.request.HTTPRedirectHandler):
    """Follows redirects within the site; token and files are never sent to another origin."""

    def redirect_request(  # as the standard library declares it
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if _origin(newurl) != _origin(req.full_url):
            right = "if that is your site, make Pmweb with its address"
            message = f"the site redirects to another origin, {newurl}, to which nothing was sent"
            problem = {"where": req.full_url, "what": message, "right": right}
            raise PmwebError(code, f"{message}: {right}", [problem])
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _origin(address: str) -> tuple[str, str | None, int]:
    parts = urllib.parse.urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def _quote(value: object) -> str:
    return urllib.parse.quote(str(value), safe="")


def _in_query(value: object) -> object:
    return ("true" if value else "false") if isinstance(value, bool) else value


class Pmweb:
    """A site's API, with a token of your account.

    Args:
        site: Address of the site.
        token: Token; "" where reading is public.
        timeout: Seconds to wait for an answer.
        opener: Sends the requests; the default refuses redirects to another origin.
    """

    def __init__(
        self, site: str, token: str = "", *, timeout: float = 60.0, opener: Open | None = None
    ) -> None:
        if not site.startswith(("http://", "https://")):
            raise ValueError(f"a site's address begins with http:// or https://, unlike {site!r}")
        self._root = site.rstrip("/") + "/api/v1"
        self._token = token
        self._timeout = timeout
        self._open = opener or urllib.request.build_opener(_SameOrigin()).open

    def every(self, operation: Callable[..., Any], *arguments: Any, **query: Any) -> Iterator[Any]:
        """All rows of a list, page by page: `pmweb.every(pmweb.list_mappings, q="zen")`."""
        query.setdefault("limit", 500)
        while True:
            page = operation(*arguments, **query)
            yield from page["items"]
            if page["next"] is None:
                return
            query["cursor"] = page["next"]

    def wait_for(
        self, run_id: int, *, seconds: float = 1.0, told: Callable[[str], object] = lambda line: None
    ) -> Any:
        """Poll a run every `seconds` until it has ended, and return it; `told` gets the lines of its log."""
        since, ended = 0, False
        while not ended:
            page: Any = self._json("GET", f"/runs/{run_id}/events", {"since": since})
            for event in page["items"]:
                if event["kind"] == "log":
                    told(event["payload"]["text"])
            since, ended = page["next"], page["ended"]
            if not ended:
                time.sleep(seconds)
        return self._json("GET", f"/runs/{run_id}")

    def _json(self, method: str, path: str, query: Mapping[str, Any] | None = None, **sent: Any) -> Any:
        content = self._bytes(method, path, query, **sent)
        return json.loads(content) if content else None

    def _bytes(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        files: Mapping[str, bytes] | None = None,
        field: str = "files",
    ) -> bytes:
        parameters = {name: _in_query(value) for name, value in (query or {}).items() if value is not None}
        address = (
            self._root + path + ("?" + urllib.parse.urlencode(parameters, doseq=True) if parameters else "")
        )
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        content = None
        if files is not None:
            content, headers["Content-Type"] = _form(field, files)
        elif body is not None:
            content, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(address, content, headers, method=method)  # noqa: S310  checked
        try:
            with self._open(request, timeout=self._timeout) as response:
                return cast(bytes, response.read())
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None

    # The operations of the API follow here.


def _form(field: str, files: Mapping[str, bytes]) -> tuple[bytes, str]:
    """(content, content type) of a form with files."""
    mark = uuid.uuid4().hex
    parts = []
    for name, content in files.items():
        named = name.replace('"', "").replace("\r", "").replace("\n", "")
        head = f'--{mark}\r\nContent-Disposition: form-data; name="{field}"; filename="{named}"\r\n\r\n'
        parts.append(head.encode() + content + b"\r\n")
    return b"".join([*parts, f"--{mark}--\r\n".encode()]), f"multipart/form-data; boundary={mark}"


def _refusal(error: urllib.error.HTTPError) -> PmwebError:
    text = error.read().decode("utf-8", "replace")
    wait = error.headers.get("Retry-After", "")
    seconds = float(wait) if wait.isdigit() else 0.0
    try:
        problem = json.loads(text)
        return PmwebError(error.code, problem["detail"], problem["problems"], seconds)
    except (ValueError, KeyError, TypeError):  # of a proxy before the site
        return PmwebError(error.code, text.strip()[:500] or str(error.reason), [], seconds)
