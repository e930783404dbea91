"""Agents: the tokens that let them in, their connections, and how their machines are doing.

A token has 256 random bits, and only its SHA-256 is kept: it is found by its digest, so nothing compares it.
Of each machine one connection speaks, the newest.

`Machine.session` numbers them. Whatever a connection changes is conditional on its number being the newest,
so one that has been replaced can change nothing and learns of it by a `SessionLostError`.
"""

from __future__ import annotations

import hashlib
import secrets
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from inference.agent.protocol import Beat
from inference.core.protocols import Json
from inference.isa.targets import DEFAULT
from inference.models import ISA, AgentToken, Machine, MachineReading
from inference.runs import wakeups
from inference.runs.errors import SessionLostError
from inference.runs.machines import batches
from inference.runs.machines.checking import clean_text
from inference.storage.instruction_sets import SUPPLIED, load_supplied
from inference.storage.names import free_or_refuse

_CPU_LIMIT = 200


@dataclass(frozen=True)
class Session:
    """A connection that may speak for a machine. `keeps`: the lease that its agent brought along holds."""

    machine_id: int
    machine: str
    number: int
    keeps: bool = False


@dataclass(frozen=True)
class AgentRefusal:
    """Why an agent may not speak for a machine. `retry`: it may later."""

    reason: str
    retry: bool


def open_session(
    machine: Machine, instance: str, facts: Json, holds: tuple[int, int] | None = None
) -> Session | AgentRefusal:
    """Let an agent process speak for the machine, in place of any connection that it had before.

    `facts` have been checked. What the machine was measuring waits again, but for the (batch, fence) that
    this agent `holds`, unless somebody else has been given that since.
    """
    now = timezone.now()
    with transaction.atomic():
        row = Machine.objects.select_for_update().filter(pk=machine.pk).first()
        if row is None:
            return AgentRefusal("this machine has been removed from the site", retry=False)
        if row.instance != instance and row.is_online(now):
            return AgentRefusal(f"another agent is connected as {row.name}", retry=True)
        if reason := _of_another_kind(row, facts) or _of_another_isa(row, facts):
            return AgentRefusal(reason, retry=False)
        _describe(row, facts)
        row.session += 1
        row.instance = instance
        row.last_seen = now
        row.noise = row.ghz = row.rate = None
        row.save(update_fields=_OF_A_SESSION)
        batches.give_back(row.pk, "the connection to the agent ended")
        keeps = holds is not None and batches.keep(row.pk, row.session, *holds)
        batches.sweep()
    return Session(row.pk, row.name, row.session, keeps)


def beat(session: Session, given: Beat) -> None:
    """A sign of life. Raises `SessionLostError`."""
    now = timezone.now()
    changes: dict[str, Any] = {"noise": given.noise, "ghz": given.ghz, "rate": given.rate}
    with transaction.atomic():
        note = clean_text(given.note)
        if not _speaks(session).update(state=given.state, state_note=note, last_seen=now, **changes):
            raise SessionLostError(session.machine, session.number)
        if keep_reading(session.machine_id, given, now):
            _note_checks(session, given)
            batches.sweep()


def require(session: Session) -> None:
    """Raises `SessionLostError` where the session may not speak any more."""
    if not _speaks(session).exists():
        raise SessionLostError(session.machine, session.number)


def close_session(session: Session) -> None:
    """The connection is gone: what it held waits again. Nothing happens where another one has followed.

    The machine's state stays as it was last told; `last_seen` is null from now on, and the newest reading
    says since when.
    """
    with transaction.atomic():
        if _speaks(session).update(last_seen=None):
            batches.give_back(session.machine_id, "the connection to the agent ended")


def end_all(machine_id: int) -> None:
    """Let no present connection speak for the machine any longer."""
    with transaction.atomic():
        Machine.objects.filter(pk=machine_id).update(session=F("session") + 1, last_seen=None)
        batches.give_back(machine_id, "the agent's token was revoked")
        wakeups.announce(wakeups.batches_of(machine_id))


_OF_A_SESSION = (
    *("session", "instance", "last_seen", "noise", "ghz", "rate"),
    *("isa", "facts", "cpu", "state", "state_note"),
)


