"""How long `manage.py up` takes until the site answers: on an empty data directory, and the second time."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Result
from tests.launched import LaunchedSite


def run(quick: bool) -> Iterator[Result]:
    """Wall seconds, because that is what the user waits; `quick` changes nothing."""
    with tempfile.TemporaryDirectory(prefix="pmweb-startup-") as directory:
        for case in ("first", "second"):
            began = time.monotonic()
            site = LaunchedSite(Path(directory), "--port", "0", "--no-agent")
            try:
                site.login_link()
                yield Result(case, round(time.monotonic() - began, 2), "s")
            finally:
                site.stop()
