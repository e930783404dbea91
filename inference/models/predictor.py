"""Throughput predictors as they were configured, and the answers of theirs that are remembered."""

from __future__ import annotations

import hashlib
import json

from django.db import models
from django.db.models import Q

from inference.core.protocols import Json
from inference.isa.targets import DEFAULT
from inference.models.named import Named
from inference.predictors.protocol import IMPORTED, Failure

FAILURES = [(failure.value, failure.value) for failure in Failure]
NO_FAILURE = ""


def one_answer(name: str) -> models.CheckConstraint:
    """A row holds a number of cycles from 0 on, or a way of having none, never both and never neither."""
    return models.CheckConstraint(
        condition=Q(failure=NO_FAILURE, cycles__isnull=False, cycles__gte=0)
        | Q(failure__in=[value for value, _ in FAILURES], cycles__isnull=True),
        name=name,
    )


def identity_key(identity: Json) -> str:
    """`Predictor.key` of an identity: equal exactly for equal identities."""
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def block_key(code: bytes) -> bytes:
    """`AnswerCache.block` of a block's machine code."""
    return hashlib.sha256(code).digest()


class Predictor(Named):
    """A predictor with its options: whatever changes its answers is in `identity`, and `key` stands for that.

    `key` is the SHA-256, in hexadecimal digits, of `identity` as canonical JSON (see `identity_key`).
    A tool in another version or with other options is another row, so that answers of old campaigns keep
    their author. `options` is what a user configured, as the predictor's kind reads it.

    Of `Origin.IMPORTED`, a file has said everything: such a row is never asked, whatever its kind and options
    are, since a predictor can be any program of this computer.
    """

    class Origin(models.TextChoices):
        FOUND = "found", "found on this computer"
        CONFIGURED = "configured", "configured by a user"
        IMPORTED = "imported", "named by an imported file"

    kind = models.CharField(max_length=40, help_text="llvm-mca, osaca, command, mapping, machine, imported …")
    options = models.JSONField(default=dict, blank=True)
    identity = models.JSONField(default=dict, blank=True)
    key = models.CharField(max_length=64, unique=True)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.FOUND)

    class Meta:
        db_table = "anica_app_predictor"  # where it was first
        ordering = ["name"]

    @property
    def askable(self) -> bool:
        """Whether its kind and options are our own, so that a predictor may be made of them."""
        return self.origin != self.Origin.IMPORTED and self.kind != IMPORTED

    @property
    def sort(self) -> str:
        """Its kind; of one that came with a file, what its identity says of that, to be shown and no more."""
        return self.kind if self.askable else str(self.identity.get("kind", IMPORTED))


class AnswerCache(models.Model):
    """One remembered answer of a predictor.

    `isa` is the block's instruction set and `block` the SHA-256 of its machine code, 32 bytes. Answers are
    removed from the oldest row on where there are too many.
    """

    predictor = models.ForeignKey(Predictor, on_delete=models.CASCADE, related_name="answers")
    isa = models.CharField(max_length=40, db_default=DEFAULT)
    block = models.BinaryField(max_length=32)
    cycles = models.FloatField(null=True, blank=True)
    failure = models.CharField(max_length=12, choices=FAILURES, blank=True, default=NO_FAILURE)
    detail = models.CharField(max_length=500, blank=True)

    class Meta:
        db_table = "anica_app_answercache"  # where it was first
        constraints = [
            models.UniqueConstraint(fields=["predictor", "isa", "block"], name="answer_once_per_block"),
            one_answer("answer_is_cycles_or_failure"),
        ]
