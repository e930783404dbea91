"""What is known of a form of an instruction on a CPU, how sure it is, and who says otherwise."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from django.db.models import Count

from inference.core.explain import SchemeFate
from inference.core.judging.contradictions import NOT_SETTLED
from inference.core.judging.held_out_checks import NEAR, SHARE
from inference.core.judging.words import NO_GROUNDS, AllowedWord, Grounds, StrongWord, strongest_word
from inference.core.mapping import Uops
from inference.core.metrics import SchemeError
from inference.core.protocols import Json
from inference.isa.targets.textbook import known_cpi, known_latencies, latency_source
from inference.models import (
    Characterisation,
    Evaluation,
    InstructionScheme,
    LatencySet,
    Measurement,
    PortMapping,
    SchemeLatencies,
)
from inference.storage.documented_latencies import compared

BADLY = 20.0
"""Per cent by which predictions for experiments with a form may be off on average."""


class Certainty(StrEnum):
    """How well the µops of a form are established, the best first."""

    PROVEN = StrongWord.PROVEN.value
    CHECKED = StrongWord.CHECKED.value
    UNSETTLED = NOT_SETTLED
    DOUBTFUL = "doubtful"
    CONTRADICTED = "contradicted"
    UNCHECKED = "not checked"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class AloneTime:
    """One instance as it was measured: the median in cycles, and the experiment."""

    cycles: float
    experiment_id: int


@dataclass(frozen=True)
class FormLatency:
    """The latencies of a form in one set: least to most, or what no pair exceeds; None where unknown.

    `pairs`: as `inference.core.latency.PairLatency.as_json` has them.
    """

    latency_set: LatencySet
    least: float | None
    most: float | None
    at_most: float | None
    pairs: Sequence[Json]


@dataclass(frozen=True)
class OtherUsage:
    """Another mapping of the same core that gives the form other µops."""

    mapping: PortMapping
    uops: Uops


@dataclass(frozen=True)
class OtherNumber:
    """A document that says another number than was measured: of the cycles alone, or of a latency."""

    source: str
    what: str
    said: str


@dataclass(frozen=True)
class FormOnCpu:
    """A cell of the card; `uops` is None where the mapping does not describe the form.

    `slots` is None where the mapping has no limit of slots. `residual` is over the experiments with the form
    in `evaluation`. `grounds`: what a word on its µops rests on; `conflicts`: what other results of the
    machine say instead.
    """

    uops: Uops | None
    slots: int | None
    predicted: float | None
    alone: AloneTime | None
    latency: FormLatency | None
    verdict: Characterisation | None
    witnesses: int
    residual: SchemeError | None
    evaluation: Evaluation | None
    others: Sequence[OtherUsage]
    documents: Sequence[OtherNumber]
    grounds: Grounds = NO_GROUNDS
    conflicts: Sequence[str] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known."""
        return all(each is None for each in (self.uops, self.alone, self.latency, self.verdict))

    @property
    def off(self) -> float | None:
        """Cycles by which one instance takes longer than predicted, where that is too many either way."""
        if self.alone is None or self.predicted is None:
            return None
        difference = self.alone.cycles - self.predicted
        return difference if abs(difference) > max(NEAR, SHARE * self.alone.cycles) else None

    @property
    def certainty(self) -> Certainty:
        """The word for it; what was measured counts more than what was concluded."""
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
    def word(self) -> AllowedWord | None:
        """The strongest word for its µops; None where nothing was measured that could bear it out."""
        if self.verdict is not None and self.witnesses:
            return strongest_word(StrongWord.PROVEN, self.grounds)
        if self.residual is not None or self.alone is not None:
            return strongest_word(StrongWord.CHECKED, self.grounds)
        return None

    @property
    def why(self) -> str:
        """What the word rests on."""
        told = []
        if self.off is not None and self.alone is not None and self.predicted is not None:
            told.append(f"alone {self.alone.cycles:.2f} cycles, predicted {self.predicted:.2f}")
        if self.verdict is not None and self.verdict.outcome != SchemeFate.CHARACTERISED:
            told.append(self.verdict.text or self.verdict.outcome)
        if self.certainty is Certainty.UNSETTLED and self.word is not None:
            told.append("; ".join((self.word.text, *self.word.reasons)))
        if self.witnesses:
            told.append(f"{self.witnesses} witness{'' if self.witnesses == 1 else 'es'}")
        if self.residual is not None:
            told.append(f"{self.residual.n:,} experiments, off by {self.residual.absolute:.1f} %")
        if not told:
            told.append("measured alone only" if self.alone is not None else "no measurement with it")
        return "; ".join(told)


def differ(first: Uops, second: Uops) -> bool:
    """Whether no renaming of ports makes the µops of two mappings equal: other numbers, or other widths."""
    return _widths(first) != _widths(second)


def _widths(uops: Uops) -> Counter[int]:
    found: Counter[int] = Counter()
    for mask, count in uops:
        found[mask.bit_count()] += count
    return found


