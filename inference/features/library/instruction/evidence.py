"""Facts about a form of an instruction on a CPU, their certainty, and contradicting sources."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from django.db.models import Count

from inference.core.explain import SchemeFate
from inference.core.judging.claims import (
    NO_EVIDENCE,
    ClaimEvidence,
    ClaimWording,
    StrongClaim,
    strongest_word,
)
from inference.core.judging.contradictions import NOT_SETTLED
from inference.core.judging.held_out_checks import TOLERANCE, TOLERANCE_SHARE
from inference.core.mapping import Uops
from inference.core.metrics import SchemeError
from inference.core.protocols import Json
from inference.isa.targets import documented_cpi, documented_latencies, latency_source
from inference.models import (
    Characterisation,
    Evaluation,
    InstructionScheme,
    LatencySet,
    Measurement,
    PortMapping,
    SchemeLatencies,
)
from inference.storage.latencies import compare_documented

MAX_PAIRS = 4
"""Pairs of operands that a cell has one by one."""
BADLY = 20.0
"""Mean error in per cent of experiments with a form, above which its µops are doubtful."""


class Certainty(StrEnum):
    """How well the µops of a form are established, best first."""

    PROVEN = StrongClaim.PROVEN.value
    CHECKED = StrongClaim.CHECKED.value
    UNSETTLED = NOT_SETTLED
    DOUBTFUL = "doubtful"
    CONTRADICTED = "contradicted"
    UNCHECKED = "not checked"
    RECORDED = "recorded"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class AloneTime:
    """The measured time of one instance: the median in cycles, and the experiment; None of a document.

    `spread`: largest difference in cycles between its passes or its measurements; None of a document.
    """

    cycles: float
    experiment_id: int | None
    spread: float | None = None

    @property
    def half_spread(self) -> float | None:
        return None if self.spread is None else self.spread / 2


@dataclass(frozen=True)
class FormLatency:
    """The latencies of a form in one set, or in a document: least to most, or a bound; None if unknown.

    Attributes:
        pairs: In the form of `inference.core.latency.PairLatency.as_json`.
        idioms: Idioms of `Idiom.as_json`.
    """

    latency_set: LatencySet | None
    least: float | None
    most: float | None
    at_most: float | None
    pairs: Sequence[Json]
    idioms: Sequence[Json] = ()

    @property
    def differing_pairs(self) -> list[Json]:
        """The pairs with a latency of their own between registers and memory, where not all are equal."""
        pairs = [pair for pair in self.pairs if pair["least"] is not None and pair["destination"] != "flags"]
        distinct = {f"{pair['least']:.1f}–{pair['most']:.1f}" for pair in pairs}
        return pairs if len(distinct) > 1 and len(pairs) <= MAX_PAIRS else []


@dataclass(frozen=True)
class OtherUsage:
    """Another mapping of the same core with different µops for the form."""

    mapping: PortMapping
    uops: Uops
    port_labels: Sequence[str] = ()


@dataclass(frozen=True)
class OtherNumber:
    """A documented number that differs from the measured one: cycles alone, or a latency."""

    source: str
    what: str
    documented: str


@dataclass(frozen=True)
class FormOnCpu:
    """A cell of the card; `uops` is None if the mapping does not describe the form.

    `slots` is None if the mapping has no limit of slots. `residual` is over the experiments with the form
    in `evaluation`.

    Attributes:
        grounds: The evidence that decides `word`.
        conflicts: Differing results of the machine.
        conditions: Idioms, false dependencies, fusion and the like, as sentences.
        document: How good the core model is that the facts are from, where it is a document.
    """

    uops: Uops | None
    slots: int | None
    predicted: float | None
    alone: AloneTime | None
    latency: FormLatency | None
    verdict: Characterisation | None = None
    witnesses: int = 0
    residual: SchemeError | None = None
    evaluation: Evaluation | None = None
    other_usages: Sequence[OtherUsage] = ()
    documents: Sequence[OtherNumber] = ()
    grounds: ClaimEvidence = NO_EVIDENCE
    conflicts: Sequence[str] = ()
    conditions: Sequence[str] = ()
    document: str | None = None

    @property
    def is_empty(self) -> bool:
        return all(fact is None for fact in (self.uops, self.alone, self.latency, self.verdict))

    @property
    def cycles(self) -> float | None:
        """Of one instance: as measured, else as predicted."""
        return self.predicted if self.alone is None else self.alone.cycles

    @property
    def off(self) -> float | None:
        """Measured minus predicted cycles of one instance, None if within the tolerance."""
        if self.alone is None or self.predicted is None:
            return None
        difference = self.alone.cycles - self.predicted
        return difference if abs(difference) > max(TOLERANCE, TOLERANCE_SHARE * self.alone.cycles) else None

    @property
    def certainty(self) -> Certainty:
        """The certainty; measurements outweigh conclusions."""
        if self.document is not None:
            return Certainty.RECORDED
        if self.uops is None:
            return Certainty.UNKNOWN if self.verdict is None else Certainty.DOUBTFUL
        if self.off is not None:
            return Certainty.CONTRADICTED
        badly = self.residual is not None and self.residual.absolute > BADLY
        if badly or (self.verdict is not None and self.verdict.outcome != SchemeFate.CHARACTERISED):
            return Certainty.DOUBTFUL
        if self.word is None:
            return Certainty.UNCHECKED
        return Certainty(self.word.text) if self.word.is_strong else Certainty.UNSETTLED

    @property
    def word(self) -> ClaimWording | None:
        """The strongest claim about its µops; None without a measurement that supports one."""
        if self.verdict is not None and self.witnesses:
            return strongest_word(StrongClaim.PROVEN, self.grounds)
        if self.residual is not None or self.alone is not None:
            return strongest_word(StrongClaim.CHECKED, self.grounds)
        return None

    @property
    def why(self) -> str:
        if self.document is not None:
            return self.document
        reasons = []
        if self.off is not None and self.alone is not None and self.predicted is not None:
            reasons.append(f"alone {self.alone.cycles:.2f} cycles, predicted {self.predicted:.2f}")
        if self.verdict is not None and self.verdict.outcome != SchemeFate.CHARACTERISED:
            reasons.append(self.verdict.text or self.verdict.outcome)
        if self.certainty is Certainty.UNSETTLED and self.word is not None:
            reasons.append("; ".join((self.word.text, *self.word.reasons)))
        if self.witnesses:
            reasons.append(f"{self.witnesses} witness{'' if self.witnesses == 1 else 'es'}")
        if self.residual is not None:
            reasons.append(f"{self.residual.n:,} experiments, off by {self.residual.absolute:.1f} %")
        if not reasons:
            reasons.append("only measured alone" if self.alone is not None else "no measurement with it")
        return "; ".join(reasons)


def differ(first: Uops, second: Uops) -> bool:
    """Whether the µops of two mappings differ under all renamings of ports: by numbers or widths."""
    return _widths(first) != _widths(second)


def _widths(uops: Uops) -> Counter[int]:
    widths: Counter[int] = Counter()
    for mask, count in uops:
        widths[mask.bit_count()] += count
    return widths


@dataclass(frozen=True)
class FormEvidence:
    """Facts by (machine, scheme): times alone and latencies; by (mapping, scheme): verdicts with numbers of
    witnesses.

    Attributes:
        by_set: Times alone by (set, scheme), of sets without a machine.
        sets_of_run: {run: such sets that it made}.
    """

    alone: Mapping[tuple[int, int], AloneTime]
    by_set: Mapping[tuple[int, int], AloneTime]
    sets_of_run: Mapping[int, Sequence[int]]
    latencies: Mapping[tuple[int, int], FormLatency]
    verdicts: Mapping[tuple[int, int], tuple[Characterisation, int]]

    @property
    def machines(self) -> set[int]:
        return {machine for machine, _ in (*self.alone, *self.latencies)}

    def forms_on(self, machine: int) -> int:
        return len({scheme for pk, scheme in (*self.alone, *self.latencies) if pk == machine})

    def alone_for(self, mapping: PortMapping, scheme: int) -> AloneTime | None:
        """The time of one instance in the training sets of a mapping without a machine."""
        if mapping.run is None:
            return None
        source = mapping.run.config.get("source")
        datasets = source.get("datasets", ()) if isinstance(source, dict) else ()
        sets = (*self.sets_of_run.get(mapping.run.pk, ()), *datasets)
        return next((self.by_set[pk, scheme] for pk in sets if (pk, scheme) in self.by_set), None)


def evidence_about(schemes: Sequence[InstructionScheme]) -> FormEvidence:
    readings: defaultdict[tuple[int | None, int, int], list[tuple[float, int, float]]] = defaultdict(list)
    sets_of_run: defaultdict[int, list[int]] = defaultdict(list)
    for machine, set_id, run, scheme, experiment, cycles, spread in _alone_rows(schemes):
        readings[machine, 0 if machine else set_id, scheme].append((cycles, experiment, spread or 0.0))
        if machine is None and run is not None and set_id not in sets_of_run[run]:
            sets_of_run[run].append(set_id)
    alone, by_set = {}, {}
    for (machine, set_id, scheme), times in readings.items():
        values = [cycles for cycles, _, _ in times]
        spread = max(max(values) - min(values), *(spread for _, _, spread in times))
        time = AloneTime(median(values), times[0][1], spread)
        if machine is None:
            by_set[set_id, scheme] = time
        else:
            alone[machine, scheme] = time
    return FormEvidence(alone, by_set, sets_of_run, _latencies(schemes), _verdicts(schemes))


def _alone_rows(
    schemes: Sequence[InstructionScheme],
) -> Iterable[tuple[int | None, int, int | None, int, int, float, float | None]]:
    keys = {f"{scheme.pk}:1": scheme.pk for scheme in schemes}
    rows = Measurement.objects.filter(
        experiment__isa=schemes[0].isa_id,
        experiment__key__in=list(keys),
        state=Measurement.State.SETTLED,
        cycles__isnull=False,
    ).order_by("id")
    columns = ("experiment_set__machine", "experiment_set", "experiment_set__run", "experiment__key")
    for machine, set_id, run, key, *reading in rows.values_list(
        *columns, "experiment_id", "cycles", "spread"
    ):
        yield machine, set_id, run, keys[key], *reading


def _latencies(schemes: Sequence[InstructionScheme]) -> dict[tuple[int, int], FormLatency]:
    """The latencies of the newest set of each machine that has the scheme."""
    rows = SchemeLatencies.objects.filter(scheme__in=schemes).select_related("latency_set")
    rows = rows.defer("chains", "latency_set__readings", "latency_set__memory").order_by("latency_set_id")
    return {
        (row.latency_set.machine_id, row.scheme_id): FormLatency(
            row.latency_set, row.least, row.most, _bound(row.pairs), row.pairs, row.idioms
        )
        for row in rows
    }


def _bound(pairs: Sequence[Json]) -> float | None:
    bounds = [pair["at_most"] for pair in pairs if pair["at_most"] is not None]
    return max(bounds, default=None)


def _verdicts(
    schemes: Sequence[InstructionScheme],
) -> dict[tuple[int, int], tuple[Characterisation, int]]:
    rows = Characterisation.objects.filter(scheme__in=schemes).annotate(number=Count("witnesses"))
    return {(row.mapping_id, row.scheme_id): (row, row.number) for row in rows}


NEAR_SHARE = 0.05
"""Share of a documented time by which a measured one may differ."""


def documents_of(
    core: str, scheme: int, text: str, alone: AloneTime | None, latency: FormLatency | None
) -> tuple[OtherNumber, ...]:
    """Documented numbers that differ from the measured ones; `core` is the microarchitecture's name, "" if
    unknown.
    """
    return (*_documented_cycles(core, text, alone), *_documented_latencies(core, scheme, text, latency))


def _documented_cycles(core: str, text: str, alone: AloneTime | None) -> Iterator[OtherNumber]:
    documented = documented_cpi(core).get(text)
    if documented is not None and alone is not None:
        cycles, source = documented
        if abs(cycles - alone.cycles) > NEAR_SHARE * max(cycles, alone.cycles):
            yield OtherNumber(source, "cycles", f"{cycles:.2f}")


def _documented_latencies(
    core: str, scheme: int, text: str, latency: FormLatency | None
) -> Iterator[OtherNumber]:
    if latency is None or not documented_latencies(core):
        return
    for off in compare_documented(core, [(scheme, text, latency.pairs)]).off:
        lowest, highest = off.documented_least, off.documented_most
        range_text = f"{lowest:.4g}" if lowest == highest else f"{lowest:.4g}–{highest:.4g}"
        yield OtherNumber(latency_source(core), f"latency {off.source} → {off.destination}", range_text)
