"""Core models, and what is measured of a core for one: its latencies and its front end."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import models
from django.db.models import Q

from inference.agent.protocol import Frame
from inference.core.protocols import Json
from inference.models.named import Named


class LatencySet(Named):
    """The latencies of one run on one machine.

    `connectors`: {link as text: cycles}, by which chains were closed. `memory`: as
    `inference.core.latency.MemoryLatency.as_json` has it. `readings`: of all chains, packed by
    `inference.storage.latencies`, null in sets from before they were kept. `identity`: of whoever measured.
    """

    isa = models.ForeignKey("inference.ISA", on_delete=models.PROTECT, related_name="latency_sets")
    machine = models.ForeignKey("inference.Machine", on_delete=models.PROTECT, related_name="latency_sets")
    run = models.ForeignKey(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="latency_sets"
    )
    connectors = models.JSONField(default=dict)
    memory = models.JSONField(default=list)
    identity = models.JSONField(default=dict)
    readings = models.BinaryField(null=True, blank=True)

    class Meta:
        verbose_name = "latency set"
        ordering = ["-id"]

    @property
    def start_values(self) -> str:
        """With which values chains begin, as a sentence.

        Pairs without values of their own are known for these alone.
        """
        if "simulated" in self.identity:
            return "Simulated: latencies do not depend on values."
        surroundings = self.identity.get("block") or self.identity.get("frame")
        if not surroundings:
            return "It is not known with which values its chains begin."
        vector = surroundings.get("vector", Frame.vector)
        registers, memory = _in_registers(surroundings["registers"]), surroundings["memory"]
        return (
            f"Unless values are named, chains begin with {registers} in general-purpose registers, "
            f"{vector:#x} in each half of vector registers, and {memory:#x} in memory."
        )


def _in_registers(value: int | Mapping[str, int]) -> str:
    values = value.values() if isinstance(value, Mapping) else (value,)
    return " or ".join(f"{each:#x}" for each in dict.fromkeys(values)) or "0"


class SchemeLatencies(models.Model):
    """The latencies of a scheme: `pairs` as `inference.core.latency.PairLatency.as_json` has them, without
    the chains; those are in `chains`, a list for each pair. They are long, and few readers need them.

    `idioms`: what a choice of operands makes of it, as `Idiom.as_json` has them.
    `least` and `most` are over its isolated pairs in cycles, null where it has none.
    """

    latency_set = models.ForeignKey(LatencySet, on_delete=models.CASCADE, related_name="schemes")
    scheme = models.ForeignKey(
        "inference.InstructionScheme", on_delete=models.PROTECT, related_name="latencies"
    )
    pairs = models.JSONField()
    idioms = models.JSONField(default=list)
    isolated = models.PositiveSmallIntegerField()
    least = models.FloatField(null=True, blank=True)
    most = models.FloatField(null=True, blank=True)
    chains = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["latency_set", "scheme"], name="scheme_once_per_latency_set"),
            models.CheckConstraint(
                condition=Q(least__isnull=True, most__isnull=True) | Q(least__lte=models.F("most")),
                name="latency_least_at_most",
            ),
        ]
        indexes = [models.Index(fields=["latency_set", "isolated"], name="latency_isolated_pairs")]

    def pairs_with_chains(self) -> list[Json]:
        together = zip(self.pairs, self.chains, strict=True)
        return [{**pair, "chains": chains} for pair, chains in together]


class MeasuredFrontEnd(Named):
    """The front end of one machine as one run has measured it.

    `readings`: as `inference.storage.core_models` has them; what they say is read off them when it is shown.
    `identity`: of whoever measured.
    """

    isa = models.ForeignKey("inference.ISA", on_delete=models.PROTECT, related_name="front_ends")
    machine = models.ForeignKey("inference.Machine", on_delete=models.PROTECT, related_name="front_ends")
    run = models.ForeignKey(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="front_ends"
    )
    readings = models.JSONField()
    identity = models.JSONField(default=dict)

    class Meta:
        verbose_name = "front end"
        ordering = ["-id"]


class StoredCoreModel(Named):
    """A core model: the parts that it consists of, or the document of an imported one.

    A part that was deleted, or that is not there yet, is null: predictions say what they lack. `run` is the
    run `know` that fills it in. `document`: as `inference.formats.core_model_json` writes it.
    `scheduler`: what was found out of the core's scheduler on the ports of this mapping, as
    `inference.formats.scheduler_json.SchedulerRecord` reads it; null where it was not looked for.
    `selection`: why this mapping of several was taken, as `inference.core.judging.selection` writes it; null
    where there was no choice.
    `port_names`: what the vendor calls ports, {port of the mapping: name}, as far as somebody has said so.
    """

    isa = models.ForeignKey("inference.ISA", on_delete=models.PROTECT, related_name="core_models")
    machine = models.ForeignKey(
        "inference.Machine", null=True, blank=True, on_delete=models.PROTECT, related_name="core_models"
    )
    run = models.OneToOneField(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="core_model"
    )
    mapping = models.ForeignKey(
        "inference.PortMapping", null=True, blank=True, on_delete=models.SET_NULL, related_name="core_models"
    )
    latencies = models.ForeignKey(
        "inference.LatencySet", null=True, blank=True, on_delete=models.SET_NULL, related_name="core_models"
    )
    front_end = models.ForeignKey(
        "inference.MeasuredFrontEnd",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="core_models",
    )
    document = models.JSONField(null=True, blank=True)
    selection = models.JSONField(null=True, blank=True)
    port_names = models.JSONField(default=dict, blank=True)
    scheduler = models.JSONField(null=True, blank=True)

    class Meta:
        verbose_name = "core model"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(document__isnull=True)
                | Q(mapping__isnull=True, latencies__isnull=True, front_end__isnull=True),
                name="core_model_of_parts_or_document",
            )
        ]
