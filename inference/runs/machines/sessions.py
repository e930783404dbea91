"""Agents' tokens and connections, and readings of their machines' state.

A token has 256 random bits. Only its SHA-256 is stored, and the row is looked up by that digest: no
comparison of secrets can leak by its timing.

`Machine.session` numbers the connections of a machine; only the newest is valid. All changes are conditional
on the number, so a connection that was replaced changes nothing and gets a `SessionLostError`.
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
from inference.storage.names import check_name_free

_CPU_LIMIT = 200  # characters, as in the column


@dataclass(frozen=True)
class Session:
    """A connection of a machine's agent. `lease_valid`: the agent may go on with the batch that it has."""

    machine_id: int
    machine: str
    number: int
    lease_valid: bool = False


@dataclass(frozen=True)
class AgentRefusal:
    """Why an agent may not connect as a machine. `retry`: it may try again later."""

    reason: str
    retry: bool


def open_session(
    machine: Machine, instance: str, facts: Json, holds: tuple[int, int] | None = None
) -> Session | AgentRefusal:
    """Open a connection for the machine's agent; it replaces earlier ones of the same process.

    Batches that the machine was measuring wait again, except the one that this agent holds.

    Args:
        machine: The machine of the agent's token.
        instance: Identifier of the agent's process; another process is refused while the machine is online.
        facts: Facts about the computer, validated by `clean_facts`.
        holds: (batch, fence) that the agent is measuring; None for no batch.
    """
    now = timezone.now()
    with transaction.atomic():
        row = Machine.objects.select_for_update().filter(pk=machine.pk).first()
        if row is None:
            return AgentRefusal("this machine has been removed from the site", retry=False)
        if row.instance != instance and row.is_online(now):
            return AgentRefusal(f"another agent is connected as {row.name}", retry=True)
        if reason := _core_type_conflict(row, facts) or _isa_conflict(row, facts):
            return AgentRefusal(reason, retry=False)
        _set_facts(row, facts)
        row.session += 1
        row.instance = instance
        row.last_seen = now
        row.noise = row.ghz = row.rate = None
        row.save(update_fields=_SESSION_FIELDS)
        batches.requeue(row.pk, "the connection to the agent ended")
        lease_valid = holds is not None and batches.reclaim(row.pk, row.session, *holds)
        batches.delete_finished()
    return Session(row.pk, row.name, row.session, lease_valid)


def record_beat(session: Session, beat: Beat) -> None:
    """Store a heartbeat, and every `READING_INTERVAL` a reading. Raises `SessionLostError`."""
    now = timezone.now()
    changes: dict[str, Any] = {"noise": beat.noise, "ghz": beat.ghz, "rate": beat.rate}
    with transaction.atomic():
        note = clean_text(beat.note)
        if not _current_row(session).update(state=beat.state, state_note=note, last_seen=now, **changes):
            raise SessionLostError(session.machine, session.number)
        if record_reading(session.machine_id, beat, now):
            _note_checks(session, beat)
            batches.delete_finished()


def require_current(session: Session) -> None:
    """Raises `SessionLostError` if a newer connection has replaced this one, or all were ended."""
    if not _current_row(session).exists():
        raise SessionLostError(session.machine, session.number)


def close_session(session: Session) -> None:
    """Mark the machine as offline and requeue its batches, unless a newer connection has replaced this one.

    The machine's state stays as last reported. `last_seen` becomes null; the newest reading has the time.
    """
    with transaction.atomic():
        if _current_row(session).update(last_seen=None):
            batches.requeue(session.machine_id, "the connection to the agent ended")


def end_sessions(machine_id: int) -> None:
    with transaction.atomic():
        Machine.objects.filter(pk=machine_id).update(session=F("session") + 1, last_seen=None)
        batches.requeue(machine_id, "the agent's token was revoked")
        wakeups.announce(wakeups.batches_topic(machine_id))


