"""The result: one characterisation for every scheme that was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from inference.core.explain.blockers import improper_mask, only_mask
from inference.core.explain.context import ExplainContext
from inference.core.explain.doubts import UnsettledPorts
from inference.core.explain.judging import RunVerdict, alone_cycles, is_at_limit
from inference.core.explain.problem import (
    REASONS,
    BlockingClass,
    Characterisation,
    ExplainResult,
    NotCharacterised,
    SchemeFate,
    Seen,
    Witness,
)
from inference.core.explain.remaining import Conclusion, agreed
from inference.core.explain.settings import THROUGHPUT
from inference.core.explain.surplus import copies_needed, is_too_short, usage_from
from inference.core.mapping import PortMapping, Uops, described, uops_of


def concluded(
    context: ExplainContext, found: Conclusion, r_max: float | None, seconds: float
) -> ExplainResult:
    """Everything that was found out."""
    table = found.known.table()
    others = _other_masks(found, table)
    doubts = UnsettledPorts(context, found.known.blockers, len(found.known.ports), r_max)
    told = []
    for scheme in sorted(context.problem.schemes):
        if scheme in context.excluded:
            told.append(_left_out(context, scheme))
        else:
            told.append(_tested(context, scheme, found, others, doubts, r_max))
    usage = {each.scheme: each.usage for each in told if each.outcome is SchemeFate.CHARACTERISED}
    return ExplainResult(
        mapping=PortMapping(found.known.ports, usage, r_max),
        characterisations=tuple(told),
        classes=tuple(table),
        blocking_answer=found.known.answer,
        r_max=r_max,
        noise=context.sampler.noise,
        counts_from=context.counts_from,
        warnings=tuple(context.warnings),
        experiments=context.sampler.distinct,
        measurements=context.sampler.measurements,
        per_scheme=round(context.sampler.distinct / len(context.problem.schemes), 2),
        seconds=seconds,
    )


def nothing_characterised(found: ExplainResult) -> str:
    """Why there is no result, in words: the commonest reasons, each with a scheme as an example."""
    reasons = Counter(each.reason for each in found.characterisations)
    told = []
    for reason, number in reasons.most_common(3):
        example = next(each for each in found.characterisations if each.reason is reason)
        told.append(f"{number} {REASONS.get(reason, reason.value)}, e.g. {example.scheme}: {example.text}")
    return f"none of {len(found.characterisations)} schemes could be characterised: {'; '.join(told)}"


def _left_out(context: ExplainContext, scheme: str) -> Characterisation:
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


def _tested(
    context: ExplainContext,
    scheme: str,
    found: Conclusion,
    others: Sequence[dict[str, int]],
    unsettled: UnsettledPorts,
    r_max: float | None,
) -> Characterisation:
    verdicts, shown = found.verdicts[scheme], found.witnesses[scheme]
    told = Characterisation(
        scheme=scheme,
        outcome=SchemeFate.EXCLUDED,
        stage="remaining",
        cycles=context.alone[scheme].cycles,
        counted=context.counts.get(scheme),
        runs=tuple(_in_words(each, found.known.ports) for each in verdicts),
    )
    last = not context.sampler.repeats or context.teller.pace.finishing
    verdict = agreed(verdicts, context.settings, last=last)
    if verdict is None:
        return _disagreeing(told, verdicts, shown)
    told = replace(
        told, witnesses=tuple(shown[next(k for k, each in enumerate(verdicts) if each is verdict)])
    )
    if verdict.reason is not NotCharacterised.NONE:
        text = verdict.text or REASONS[verdict.reason]
        return replace(told, reason=verdict.reason, text=text, facts=verdict.facts)
    usage, doubts = _with_the_wide(context, scheme, verdict, told.witnesses, found, r_max)
    doubts = (*doubts, *_not_recorded(told.witnesses, found), *_too_short(told.witnesses))
    if context.counts_from == THROUGHPUT:
        doubts = (*doubts, *unsettled.of(scheme, usage, told.witnesses))
    return replace(
        told,
        outcome=SchemeFate.CHARACTERISED,
        usage=usage,
        doubts=doubts,
        alternatives=_alternatives(verdict, usage, others),
    )


def _not_recorded(witnesses: Sequence[Witness], found: Conclusion) -> Iterator[str]:
    """Blocking instructions that nothing was recorded beside, though they could have shown something."""
    tested = {each.blocker for each in witnesses}
    free = [each.mask for each in witnesses if each.seen is Seen.EVADES]
    missing = [
        each.scheme
        for each in found.known.blockers
        if each.scheme not in tested and not any(each.mask & mask == each.mask for mask in free)
    ]
    if missing:
        yield f"nothing was recorded of it beside {'; '.join(missing)}"


def _too_short(witnesses: Sequence[Witness]) -> Iterator[str]:
    """Floods that are over before all of a scheme's µops could evade them."""
    for witness in witnesses:
        if is_too_short(witness, witnesses):
            needed = copies_needed(witness, witnesses)
            yield f"{witness.copies} copies of {witness.blocker} are too few to block: {needed} would do"


