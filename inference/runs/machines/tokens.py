"""Machines are added; their agents' tokens are issued, recognised and revoked.

A token has 256 random bits, and only its SHA-256 is kept: it is found by its digest, so nothing compares it.
"""

from __future__ import annotations

import hashlib
import secrets
import shlex
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from inference.isa.targets import DEFAULT
from inference.models import ISA, AgentToken, Machine
from inference.runs.machines.sessions import end_all
from inference.storage.instruction_sets import load_supplied
from inference.storage.names import free_or_refuse

AGENT_FILE = "pmweb-agent.pyz"
TOKEN_FILE = "pmweb-agent.token"  # noqa: S105  its name


def agent_line(site: str, token: str) -> str:
    """What starts an agent, for a shell of the computer that is to be measured.

    The token goes into a file of its user, and into no process's arguments.
    """
    return (
        f"(umask 077; echo {shlex.quote(token)} > {TOKEN_FILE}) && "
        f"python3 {AGENT_FILE} --server {shlex.quote(site)} --token-file {TOKEN_FILE}"
    )


def add_machine(name: str, isa: ISA | None = None, *, local: bool = False) -> Machine:
    """A new machine, to be measured by an agent; of the default instruction set unless another is named.

    `local`: it is the computer that the site runs on. Raises `ExchangeError` where the name is taken or none.
    """
    isa = isa or load_supplied(DEFAULT)[0]
    with transaction.atomic():
        free_or_refuse(Machine, name)
        return Machine.objects.create(name=name, kind=Machine.Kind.AGENT, isa=isa, local=local)


def issue(machine: Machine, lifetime: timedelta | None = None) -> str:
    """A new token for the machine's agent. Nobody can say it again; `lifetime` None: valid until revoked."""
    # One that begins with a dash would be taken for an option on the agent's command line.
    plain = f"pmweb_{secrets.token_urlsafe(32)}"
    expires = None if lifetime is None else timezone.now() + lifetime
    AgentToken.objects.create(machine=machine, digest=_digest(plain), expires=expires)
    return plain


def token_of(plain: str) -> AgentToken | None:
    """The token with its machine; None for one that is unknown or invalid now. Notes its use."""
    unexpired = Q(expires=None) | Q(expires__gt=timezone.now())
    valid = AgentToken.objects.filter(unexpired, digest=_digest(plain), revoked=None)
    token = valid.select_related("machine").first()
    if token is not None:
        AgentToken.objects.filter(pk=token.pk).update(last_used=timezone.now())
    return token


def machine_of(plain: str) -> Machine | None:
    """The machine that this token lets in as; None as above."""
    token = token_of(plain)
    return None if token is None else token.machine


def revoke(token: AgentToken) -> None:
    """Let nobody in by this token any more, and end the machine's connection.

    An agent with another token of the same machine connects again by itself and keeps its batch.
    """
    with transaction.atomic():
        AgentToken.objects.filter(pk=token.pk, revoked=None).update(revoked=timezone.now())
        end_all(token.machine_id)


def revoke_all(machine: Machine) -> int:
    """Revoke every token of a machine; how many there were."""
    valid = list(machine.tokens.filter(revoked=None))
    with transaction.atomic():
        for token in valid:
            revoke(token)
    return len(valid)


def _digest(plain: str) -> str:
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()
