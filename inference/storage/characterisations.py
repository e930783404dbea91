"""Stores the verdicts of explainable inference on the schemes of a mapping, and loads them as values.

Facts about all schemes (blocking instructions, noise, warnings) are in the mapping's `report["explain"]`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference.core.events import Amount, Count, RMax, adapter
from inference.core.experiment import Experiment
from inference.core.explain import (
    BlockingClass,
    ExplainResult,
    NotCharacterised,
    SchemeFate,
    VerdictFact,
    Witness,
    WitnessOutcome,
)
from inference.core.explain import Characterisation as Value
from inference.core.explain.events import StoredClass, class_json, funnel_of
from inference.core.explain.surplus import flood_of
from inference.core.mapping import Uops
from inference.core.protocols import Json
from inference.models import Characterisation, PortMapping
from inference.models import Witness as WitnessRow
from inference.storage.rows import BATCH, portions, scheme_ids

KEY = "explain"
"""Key of a mapping's report."""


@dataclass(frozen=True)
class ExplainedMapping:
    """Facts about all schemes of a mapping found by explainable inference; see `ExplainResult`."""

    classes: tuple[StoredClass, ...]
    r_max: RMax | None
    noise: Amount
    counts_from: str
    warnings: tuple[str, ...]
    verdict: str
    alternatives: Count
    experiments: Count
    measurements: Count
    per_scheme: Amount
    seconds: Amount
    funnel: Mapping[str, int]
    epsilon: Amount
    evidence: str

    @classmethod
    def of(cls, report: Json) -> ExplainedMapping | None:
        """From a mapping's report; None for a mapping of another origin."""
        entry = report.get(KEY)
        if entry is None:
            return None
        explained: ExplainedMapping = adapter(cls).validate_python(entry, strict=False)
        return explained

    def blocks(self, mask: int) -> BlockingClass | None:
        """The blocking class of a port set, None where there is none."""
        return next((blocking for blocking in self.classes if blocking.mask == mask), None)


def report_of(result: ExplainResult, epsilon: float, evidence: str) -> Json:
    """The entry of a mapping's report; `ExplainedMapping.of` reads it."""
    answer = result.blocking_answer
    return {
        "classes": [class_json(blocking) for blocking in result.classes],
        "r_max": result.r_max,
        "noise": result.noise,
        "counts_from": result.counts_from,
        "warnings": list(result.warnings),
        "verdict": "" if answer is None else answer.verdict,
        "alternatives": 0 if answer is None else len(answer.alternatives),
        "experiments": result.experiments,
        "measurements": result.measurements,
        "per_scheme": result.per_scheme,
        "seconds": round(result.seconds, 1),
        "funnel": funnel_of(result.characterisations),
        "epsilon": epsilon,
        "evidence": evidence,
    }


def store_characterisations(row: PortMapping, values: Sequence[Value]) -> int:
    """Store the verdicts of a mapping with their witnesses, in bulk; returns the number of witnesses."""
    ids = scheme_ids(row.isa)
    rows = Characterisation.objects.bulk_create(
        [
            Characterisation(
                mapping=row,
                scheme_id=ids[value.scheme],
                outcome=value.outcome.value,
                stage=value.stage,
                reason=value.reason.value,
                text=value.text,
                cycles=value.cycles,
                counted=value.counted,
                facts=[_fact_json(fact) for fact in value.facts],
                doubts=list(value.doubts),
                alternatives=[[list(uop) for uop in uops] for uops in value.alternatives],
                runs=list(value.runs),
            )
            for value in values
        ],
        batch_size=BATCH,
    )
    witnesses = [
        _witness_row(stored.pk, witness, ids)
        for stored, value in zip(rows, values, strict=True)
        for witness in value.witnesses
    ]
    WitnessRow.objects.bulk_create(witnesses, batch_size=BATCH)
    return len(witnesses)


def copy_characterisations(source: PortMapping, target: PortMapping, without: Collection[str]) -> None:
    """Copy the verdicts of a mapping, with their witnesses, to another with the same ports.

    Args:
        source: The mapping with the verdicts.
        target: Gets them.
        without: Texts of schemes whose verdicts are not copied.
    """
    rows = list(source.characterisations.exclude(scheme__text__in=without).order_by("pk"))
    copies = {}
    for row in rows:
        old, row.pk, row.mapping = row.pk, None, target
        copies[old] = row
    Characterisation.objects.bulk_create(rows, batch_size=BATCH)
    witnesses = []
    for part in portions(copies, BATCH):
        for witness in WitnessRow.objects.filter(characterisation__in=part).order_by("pk"):
            witness.characterisation = copies[witness.characterisation_id]
            witness.pk = None
            witnesses.append(witness)
    WitnessRow.objects.bulk_create(witnesses, batch_size=BATCH)


_NUMBERS = (
    *("mask", "copies", "base_cycles", "cycles", "samples"),
    *("surplus", "below", "uops", "tolerance", "run"),
)


def _witness_row(characterisation: int, witness: Witness, ids: Mapping[str, int]) -> WitnessRow:
    numbers = {name: getattr(witness, name) for name in _NUMBERS}
    blocker, outcome = ids[witness.blocker], witness.seen.value
    return WitnessRow(characterisation_id=characterisation, blocker_id=blocker, seen=outcome, **numbers)


def load_characterisation(row: Characterisation, usage: Uops) -> Value:
    """A verdict with its witnesses as a value. `usage`: the scheme's µops in the mapping."""
    scheme = row.scheme.text
    witnesses = row.witnesses.select_related("blocker").order_by("id")
    return Value(
        scheme=scheme,
        outcome=SchemeFate(row.outcome),
        stage=row.stage,
        reason=NotCharacterised(row.reason),
        text=row.text,
        usage=usage,
        cycles=row.cycles,
        counted=row.counted,
        facts=tuple(_fact_of(fact) for fact in row.facts),
        witnesses=tuple(witness_of(witness, scheme) for witness in witnesses),
        doubts=tuple(row.doubts),
        alternatives=tuple(tuple((mask, count) for mask, count in uops) for uops in row.alternatives),
        runs=tuple(row.runs),
    )


def witness_of(row: WitnessRow, scheme: str) -> Witness:
    blocker = row.blocker.text
    numbers: dict[str, Any] = {name: getattr(row, name) for name in _NUMBERS}
    base, tested = flood_of(blocker, row.copies), flood_of(blocker, row.copies, scheme)
    return Witness(blocker=blocker, base=base, tested=tested, seen=WitnessOutcome(row.seen), **numbers)


def _fact_json(fact: VerdictFact) -> Json:
    terms = [list(term) for term in fact.experiment.terms]
    return {"terms": terms, "expected": fact.expected, "observed": fact.observed}


def _fact_of(fact: Json) -> VerdictFact:
    return VerdictFact(Experiment.of(dict(fact["terms"])), fact["expected"], fact["observed"])


def verdicts_of(row: PortMapping) -> list[tuple[str, str, str, str, str]]:
    """(scheme, stage, outcome, reason, text) of every verdict on a mapping."""
    rows = Characterisation.objects.filter(mapping=row).order_by("id")
    return list(rows.values_list("scheme__text", "stage", "outcome", "reason", "text"))
