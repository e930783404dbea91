"""Port and resource mappings: how well they predict, what contradicts them, conclusions, and fronts."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from inference.core.explain import NotCharacterised, SchemeFate, Seen
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


class PortMapping(Named):
    """A three-level port mapping: inferred by a run, or imported.

    `ports` lists the port names; bit k of a port mask stands for `ports[k]`. `r_max` is in instructions per
    cycle, `issue_width` in issue slots per cycle. `report` holds what the
    algorithm had to say about its result (congruence classes, final fitness, versions).
    """

    class Origin(models.TextChoices):
        RUN = "run", "inferred"
        IMPORT = "import", "imported"
        EXAMPLE = "example", "recorded example"

    isa = models.ForeignKey("inference.ISA", on_delete=models.PROTECT, related_name="mappings")
    machine = models.ForeignKey(
        "inference.Machine", null=True, blank=True, on_delete=models.PROTECT, related_name="mappings"
    )
    run = models.OneToOneField(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="mapping"
    )
    origin = models.CharField(max_length=10, choices=Origin.choices)
    source = models.CharField(max_length=300, blank=True, help_text="file name and format, or the algorithm")
    ports = models.JSONField()
    r_max = models.FloatField(null=True, blank=True)
    issue_width = models.FloatField(null=True, blank=True)
    report = models.JSONField(default=dict, blank=True)
    digest = models.CharField(
        max_length=64, blank=True, editable=False, help_text='of all that it says; "": not worked out yet'
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(r_max__isnull=True) | Q(r_max__gt=0), name="mapping_r_max_positive"
            ),
            models.CheckConstraint(
                condition=Q(issue_width__isnull=True) | Q(issue_width__gt=0),
                name="mapping_issue_width_positive",
            ),
        ]


class PortUsage(models.Model):
    """What one scheme does in a mapping: `count` µops that can use the ports in `mask`.

    A scheme with several kinds of µops has several rows; one known to use no port has a single row with
    mask 0 and count 0. A scheme without any row is not described by the mapping. `slots` are the issue slots
    that the scheme takes altogether: the same in all of its rows.
    """

    mapping = models.ForeignKey(PortMapping, on_delete=models.CASCADE, related_name="usages")
    scheme = models.ForeignKey("inference.InstructionScheme", on_delete=models.PROTECT, related_name="usages")
    mask = models.BigIntegerField()
    count = models.PositiveIntegerField()
    slots = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["scheme_id", "mask"]
        constraints = [
            models.UniqueConstraint(fields=["mapping", "scheme", "mask"], name="uop_once_per_scheme"),
            models.CheckConstraint(
                condition=Q(mask__gt=0, count__gte=1) | Q(mask=0, count=0), name="uop_has_ports_and_count"
            ),
            models.CheckConstraint(condition=Q(slots__gte=1), name="scheme_takes_a_slot"),
        ]


class SchemeConflict(models.Model):
    """A scheme of which another result of the same machine says something else.

    `here` are the µops of the mapping, `there` those of `other`, both in words, as
    `inference.core.judging.contradictions` has them. Each conflict is kept from both sides.
    """

    mapping = models.ForeignKey(PortMapping, on_delete=models.CASCADE, related_name="conflicts")
    other = models.ForeignKey(PortMapping, on_delete=models.CASCADE, related_name="+")
    scheme = models.ForeignKey("inference.InstructionScheme", on_delete=models.PROTECT, related_name="+")
    here = models.TextField()
    there = models.TextField()

    class Meta:
        ordering = ["mapping_id", "other_id", "scheme_id"]
        constraints = [
            models.UniqueConstraint(fields=["mapping", "other", "scheme"], name="scheme_conflict_once")
        ]


class Evaluation(models.Model):
    """The predictions of a port or resource mapping against measurements: summary numbers, heat map.

    The measurements are those of `experiment_set`, or the share that `held_out_by` kept from training.
    Metrics are null where undefined (constant input, fewer than two points). `heat_map` is the JSON of
    `inference.figures.heatmap`; `skipped` counts measurements whose schemes the mapping does not describe.
    """

    class Unit(models.TextChoices):
        CYCLES = "cycles", "cycles"
        CPI = "cpi", "cycles per instruction"
        IPC = "ipc", "instructions per cycle"

    mapping = models.ForeignKey(
        PortMapping, null=True, blank=True, on_delete=models.CASCADE, related_name="evaluations"
    )
    resource_mapping = models.ForeignKey(
        ResourceMapping,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="evaluations",
    )
    experiment_set = models.ForeignKey(
        "inference.ExperimentSet", null=True, blank=True, on_delete=models.CASCADE, related_name="evaluations"
    )
    held_out_by = models.ForeignKey(
        "inference.Run", null=True, blank=True, on_delete=models.CASCADE, related_name="held_out_evaluations"
    )
    unit = models.CharField(max_length=6, choices=Unit.choices, default=Unit.CYCLES)
    n = models.PositiveIntegerField()
    skipped = models.PositiveIntegerField(default=0)
    mape = models.FloatField(null=True, blank=True, help_text="per cent")
    pearson = models.FloatField(null=True, blank=True)
    kendall = models.FloatField(null=True, blank=True)
    heat_map = models.JSONField(default=dict, blank=True)
    computed = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(mapping__isnull=False, resource_mapping__isnull=True)
                | Q(mapping__isnull=True, resource_mapping__isnull=False, held_out_by__isnull=True),
                name="evaluation_of_one_predictor",
            ),
            models.CheckConstraint(
                condition=Q(experiment_set__isnull=False, held_out_by__isnull=True)
                | Q(experiment_set__isnull=True, held_out_by__isnull=False),
                name="evaluation_has_one_source",
            ),
            models.UniqueConstraint(
                fields=["mapping", "experiment_set", "unit"],
                condition=Q(experiment_set__isnull=False),
                name="evaluation_once_per_set_and_unit",
            ),
            models.UniqueConstraint(
                fields=["resource_mapping", "experiment_set", "unit"],
                condition=Q(resource_mapping__isnull=False),
                name="resource_evaluation_once_per_set_and_unit",
            ),
            models.UniqueConstraint(
                fields=["mapping", "held_out_by", "unit"],
                condition=Q(held_out_by__isnull=False),
                name="evaluation_once_per_run_and_unit",
            ),
            models.CheckConstraint(
                condition=Q(unit__in=["cycles", "cpi", "ipc"]), name="evaluation_unit_known"
            ),
        ]

    @property
    def predictor(self) -> PortMapping | ResourceMapping:
        """The mapping whose predictions these are."""
        found = self.mapping or self.resource_mapping
        assert found is not None, "the database allows no evaluation without a predictor"
        return found


class FrontPoint(models.Model):
    """A mapping of a front, kept beside the mapping that the run has made: the user may pick it.

    Places count from 0, the most accurate first. `error` is the mean relative error (a fraction) on the
    experiments learnt from, `volume` µops × ports, `kinds` the number of different µops. `content` is the
    mapping and `judged` how it does on what the run judged by, both as `inference.storage.results` has them.
    `picked` is the stored mapping that this point has become: that of the run itself for one of them.
    """

    mapping = models.ForeignKey(PortMapping, on_delete=models.CASCADE, related_name="front")
    place = models.PositiveSmallIntegerField()
    error = models.FloatField()
    volume = models.PositiveIntegerField()
    kinds = models.PositiveIntegerField()
    mape = models.FloatField(null=True, blank=True, help_text="per cent, on what the run judged by")
    content = models.JSONField()
    judged = models.JSONField(default=dict, blank=True)
    picked = models.OneToOneField(
        PortMapping, null=True, blank=True, on_delete=models.SET_NULL, related_name="picked_from"
    )

    class Meta:
        ordering = ["mapping_id", "place"]
        constraints = [
            models.UniqueConstraint(fields=["mapping", "place"], name="front_place_once"),
            models.CheckConstraint(condition=Q(error__gte=0), name="front_error_not_negative"),
        ]


class Characterisation(models.Model):
    """What explainable inference concluded of a scheme; each scheme asked for has one.

    `stage` is where it was decided, `text` the reason with its numbers. `cycles` alone; `counted` µops.
    `facts`: [{"terms", "expected", "observed"}] the experiments behind the verdict. `alternatives`: other
    usages that the evidence allows, each [[mask, count], …]. `runs`: what each run concluded, in words.
    """

    mapping = models.ForeignKey(
        "inference.PortMapping", on_delete=models.CASCADE, related_name="characterisations"
    )
    scheme = models.ForeignKey(
        "inference.InstructionScheme", on_delete=models.PROTECT, related_name="characterisations"
    )
    outcome = models.CharField(max_length=16, choices=[(each.value, each.value) for each in SchemeFate])
    stage = models.CharField(max_length=16)
    reason = models.CharField(
        max_length=40,
        blank=True,
        choices=[(each.value, each.value) for each in NotCharacterised if each.value],
    )
    text = models.TextField(blank=True)
    cycles = models.FloatField(null=True, blank=True)
    counted = models.FloatField(null=True, blank=True)
    facts = models.JSONField(default=list, blank=True)
    doubts = models.JSONField(default=list, blank=True)
    alternatives = models.JSONField(default=list, blank=True)
    runs = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["mapping", "scheme"], name="characterised_once_per_mapping"),
            models.CheckConstraint(
                condition=Q(outcome__in=[each.value for each in SchemeFate]), name="outcome_known"
            ),
        ]
        indexes = [models.Index(fields=["mapping", "outcome", "stage"], name="characterised_by_outcome")]


class Witness(models.Model):
    """Two experiments that show whether a scheme can evade a port set: a flood alone, and with the scheme.

    The flood is `copies` instances of `blocker`, whose ports are `mask`. Cycles are medians of `samples`.
    """

    characterisation = models.ForeignKey(Characterisation, on_delete=models.CASCADE, related_name="witnesses")
    blocker = models.ForeignKey(
        "inference.InstructionScheme", on_delete=models.PROTECT, related_name="witnesses"
    )
    mask = models.BigIntegerField()
    copies = models.PositiveIntegerField()
    base_cycles = models.FloatField(null=True, blank=True)
    cycles = models.FloatField(null=True, blank=True)
    samples = models.PositiveIntegerField()
    surplus = models.FloatField(null=True, blank=True)
    below = models.PositiveIntegerField(default=0)
    uops = models.IntegerField(default=0)
    tolerance = models.FloatField(default=0.0)
    seen = models.CharField(max_length=12, choices=[(each.value, each.value) for each in Seen])
    run = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(mask__gt=0, copies__gte=1), name="witness_blocks_ports"),
        ]
