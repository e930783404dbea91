"""Basic blocks in named sets, with a column of answers per tool; predictors, and their remembered answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from django.db import connection, models, transaction
from django.db.models import Q

from inference.core.protocols import Json
from inference.core.texts import ORIGIN_LIMIT
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


def searchable(mnemonics: Iterable[str]) -> str:
    """Mnemonics as `BasicBlock.mnemonics` has them: " add imul "."""
    return f" {' '.join(dict.fromkeys(mnemonics))} "


class BasicBlockSet(Named):
    """A named list of basic blocks: an uploaded file, or blocks that a run has sampled.

    `isa` is the instruction set whose machine code it is, None where none is loaded that knows it. `size` is
    the number of blocks, `report` what the import has to tell: rows left out, duplicates, doubts.
    """

    class Origin(models.TextChoices):
        UPLOAD = "upload", "uploaded"
        RUN = "run", "made by a run"

    isa = models.ForeignKey(
        "inference.ISA", null=True, blank=True, on_delete=models.SET_NULL, related_name="block_sets"
    )
    run = models.ForeignKey(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="block_sets"
    )
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.UPLOAD)
    source = models.CharField(max_length=300, blank=True, help_text="file name and format")
    size = models.PositiveIntegerField(default=0)
    report = models.JSONField(default=dict, blank=True)

    class Meta:
        db_table = "anica_app_basicblockset"  # where it was first
        ordering = ["-id"]

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Delete it with all that belongs to it.

        Blocks and answers go in a statement each: Django would look at hundreds of thousands of rows.
        """
        with transaction.atomic():
            Prediction.objects.filter(column__in=self.columns.all()).delete()
            blocks = connection.ops.quote_name(BasicBlock._meta.db_table)
            with connection.cursor() as cursor:
                cursor.execute(f"DELETE FROM {blocks} WHERE block_set_id = %s", [self.pk])  # noqa: S608 ours
            return super().delete(*args, **options)


class BlockColumn(models.Model):
    """The answers of one tool for a set: the head of a column. `predictor` is None for a mere name."""

    block_set = models.ForeignKey(BasicBlockSet, on_delete=models.CASCADE, related_name="columns")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=200)
    predictor = models.ForeignKey(
        Predictor, null=True, blank=True, on_delete=models.SET_NULL, related_name="columns"
    )

    class Meta:
        db_table = "anica_app_blockcolumn"  # where it was first
        ordering = ["block_set_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["block_set", "position"], name="column_place_once"),
            models.UniqueConstraint(fields=["block_set", "name"], name="column_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class BasicBlock(models.Model):
    """One basic block of a set: its machine code, at its place in the file (from 0).

    `text` is the assembly that the file had in place of machine code, "" otherwise. `weight` is how often
    it ran, as a share or a count, where the file says so; or how much time was spent in it. `length` is the
    number of its instructions; `mnemonics` has each of theirs once, for searches, with a blank before and
    behind every one. `origin` says where it was found: "a.out, dot, 0x11c8".
    """

    block_set = models.ForeignKey(
        BasicBlockSet, on_delete=models.CASCADE, related_name="blocks", db_index=False
    )
    position = models.PositiveIntegerField()
    code = models.BinaryField()
    text = models.TextField(blank=True)
    weight = models.FloatField(null=True, blank=True)
    length = models.PositiveSmallIntegerField(default=0)
    mnemonics = models.TextField(blank=True)
    origin = models.CharField(max_length=ORIGIN_LIMIT, blank=True, default="", db_default="")

    class Meta:
        db_table = "anica_app_basicblock"  # where it was first
        ordering = ["block_set_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["block_set", "position"], name="block_place_once"),
            models.CheckConstraint(condition=Q(weight__isnull=True) | Q(weight__gte=0), name="block_weight"),
        ]


class Prediction(models.Model):
    """One tool's answer for one block of a set: cycles per execution, or why there are none."""

    # Both begin an index below: one more each would cost every row twice.
    column = models.ForeignKey(
        BlockColumn, on_delete=models.CASCADE, related_name="predictions", db_index=False
    )
    block = models.ForeignKey(
        BasicBlock, on_delete=models.CASCADE, related_name="predictions", db_index=False
    )
    cycles = models.FloatField(null=True, blank=True)
    failure = models.CharField(max_length=12, choices=FAILURES, blank=True, default=NO_FAILURE)

    class Meta:
        db_table = "anica_app_prediction"  # where it was first
        constraints = [
            models.UniqueConstraint(fields=["block", "column"], name="prediction_once_per_column"),
            one_answer("prediction_is_cycles_or_failure"),
        ]
        indexes = [models.Index(fields=["column", "cycles"], name="prediction_by_cycles")]