_SESSION_FIELDS = (
    *("session", "instance", "last_seen", "noise", "ghz", "rate"),
    *("isa", "facts", "cpu", "state", "state_note"),
)


def _core_type_conflict(row: Machine, facts: Json) -> str:
    """Why an agent's type of core does not match the machine's earlier measurements; "" if it does."""
    before, now = row.facts.get("core_type"), facts.get("core_type")
    if not before or not now or before == now:
        return ""
    return (
        f"{row.name} is the {before} cores of its processor, and this agent measures {now} cores: add "
        "another machine for those, or start the agent with --core N of "
        f"{row.facts.get('core_cpus') or 'the others'}"
    )


def _isa_conflict(row: Machine, facts: Json) -> str:
    """Why an agent's instruction set does not match the machine's; "" if it does.

    The first agent of a machine sets its instruction set. An instruction set that was imported under another
    name stays.
    """
    reported_isa = facts.get("isa")
    if reported_isa not in SUPPLIED or row.isa.name not in SUPPLIED or reported_isa == row.isa.name:
        return ""
    if row.facts:
        agent = f"and this agent's is {reported_isa}: add another machine"
        return f"{row.name} is a machine of {row.isa.name}, {agent}"
    row.isa = SUPPLIED[reported_isa]()[0]
    return ""


def _set_facts(row: Machine, facts: Json) -> None:
    row.facts = facts
    row.cpu = clean_text(facts.get("cpu"), _CPU_LIMIT)
    row.state_note = clean_text(facts.get("unfit"))
    row.state = Machine.State.UNFIT if row.state_note else Machine.State.IDLE


def _note_checks(session: Session, beat: Beat) -> None:
    """Store the newest results of the reference blocks among the facts, until the next connection."""
    if beat.checks:
        facts = _current_row(session).values_list("facts", flat=True).first() or {}
        checks = {name: list(pair) for name, pair in beat.checks.items()}
        _current_row(session).update(facts={**facts, "checks": checks})


def _current_row(session: Session) -> Any:
    """The machine's row while this connection is its newest, else no row."""
    return Machine.objects.filter(pk=session.machine_id, session=session.number)


READING_INTERVAL = timedelta(seconds=10)
"""Between stored readings of clock and noise: heartbeats come more often."""

THINNING = (
    (timedelta(hours=6), timedelta(minutes=2)),
    (timedelta(days=2), timedelta(minutes=10)),
    (timedelta(days=14), None),
)
"""(age from which, least distance of readings); None: all are deleted. At most some 5,300 rows per machine.
"""

_THINNING_INTERVAL = timedelta(hours=1)  # of which one old reading stays
_BATCH = 500  # rows deleted by one statement
_WORST_FIRST = (Machine.State.UNFIT, Machine.State.CONTENDED, Machine.State.MEASURING)


def record_reading(machine_id: int, beat: Beat, now: datetime) -> bool:
    """Store a reading, at most one per `READING_INTERVAL`; whether it was stored."""
    readings = MachineReading.objects.filter(machine=machine_id)
    newest = readings.order_by("-at").values_list("at", flat=True).first()
    if newest is not None and newest > now - READING_INTERVAL:
        return False
    readings.create(
        machine_id=machine_id, at=now, state=beat.state, noise=beat.noise, ghz=beat.ghz, rate=beat.rate
    )
    if newest is None or _hour(newest) != _hour(now):
        thin_readings(machine_id, now)
    return True


def thin_readings(machine_id: int, now: datetime) -> None:
    """Delete the readings that are closer together than `THINNING` allows for their age."""
    surplus: list[int] = []
    ends = [*(age for age, _ in THINNING[1:]), None]
    for (age, distance), end in zip(THINNING, ends, strict=True):
        rows = MachineReading.objects.filter(machine=machine_id, at__lte=now - age)
        if end is not None:
            rows = rows.filter(at__gt=now - end)
        surplus += _too_close(rows.order_by("at").values_list("id", "at", "state"), distance)
    for start in range(0, len(surplus), _BATCH):
        MachineReading.objects.filter(id__in=surplus[start : start + _BATCH]).delete()


