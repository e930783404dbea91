"""What comparing two experiment sets gave, kept as long as both are what they were."""

from __future__ import annotations

from django.db import models


class SetComparison(models.Model):
    """Numbers and lists of a comparison: see `inference.features.sets.comparing`.

    `rows` tells which measurements of both it is of, as the kept summary of a set does.
    """

    first = models.ForeignKey("inference.ExperimentSet", on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey("inference.ExperimentSet", on_delete=models.CASCADE, related_name="+")
    rows = models.JSONField()
    report = models.JSONField()
    created = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="set_comparison_once"),
        ]

    def __str__(self) -> str:
        return f"{self.first_id} and {self.second_id}"