def _disagreeing(
    told: Characterisation, verdicts: Sequence[RunVerdict], shown: Sequence[Sequence[Witness]]
) -> Characterisation:
    """Ambiguous if runs found different usages, excluded if they found too little."""
    usages = tuple(dict.fromkeys(each.usage for each in verdicts if each.reason is NotCharacterised.NONE))
    several = len(usages) > 1
    return replace(
        told,
        outcome=SchemeFate.AMBIGUOUS if several else SchemeFate.EXCLUDED,
        reason=NotCharacterised.DISAGREEMENT,
        text=REASONS[NotCharacterised.DISAGREEMENT],
        witnesses=tuple(witness for run in shown for witness in run),
        alternatives=usages if several else (),
        facts=tuple(fact for each in verdicts for fact in each.facts),
    )


def _with_the_wide(
    context: ExplainContext,
    scheme: str,
    verdict: RunVerdict,
    witnesses: Sequence[Witness],
    found: Conclusion,
    r_max: float | None,
) -> tuple[Uops, tuple[str, ...]]:
    """Where a port set is as wide as the bottleneck, the count says what blocking cannot (§6.2.3)."""
    undecided = [witness for witness in witnesses if witness.seen is Seen.UNDECIDED]
    if not undecided:
        return verdict.usage, ()
    known = sum(count for _, count in verdict.usage)
    count = context.uops(scheme)
    names = "; ".join(witness.blocker for witness in undecided)
    if count is not None and count > known and len(undecided) == 1:
        left = count - known
        text = (
            f"{left} µop(s) that no narrower set holds are taken to be on the ports of {names}; that follows "
            "from the count alone"
        )
        return uops_of([*verdict.usage, (undecided[0].mask, left)]), (text,)
    if not verdict.usage and r_max is not None and is_at_limit(context.cycles(scheme), r_max):
        text = f"as quick as the bottleneck lets anything be: one µop on the ports of {names}, or none at all"
        return ((undecided[0].mask, 1),), (text,)
    alone = context.alone[scheme]
    explained = alone_cycles(verdict.usage, len(found.known.ports), r_max, alone.experiment)
    cycles = context.cycles(scheme)
    more = ""
    if cycles > explained + context.settings.alone_epsilon:
        more = f"; alone it takes {cycles:.3g} cycles, of which what was found explains {explained:.3g}"
    text = (
        f"whether it has µops on the ports of {names} cannot be seen: as many as the bottleneck passes{more}"
    )
    return verdict.usage, (text,)


def _other_masks(found: Conclusion, table: Sequence[BlockingClass]) -> list[dict[str, int]]:
    """The ports of the blocking instructions in the mappings that fit as well."""
    answer = found.known.answer
    if answer is None:
        return []
    masks = []
    improper = {each.scheme: each for each in found.known.improper}
    heads = [each.blocker for each in table if not each.improper]
    for other in answer.alternatives:
        ports: dict[str, int | None] = {}
        for each in table:
            if each.blocker not in other.usage:
                continue
            if each.improper:
                ports[each.blocker] = improper_mask(other, improper[each.blocker], heads)
            else:
                ports[each.blocker] = only_mask(other, each.blocker)
        masks.append({blocker: mask for blocker, mask in ports.items() if mask})
    return masks


def _alternatives(verdict: RunVerdict, usage: Uops, others: Sequence[dict[str, int]]) -> tuple[Uops, ...]:
    """What the same surpluses mean if another mapping of the blocking instructions is the true one."""
    found: dict[Uops, None] = {}
    for masks in others:
        if not verdict.surpluses.keys() <= masks.keys():
            continue
        # Blocking instructions that a wider one made superfluous would have shown nothing.
        other = usage_from({blocker: verdict.surpluses.get(blocker, 0) for blocker in masks}, masks)
        if other is not None and other != usage:
            found[other] = None
    return tuple(found)


def _in_words(verdict: RunVerdict, ports: Sequence[str]) -> str:
    if verdict.reason is NotCharacterised.NONE:
        return described(verdict.usage, ports)
    return f"{verdict.reason.value}: {verdict.text}" if verdict.text else verdict.reason.value
