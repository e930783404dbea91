"""An agent without a good token gets no WebSocket: the web server refuses it in the handshake."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.conf import settings
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.prepared import prepared_home
from tests.processes import Served


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """A site that serves."""
    site = Served(prepared_home(tmp_path_factory, tmp_path_factory.mktemp("site") / "home"), "--port", "0")
    try:
        yield site.address()
    finally:
        site.stop()


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer pmweb_wrong"}, {"Authorization": "Basic eDp5"}]
)
def test_who_shows_no_good_token_is_answered_with_401_and_hears_nothing(address, headers):
    with pytest.raises(InvalidStatus) as refused:
        connect(
            address.replace("http", "ws") + "/ws/agent/",
            additional_headers=headers,
            proxy=None,
            open_timeout=60,
        )
    assert refused.value.response.status_code == 401


def test_an_agent_that_is_refused_ends_and_says_where_tokens_are(address):
    command = [sys.executable, "-m", "inference.agent", "--server", address, "--token-file", "-"]
    done = subprocess.run(
        [*command, *(["--allow-root"] if os.geteuid() == 0 else [])],
        cwd=settings.BASE_DIR,
        input="pmweb_wrong\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert f"{address} refuses this token (HTTP 401)" in done.stderr
    assert "Get a new one from the site" in done.stderr
