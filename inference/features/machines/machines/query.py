"""Queries for machines: their states, readings, and waiting experiments."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, Count, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Mod
from django.utils import timezone

from inference.agent.packing import OLDEST_PYTHON
from inference.figures.noise import SHADED, NoiseReading
from inference.isa.microarchitecture import Microarchitecture
from inference.measuring.noise_advice import help_for_unfit
from inference.models import Batch, Machine, MachineReading, Run
from inference.models.run import runs_on
from inference.storage.instruction_sets import core_of

NOISE_WINDOW = timedelta(minutes=30)
"""Age up to which readings count for the present noise."""

MAX_READINGS = 10_000

_COUNTS = {
    "": "time only",
    "none": "time only",
    "instructions": "time, cycles and instructions",
    "uops": "time, cycles, instructions and µops",
    "ports": "time, cycles, instructions and the µops of every port",
}


@dataclass(frozen=True)
class Condition:
    """The state of a machine in words.

    Attributes:
        key: CSS class of the badge.
        note: A reason or remark, "" for none.
        since: Last message of an agent that is offline.
        able: Whether it measures new experiments, now or when its agent is back.
    """

    key: str
    word: str
    note: str = ""
    since: datetime | None = None
    online: bool = False
    able: bool = True


_ONLINE = {
    Machine.State.UNKNOWN: ("idle", "idle"),
    Machine.State.IDLE: ("idle", "idle"),
    Machine.State.MEASURING: ("measuring", "measuring"),
    Machine.State.CONTENDED: ("contended", "disturbed"),
}


def machines() -> QuerySet[Machine]:
    """All machines in the order: this computer, others with agents, simulated, published; each by name.

    Annotated with `last_reading`, the time of the newest reading, None without any.
    """
    kinds = Machine.Kind
    rank = Case(
        When(local=True, then=Value(0)),
        When(kind=kinds.AGENT, then=Value(1)),
        When(kind=kinds.SIMULATED, then=Value(2)),
        default=Value(3),
    )
    newest = MachineReading.objects.filter(machine=OuterRef("pk")).order_by("-at").values("at")[:1]
    rows = Machine.objects.select_related("isa").annotate(last_reading=Subquery(newest))
    return rows.order_by(rank, "name")


def local_machine() -> Machine | None:
    """The machine of the site's computer; None until its agent has been set up."""
    return machines().filter(local=True).first()


def condition_of(machine: Machine, now: datetime | None = None) -> Condition:
    """The state of a machine; `since` also uses `last_reading` of rows of `machines`."""
    if machine.kind == Machine.Kind.SIMULATED:
        return Condition("ready", "simulated", "answers at once")
    if machine.kind == Machine.Kind.PUBLISHED:
        return Condition("ready", "published", "has measurements, cannot measure", able=False)
    last_heard = machine.last_seen or getattr(machine, "last_reading", None)
    online = machine.is_online(now)
    if machine.state == Machine.State.UNFIT:
        return Condition(
            "unfit",
            "cannot measure",
            reason_of_unfitness(machine),
            None if online else last_heard,
            online,
            False,
        )
    if online:
        key, word = _ONLINE[Machine.State(machine.state)]
        return Condition(key, word, machine.state_note, None, online=True)
    if machine.session == 0 and last_heard is None:
        return Condition("offline", "never connected", machine.state_note)
    return Condition("offline", "offline", machine.state_note, last_heard)


def reason_of_unfitness(machine: Machine) -> str:
    """The agent's reason why the computer cannot measure."""
    return machine.state_note or str(machine.facts.get("unfit") or "")


def counts_of(machine: Machine) -> str:
    """The performance counters of a machine in words; "" if its agent has not reported them."""
    if "counters" not in machine.facts:
        return ""
    counters = str(machine.facts["counters"] or "")
    counts, note = _COUNTS.get(counters, counters), machine.facts.get("counters_note")
    return f"{counts}: {note}" if note else counts


