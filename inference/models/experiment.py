"""Instruction sets with their schemes; experiments, experiment sets and measurements."""

from __future__ import annotations

from django.db import models
from django.db.models import F, FloatField, Func, Q

from inference.models.named import Named


class ISA(Named):
    """An instruction set: `x86-64` or one that an import has added. `source`: the origin of its schemes."""

    source = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name = "ISA"
        ordering = ["name"]


class InstructionScheme(models.Model):
    """An instruction with typed holes for its operands, e.g. `add GPR[64]:RW, GPR[64]:R`.

    `exclusion` is the reason why the scheme is not in the default inference set, "" if it is in it.
    `operands` lists one object per operand, the implicit ones last, in the form of `inference.isa.scheme`.
    """

    class Memory(models.TextChoices):
        NONE = "", "none"
        READ = "R", "read"
        WRITE = "W", "write"
        READ_WRITE = "RW", "read and written"
        ADDRESS = "A", "address only"

    isa = models.ForeignKey(ISA, on_delete=models.CASCADE, related_name="schemes")
    text = models.CharField(max_length=200)
    mnemonic = models.CharField(max_length=60, db_index=True)
    extension = models.CharField(max_length=60, blank=True)
    category = models.CharField(max_length=60, blank=True)
    encoding = models.CharField(max_length=10, blank=True)
    memory = models.CharField(max_length=2, choices=Memory.choices, blank=True)
    width = models.PositiveSmallIntegerField(
        default=0, help_text="widest operand in bits, 0 where there is none"
    )
    operands = models.JSONField(default=list, blank=True)
    exclusion = models.CharField(max_length=200, blank=True)
    starter = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["isa", "text"], name="scheme_text_once_per_isa")]
        indexes = [
            models.Index(fields=["isa", "extension"], name="scheme_by_extension"),
            models.Index(fields=["isa", "category"], name="scheme_by_category"),
            models.Index(fields=["isa", "exclusion"], name="scheme_by_exclusion"),
        ]

    def __str__(self) -> str:
        return self.text


class ExperimentSet(Named):
    """A named collection of measurements: an upload, the measurements of a run, or an example."""

    class Origin(models.TextChoices):
        UPLOAD = "upload", "uploaded"
        RUN = "run", "measured by a run"
        EXAMPLE = "example", "recorded example"
        MERGED = "merged", "merged"

    isa = models.ForeignKey("inference.ISA", on_delete=models.PROTECT, related_name="experiment_sets")
    machine = models.ForeignKey(
        "inference.Machine", null=True, blank=True, on_delete=models.PROTECT, related_name="experiment_sets"
    )
    run = models.ForeignKey(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="experiment_sets"
    )
    origin = models.CharField(max_length=10, choices=Origin.choices)
    source = models.CharField(
        max_length=300, blank=True, help_text="file name and format, or harness settings"
    )
    identity = models.JSONField(default=dict, blank=True, help_text="what changes the answers: harness, seed")
    making = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="what its owner decided when it was made: rows left out, names taken, sets merged",
    )
    summary = models.JSONField(
        null=True, blank=True, editable=False, help_text="its numbers, and the rows they are of"
    )

    class Meta:
        ordering = ["-id"]


class Experiment(models.Model):
    """A multiset of schemes of one ISA, shared by all sets that measured it.

    `key` is the canonical text "schemeid:count,schemeid:count" with ascending ids: unique, and enough to
    rebuild the multiset without a join. `ExperimentTerm` holds the same facts for queries by scheme.
    """

    isa = models.ForeignKey(  # the constraint on it and the key is an index that begins with it
        "inference.ISA", on_delete=models.CASCADE, related_name="experiments", db_index=False
    )
    key = models.TextField()
    length = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["isa", "key"], name="experiment_once_per_isa"),
            models.CheckConstraint(condition=Q(length__gte=1), name="experiment_not_empty"),
        ]
        indexes = [models.Index(fields=["isa", "length"], name="experiment_by_length")]

    def __str__(self) -> str:
        return self.key


class ExperimentTerm(models.Model):
    """`count` instances of one scheme in an experiment."""

    experiment = models.ForeignKey(  # the constraint on it and the scheme is an index that begins with it
        Experiment, on_delete=models.CASCADE, related_name="terms", db_index=False
    )
    scheme = models.ForeignKey("inference.InstructionScheme", on_delete=models.PROTECT, related_name="terms")
    count = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["experiment", "scheme"], name="term_once_per_experiment"),
            models.CheckConstraint(condition=Q(count__gte=1), name="term_count_positive"),
        ]


def cycles_or_0() -> Func:
    """The sort key of lists: a measurement's cycles, 0 if it failed.

    The 0 is a literal and no parameter because databases use an index only for the identical expression.
    """
    return Func(F("cycles"), template="COALESCE(%(expressions)s, 0.0)", output_field=FloatField())


class Measurement(models.Model):
    """A row of a set: an experiment with its inverse throughput in cycles per execution.

    `length` repeats the experiment's length, so that an index filters and sorts large sets by it. `repeat`
    counts rows of the same experiment in the same set from 0. `annotations`: {tool: cycles} that came with
    the file. `counters`: {performance event: count per execution}.
    """

    class State(models.TextChoices):
        SETTLED = "settled", "settled"
        UNSETTLED = "unsettled", "unsettled"
        CONTENDED = "contended", "contended"
        FAILED = "failed", "failed"

    experiment_set = models.ForeignKey(ExperimentSet, on_delete=models.CASCADE, related_name="measurements")
    experiment = models.ForeignKey(Experiment, on_delete=models.PROTECT, related_name="measurements")
    length = models.PositiveIntegerField()
    repeat = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=10, choices=State.choices, default=State.SETTLED)
    cycles = models.FloatField(null=True, blank=True)
    spread = models.FloatField(null=True, blank=True)
    passes = models.PositiveIntegerField(default=1)
    note = models.CharField(max_length=500, blank=True)
    annotations = models.JSONField(default=dict, blank=True)
    counters = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["experiment_set", "experiment", "repeat"], name="measurement_once_per_repeat"
            ),
            models.CheckConstraint(
                condition=Q(state="failed", cycles__isnull=True)
                | (~Q(state="failed") & Q(cycles__isnull=False, cycles__gt=0)),
                name="measurement_has_cycles_unless_failed",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["settled", "unsettled", "contended", "failed"]),
                name="measurement_state_known",
            ),
        ]
        indexes = [
            models.Index(F("experiment_set"), cycles_or_0(), name="measurement_by_cycles"),
            models.Index(fields=["experiment_set", "length"], name="measurement_by_length"),
        ]
