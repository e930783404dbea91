"""The processes that make up a running site, and what is said when it is up."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from pmweb.accounts import links
from pmweb.accounts.administrator import ensure_administrator
from pmweb.launcher import address
from pmweb.launcher.instance import only_instance
from pmweb.launcher.prepare import prepare
from pmweb.launcher.probe import FirstAnswer
from pmweb.launcher.supervisor import Child, Supervisor
from pmweb.launcher.typed import MANAGE, typed

_DAPHNE = ("-m", "daphne", "-v", "0", "--no-server-name")


@dataclass(frozen=True)
class Site:
    """What the command line asked for; `say` prints text for the person at the terminal."""

    host: str
    port: int
    say: Callable[[str], object]

    def run(self) -> None:
        """Prepare, start, supervise; returns when the site was asked to stop. Raises LaunchError."""
        with only_instance(settings.HOME) as instance:
            server = address.listen(self.host, self.port)
            with server:
                port = server.getsockname()[1]
                prepare()
                instance.announce(address.urls(self.host, port)[0] + "/")
                Supervisor(
                    children=self._children(server.fileno()),
                    is_up=FirstAnswer(self._own_address(), port).has_come,
                    when_up=lambda: self._welcome(port),
                ).run()
        self.say("pmweb has stopped.")

    def _own_address(self) -> str:
        return address.PROBE_HOST if self.host == address.WILDCARD else self.host

    def _children(self, descriptor: int) -> list[Child]:
        environment = {
            **os.environ,
            "PMWEB_HOME": str(settings.HOME),
            "PMWEB_ALLOWED_HOSTS": ",".join(address.answering_names(self.host, settings.ALLOWED_HOSTS)),
            "PYTHONUNBUFFERED": "1",
        }
        return [
            Child(
                "the web process",
                [sys.executable, *_DAPHNE, "--fd", str(descriptor), "pmweb.asgi:application"],
                environment,
                settings.BASE_DIR,
                inherited=(descriptor,),
            ),
            Child("the worker", [sys.executable, str(MANAGE), "work"], environment, settings.BASE_DIR),
        ]

    def _welcome(self, port: int) -> None:
        here = address.urls(self.host, port)
        path = reverse("login-link", args=[links.issue(ensure_administrator())])
        hint = address.screen_hint(self.host, port, os.environ)
        lines = [
            f"\npmweb is running at {' and '.join(url + '/' for url in here)}",
            "Log in with this link (works once, within an hour):",
            *(f"    {url}{path}" for url in here),
            *([hint] if hint else []),
            "Another link, in a second terminal:",
            f"    {typed('login-link')}",
            "Ctrl-C stops everything.",
        ]
        self.say("\n".join(lines))  # in one piece: the children write to the same terminal
