"""Runs with their journals, checkpoints and webhooks; uploads."""

from __future__ import annotations

import io
from typing import BinaryIO

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Length

from inference.models.machine import Machine
from inference.models.named import Named


class Run(Named):
    """A background job that survives the processes that execute it.

    `config` is everything needed to repeat it. Every write of a worker is conditional on the current
    `lease_token`, so a worker that lost its lease can no longer change the run. `wanted` is the transition
    that the user has requested and the worker has not carried out yet. `next_seq` is the next number in the
    journal. A run that is `part_of` another is started and cancelled by that one.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        PAUSED = "paused", "paused"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    class Transition(models.TextChoices):
        NOTHING = "", "nothing"
        PAUSE = "pause", "pause"
        CANCEL = "cancel", "cancel"
        KEEP = "keep", "stop and keep"

    FINAL = (State.DONE, State.FAILED, State.CANCELLED)
    UNFINISHED = (State.QUEUED, State.RUNNING, State.PAUSED)

    kind = models.CharField(max_length=20, help_text="a name in inference.runs.kinds")
    config = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    wanted = models.CharField(
        max_length=10, choices=Transition.choices, blank=True, default=Transition.NOTHING
    )
    progress = models.JSONField(default=dict, blank=True, help_text="phase, done, total, eta in seconds")
    result = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    forked_from = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="forks"
    )
    part_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="parts"
    )
    started = models.DateTimeField(null=True, blank=True)
    finished = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=200, blank=True)
    lease_token = models.PositiveBigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    busy_seconds = models.FloatField(default=0, help_text="time spent running, over all attempts")
    next_seq = models.PositiveBigIntegerField(default=1)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "paused", "done", "failed", "cancelled"]),
                name="run_state_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | Q(lease_until__isnull=False), name="running_run_has_lease"
            ),
        ]
        indexes = [models.Index(fields=["state", "lease_until"], name="run_claimable")]


class RunEvent(models.Model):
    """An event of a run's journal. `seq` counts from 1 per run, without gaps."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=40)
    payload = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["run_id", "seq"]
        constraints = [models.UniqueConstraint(fields=["run", "seq"], name="event_once_per_seq")]


class RunCheckpoint(models.Model):
    """The state from which a run resumes. `data` is an npz archive, never pickle, which could run code."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="checkpoint")
    data = models.BinaryField()
    saved = models.DateTimeField(auto_now=True)


class Webhook(models.Model):
    """An address that is notified when the run has ended.

    `sent` is the time of the successful delivery, `due` the earliest time of the next attempt (null: now),
    `error` the reason of the last failure. `attempts` counts started attempts; a process claims the next one
    by a conditional update from the number that it has read, so no two deliver at once.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    attempts = models.PositiveSmallIntegerField(default=0)
    due = models.DateTimeField(null=True, blank=True)
    sent = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["run", "url"], name="webhook_once_per_run")]
        indexes = [
            models.Index(fields=["due"], name="webhook_unsent", condition=models.Q(sent__isnull=True)),
        ]


def runs_on(machine: Machine) -> models.QuerySet[Run]:
    """Runs that measure or have measured on a machine, newest first."""
    measures_here = Q(config__source__machine=machine.pk) | Q(config__machine=machine.pk)
    return Run.objects.filter(measures_here).defer("result").order_by("-id")


UNDECIDED = Q(run__isnull=True) | Q(run__state__in=("failed", "cancelled"))
"""Uploads without an import, or whose import has failed or was cancelled."""

UPLOAD_SIZE = Length("beginning") + F("further_bytes")
"""Bytes of an upload, in a query."""


class Upload(models.Model):
    """An uploaded file, stored in the database so that an accepted upload cannot be lost.

    `run` is its import; when that succeeds, the upload is deleted. `reading` is the run that parses the file.
    It fills `preview` (`inference.features.library.uploads.query`) and `parsed`, the packed content
    (`inference.formats.import_formats.pack`), which stays null for formats that are stored while parsed.
    """

    file_name = models.CharField(max_length=300)
    beginning = models.BinaryField()
    further_bytes = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    run = models.OneToOneField(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="upload"
    )
    reading = models.OneToOneField(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="upload_read"
    )
    preview = models.JSONField(null=True, blank=True)
    parsed = models.BinaryField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.file_name

    def open(self) -> BinaryIO:
        """The file; at most one of its parts is in memory."""
        return io.BufferedReader(_UploadReader(self))

    @property
    def content(self) -> bytes:
        with self.open() as file:
            return file.read()


class UploadPart(models.Model):
    """Up to `SIZE` bytes of a file behind its beginning: no database writes large values in little memory."""

    SIZE = 1 << 22

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "number"], name="upload_part_number")]


class _UploadReader(io.RawIOBase):
    """Reads a stored file; see `Upload.open`."""

    def __init__(self, upload: Upload) -> None:
        self._upload, self._place = upload, 0
        self._number, self._part = 0, memoryview(upload.beginning)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        size = len(self._upload.beginning) + self._upload.further_bytes
        self._place = max(0, offset + (0, self._place, size)[whence])
        return self._place

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # called by BufferedReader alone
        first = len(self._upload.beginning)
        number, begin = 0, self._place
        if begin >= first:
            number, begin = divmod(begin - first, UploadPart.SIZE)
            number += 1
        if number != self._number:
            self._number, self._part = number, self._read_part(number)
        read = self._part[begin : begin + len(buffer)]
        buffer[: len(read)] = read
        self._place += len(read)
        return len(read)

    def _read_part(self, number: int) -> memoryview:
        if number == 0:
            return memoryview(self._upload.beginning)
        contents = self._upload.parts.filter(number=number).values_list("content", flat=True)
        return memoryview(contents.first() or b"")