def _of_another_kind(row: Machine, facts: Json) -> str:
    """Why an agent may not speak for a machine whose numbers came from another kind of core; "" if it may."""
    before, now = row.facts.get("core_type"), facts.get("core_type")
    if not before or not now or before == now:
        return ""
    return (
        f"{row.name} is the {before} cores of its processor, and this agent measures {now} cores: add "
        "another machine for those, or start the agent with --core N of "
        f"{row.facts.get('core_cpus') or 'the others'}"
    )


def _of_another_isa(row: Machine, facts: Json) -> str:
    """Why an agent may not speak for a machine of another instruction set; "" if it may.

    A machine that no agent has ever spoken for takes the instruction set of the first one. One with a set of
    its own, under another name, keeps that.
    """
    said = facts.get("isa")
    if said not in SUPPLIED or row.isa.name not in SUPPLIED or said == row.isa.name:
        return ""
    if row.facts:
        return f"{row.name} is a machine of {row.isa.name}, and this agent's is {said}: add another machine"
    row.isa = SUPPLIED[said]()[0]
    return ""


def _describe(row: Machine, facts: Json) -> None:
    row.facts = facts
    row.cpu = clean_text(facts.get("cpu"), _CPU_LIMIT)
    row.state_note = clean_text(facts.get("unfit"))
    row.state = Machine.State.UNFIT if row.state_note else Machine.State.IDLE


def _note_checks(session: Session, given: Beat) -> None:
    """The latest answers of known blocks stand among the facts, until the next greeting."""
    if given.checks:
        facts = _speaks(session).values_list("facts", flat=True).first() or {}
        told = {name: list(pair) for name, pair in given.checks.items()}
        _speaks(session).update(facts={**facts, "checks": told})


def _speaks(session: Session) -> Any:
    """The machine's row as long as this connection is its newest."""
    return Machine.objects.filter(pk=session.machine_id, session=session.number)


EVERY = timedelta(seconds=10)
SPARSER = (
    (timedelta(hours=6), timedelta(minutes=2)),
    (timedelta(days=2), timedelta(minutes=10)),
    (timedelta(days=14), None),
)
"""(age from which, distance of two readings); None: none are kept. At most some 5,300 rows per machine."""

_THIN_EVERY = timedelta(hours=1)
_BATCH = 500
_WORST_FIRST = (Machine.State.UNFIT, Machine.State.CONTENDED, Machine.State.MEASURING)


def keep_reading(machine_id: int, beat: Beat, now: datetime) -> bool:
    """Keep a reading unless there is one of just now; whether it was kept."""
    readings = MachineReading.objects.filter(machine=machine_id)
    newest = readings.order_by("-at").values_list("at", flat=True).first()
    if newest is not None and newest > now - EVERY:
        return False
    readings.create(
        machine_id=machine_id, at=now, state=beat.state, noise=beat.noise, ghz=beat.ghz, rate=beat.rate
    )
    if newest is None or _hour(newest) != _hour(now):
        thin(machine_id, now)
    return True


def thin(machine_id: int, now: datetime) -> None:
    """Remove the readings that are too close to others for their age."""
    gone: list[int] = []
    ends = [*(age for age, _ in SPARSER[1:]), None]
    for (age, distance), end in zip(SPARSER, ends, strict=True):
        rows = MachineReading.objects.filter(machine=machine_id, at__lte=now - age)
        if end is not None:
            rows = rows.filter(at__gt=now - end)
        gone += _too_close(rows.order_by("at").values_list("id", "at", "state"), distance)
    for start in range(0, len(gone), _BATCH):
        MachineReading.objects.filter(id__in=gone[start : start + _BATCH]).delete()


def _too_close(rows: Iterable[tuple[int, datetime, str]], distance: timedelta | None) -> list[int]:
    """All but the worst, then oldest, row of each stretch of `distance`."""
    if distance is None:
        return [row for row, _, _ in rows]
    kept: dict[int, tuple[int, int]] = {}
    gone: list[int] = []
    for row, at, state in rows:
        stretch = int(at.timestamp() // distance.total_seconds())
        goodness = _WORST_FIRST.index(state) if state in _WORST_FIRST else len(_WORST_FIRST)
        before = kept.get(stretch)
        if before is None:
            kept[stretch] = goodness, row
        elif goodness < before[0]:
            gone.append(before[1])
            kept[stretch] = goodness, row
        else:
            gone.append(row)
    return gone


def _hour(at: datetime) -> int:
    return int(at.timestamp() // _THIN_EVERY.total_seconds())


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
