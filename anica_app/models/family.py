"""Families: discoveries of a campaign that have one cause."""

from __future__ import annotations

from django.db import models

from anica_app.models.campaign import Campaign
from anica_app.models.discovery import Discovery


class Family(models.Model):
    """Discoveries of a campaign with one cause, numbered from 0 by the share that they explain.

    `bound` is the bound that differs (`anica_app.core.families`), `slower` the tool with more cycles, from 1,
    0 where one fails. `identity` identifies the family in other campaigns. `code` is its smallest witness;
    `predictions`: for each tool the lowest and the highest cycles of its members' witnesses. It explains
    `covered` of the campaign's judged disagreements, `own` of which no larger family explains; `low` and
    `high` are the 95 % interval of its share. `before`: the matching family of the earlier campaign. `facts`:
    the changes tried on the witness, and the judge's results.
    """

    class Status(models.TextChoices):
        UNKNOWN = "", "not compared"
        NEW = "new", "new"
        UNSURE = "unsure", "not known then"
        THERE = "there", "still there"

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="families")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=300)
    bound = models.CharField(max_length=16)
    kind = models.CharField(max_length=100, blank=True)
    slower = models.PositiveSmallIntegerField(default=0)
    identity = models.JSONField(default=dict)
    code = models.BinaryField(default=bytes)
    predictions = models.JSONField(default=list)
    covered = models.PositiveIntegerField(default=0)
    own = models.PositiveIntegerField(default=0)
    share = models.FloatField(null=True, blank=True)
    low = models.FloatField(null=True, blank=True)
    high = models.FloatField(null=True, blank=True)
    mark = models.CharField(
        max_length=10, choices=Discovery.Mark.choices, blank=True, default=Discovery.Mark.NONE
    )
    note = models.TextField(blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, blank=True, default=Status.UNKNOWN)
    before = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="later")
    facts = models.JSONField(default=dict, blank=True)
    discoveries = models.ManyToManyField(Discovery, related_name="families", blank=True)

    class Meta:
        ordering = ["campaign_id", "number"]
        verbose_name_plural = "families"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="family_number_once"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_news(self) -> bool:
        """Whether it is new or may be new."""
        return self.status in (self.Status.NEW, self.Status.UNSURE)
