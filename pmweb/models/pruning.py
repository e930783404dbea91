"""Prunings: what was asked for, by whom or by which night, and what came of it."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Pruning(models.Model):
    """One look at the traces of old work (`dry`), or their removal.

    `night` is the day whose night asked for it: one row, however many workers there are. Whoever sets
    `started` does it. `report` has a line for each trace: {"key", "title", "keep", "unit", "rows", "size"},
    `size` in bytes.
    """

    asked = models.DateTimeField(auto_now_add=True)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    night = models.DateField(null=True, blank=True, unique=True)
    dry = models.BooleanField(default=False)
    started = models.DateTimeField(null=True, blank=True)
    ended = models.DateTimeField(null=True, blank=True)
    report = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ended__isnull=True) | models.Q(started__isnull=False),
                name="pruning_ends_after_its_start",
            )
        ]

    @property
    def rows(self) -> int:
        return sum(line["rows"] for line in self.report)

    @property
    def size(self) -> int:
        return sum(line["size"] for line in self.report)
