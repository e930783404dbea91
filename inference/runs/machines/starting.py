"""The line that starts an agent on the computer that is to be measured."""

from __future__ import annotations

import shlex

AGENT_FILE = "pmweb-agent.pyz"
TOKEN_FILE = "pmweb-agent.token"  # noqa: S105  its name


def agent_line(site: str, token: str) -> str:
    """For a shell there. The token goes into a file of its user, and into no process's arguments."""
    return (
        f"(umask 077; echo {shlex.quote(token)} > {TOKEN_FILE}) && "
        f"python3 {AGENT_FILE} --server {shlex.quote(site)} --token-file {TOKEN_FILE}"
    )
