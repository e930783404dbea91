"""Discoveries, their generalisations, and each decision of these."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from anica_app.models.campaign import Campaign


class Discovery(models.Model):
    """An abstract block whose samples were all interesting, except for exceptions.

    `abstract` is its document (`anica_app.core.domain.documents`); None where an imported one cannot be
    expressed here. `foreign` is the document of an imported file, else None. `code` is the minimised block
    that it was generalised from (the witness), `start_code` the sampled one. `kind` is the way in which the
    block is interesting ("difference", "crash of 2"). `concrete`: only the witness is known to be
    interesting, and `abstract` is its representation. `interestingness` is the mean over the samples of the
    last check, infinite where a crash counts.
    """

    class Mark(models.TextChoices):
        NONE = "", "none"
        KNOWN = "known", "known"
        REPORTED = "reported", "reported"
        FIXED = "fixed", "fixed"
        NO_FAULT = "no-fault", "not a fault"

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="discoveries")
    number = models.PositiveIntegerField(help_text="in the order of their discovery, from 0")
    label = models.CharField(max_length=100, blank=True, help_text="what the imported files call it")
    abstract = models.JSONField(null=True, blank=True)
    foreign = models.JSONField(null=True, blank=True)
    code = models.BinaryField(default=bytes)
    start_code = models.BinaryField(default=bytes)
    kind = models.CharField(max_length=100, blank=True)
    concrete = models.BooleanField(default=False)
    length = models.PositiveSmallIntegerField(help_text="abstract instructions")
    interestingness = models.FloatField(null=True, blank=True)
    generality = models.PositiveIntegerField(
        null=True, blank=True, help_text="the least number of schemes of one of its instructions"
    )
    subsumed_by = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="subsumes"
    )
    remarks = models.JSONField(default=list, blank=True, help_text="lines of text")
    facts = models.JSONField(default=dict, blank=True)
    mark = models.CharField(max_length=10, choices=Mark.choices, blank=True, default=Mark.NONE)
    note = models.TextField(blank=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["campaign_id", "number"]
        verbose_name_plural = "discoveries"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="discovery_number_once"),
            models.CheckConstraint(condition=Q(length__gte=1), name="discovery_has_instructions"),
        ]
        indexes = [
            models.Index(fields=["campaign", "interestingness"], name="discovery_by_interest"),
            models.Index(fields=["campaign", "generality"], name="discovery_by_generality"),
        ]

    def __str__(self) -> str:
        return self.label or f"discovery {self.number}"

    @classmethod
    def listed(cls) -> models.QuerySet[Discovery]:
        """All with their campaigns, without the columns that only single pages need."""
        beside = ("foreign", "remarks", "note", "campaign__config", "campaign__facts", "campaign__note")
        return cls.objects.select_related("campaign__isa").defer(*beside)


class Generalisation(models.Model):
    """One generalisation of one block, in one random order of expansions (Algorithm 8.2).

    `number` counts the generalisations of a campaign from 0, `order` the orders tried for one block.
    `discovery` is the one that it became, repeats or is subsumed by. `start` and `result` are documents like
    `Discovery.abstract`; `foreign` has those of the published tool as {"start": …}. `steps_count` and
    `taken_count` are numbers of tried and accepted expansions, `samples_count` is the number of blocks over
    all checks.
    """

    class Became(models.TextChoices):
        DISCOVERY = "discovery", "a discovery"
        SUBSUMED = "subsumed", "subsumed by another discovery"
        DUPLICATE = "duplicate", "the same as an earlier one"
        CONCRETE = "concrete", "the block itself: it could not be generalised"
        UNFINISHED = "unfinished", "not finished"

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="generalisations")
    discovery = models.ForeignKey(
        Discovery, null=True, blank=True, on_delete=models.SET_NULL, related_name="generalisations"
    )
    number = models.PositiveIntegerField()
    order = models.PositiveSmallIntegerField(default=0)
    label = models.CharField(max_length=100, blank=True)
    became = models.CharField(max_length=10, choices=Became.choices)
    code = models.BinaryField(default=bytes, help_text="the block generalised, minimised")
    start = models.JSONField(null=True, blank=True)
    result = models.JSONField(null=True, blank=True)
    foreign = models.JSONField(null=True, blank=True)
    steps_count = models.PositiveIntegerField(default=0)
    taken_count = models.PositiveIntegerField(default=0)
    samples_count = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(default=0)
    facts = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["campaign_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="generalisation_number_once"),
        ]


class GeneralisationStep(models.Model):
    """One decision of a generalisation, with the blocks that it rests on.

    `expansion` is the document of the tried expansion; None for the first step, the check of the start, and
    for a last one that states why there are no more. `foreign` is the expansion of an imported file. `n`
    blocks were sampled, `interesting` of them are so (None: not judged), `mean` is their mean
    interestingness, `failed` counts failed attempts to sample. A step without blocks was decided without
    samples: the expansion changes no set of blocks, or the result was checked before. `samples` is packed by
    `inference.predictors.samples.pack`, independently of other steps.
    """

    class Kind(models.TextChoices):
        START = "start", "the start is checked"
        EXPANSION = "expansion", "an expansion is tried"
        END = "end", "no expansion remains"

    generalisation = models.ForeignKey(Generalisation, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.EXPANSION)
    expansion = models.JSONField(null=True, blank=True)
    foreign = models.JSONField(null=True, blank=True)
    taken = models.BooleanField()
    reason = models.CharField(max_length=200, blank=True)
    n = models.PositiveIntegerField(default=0)
    interesting = models.PositiveIntegerField(null=True, blank=True)
    failed = models.PositiveIntegerField(default=0)
    mean = models.FloatField(null=True, blank=True)
    batch = models.PositiveIntegerField(
        null=True, blank=True, help_text="number of the series in the imported file"
    )
    samples = models.BinaryField(default=bytes)

    class Meta:
        ordering = ["generalisation_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["generalisation", "number"], name="step_number_once"),
            models.CheckConstraint(
                condition=Q(interesting__isnull=True) | Q(interesting__lte=models.F("n")),
                name="step_interesting_at_most_all",
            ),
        ]
