"""Addresses that are told when a run ends."""

from __future__ import annotations

from django.db import models

from inference.models.run import Run


class Webhook(models.Model):
    """An address to which a message goes when the run has ended; `sent` is when it was taken.

    `attempts` counts those begun, `due` is when the next one may be made (null: at once), `error` why the
    last one failed. Whoever raises `attempts` from what it read makes the attempt: nobody else does.
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