def readings_of(machine: Machine, since: datetime) -> list[NoiseReading]:
    """The readings since a moment, oldest first; of more than `MAX_READINGS`, every n-th (two queries)."""
    rows = machine.readings.filter(at__gte=since).order_by("at")
    step = math.ceil(rows.count() / MAX_READINGS)
    if step > 1:
        rows = rows.annotate(turn=Mod("id", Value(step))).filter(turn=0)
    return [NoiseReading(*row) for row in rows.values_list("at", "state", "noise", "ghz", "rate")]


def noise_of(machine: Machine) -> float | None:
    """The median noise of the last `NOISE_WINDOW`, else the last one reported; relative (one query)."""
    readings = machine.readings.filter(at__gte=timezone.now() - NOISE_WINDOW)
    noises = [noise for noise in readings.values_list("noise", flat=True) if noise is not None]
    return statistics.median(noises) if noises else machine.noise


@dataclass(frozen=True)
class MachineQueue:
    """Experiments of one run that wait for a machine; `measuring`: it measures some of them now."""

    run_id: int
    run_name: str
    batches: int
    experiments: int
    measuring: bool


def queues_at(machine: Machine) -> list[MachineQueue]:
    """The queue of a machine by run, the oldest run first (one query)."""
    open_states = (Batch.State.WAITING, Batch.State.LEASED)
    rows = (
        machine.batches.filter(state__in=open_states)
        .order_by()
        .values("run_id", "run__name")
        .annotate(n=Count("pk"), total=Sum("size"), leased=Count("pk", filter=Q(state=Batch.State.LEASED)))
        .order_by("run_id")
    )
    return [
        MachineQueue(row["run_id"], row["run__name"], row["n"], row["total"], row["leased"] > 0)
        for row in rows
    ]


def unfinished_inferences_on(machine: Machine) -> QuerySet[Run]:
    """The unfinished inferences on a machine, newest first."""
    return runs_on(machine).filter(kind="infer").exclude(state__in=Run.FINAL)


def unfinished_inference_on(machine: Machine, algorithm: str) -> Run | None:
    """The newest unfinished inference with an algorithm on a machine."""
    return unfinished_inferences_on(machine).filter(config__algorithm=algorithm).first()


def obstacle(machine: Machine | None) -> str:
    """Why the site's computer cannot measure now, and the remedy; "" if it can."""
    if machine is None:
        return (
            "No agent has been set up for this computer: start the site without --no-agent (make run), or "
            "measure on another computer."
        )
    condition = condition_of(machine)
    if condition.key == "unfit":
        remedy = help_for_unfit(machine.facts) or "Its page says more."
        return f"This computer cannot measure: {condition.note.rstrip('.')}. {remedy}"
    if not condition.online:
        return (
            "The agent of this computer is not connected. It comes within seconds of the site's start, "
            "unless that was with --no-agent; if it does not, the site's terminal says why."
        )
    return ""


@dataclass(frozen=True)
class MachineView:
    """A machine with its state, microarchitecture and counters, for pages."""

    machine: Machine
    condition: Condition
    microarchitecture: Microarchitecture | None
    counts: str

    @property
    def has_agent(self) -> bool:
        return self.machine.kind == Machine.Kind.AGENT

    @property
    def last_heard(self) -> datetime | None:
        """Time of the agent's last message or reading; None without any."""
        return self.machine.last_seen or getattr(self.machine, "last_reading", None)

    @property
    def noise_percent(self) -> float | None:
        """The noise in per cent; None if it is unknown."""
        return None if self.machine.noise is None else 100 * self.machine.noise


def machine_view(machine: Machine) -> MachineView:
    """The view of a row of `machines`."""
    return MachineView(machine, condition_of(machine), core_of(machine), counts_of(machine))


def shares_of(readings: list[NoiseReading]) -> list[tuple[str, str, float]]:
    """(state, word, per cent of the readings) of the states that occur, the shaded ones last; [] for no
    readings."""
    words = {"idle": "idle", **SHADED}
    counts = {state: sum(reading.state == state for reading in readings) for state in words}
    return [(state, words[state], 100 * n / len(readings)) for state, n in counts.items() if n]


def dotted_python() -> str:
    """The oldest Python version of the agent, like `3.8`."""
    return ".".join(map(str, OLDEST_PYTHON))
