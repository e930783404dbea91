"""Front ends that runs have measured."""

from __future__ import annotations

from django.db import models

from inference.models.named import Named


class MeasuredFrontEnd(Named):
    """The front end of one machine as one run has measured it.

    `readings`: as `inference.storage.core_models` has them; what they say is read off them when it is shown.
    `identity`: of whoever measured.
    """

    isa = models.ForeignKey("inference.ISA", on_delete=models.PROTECT, related_name="front_ends")
    machine = models.ForeignKey("inference.Machine", on_delete=models.PROTECT, related_name="front_ends")
    run = models.ForeignKey(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="front_ends"
    )
    readings = models.JSONField()
    identity = models.JSONField(default=dict)

    class Meta:
        verbose_name = "front end"
        ordering = ["-id"]
