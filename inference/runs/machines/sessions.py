"""The connections of agents: of each machine one speaks, the newest; and how a machine is doing.

`Machine.session` numbers them. Whatever a connection changes is conditional on its number being the newest,
so one that has been replaced can change nothing and learns of it by a `SessionLostError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from inference.agent.protocol import Beat
from inference.core.protocols import Json
from inference.models import Machine
from inference.runs import wakeups
from inference.runs.errors import SessionLostError
from inference.runs.machines import batches
from inference.runs.machines.checking import clean_text
from inference.runs.machines.readings import keep_reading
from inference.storage.instruction_sets import SUPPLIED

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
        wakeups.announce_batches(machine_id)


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
