"""The Pareto front of an inference: what mappings it found between the most accurate and the most compact."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from inference.models.mapping import PortMapping


class FrontPoint(models.Model):
    """A mapping of a front, kept beside the mapping that the run has made: the user may pick it.

    Places count from 0, the most accurate first. `error` is the mean relative error (a fraction) on the
    experiments learnt from, `volume` µops × ports, `kinds` the number of different µops. `content` is the
    mapping and `judged` how it does on what the run judged by, both as `inference.storage.fronts` has them.
    `picked` is the stored mapping that this point has become: that of the run itself for one of them.
    """

    mapping = models.ForeignKey(PortMapping, on_delete=models.CASCADE, related_name="front")
    place = models.PositiveSmallIntegerField()
    error = models.FloatField()
    volume = models.PositiveIntegerField()
    kinds = models.PositiveIntegerField()
    mape = models.FloatField(null=True, blank=True, help_text="per cent, on what the run judged by")
    content = models.JSONField()
    judged = models.JSONField(default=dict, blank=True)
    picked = models.OneToOneField(
        PortMapping, null=True, blank=True, on_delete=models.SET_NULL, related_name="picked_from"
    )

    class Meta:
        ordering = ["mapping_id", "place"]
        constraints = [
            models.UniqueConstraint(fields=["mapping", "place"], name="front_place_once"),
            models.CheckConstraint(condition=Q(error__gte=0), name="front_error_not_negative"),
        ]
