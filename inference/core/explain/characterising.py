"""The result of a search: one characterisation for every scheme of the problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from inference.core.explain.blockers import improper_mask, only_mask
from inference.core.explain.context import ExplainContext
from inference.core.explain.doubts import UnsettledPorts
from inference.core.explain.problem import (
    REASONS,
    BlockingClass,
    Characterisation,
    ExplainResult,
    NotCharacterised,
    SchemeFate,
    Witness,
    WitnessOutcome,
)
from inference.core.explain.remaining import Conclusion, majority_verdict
from inference.core.explain.run_verdict import RunVerdict, alone_cycles, is_at_limit
from inference.core.explain.settings import THROUGHPUT
from inference.core.explain.surplus import copies_needed, is_too_short, usage_from
from inference.core.mapping import PortMapping, Uops, described, uops_of


def build_result(
    context: ExplainContext, conclusion: Conclusion, r_max: float | None, seconds: float
) -> ExplainResult:
    """The result; `r_max` in instructions per cycle (None for no limit), `seconds` of the search."""
    table = conclusion.blocking.table()
    other_masks = _other_masks(conclusion, table)
    doubts = UnsettledPorts(context, conclusion.blocking.blockers, len(conclusion.blocking.ports), r_max)
    records = []
    for scheme in sorted(context.problem.schemes):
        if scheme in context.excluded:
            records.append(_exclusion(context, scheme))
        else:
            records.append(_characterise(context, scheme, conclusion, other_masks, doubts, r_max))
    usage = {c.scheme: c.usage for c in records if c.outcome is SchemeFate.CHARACTERISED}
    return ExplainResult(
        mapping=PortMapping(conclusion.blocking.ports, usage, r_max),
        characterisations=tuple(records),
        classes=tuple(table),
        blocking_answer=conclusion.blocking.answer,
        r_max=r_max,
        noise=context.sampler.noise,
        counts_from=context.counts_from,
        warnings=tuple(context.warnings),
        experiments=context.sampler.distinct,
        measurements=context.sampler.measurements,
        per_scheme=round(context.sampler.distinct / len(context.problem.schemes), 2),
        seconds=seconds,
    )


def no_result_text(result: ExplainResult) -> str:
    """The three commonest reasons why no scheme was characterised, each with an example."""
    reasons = Counter(c.reason for c in result.characterisations)
    parts = []
    for reason, number in reasons.most_common(3):
        example = next(c for c in result.characterisations if c.reason is reason)
        parts.append(f"{number} {REASONS.get(reason, reason.value)}, e.g. {example.scheme}: {example.text}")
    return f"none of {len(result.characterisations)} schemes could be characterised: {'; '.join(parts)}"


def _exclusion(context: ExplainContext, scheme: str) -> Characterisation:
    excluded = context.excluded[scheme]
    return Characterisation(
        scheme=scheme,
        outcome=SchemeFate.EXCLUDED,
        stage=excluded.stage,
        reason=excluded.reason,
        text=excluded.text,
        cycles=context.alone[scheme].cycles,
        counted=context.counts.get(scheme),
        facts=excluded.facts,
    )


def _characterise(
    context: ExplainContext,
    scheme: str,
    conclusion: Conclusion,
    other_masks: Sequence[dict[str, int]],
    unsettled: UnsettledPorts,
    r_max: float | None,
) -> Characterisation:
    """The characterisation of a scheme that reached the last stage: the majority of its runs, with doubts."""
    verdicts, witnesses = conclusion.verdicts[scheme], conclusion.witnesses[scheme]
    record = Characterisation(
        scheme=scheme,
        outcome=SchemeFate.EXCLUDED,
        stage="remaining",
        cycles=context.alone[scheme].cycles,
        counted=context.counts.get(scheme),
        runs=tuple(_verdict_text(v, conclusion.blocking.ports) for v in verdicts),
    )
    last = not context.sampler.repeats or context.reporter.pace.finishing
    verdict = majority_verdict(verdicts, context.settings, last=last)
    if verdict is None:
        return _with_disagreement(record, verdicts, witnesses)
    record = replace(
        record, witnesses=tuple(witnesses[next(k for k, v in enumerate(verdicts) if v is verdict)])
    )
    if verdict.reason is not NotCharacterised.NONE:
        text = verdict.text or REASONS[verdict.reason]
        return replace(record, reason=verdict.reason, text=text, facts=verdict.facts)
    usage, doubts = _with_undecided_ports(context, scheme, verdict, record.witnesses, conclusion, r_max)
    doubts = (*doubts, *_not_recorded(record.witnesses, conclusion), *_too_short(record.witnesses))
    if context.counts_from == THROUGHPUT:
        doubts = (*doubts, *unsettled.of(scheme, usage, record.witnesses))
    return replace(
        record,
        outcome=SchemeFate.CHARACTERISED,
        usage=usage,
        doubts=doubts,
        alternatives=_alternatives(verdict, usage, other_masks),
    )


def _not_recorded(witnesses: Sequence[Witness], conclusion: Conclusion) -> Iterator[str]:
    """A doubt about blocking instructions that were not recorded beside the scheme and could show µops."""
    tested = {witness.blocker for witness in witnesses}
    free = [witness.mask for witness in witnesses if witness.seen is WitnessOutcome.EVADES]
    missing = [
        blocker.scheme
        for blocker in conclusion.blocking.blockers
        if blocker.scheme not in tested and not any(blocker.mask & mask == blocker.mask for mask in free)
    ]
    if missing:
        yield f"nothing was recorded of it beside {'; '.join(missing)}"


def _too_short(witnesses: Sequence[Witness]) -> Iterator[str]:
    """Doubts about floods with too few copies for the scheme's µops."""
    for witness in witnesses:
        if is_too_short(witness, witnesses):
            needed = copies_needed(witness, witnesses)
            yield f"{witness.copies} copies of {witness.blocker} are too few to block: {needed} would do"


