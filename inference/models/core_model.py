"""Core models and two of their measured parts: latencies and the front end."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import models
from django.db.models import Q

from inference.agent.protocol import Frame
from inference.core.protocols import Json
from inference.models.named import Named


class LatencySet(Named):
    """The latencies of one run on one machine.

    `connectors`: {link as text: cycles} of the instructions that close chains. `memory`: in the form of
    `inference.core.latency.MemoryLatency.as_json`. `readings`: of all chains, packed by
    `inference.storage.latencies`; null in sets of older versions. `identity`: settings of the measuring
    harness.
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
        """A sentence with the initial values of registers and memory in chains.

        Latencies of pairs without values of their own hold for these values only.
        """
        if "simulated" in self.identity:
            return "Simulated: latencies do not depend on values."
        start_state = self.identity.get("block") or self.identity.get("frame")
        if not start_state:
            return "The initial values of its chains are not recorded."
        vector = start_state.get("vector", Frame.vector)
        registers, memory = _format_register_values(start_state["registers"]), start_state["memory"]
        return (
            f"Unless values are named, chains begin with {registers} in general-purpose registers, "
            f"{vector:#x} in each half of vector registers, and {memory:#x} in memory."
        )


def _format_register_values(value: int | Mapping[str, int]) -> str:
    values = value.values() if isinstance(value, Mapping) else (value,)
    return " or ".join(f"{start:#x}" for start in dict.fromkeys(values)) or "0"


class SchemeLatencies(models.Model):
    """The latencies of a scheme.

    `pairs`: in the form of `inference.core.latency.PairLatency.as_json` without the chains, which are in
    `chains`, one list per pair: they are long, and few readers need them. `idioms`: in the form of
    `Idiom.as_json`. `least` and `most`: cycles over the `isolated` pairs, null if there are none.
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
        return [{**pair, "chains": chains} for pair, chains in zip(self.pairs, self.chains, strict=True)]


class MeasuredFrontEnd(Named):
    """One run's measurements of a machine's front end.

    `readings`: in the form of `inference.storage.core_models`; conclusions are computed from them on demand.
    `identity`: settings of the measuring harness.
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
    """A core model: references to its parts, or the document of an imported model.

    A part that is deleted or not measured yet is null; predictions name their missing parts. `run` is the
    profiling run (kind `know`) that fills the model. `document`: in the form of
    `inference.formats.core_model_json`. `scheduler`: an `inference.formats.scheduler_json.SchedulerRecord`
    on the ports of this mapping, null if it was not measured. `selection`: why this mapping was chosen among
    several, in the form of `inference.core.judging.selection`; null if there was only one. `port_names`:
    {port of the mapping: the vendor's name}, for the ports that a user has named.
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
