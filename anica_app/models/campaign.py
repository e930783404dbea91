"""Campaigns: searches for blocks on which tools disagree, with everything that they sampled."""

from __future__ import annotations

from functools import cached_property

from django.db import models
from django.db.models import Q

from inference.models.block_set import Predictor
from inference.models.named import Named


class Campaign(Named):
    """One campaign (Algorithm 8.1), from a run or from a file.

    `config` is everything needed to repeat it: criterion, search, domain, limits, seed. Counts are over all
    rounds. `facts`: failures by kind, excluded schemes, times, coverage, families. `format`: whether abstract
    blocks and configuration are in this program's form or in that of the published AnICA.
    """

    class Origin(models.TextChoices):
        RUN = "run", "made by a run"
        IMPORT = "import", "imported"

    class Format(models.TextChoices):
        OURS = "ours", "this program's"
        ANICA = "anica", "the published AnICA's"

    class Kind(models.TextChoices):
        CAMPAIGN = "campaign", "campaign"
        GENERALISATION = "generalisation", "generalisation of one block"
        EXPLANATION = "explanation", "explanation of one prediction"

    isa = models.ForeignKey(
        "inference.ISA", null=True, blank=True, on_delete=models.SET_NULL, related_name="campaigns"
    )
    run = models.OneToOneField(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="campaign"
    )
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.CAMPAIGN)
    origin = models.CharField(max_length=10, choices=Origin.choices)
    format = models.CharField(max_length=10, choices=Format.choices, default=Format.OURS)
    source = models.CharField(max_length=300, blank=True, help_text="file name and format of an import")
    config = models.JSONField(default=dict, blank=True)
    predictors = models.ManyToManyField(
        Predictor, through="CampaignPredictor", related_name="campaigns", blank=True
    )
    rounds = models.PositiveIntegerField(default=0, help_text="batches of fresh blocks")
    sampled = models.PositiveIntegerField(default=0, help_text="fresh blocks, over all rounds")
    interesting = models.PositiveIntegerField(default=0, help_text="of them, interesting")
    subsumed = models.PositiveIntegerField(default=0, help_text="of them, known through earlier discoveries")
    seconds = models.FloatField(default=0, help_text="time it took")
    facts = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-id"]

    @cached_property
    def tools(self) -> list[Predictor]:
        """Predictors in the order of their answers (one query, none with prefetched seats)."""
        fetched = "seats" in getattr(self, "_prefetched_objects_cache", {})
        seats = self.seats.all() if fetched else self.seats.select_related("predictor")
        return [seat.predictor for seat in seats]


class CampaignPredictor(models.Model):
    """The predictors of a campaign, in order: answers in samples come in this order."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="seats")
    position = models.PositiveSmallIntegerField()
    predictor = models.ForeignKey(Predictor, on_delete=models.PROTECT, related_name="seats")

    class Meta:
        ordering = ["campaign_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "position"], name="predictor_seat_once"),
        ]


class CampaignFile(models.Model):
    """A file of an imported campaign, unchanged: reports, logs, filters, original documents.

    `content` is compressed (zlib); `size` is that of the file, in bytes.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="files")
    path = models.CharField(max_length=300, help_text="relative to the campaign's directory")
    size = models.PositiveBigIntegerField()
    content = models.BinaryField()

    class Meta:
        ordering = ["campaign_id", "path"]
        constraints = [models.UniqueConstraint(fields=["campaign", "path"], name="campaign_file_once")]


class SampleBatch(models.Model):
    """Blocks that were judged together outside of the steps of a generalisation.

    `samples` is packed by `inference.predictors.samples.pack`: code and every tool's answer. `n` is their
    number, `interesting` the number of interesting ones (None: not judged).
    """

    class Purpose(models.TextChoices):
        ROUND = "round", "fresh blocks of a round"
        MINIMISATION = "minimisation", "shorter versions of an interesting block"
        DISCOVERY = "discovery", "blocks of a finished discovery"
        OTHER = "other", "not said"

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="batches")
    number = models.PositiveIntegerField(help_text="in the order they were judged")
    purpose = models.CharField(max_length=14, choices=Purpose.choices, default=Purpose.ROUND)
    discovery = models.ForeignKey(
        "Discovery", null=True, blank=True, on_delete=models.SET_NULL, related_name="batches"
    )
    n = models.PositiveIntegerField(default=0)
    interesting = models.PositiveIntegerField(null=True, blank=True)
    failed = models.PositiveIntegerField(default=0, help_text="attempts to sample that came to nothing")
    facts = models.JSONField(default=dict, blank=True, help_text="times, computer")
    samples = models.BinaryField(default=bytes)

    class Meta:
        ordering = ["campaign_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="batch_number_once"),
            models.CheckConstraint(
                condition=Q(interesting__isnull=True) | Q(interesting__lte=models.F("n")),
                name="batch_interesting_at_most_all",
            ),
        ]
