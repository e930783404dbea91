"""Resource mappings and the loads of their schemes."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from inference.models.named import Named


class ResourceMapping(Named):
    """A conjunctive resource mapping, as Palmed infers them: imported, or converted from a port mapping.

    `resources` lists the names; `ResourceLoad.resource` is an index into it. `report` holds what its making
    had to say: names of the file that have no scheme (`left_out`), the limit of the conversion.
    """

    class Origin(models.TextChoices):
        IMPORT = "import", "imported"
        CONVERSION = "conversion", "converted"

    isa = models.ForeignKey("inference.ISA", on_delete=models.PROTECT, related_name="resource_mappings")
    machine = models.ForeignKey(
        "inference.Machine",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="resource_mappings",
    )
    converted_from = models.ForeignKey(
        "inference.PortMapping",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="conversions",
    )
    origin = models.CharField(max_length=10, choices=Origin.choices)
    source = models.CharField(max_length=300, blank=True, help_text="file name and format, or the mapping")
    resources = models.JSONField()
    report = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(origin__in=["import", "conversion"]), name="resource_mapping_origin_known"
            )
        ]


class ResourceLoad(models.Model):
    """The cycles of one resource that one instance of a scheme takes up.

    A scheme known to use no resource has a single row with resource 0 and load 0. A scheme without any row
    is not described by the mapping.
    """

    mapping = models.ForeignKey(ResourceMapping, on_delete=models.CASCADE, related_name="loads")
    scheme = models.ForeignKey(
        "inference.InstructionScheme", on_delete=models.PROTECT, related_name="resource_loads"
    )
    resource = models.PositiveSmallIntegerField()
    load = models.FloatField(help_text="cycles")

    class Meta:
        ordering = ["scheme_id", "resource"]
        constraints = [
            models.UniqueConstraint(fields=["mapping", "scheme", "resource"], name="load_once_per_resource"),
            models.CheckConstraint(condition=Q(load__gt=0) | Q(resource=0, load=0), name="load_positive"),
        ]
