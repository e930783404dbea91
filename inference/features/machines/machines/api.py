"""Machines with their state, their readings, and the tokens of their agents."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from inference.features.machines.machines.query import (
    condition_of,
    counts_of,
    machines,
    queues_at,
    readings_of,
)
from inference.features.machines.machines.trust import drift_rounds, findings, known_answers, shares_by_set
from inference.models import AgentToken, Machine
from inference.runs.machines.facts import likely_ports, obstacle_to_measuring, unsupported_runs
from inference.runs.machines.sessions import add_machine, create_token, revoke
from inference.storage.instruction_sets import core_of
from inference.storage.names import NAME_LIMIT
from inference.web.api import access
from inference.web.api.access import AuditAction, admin_access, in_person
from inference.web.api.errors import ProblemError
from inference.web.api.named_rows import NamedRows
from inference.web.api.paging import PageOf, Paging, list_answer_in_memory
from inference.web.api.shapes import Input, Name, Note, Ref, RowOut, Time, fields_of, parameter, ref
from inference.web.validation import Id

router = Router()
MAX_HOURS = 168


class MachineOut(RowOut):
    """A computer with an agent, a simulated processor, or the origin of published measurements."""

    id: Id
    name: Name = Field(examples=["lab, Zen 3"])
    note: Note
    kind: str = Field(description="agent, simulated or published.", examples=["agent"])
    isa: Ref
    cpu: str = Field(examples=["AMD Ryzen 9 5950X"])
    microarchitecture: str | None = Field(examples=["Zen 3"])
    local: bool = Field(description="Whether the site runs on this computer.", examples=[False])
    online: bool = Field(examples=[True])
    state: str = Field(examples=["idle"])
    state_note: str = Field(examples=[""])
    obstacle: str = Field(description="Why it cannot measure; empty where it can.", examples=[""])
    unsupported: dict[str, str] = Field(
        description="{kind of run: why this instruction set does not support it}.",
        examples=[{"front-end": "'board' is for AArch64, and blocks of AArch64 are not supported yet"}],
    )
    last_seen: Time | None
    rate: float | None = Field(description="Recent settled experiments per second.", examples=[80.0])
    noise: float | None = Field(
        description="Median relative deviation of reference blocks.", examples=[0.004]
    )
    ghz: float | None = Field(examples=[3.4])


class QueueOut(Schema):
    """The experiments of one run that wait for a machine."""

    run: Ref
    experiments: int = Field(examples=[300])
    measuring: bool


class TokenOut(Schema):
    """A token of a machine's agent, without its text, of which only a hash is stored."""

    id: Id
    created: Time
    last_used: Time | None
    revoked: Time | None


class MachineInFull(MachineOut):
    """A machine with the facts that its agent reports."""

    facts: dict[str, Any] = Field(examples=[{"vendor": "AuthenticAMD", "family": 25, "cores": 16}])
    counts: str = Field(
        description="Readable performance counters.",
        examples=["time, cycles, instructions and µops"],
    )
    likely_ports: int | None = Field(
        description="Number of ports of its microarchitecture, from which inference starts.", examples=[10]
    )
    queues: list[QueueOut]
    tokens: list[TokenOut]


class ReadingOut(Schema):
    """State, noise, clock and rate of a machine at a moment."""

    at: Time
    state: str = Field(examples=["idle"])
    noise: float | None = Field(examples=[0.004])
    ghz: float | None = Field(examples=[3.4])
    rate: float | None = Field(examples=[80.0])


class TrustOut(Schema):
    """Findings for and against a machine's measurements, the worst first."""

    findings: list[dict[str, str]] = Field(
        examples=[[{"verdict": "good", "topic": "Noise", "finding": "0.4 %", "why": "Median deviation …"}]]
    )
    known_answers: list[dict[str, Any]] = Field(
        examples=[[{"name": "add chain", "measured": 1.0, "expected": 1.0}]]
    )
    drift: list[dict[str, Any]] = Field(
        examples=[[{"at": "2026-11-22T09:30:00Z", "run_id": 7, "counts": {"agrees": 20}, "worst": 0.01}]]
    )
    states_by_set: list[dict[str, Any]] = Field(
        examples=[[{"experiment_set": {"id": 3, "name": "pairs"}, "total": 100, "states": {"settled": 99}}]]
    )


class NewMachine(Input):
    """Name and kind of a computer to add."""

    name: str = Field(min_length=1, max_length=NAME_LIMIT, examples=["lab, Zen 4"])


class NewToken(Schema):
    """A token for an agent; only this response has its text."""

    machine: Ref
    token: str = Field(examples=["pmweb_n0tAR3alOne"])


MACHINES = NamedRows(
    router, "/machines", "machine", machines, MachineOut, lambda rows: [_machine(row) for row in rows]
)
MACHINES.add_changes("Delete a machine without dependents.", auth=admin_access)


