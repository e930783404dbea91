"""Core models: what is known of a core, as one thing with a name."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from inference.models.named import Named


class StoredCoreModel(Named):
    """A core model: the parts that it consists of, or the document of an imported one.

    A part that was deleted, or that is not there yet, is null: predictions say what they lack. `run` is the
    run `know` that fills it in. `document`: as `inference.formats.core_model_json` writes it.
    `scheduler`: what was found out of the core's scheduler on the ports of this mapping, as
    `inference.formats.scheduler_json.SchedulerRecord` reads it; null where it was not looked for.
    `selection`: why this mapping of several was taken, as `inference.core.judging.selection` writes it; null
    where there was no choice.
    `port_names`: what the vendor calls ports, {port of the mapping: name}, as far as somebody has said so.
    """

    isa = models.ForeignKey("inference.ISA", on_delete=models.PROTECT, related_name="core_models")
    machine = models.ForeignKey(
        "inference.Machine", null=True, blank=True, on_delete=models.PROTECT, related_name="core_models"
    )
    run = models.OneToOneField(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="core_model"
    )
    mapping = models.ForeignKey(
        "inference.PortMapping", null=True, blank=True, on_delete=models.SET_NULL, related_name="core_models"
    )
    latencies = models.ForeignKey(
        "inference.LatencySet", null=True, blank=True, on_delete=models.SET_NULL, related_name="core_models"
    )
    front_end = models.ForeignKey(
        "inference.MeasuredFrontEnd",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="core_models",
    )
    document = models.JSONField(null=True, blank=True)
    selection = models.JSONField(null=True, blank=True)
    port_names = models.JSONField(default=dict, blank=True)
    scheduler = models.JSONField(null=True, blank=True)

    class Meta:
        verbose_name = "core model"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(document__isnull=True)
                | Q(mapping__isnull=True, latencies__isnull=True, front_end__isnull=True),
                name="core_model_of_parts_or_document",
            )
        ]
