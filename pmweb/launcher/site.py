"""The processes of a running site (web, worker, agent), and the message when it is up."""

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
from pmweb.launcher.instance import MANAGE, manage_command, only_instance
from pmweb.launcher.prepare import prepare
from pmweb.launcher.supervisor import SILENCE_SECONDS, Child, ProcessSupervisor

DAPHNE = (
    *("-m", "pmweb.launcher.daphne", "-v", "0", "--no-server-name"),
    *("--websocket-max-message-size", str(MAX_MESSAGE_BYTES)),
    *("--websocket-max-frame-size", str(MAX_MESSAGE_BYTES)),
)
"""Arguments of the web server; the sizes are those of agents' messages."""

PROXY_OPTIONS = ("--proxy-headers",)
"""Behind a proxy: take visitors' addresses and schemes from its headers. Only the proxy may reach the server.
"""

_ARENAS = "2"
"""Malloc arenas of a web process: with one per thread, threads could not reuse each other's freed memory.
`MALLOC_ARENA_MAX` in the environment overrides it."""


log = logging.getLogger(__name__)
REFUSED_STATUS = 2
"""Exit status of an agent that the server has refused for good."""

_UNPRIVILEGED = "nobody"
_INHERITED_VARIABLES = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""Environment variables of the agent: it executes foreign code and must not inherit secrets."""


@dataclass(frozen=True)
class Site:
    """A site to run.

    Attributes:
        host: IPv4 address or name to listen on.
        port: Port; 0 takes any free one.
        report: Prints a text at the terminal.
        with_agent: Start an agent, which measures on this computer.
        with_worker: Start a worker, which executes runs.
        sandboxed: The agent measures only if the kernel can confine machine code.
        silence_seconds: Silence of a web process's or the worker's heartbeat after which it is restarted.
    """

    host: str
    port: int
    report: Callable[[str], object]
    with_agent: bool = True
    with_worker: bool = True
    sandboxed: bool = True
    silence_seconds: float = SILENCE_SECONDS

    def run(self) -> None:
        """Prepare, start and supervise the site until a stop signal. Raises `LaunchError`."""
        with only_instance(settings.HOME) as instance:
            server = address.listen(self.host, self.port)
            with server:
                port = server.getsockname()[1]
                # Looked up once: the web process allows exactly the addresses that are printed.
                interfaces = address.interface_addresses()
                urls = address.urls(self.host, port, interfaces)
                prepare()
                instance.announce(urls[0] + "/")
                ProcessSupervisor(
                    children=self._children(server, interfaces),
                    is_up=FirstAnswer(*_local_address(server)).is_ready,
                    when_up=lambda: self._report_start(urls, port),
                ).run()
        self.report("pmweb has stopped.")

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
        agent = local_agent(*_local_address(server), sandboxed=self.sandboxed) if self.with_agent else None
        web = self._web(descriptor, environment)
        return [*web, *([worker] if self.with_worker else []), *([agent] if agent else [])]

    def _web(self, descriptor: int, environment: Mapping[str, str]) -> list[Child]:
        """The web processes; all accept connections from the same socket."""
        count = settings.WEB_PROCESSES
        return [
            Child(
                "the web process" if count == 1 else f"web process {number}",
                [
                    sys.executable,
                    *DAPHNE,
                    *(PROXY_OPTIONS if settings.TLS else ()),
                    *("--fd", str(descriptor), "pmweb.asgi:application"),
                ],
                {"MALLOC_ARENA_MAX": _ARENAS, **environment, WEB_PROCESS: "1"},
                settings.BASE_DIR,
                inherited=(descriptor,),
                silence_seconds=self.silence_seconds,
            )
            for number in range(1, count + 1)
        ]

    def _report_start(self, urls: Sequence[str], port: int) -> None:
        site_urls = [settings.URL] if settings.URL else urls
        if not self.with_worker:  # a log-in link does not belong in the log of a service
            self.report(
                f"pmweb serves at {' and '.join(url + '/' for url in site_urls)}. Start workers with "
                f"{manage_command('work')}. Get a log-in link with {manage_command('login-link')}"
            )
            return
        administrator = people.ensure_administrator()
        path = people.link_path(people.issue_link_in_shell(administrator, "printed at the start of the site"))
        hint = address.screen_hint(self.host, port, os.environ)
        lines = [
            f"\npmweb is running at {' and '.join(url + '/' for url in site_urls)}",
            "Log in with this link (works once, within an hour):",
            *(f"    {url}{path}" for url in site_urls),
            *([hint] if hint else []),
            "Another link, in a second terminal:",
            f"    {manage_command('login-link')}",
            "Ctrl-C stops everything.",
        ]
        self.report("\n".join(lines))  # in one piece: the children write to the same terminal


def _local_address(server: socket.socket) -> tuple[str, int]:
    """(host, port) at which processes of this host reach the listening socket, without name resolution."""
    host, port = server.getsockname()
    return (PROBE_HOST if host == address.WILDCARD else host), port


def local_agent(host: str, port: int, *, sandboxed: bool = True) -> Child | None:
    """The agent of the site at `host:port`, with a new token; None if it would have to run as root.

    `sandboxed`: the agent refuses to run if the kernel cannot confine machine code.
    """
    options = [] if sandboxed else ["--without-sandbox"]
    if os.geteuid() == 0:
        if not _exists(_UNPRIVILEGED):
            log.warning("no agent is started: this computer has no user %r to run it as", _UNPRIVILEGED)
            return None
        options += ["--user", _UNPRIVILEGED]
    environment = {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ}
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
        {**environment, "PYTHONUNBUFFERED": "1"},
        settings.BASE_DIR,
        standard_input=f"{new_token()}\n".encode(),
        essential=False,
        final_status=REFUSED_STATUS,
    )


def new_token() -> str:
    """A new token for this computer's agent; revokes those of earlier starts."""
    machine = local_machine()
    sessions.revoke_all(machine)
    plain = sessions.create_token(machine)
    connection.close()  # the supervisor itself holds no connection while it runs
    return plain


def local_machine() -> Machine:
    """The machine of this computer; created at the first start with the host's name."""
    machine = Machine.objects.filter(local=True).first()
    if machine is not None:
        return machine
    return sessions.add_machine(free_name(Machine, socket.gethostname() or "this computer"), local=True)


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
