"""Machines with their agents' tokens, batches of experiments and readings of noise."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils import timezone

from inference.models.named import Named

SILENCE = timedelta(seconds=10)
"""Time without a sign of life after which an agent counts as disconnected."""


class Machine(Named):
    """A computer with an agent, a simulated processor, or the origin of published measurements.

    A simulated machine has a copy of its port mapping as JSON in `facts["mapping"]`, so that later changes of
    the original mapping do not change its answers. A computer's `facts` are reported by its agent
    (`inference.agent.facts`), and the last block of fields is the agent's status: `session` counts its
    connections (messages of older ones are rejected), `instance` is the connected agent process, `last_seen`
    its last sign of life, null while no agent is connected.
    """

    class Kind(models.TextChoices):
        AGENT = "agent", "computer with an agent"
        SIMULATED = "simulated", "simulated processor"
        PUBLISHED = "published", "published measurements"

    class State(models.TextChoices):
        UNKNOWN = "", "never connected"
        IDLE = "idle", "idle"
        MEASURING = "measuring", "measuring"
        CONTENDED = "contended", "disturbed"
        UNFIT = "unfit", "cannot measure"

    kind = models.CharField(max_length=20, choices=Kind.choices)
    isa = models.ForeignKey("inference.ISA", on_delete=models.PROTECT, related_name="machines")
    cpu = models.CharField(max_length=200, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    local = models.BooleanField(default=False, help_text="the computer that the site runs on")

    state = models.CharField(max_length=10, choices=State.choices, blank=True, default=State.UNKNOWN)
    state_note = models.CharField(max_length=500, blank=True)
    session = models.PositiveBigIntegerField(default=0)
    instance = models.CharField(max_length=40, blank=True)
    last_seen = models.DateTimeField(null=True, blank=True)
    noise = models.FloatField(null=True, blank=True, help_text="median relative deviation of known blocks")
    ghz = models.FloatField(null=True, blank=True)
    rate = models.FloatField(null=True, blank=True, help_text="settled experiments per second, lately")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["agent", "simulated", "published"]), name="machine_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["", "idle", "measuring", "contended", "unfit"]),
                name="machine_state_known",
            ),
            models.UniqueConstraint(fields=["local"], condition=Q(local=True), name="one_local_machine"),
        ]

    @property
    def is_simulated(self) -> bool:
        """Whether this site or the agent simulates the processor instead of measuring one."""
        return self.kind == self.Kind.SIMULATED or bool(self.facts.get("simulated"))

    @property
    def executes_code(self) -> bool:
        """Whether it answers by the code that it is sent, as simulated cores do: not by a port mapping."""
        return not self.is_simulated or bool(self.facts.get("executes"))

    def is_online(self, now: datetime | None = None) -> bool:
        """Whether the agent's last sign of life is less than `SILENCE` ago.

        One in the future was recorded before the clock was set back, and counts as none.
        """
        return self.last_seen is not None and abs((now or timezone.now()) - self.last_seen) < SILENCE


class AgentToken(models.Model):
    """A secret by which an agent authenticates as a machine, unless it is revoked or expired.

    `digest` is its SHA-256; the secret itself is not stored.
    """

    machine = models.ForeignKey(Machine, on_delete=models.CASCADE, related_name="tokens")
    digest = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(null=True, blank=True, help_text="null: never")
    last_used = models.DateTimeField(null=True, blank=True)
    revoked = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]

    @property
    def expired(self) -> bool:
        return self.expires is not None and self.expires <= timezone.now()


class Batch(models.Model):
    """Experiments of a run that wait for a machine, are being measured there, or have results.

    `content` is an `inference.agent.protocol.Batch`, `results` a list of its results. `fence` counts leases:
    only the newest lease may deliver results. A batch is deleted when its run has stored the results.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        LEASED = "leased", "being measured"
        DONE = "done", "measured"
        CANCELLED = "cancelled", "cancelled"
        FAILED = "failed", "given up"

    machine = models.ForeignKey(Machine, on_delete=models.CASCADE, related_name="batches")
    run = models.ForeignKey("inference.Run", on_delete=models.CASCADE, related_name="batches")
    run_token = models.PositiveBigIntegerField(help_text="the lease of the run under which it was posted")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    content = models.JSONField()
    results = models.JSONField(null=True, blank=True)
    size = models.PositiveIntegerField(help_text="experiments in it")
    fence = models.PositiveBigIntegerField(default=0)
    session = models.PositiveBigIntegerField(default=0, help_text="the connection that holds the lease")
    attempts = models.PositiveIntegerField(default=0)
    note = models.CharField(max_length=500, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "leased", "done", "cancelled", "failed"]),
                name="batch_state_known",
            ),
            models.CheckConstraint(
                condition=Q(state="done", results__isnull=False) | ~Q(state="done"),
                name="done_batch_has_results",
            ),
        ]
        indexes = [models.Index(fields=["machine", "state", "id"], name="batch_waiting")]


class MachineReading(models.Model):
    """A machine's status at one time, for the plot of its noise."""

    machine = models.ForeignKey(Machine, on_delete=models.CASCADE, related_name="readings")
    at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=Machine.State.choices)
    noise = models.FloatField(null=True, blank=True)
    ghz = models.FloatField(null=True, blank=True)
    rate = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["machine", "at"], name="reading_by_time")]
