"""Port and resource mappings with their evaluations, conflicts, characterisations, witnesses and fronts."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from inference.core.explain import NotCharacterised, SchemeFate, WitnessOutcome
from inference.models.named import Named


class ResourceMapping(Named):
    """A conjunctive resource mapping, as Palmed infers them: imported, or converted from a port mapping.

    `resources` lists the names; `ResourceLoad.resource` is an index into it. `report` holds messages of the
    import or conversion: names of the file that have no scheme (`left_out`), the limit of the conversion.
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
    """The cycles for which one instance of a scheme occupies a resource.

    A scheme known to use no resource has a single row with resource 0 and load 0. A scheme without any row is
    not described by the mapping.
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
    cycle, `issue_width` in issue slots per cycle. `report` holds the algorithm's details of the result
    (congruence classes, final fitness, versions).
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
    """A kind of µops of one scheme in a mapping: `count` µops that can use the ports in `mask`.

    A scheme with several kinds of µops has several rows; one known to use no port has a single row with mask
    0 and count 0. A scheme without any row is not described by the mapping. `slots` are the issue slots that
    the scheme takes altogether: the same in all of its rows.
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
    """A scheme with different µops in two mappings of the same machine.

    `here` are the µops in `mapping`, `there` those in `other`, as text by
    `inference.core.judging.contradictions`. Each conflict has two rows, one per direction.
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
    """Accuracy of a port or resource mapping: summary numbers and a heat map.

    The measurements are those of `experiment_set`, or the ones that the run `held_out_by` did not train on.
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
        mapping = self.mapping or self.resource_mapping
        assert mapping is not None, "the database allows no evaluation without a predictor"
        return mapping


class FrontPoint(models.Model):
    """A mapping of a run's front, which the user may pick in place of the run's result.

    `place` counts from 0, the most accurate first. `error` is the mean relative error (a fraction) on the
    training experiments, `volume` µops × ports, `kinds` the number of different µops. `content` is the
    mapping and `judged` its accuracy on the run's test measurements, both in the form of
    `inference.storage.results`. `picked` is the stored mapping of this point: the run's own for one point,
    null for those not picked.
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
    """Explainable inference's conclusion about a scheme; every selected scheme has one.

    `stage` is the stage that decided, `text` the reason with its numbers. `cycles` is the time of the scheme
    alone, `counted` its µops by performance counters. `facts`: the experiments behind the verdict, [{"terms",
    "expected", "observed"}]. `alternatives`: other usages that the evidence allows, each [[mask, count], …].
    `runs`: the conclusion of each repetition as text.
    """

    mapping = models.ForeignKey(
        "inference.PortMapping", on_delete=models.CASCADE, related_name="characterisations"
    )
    scheme = models.ForeignKey(
        "inference.InstructionScheme", on_delete=models.PROTECT, related_name="characterisations"
    )
    outcome = models.CharField(max_length=16, choices=[(fate.value, fate.value) for fate in SchemeFate])
    stage = models.CharField(max_length=16)
    reason = models.CharField(
        max_length=40,
        blank=True,
        choices=[(reason.value, reason.value) for reason in NotCharacterised if reason.value],
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
                condition=Q(outcome__in=[fate.value for fate in SchemeFate]), name="outcome_known"
            ),
        ]
        indexes = [models.Index(fields=["mapping", "outcome", "stage"], name="characterised_by_outcome")]


class Witness(models.Model):
    """Two experiments that show whether a scheme can evade a port set.

    The first floods the ports of `mask` with `copies` instances of `blocker`; the second adds the scheme.
    `base_cycles` and `cycles` are their medians of `samples`, `surplus` is their difference.
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
    seen = models.CharField(
        max_length=12, choices=[(outcome.value, outcome.value) for outcome in WitnessOutcome]
    )
    run = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(mask__gt=0, copies__gte=1), name="witness_blocks_ports"),
        ]