def _too_close(rows: Iterable[tuple[int, datetime, str]], distance: timedelta | None) -> list[int]:
    """Ids of all rows but the worst, then oldest, in each interval of `distance`; all if that is None."""
    if distance is None:
        return [row for row, _, _ in rows]
    worst_rows: dict[int, tuple[int, int]] = {}
    surplus: list[int] = []
    for row, at, state in rows:
        stretch = int(at.timestamp() // distance.total_seconds())
        goodness = _WORST_FIRST.index(state) if state in _WORST_FIRST else len(_WORST_FIRST)
        before = worst_rows.get(stretch)
        if before is None:
            worst_rows[stretch] = goodness, row
        elif goodness < before[0]:
            surplus.append(before[1])
            worst_rows[stretch] = goodness, row
        else:
            surplus.append(row)
    return surplus


def _hour(at: datetime) -> int:
    return int(at.timestamp() // _THINNING_INTERVAL.total_seconds())


AGENT_FILE = "pmweb-agent.pyz"
TOKEN_FILE = "pmweb-agent.token"  # noqa: S105  its name


def agent_command(site: str, token: str) -> str:
    """Shell command that starts an agent on the computer to be measured.

    The token is written to a private file: other users can read the arguments of processes.
    """
    return (
        f"(umask 077; echo {shlex.quote(token)} > {TOKEN_FILE}) && "
        f"python3 {AGENT_FILE} --server {shlex.quote(site)} --token-file {TOKEN_FILE}"
    )


def add_machine(name: str, isa: ISA | None = None, *, local: bool = False) -> Machine:
    """Create a machine with an agent.

    Args:
        name: Unique name.
        isa: Instruction set; None: the default one.
        local: The machine is the computer that the site runs on.

    Raises:
        ExchangeError: The name is empty or not unique.
    """
    isa = isa or load_supplied(DEFAULT)[0]
    with transaction.atomic():
        check_name_free(Machine, name)
        return Machine.objects.create(name=name, kind=Machine.Kind.AGENT, isa=isa, local=local)


def create_token(machine: Machine, lifetime: timedelta | None = None) -> str:
    """Create a token for the machine's agent; it cannot be shown again. `lifetime` None: no expiry."""
    # The prefix: a token that begins with a dash would be an option on the agent's command line.
    plain = f"pmweb_{secrets.token_urlsafe(32)}"
    expires = None if lifetime is None else timezone.now() + lifetime
    AgentToken.objects.create(machine=machine, digest=_digest(plain), expires=expires)
    return plain


def find_token(plain: str) -> AgentToken | None:
    """The token with its machine; None if it is unknown, expired or revoked. Stores the time of use."""
    unexpired = Q(expires=None) | Q(expires__gt=timezone.now())
    valid = AgentToken.objects.filter(unexpired, digest=_digest(plain), revoked=None)
    token = valid.select_related("machine").first()
    if token is not None:
        AgentToken.objects.filter(pk=token.pk).update(last_used=timezone.now())
    return token


def machine_of(plain: str) -> Machine | None:
    """The machine of a valid token; None if the token is not valid."""
    token = find_token(plain)
    return None if token is None else token.machine


def revoke(token: AgentToken) -> None:
    """Revoke a token and end the machine's connections.

    An agent with another token of the same machine reconnects by itself and keeps its batch.
    """
    with transaction.atomic():
        AgentToken.objects.filter(pk=token.pk, revoked=None).update(revoked=timezone.now())
        end_sessions(token.machine_id)


def revoke_all(machine: Machine) -> int:
    """Revoke all tokens of a machine; returns their number."""
    valid = list(machine.tokens.filter(revoked=None))
    with transaction.atomic():
        for token in valid:
            revoke(token)
    return len(valid)


def _digest(plain: str) -> str:
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()
