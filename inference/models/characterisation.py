"""Why a scheme has the µops that a mapping gives it, or none: verdicts and their witnesses (thesis ch. 6)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from inference.core.explain import NotCharacterised, SchemeFate, Seen


class Characterisation(models.Model):
    """What explainable inference concluded of a scheme; each scheme asked for has one.

    `stage` is where it was decided, `text` the reason with its numbers. `cycles` alone; `counted` µops.
    `facts`: [{"terms", "expected", "observed"}] the experiments behind the verdict. `alternatives`: other
    usages that the evidence allows, each [[mask, count], …]. `runs`: what each run concluded, in words.
    """

    mapping = models.ForeignKey(
        "inference.PortMapping", on_delete=models.CASCADE, related_name="characterisations"
    )
    scheme = models.ForeignKey(
        "inference.InstructionScheme", on_delete=models.PROTECT, related_name="characterisations"
    )
    outcome = models.CharField(max_length=16, choices=[(each.value, each.value) for each in SchemeFate])
    stage = models.CharField(max_length=16)
    reason = models.CharField(
        max_length=40,
        blank=True,
        choices=[(each.value, each.value) for each in NotCharacterised if each.value],
    )
    text = models.TextField(blank=True)
    cycles = models.FloatField(null=True, blank=True)
    counted = models.FloatField(null=True, blank=True)
    facts = models.JSONField(default=list, blank=True)
    doubts = models.JSONField(default=list, blank=True)
    alternatives = models.JSONField(default=list, blank=True)
    runs = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["mapping", "scheme"], name="characterised_once_per_mapping"),
            models.CheckConstraint(
                condition=Q(outcome__in=[each.value for each in SchemeFate]), name="outcome_known"
            ),
        ]
        indexes = [models.Index(fields=["mapping", "outcome", "stage"], name="characterised_by_outcome")]


class Witness(models.Model):
    """Two experiments that show whether a scheme can evade a port set: a flood alone, and with the scheme.

    The flood is `copies` instances of `blocker`, whose ports are `mask`. Cycles are medians of `samples`.
    """

    characterisation = models.ForeignKey(Characterisation, on_delete=models.CASCADE, related_name="witnesses")
    blocker = models.ForeignKey(
        "inference.InstructionScheme", on_delete=models.PROTECT, related_name="witnesses"
    )
    mask = models.BigIntegerField()
    copies = models.PositiveIntegerField()
    base_cycles = models.FloatField(null=True, blank=True)
    cycles = models.FloatField(null=True, blank=True)
    samples = models.PositiveIntegerField()
    surplus = models.FloatField(null=True, blank=True)
    below = models.PositiveIntegerField(default=0)
    uops = models.IntegerField(default=0)
    tolerance = models.FloatField(default=0.0)
    seen = models.CharField(max_length=12, choices=[(each.value, each.value) for each in Seen])
    run = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(mask__gt=0, copies__gte=1), name="witness_blocks_ports"),
        ]
