"""Latencies that runs have measured, scheme by scheme."""

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
