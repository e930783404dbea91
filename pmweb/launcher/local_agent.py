"""The agent that measures the computer on which the site runs."""

from __future__ import annotations

import logging
import os
import pwd
import socket
import sys

from django.conf import settings
from django.db import connection

from inference.models import Machine
from inference.runs.machines import sessions
from inference.storage.names import free_name
from pmweb.launcher.supervisor import Child

log = logging.getLogger(__name__)

REFUSED_STATUS = 2
"""The agent ends with this status when the server does not want it: asking again would change nothing."""
_UNPRIVILEGED = "nobody"
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""All that the agent gets of this process's environment: what measures foreign code needs no secrets."""


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