@router.get("/machines", response=list[MachineOut])
def list_machines(request: HttpRequest) -> Any:
    """List all machines: this computer, others with agents, simulated ones, published ones, each by name."""
    return [_machine(row) for row in machines()]


@router.post("/machines", response={201: NewToken}, auth=in_person)
def add_a_machine(request: HttpRequest, data: NewMachine) -> Any:
    """Add a computer; its agent starts there with the returned token.

    Needs a session, not an API token; `manage.py add-machine` does the same in the shell.
    """
    machine = add_machine(data.name.strip())
    access.log_action(request, AuditAction.TOKENS, machine)
    return Status(201, {"machine": ref(machine), "token": create_token(machine)})


@router.get("/machines/{machine_id}", response=MachineInFull)
def get_machine(request: HttpRequest, machine_id: Id) -> Any:
    """One machine, with the experiments that wait for it."""
    row = MACHINES.row(machine_id)
    queues = [
        {
            "run": {"id": queue.run_id, "name": queue.run_name},
            "experiments": queue.experiments,
            "measuring": queue.measuring,
        }
        for queue in queues_at(row)
    ]
    return {
        **_machine(row),
        "facts": {name: value for name, value in row.facts.items() if name != "mapping"},
        "counts": counts_of(row),
        "likely_ports": likely_ports(row),
        "queues": queues,
        "tokens": list(row.tokens.order_by("id").values("id", "created", "last_used", "revoked")),
    }


@router.get("/machines/{machine_id}/readings", response=PageOf[ReadingOut])
def list_readings(
    request: HttpRequest, machine_id: Id, paging: Query[Paging], since: datetime | None = None
) -> Any:
    """Noise, clock and rate over time, oldest first; those of the last day without `since`.

    Of more than 10,000 readings, every n-th.
    """
    row = get_object_or_404(Machine, pk=machine_id)
    begin = timezone.now() - timedelta(days=1) if since is None else since
    if timezone.is_naive(begin):
        begin = timezone.make_aware(begin)
    return list_answer_in_memory(readings_of(row, begin), paging, lambda rows: rows)


@router.get("/machines/{machine_id}/trust", response=TrustOut)
def get_trust(request: HttpRequest, machine_id: Id, hours: int = parameter(24, ge=1, le=MAX_HOURS)) -> Any:
    """Evidence for a machine's accuracy: noise, reference blocks, drift, and shares of settled results."""
    row = MACHINES.row(machine_id)
    since = timezone.now() - timedelta(hours=hours)
    rounds, shares = drift_rounds(row, since), shares_by_set(row)
    return {
        "findings": [asdict(part) for part in findings(readings_of(row, since), rounds, shares)],
        "known_answers": [asdict(part) for part in known_answers(row)],
        "drift": [
            {"at": part.at, "run_id": part.run_id, "counts": dict(part.counts), "worst": part.worst}
            for part in rounds
        ],
        "states_by_set": [
            {"experiment_set": ref(part.experiment_set), "total": part.total, "states": dict(part.states)}
            for part in shares
        ],
    }


@router.post("/machines/{machine_id}/tokens", response={201: NewToken}, auth=in_person)
def issue_token(request: HttpRequest, machine_id: Id) -> Any:
    """Issue another token for a machine's agent; earlier ones stay valid. Needs a session, not an API
    token."""
    row = get_object_or_404(Machine, pk=machine_id)
    if row.kind != Machine.Kind.AGENT:
        raise ProblemError(
            422,
            f"{row.name} has no agent and needs no token",
            where="path machine_id",
            right="a machine with an agent",
        )
    access.log_action(request, AuditAction.TOKENS, row)
    return Status(201, {"machine": ref(row), "token": create_token(row)})


@router.delete("/machines/{machine_id}/tokens/{token_id}", response={204: None}, auth=admin_access)
def revoke_token(request: HttpRequest, machine_id: Id, token_id: Id) -> Any:
    """Revoke a token: its agent is disconnected and refused from now on."""
    tokens = AgentToken.objects.select_related("machine")
    token = get_object_or_404(tokens, pk=token_id, machine_id=machine_id)
    if token.revoked is None:
        revoke(token)
        access.log_action(request, AuditAction.TOKENS, token.machine)
    return Status(204, None)


def _machine(row: Machine) -> dict[str, Any]:
    condition = condition_of(row)
    core = core_of(row)
    return fields_of(
        row,
        MachineOut,
        microarchitecture=None if core is None else core.name,
        online=condition.online,
        state=condition.key,
        state_note=condition.note,
        obstacle=obstacle_to_measuring(row),
        unsupported=unsupported_runs(row),
        last_seen=row.last_seen or condition.since,
    )
