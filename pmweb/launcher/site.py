"""The processes that make up a running site, the agent among them, and what is said when it is up."""

from __future__ import annotations

import logging
import os
import pwd
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from inference.agent.protocol import MAX_MESSAGE_BYTES
from inference.models import Machine
from inference.runs.machines import sessions
from inference.storage.names import free_name
from pmweb.accounts import people
from pmweb.environment import WEB_PROCESS
from pmweb.launcher import address
from pmweb.launcher.address import PROBE_HOST, FirstAnswer
from pmweb.launcher.instance import MANAGE, only_instance, typed
from pmweb.launcher.prepare import prepare
from pmweb.launcher.supervisor import SILENCE_SECONDS, Child, ProcessSupervisor

DAPHNE = (
    *("-m", "pmweb.launcher.daphne", "-v", "0", "--no-server-name"),
    *("--websocket-max-message-size", str(MAX_MESSAGE_BYTES)),
    *("--websocket-max-frame-size", str(MAX_MESSAGE_BYTES)),
)
"""The web server's arguments; agents send and get messages of up to that size."""

PROXIED = ("--proxy-headers",)
"""Behind a proxy, which alone reaches the web server: visitors' addresses and schemes are what it says."""

_ARENAS = "2"
"""Heaps of the C library in a web process: with one for each of its threads, none could use what another gave
back. `MALLOC_ARENA_MAX` in the environment says otherwise."""


log = logging.getLogger(__name__)
REFUSED_STATUS = 2
"""The agent ends with this status when the server does not want it: asking again would change nothing."""

_UNPRIVILEGED = "nobody"
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""All that the agent gets of this process's environment: what measures foreign code needs no secrets."""


@dataclass(frozen=True)
class Site:
    """What the command line asked for; `say` prints text for the person at the terminal.

    `measures`: whether an agent measures on this computer. `works`: whether a worker does runs here.
    `sandboxed`: whether the agent measures only where the kernel can confine machine code. `silence_seconds`:
    after so long without a heartbeat, a web process or the worker is started again.
    """

    host: str
    port: int
    say: Callable[[str], object]
    measures: bool = True
    works: bool = True
    sandboxed: bool = True
    silence_seconds: float = SILENCE_SECONDS

    def run(self) -> None:
        """Prepare, start, supervise; returns when the site was asked to stop. Raises LaunchError."""
        with only_instance(settings.HOME) as instance:
            server = address.listen(self.host, self.port)
            with server:
                port = server.getsockname()[1]
                # Looked up once, so that no address is printed which came up after the web process began.
                interfaces = address.interface_addresses()
                urls = address.urls(self.host, port, interfaces)
                prepare()
                instance.announce(urls[0] + "/")
                ProcessSupervisor(
                    children=self._children(server, interfaces),
                    is_up=FirstAnswer(*_from_here(server)).has_come,
                    when_up=lambda: self._welcome(urls, port),
                ).run()
        self.say("pmweb has stopped.")

    def _children(self, server: socket.socket, interfaces: Sequence[str]) -> list[Child]:
        descriptor = server.fileno()
        names = address.answering_names(self.host, settings.ALLOWED_HOSTS, interfaces)
        environment = {
            **os.environ,
            "PMWEB_HOME": str(settings.HOME),
            "PMWEB_ALLOWED_HOSTS": ",".join(names),
            "PYTHONUNBUFFERED": "1",
        }
        worker = Child(
            "the worker",
            [sys.executable, str(MANAGE), "work"],
            environment,
            settings.BASE_DIR,
            silence_seconds=self.silence_seconds,
        )
        agent = local_agent(*_from_here(server), sandboxed=self.sandboxed) if self.measures else None
        web = self._web(descriptor, environment)
        return [*web, *([worker] if self.works else []), *([agent] if agent else [])]

    def _web(self, descriptor: int, environment: Mapping[str, str]) -> list[Child]:
        """The web processes: all listen at the same socket, and whichever is free takes a connection."""
        count = settings.WEB_PROCESSES
        return [
            Child(
                "the web process" if count == 1 else f"web process {number}",
                [
                    sys.executable,
                    *DAPHNE,
                    *(PROXIED if settings.TLS else ()),
                    *("--fd", str(descriptor), "pmweb.asgi:application"),
                ],
                {"MALLOC_ARENA_MAX": _ARENAS, **environment, WEB_PROCESS: "1"},
                settings.BASE_DIR,
                inherited=(descriptor,),
                silence_seconds=self.silence_seconds,
            )
            for number in range(1, count + 1)
        ]

    def _welcome(self, urls: Sequence[str], port: int) -> None:
        here = [settings.URL] if settings.URL else urls
        if not self.works:  # in the log of a service nobody looks for a link, and it should not lie there
            self.say(
                f"pmweb serves at {' and '.join(url + '/' for url in here)}; workers are started apart: "
                f"{typed('work')}. A link to log in: {typed('login-link')}"
            )
            return
        administrator = people.ensure_administrator()
        path = people.link_path(people.issue_link_in_shell(administrator, "printed at the start of the site"))
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


def _from_here(server: socket.socket) -> tuple[str, int]:
    """Where a process on this very host reaches the listening socket, whatever names mean to it."""
    host, port = server.getsockname()
    return (PROBE_HOST if host == address.WILDCARD else host), port


def local_agent(host: str, port: int, *, sandboxed: bool = True) -> Child | None:
    """The agent for the site at `host:port` as a process to supervise, with a token of its own.

    None where it would have to be root. `sandboxed`: where the kernel cannot confine machine code, none runs.
    """
    options = [] if sandboxed else ["--without-sandbox"]
    if os.geteuid() == 0:
        if not _exists(_UNPRIVILEGED):
            log.warning("this computer has no user %r to measure as: no agent is started", _UNPRIVILEGED)
            return None
        options += ["--user", _UNPRIVILEGED]
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return Child(
        "the agent",
        [
            sys.executable,
            "-m",
            "inference.agent",
            "--server",
            f"http://{host}:{port}",
            *("--token-file", "-"),
            "--die-with-parent",
            *options,
        ],
        {**passed_on, "PYTHONUNBUFFERED": "1"},
        settings.BASE_DIR,
        given=f"{new_token()}\n".encode(),
        essential=False,
        final_status=REFUSED_STATUS,
    )


def new_token() -> str:
    """A token for this computer's agent; those of earlier starts let nobody in any more."""
    machine = local_machine()
    sessions.revoke_all(machine)
    plain = sessions.issue(machine)
    connection.close()  # the supervisor itself holds no connection while it runs
    return plain


def local_machine() -> Machine:
    """The row of this computer, made at the first start and named like the host."""
    known = Machine.objects.filter(local=True).first()
    if known is not None:
        return known
    return sessions.add_machine(free_name(Machine, socket.gethostname() or "this computer"), local=True)


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
