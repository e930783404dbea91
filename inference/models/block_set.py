"""Sets of basic blocks with a column of answers per tool; predictors and the cache of their answers."""

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


def cycles_xor_failure(name: str) -> models.CheckConstraint:
    """A constraint: a row has either cycles (at least 0) or a failure, never both and never neither."""
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
    """A predictor with its options.

    `identity` holds everything that changes the predictor's answers; `key` is the SHA-256, in hexadecimal
    digits, of `identity` as canonical JSON (see `identity_key`). A tool in another version or with other
    options is another row, so that answers of old campaigns stay those of the version that gave them.
    `options` is what a user configured, in the form that the predictor's kind reads.

    A predictor of `Origin.IMPORTED` comes from a file and never runs, whatever its kind and options are: they
    could name any program of this computer.
    """

    class Origin(models.TextChoices):
        DETECTED = "found", "found on this computer"
        CONFIGURED = "configured", "configured by a user"
        IMPORTED = "imported", "named by an imported file"

    kind = models.CharField(max_length=40, help_text="llvm-mca, osaca, command, mapping, machine, imported …")
    options = models.JSONField(default=dict, blank=True)
    identity = models.JSONField(default=dict, blank=True)
    key = models.CharField(max_length=64, unique=True)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.DETECTED)

    class Meta:
        db_table = "anica_app_predictor"  # where it was first
        ordering = ["name"]

    @property
    def is_runnable(self) -> bool:
        """Whether kind and options come from this installation, not from a file, so that it may run them."""
        return self.origin != self.Origin.IMPORTED and self.kind != IMPORTED

    @property
    def sort(self) -> str:
        """The kind to show on pages: for an imported predictor, the kind that its identity names."""
        return self.kind if self.is_runnable else str(self.identity.get("kind", IMPORTED))


class AnswerCache(models.Model):
    """A predictor's cached answer for one block.

    `isa` is the block's instruction set and `block` the SHA-256 of its machine code, 32 bytes. When the cache
    is full, the oldest rows are deleted first.
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
            cycles_xor_failure("answer_is_cycles_or_failure"),
        ]


def mnemonics_text(mnemonics: Iterable[str]) -> str:
    """Distinct mnemonics in the form of `BasicBlock.mnemonics`: " add imul "."""
    return f" {' '.join(dict.fromkeys(mnemonics))} "


class BasicBlockSet(Named):
    """A named list of basic blocks: an uploaded file, or blocks that a run has sampled.

    `isa` is the instruction set of the machine code, None if it is not loaded. `size` is the number of
    blocks. `report` lists the import's skipped rows, duplicates and warnings.
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
        """Delete the set with its blocks and answers.

        One SQL statement each deletes answers and blocks: Django's collector would load hundreds of thousands
        of rows first.
        """
        with transaction.atomic():
            Prediction.objects.filter(column__in=self.columns.all()).delete()
            blocks = connection.ops.quote_name(BasicBlock._meta.db_table)
            with connection.cursor() as cursor:
                cursor.execute(f"DELETE FROM {blocks} WHERE block_set_id = %s", [self.pk])  # noqa: S608 ours
            return super().delete(*args, **options)


class BlockColumn(models.Model):
    """One tool's column in a set. `predictor` is None where a file only gives the tool's name."""

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
    """A basic block of a set.

    `position` counts from 0 in the order of the file. `text` is the assembly if the file had no machine code,
    "" otherwise. `weight` is the file's execution count, its share, or the time spent in the block; None if
    the file has none. `length` counts instructions. `mnemonics` has each mnemonic once, with a blank on both
    sides, so that searches match whole mnemonics. `origin` is the place in the program: "a.out, dot, 0x11c8".
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
    """A tool's answer for a block of a set: cycles per execution of the block, or a failure."""

    # No index of their own: each is the first column of an index below, and tables have millions of rows.
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
            cycles_xor_failure("prediction_is_cycles_or_failure"),
        ]
        indexes = [models.Index(fields=["column", "cycles"], name="prediction_by_cycles")]