@dataclass(frozen=True)
class FormEvidence:
    """By machine and scheme: times alone and latencies; by mapping and scheme: verdicts with their witnesses.

    `by_set`: times alone in the sets without a machine, by set. `sets_of_run`: which of these a run made.
    """

    alone: Mapping[tuple[int, int], AloneTime]
    by_set: Mapping[tuple[int, int], AloneTime]
    sets_of_run: Mapping[int, Sequence[int]]
    latencies: Mapping[tuple[int, int], FormLatency]
    verdicts: Mapping[tuple[int, int], tuple[Characterisation, int]]

    @property
    def machines(self) -> set[int]:
        """Those on which anything was measured."""
        return {machine for machine, _ in (*self.alone, *self.latencies)}

    def forms_on(self, machine: int) -> int:
        """How many forms were measured on a machine."""
        return len({scheme for each, scheme in (*self.alone, *self.latencies) if each == machine})

    def alone_for(self, mapping: PortMapping, scheme: int) -> AloneTime | None:
        """One instance in the sets that a mapping without a machine was learnt from."""
        if mapping.run is None:
            return None
        source = mapping.run.config.get("source")
        learnt = source.get("datasets", ()) if isinstance(source, dict) else ()
        sets = (*self.sets_of_run.get(mapping.run.pk, ()), *learnt)
        return next((self.by_set[one, scheme] for one in sets if (one, scheme) in self.by_set), None)


def evidence_about(schemes: Sequence[InstructionScheme]) -> FormEvidence:
    """All of it for some schemes of one instruction set."""
    readings: defaultdict[tuple[int | None, int, int], list[tuple[float, int]]] = defaultdict(list)
    sets_of_run: defaultdict[int, list[int]] = defaultdict(list)
    for machine, one_set, run, scheme, experiment, cycles in _alone_rows(schemes):
        readings[machine, 0 if machine else one_set, scheme].append((cycles, experiment))
        if machine is None and run is not None and one_set not in sets_of_run[run]:
            sets_of_run[run].append(one_set)
    alone, by_set = {}, {}
    for (machine, one_set, scheme), found in readings.items():
        time = AloneTime(median(cycles for cycles, _ in found), found[0][1])
        if machine is None:
            by_set[one_set, scheme] = time
        else:
            alone[machine, scheme] = time
    return FormEvidence(alone, by_set, sets_of_run, _latencies(schemes), _verdicts(schemes))


def _alone_rows(
    schemes: Sequence[InstructionScheme],
) -> Iterable[tuple[int | None, int, int | None, int, int, float]]:
    keys = {f"{scheme.pk}:1": scheme.pk for scheme in schemes}
    rows = Measurement.objects.filter(
        experiment__isa=schemes[0].isa_id,
        experiment__key__in=list(keys),
        state=Measurement.State.SETTLED,
        cycles__isnull=False,
    ).order_by("id")
    columns = ("experiment_set__machine", "experiment_set", "experiment_set__run", "experiment__key")
    for machine, one_set, run, key, experiment, cycles in rows.values_list(
        *columns, "experiment_id", "cycles"
    ):
        yield machine, one_set, run, keys[key], experiment, cycles


def _latencies(schemes: Sequence[InstructionScheme]) -> dict[tuple[int, int], FormLatency]:
    """The newest set of each machine that has the scheme."""
    rows = SchemeLatencies.objects.filter(scheme__in=schemes).select_related("latency_set")
    rows = rows.defer("chains", "latency_set__readings", "latency_set__memory").order_by("latency_set_id")
    return {
        (row.latency_set.machine_id, row.scheme_id): FormLatency(
            row.latency_set, row.least, row.most, _bound(row.pairs), row.pairs
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
"""Of a documented time: a measured one that is as near agrees."""


def documents_of(
    core: str, scheme: int, text: str, alone: AloneTime | None, latency: FormLatency | None
) -> tuple[OtherNumber, ...]:
    """What is documented otherwise for a core, by its name ("" where that is not known)."""
    return (*_documented_cycles(core, text, alone), *_documented_latencies(core, scheme, text, latency))


def _documented_cycles(core: str, text: str, alone: AloneTime | None) -> Iterator[OtherNumber]:
    documented = known_cpi(core).get(text)
    if documented is not None and alone is not None:
        cycles, source = documented
        if abs(cycles - alone.cycles) > NEAR_SHARE * max(cycles, alone.cycles):
            yield OtherNumber(source, "cycles", f"{cycles:.2f}")


def _documented_latencies(
    core: str, scheme: int, text: str, latency: FormLatency | None
) -> Iterator[OtherNumber]:
    if latency is None or not known_latencies(core):
        return
    for off in compared(core, [(scheme, text, latency.pairs)]).off:
        least, most = off.documented_least, off.documented_most
        said = f"{least:.4g}" if least == most else f"{least:.4g}–{most:.4g}"
        yield OtherNumber(latency_source(core), f"latency {off.source} → {off.destination}", said)