def _with_disagreement(
    record: Characterisation, verdicts: Sequence[RunVerdict], witnesses: Sequence[Sequence[Witness]]
) -> Characterisation:
    """The verdict where runs disagree: ambiguous for different µops, else excluded."""
    usages = tuple(dict.fromkeys(v.usage for v in verdicts if v.reason is NotCharacterised.NONE))
    several = len(usages) > 1
    return replace(
        record,
        outcome=SchemeFate.AMBIGUOUS if several else SchemeFate.EXCLUDED,
        reason=NotCharacterised.DISAGREEMENT,
        text=REASONS[NotCharacterised.DISAGREEMENT],
        witnesses=tuple(witness for run in witnesses for witness in run),
        alternatives=usages if several else (),
        facts=tuple(fact for verdict in verdicts for fact in verdict.facts),
    )


def _with_undecided_ports(
    context: ExplainContext,
    scheme: str,
    verdict: RunVerdict,
    witnesses: Sequence[Witness],
    conclusion: Conclusion,
    r_max: float | None,
) -> tuple[Uops, tuple[str, ...]]:
    """The µops with those on port sets as wide as the bottleneck, from the count (§6.2.3); and doubts."""
    undecided = [witness for witness in witnesses if witness.seen is WitnessOutcome.UNDECIDED]
    if not undecided:
        return verdict.usage, ()
    n_uops = sum(count for _, count in verdict.usage)
    count = context.uops(scheme)
    names = "; ".join(witness.blocker for witness in undecided)
    if count is not None and count > n_uops and len(undecided) == 1:
        unseen = count - n_uops
        text = (
            f"{unseen} µop(s) that no narrower set holds are taken to be on the ports of {names}; that "
            "follows from the count alone"
        )
        return uops_of([*verdict.usage, (undecided[0].mask, unseen)]), (text,)
    if not verdict.usage and r_max is not None and is_at_limit(context.cycles(scheme), r_max):
        text = f"as quick as the bottleneck lets anything be: one µop on the ports of {names}, or none at all"
        return ((undecided[0].mask, 1),), (text,)
    alone = context.alone[scheme]
    explained = alone_cycles(verdict.usage, len(conclusion.blocking.ports), r_max, alone.experiment)
    cycles = context.cycles(scheme)
    suffix = ""
    if cycles > explained + context.settings.alone_epsilon:
        suffix = f"; alone it takes {cycles:.3g} cycles, of which what was found explains {explained:.3g}"
    text = f"µops on the ports of {names} cannot be excluded: as many as the bottleneck passes{suffix}"
    return verdict.usage, (text,)


def _other_masks(conclusion: Conclusion, table: Sequence[BlockingClass]) -> list[dict[str, int]]:
    """{blocking instruction: port set} of each alternative mapping."""
    answer = conclusion.blocking.answer
    if answer is None:
        return []
    masks = []
    improper = {scheme.scheme: scheme for scheme in conclusion.blocking.improper}
    heads = [row.blocker for row in table if not row.improper]
    for other in answer.alternatives:
        ports: dict[str, int | None] = {}
        for row in table:
            if row.blocker not in other.usage:
                continue
            if row.improper:
                ports[row.blocker] = improper_mask(other, improper[row.blocker], heads)
            else:
                ports[row.blocker] = only_mask(other, row.blocker)
        masks.append({blocker: mask for blocker, mask in ports.items() if mask})
    return masks


def _alternatives(
    verdict: RunVerdict, usage: Uops, other_masks: Sequence[dict[str, int]]
) -> tuple[Uops, ...]:
    """Other µops that the same surpluses imply under alternative mappings of the blocking instructions."""
    usages: dict[Uops, None] = {}
    for masks in other_masks:
        if not verdict.surpluses.keys() <= masks.keys():
            continue
        # A blocking instruction is skipped where a wider one showed no delay: its surplus is 0.
        other = usage_from({blocker: verdict.surpluses.get(blocker, 0) for blocker in masks}, masks)
        if other is not None and other != usage:
            usages[other] = None
    return tuple(usages)


def _verdict_text(verdict: RunVerdict, ports: Sequence[str]) -> str:
    if verdict.reason is NotCharacterised.NONE:
        return described(verdict.usage, ports)
    return f"{verdict.reason.value}: {verdict.text}" if verdict.text else verdict.reason.value
