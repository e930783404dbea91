"""Two sites on one host share a browser's jar, and leave each other's cookies alone."""

from __future__ import annotations

from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest
from channels.testing import HttpCommunicator

from pmweb.origins import PortCookies
from tests.launched import LaunchedSite
from tests.prepared import prepared_home
from tests.scaled.visitor import Browser


async def echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers with the cookies that it sees, and sets two."""
    seen = b" ".join(value for name, value in scope["headers"] if name == b"cookie")
    headers = [(b"Set-Cookie", b"sessionid=a=b; Path=/; HttpOnly"), (b"set-cookie", b"csrftoken=c; Path=/")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": seen})


async def answer_to(host: str, cookie: str, **headers: str) -> tuple[str, list[str]]:
    """(cookies that the site saw, those that it set in the browser)."""
    sent = {
        "host": host,
        "cookie": cookie,
        **{name.replace("_", "-"): text for name, text in headers.items()},
    }
    call = HttpCommunicator(
        PortCookies(echo), "GET", "/", headers=[(a.encode(), b.encode()) for a, b in sent.items()]
    )
    answer = await call.get_response(timeout=60)
    return answer["body"].decode(), [value.decode().partition(";")[0] for _, value in answer["headers"]]


async def test_a_site_sees_its_own_cookies_alone_and_sets_them_under_its_port() -> None:
    jar = (
        "sessionid=old; sessionid-8000=x=y; sessionid-8001=other; csrftoken-8000=t; -8000=odd; messages-80=m"
    )
    assert await answer_to("localhost:8000", jar) == (
        "sessionid=x=y; csrftoken=t",
        ["sessionid-8000=a=b", "csrftoken-8000=c"],
    )
    assert (await answer_to("localhost:8002", jar))[0] == ""


async def test_the_port_is_that_of_the_browsers_address(settings: Any) -> None:
    assert (await answer_to("localhost", "sessionid-80=x"))[0] == "sessionid=x"
    assert (await answer_to("a.example", "sessionid-443=x", x_forwarded_proto="https"))[0] == ""
    settings.TLS = True
    assert (await answer_to("a.example", "sessionid-443=x", x_forwarded_proto="https"))[0] == "sessionid=x"
    assert (await answer_to("a.example:99999", "sessionid=x"))[0] == ""


def test_logging_in_and_out_at_one_site_leaves_the_session_at_the_other(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    homes = [prepared_home(tmp_path_factory, tmp_path / name) for name in ("one", "other")]
    sites = [LaunchedSite(home, "--port", "0", "--no-agent") for home in homes]
    try:
        jar = CookieJar()  # which, like a browser's, knows of no ports
        one, other = (Browser(site.login_link()[0], cookies=jar) for site in sites)
        one.post(sites[0].login_link()[1])
        other.post(sites[1].login_link()[1])
        assert one.led_to("/runs/") == other.led_to("/runs/") == "/runs/"
        other.post("/logout/", page="/runs/")
        assert other.led_to("/runs/").startswith("/login/")
        assert one.led_to("/runs/") == "/runs/"
    finally:
        for site in sites:
            site.stop()
