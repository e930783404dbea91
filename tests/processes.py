"""Processes of a site, each with its output: those of a spread-out one, as on hosts of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from django.conf import settings

from pmweb.launcher.supervisor import tie_to_parent
from tests.launched import START_SECONDS, STOP_SECONDS, LaunchedSite, wait_until

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
            preexec_fn=partial(tie_to_parent, os.getpid()),  # noqa: PLW1509
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self._process.poll() is not None

    @property
    def output(self) -> str:
        """All that it has said so far."""
        return self.log.read_text(errors="replace")

    def wait_for(self, text: str, seconds: float = START_SECONDS) -> None:
        """Wait until it has said so; fails at once when it has ended."""
        wait_until(lambda: text in self.output or self.has_ended, seconds, repr(text))
        assert text in self.output, f"it ended without saying {text!r}:\n{self.output}"

    def kill(self) -> None:
        """`kill -9`, of this process alone."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """SIGTERM, and its exit status."""
        if not self.has_ended:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
