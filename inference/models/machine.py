"""Machines: whatever answers "how many cycles?"."""

from __future__ import annotations

from django.db import models

from inference.models.naming import Named


class Machine(Named):
    """A measured computer or a simulated processor.

    A simulated machine keeps its truth as the JSON of a port mapping in `facts["mapping"]`, so that later
    changes of the mapping it was made from do not change what it answers.
    """

    class Kind(models.TextChoices):
        SIMULATED = "simulated", "simulated processor"
        PUBLISHED = "published", "published measurements"

    kind = models.CharField(max_length=20, choices=Kind.choices)
    isa = models.ForeignKey("inference.ISA", on_delete=models.PROTECT, related_name="machines")
    cpu = models.CharField(max_length=200, blank=True)
    facts = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind__in=["simulated", "published"]), name="machine_kind_known"
            )
        ]
