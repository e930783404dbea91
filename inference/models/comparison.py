"""Comparisons: the answers of several sources for the same experiments or basic blocks."""

from __future__ import annotations

from typing import Any

from django.db import models

from inference.models.block_set import Predictor


class Comparison(models.Model):
    """The items of a comparison and the reference cycles that its columns are compared with, as arrays.

    `points` holds the items' rows and the reference's cycles, `table` the items' schemes as indices into
    `schemes` (`inference.storage.answer_sheets`), `lengths` the lengths that occur. Of `read` items, `n` are
    compared (of experiments, only settled measurements); every column has an answer for `common` of these.
    `reference` is the reference's name, "" for the set's own measurements; `against` is its form in a run's
    configuration. A comparison stays when its set is deleted.
    """

    class ItemKind(models.TextChoices):
        EXPERIMENTS = "experiments", "experiments"
        BLOCKS = "blocks", "basic blocks"

    run = models.OneToOneField("inference.Run", on_delete=models.CASCADE, related_name="comparison")
    item_kind = models.CharField(max_length=20, choices=ItemKind.choices, default=ItemKind.EXPERIMENTS)
    isa = models.ForeignKey(
        "inference.ISA",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="predictor_comparisons",
    )
    experiment_set = models.ForeignKey(
        "inference.ExperimentSet",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="predictor_comparisons",
    )
    block_set = models.ForeignKey(
        "inference.BasicBlockSet",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="comparisons",
    )
    source = models.CharField(max_length=200, help_text="name of the set when it was compared")
    reference = models.CharField(max_length=200, blank=True, default="")
    against = models.CharField(max_length=300, blank=True, default="")
    read = models.PositiveIntegerField()
    n = models.PositiveIntegerField()
    common = models.PositiveIntegerField()
    made = models.DateTimeField(auto_now_add=True)
    schemes = models.JSONField()
    lengths = models.JSONField()
    points = models.BinaryField()
    table = models.BinaryField()

    unsaved: Any = None
    """The `UnsavedComparison` behind a row that a page computes on request; None if a run has stored it."""

    class Meta:
        db_table = "anica_app_comparison"  # where it was first
        ordering = ["-id"]


class ComparedColumn(models.Model):
    """One source of a comparison with its answers as an array.

    `error` is the reason if the source gave no answer at all. `summary` has scores by unit, reasons for
    missing answers and biases by scheme; `pictures` the heat maps. `name` stays when the source is deleted.
    """

    class Kind(models.TextChoices):
        MAPPING = "mapping", "port mapping"
        RESOURCES = "resource_mapping", "resource mapping"
        TOOL = "tool", "came with the set"
        SET = "set", "measured"
        PREDICTOR = "predictor", "asked"
        COLUMN = "column", "column of the set"

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="columns")
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=20, choices=Kind.choices)
    name = models.CharField(max_length=200)
    mapping = models.ForeignKey(
        "inference.PortMapping", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    resource_mapping = models.ForeignKey(
        "inference.ResourceMapping", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    experiment_set = models.ForeignKey(
        "inference.ExperimentSet", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    predictor = models.ForeignKey(
        Predictor, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    block_column = models.ForeignKey(
        "inference.BlockColumn", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    error = models.TextField(blank=True)
    summary = models.JSONField(default=dict, blank=True)
    pictures = models.JSONField(default=dict, blank=True)
    answers = models.BinaryField()

    class Meta:
        db_table = "anica_app_comparedcolumn"  # where it was first
        ordering = ["comparison_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["comparison", "position"], name="compared_column_place_once")
        ]

    def __str__(self) -> str:
        return self.name
