"""Candidates that turn out to have several µops, where there is no µop counter.

A single µop delays a flood of blocking instructions by one slot at most, and does not delay floods of two
disjoint port sets. A candidate that violates one of these has several µops, although it takes 1/n cycles.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

from inference.core.experiment import Experiment
from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import MIN_DELAY, is_quicker, is_wide, surpluses

MAX_TRIED = 12
"""Members of a class that are tested for the one that is most like a single µop."""

_NEARLY = 0.35  # slots by which a delay of one slot, or of none, may be off
_QUICKER = 0.5  # slots: five standard errors
_WASTED = 0.25  # slots that a core may lose by its choice of ports


def single_classes(
    context: ExplainContext, classes: Sequence[list[str]], r_max: float | None
) -> list[list[str]]:
    """The classes with a member of one µop, that member first; others lose their candidates.

    The widest port sets are tested first: several µops take long, so that a quick scheme is likely a single
    one. The best member is the one that delays other floods least, as it has the fewest µops besides the slow
    one. Floods as wide as the bottleneck are not used: any instruction delays these (§6.2.3).
    """
    accepted: list[list[str]] = []
    for members in sorted(classes, key=lambda kind: -context.widths[kind[0]]):
        heads = [kind[0] for kind in accepted if not is_wide(context.widths[kind[0]], r_max)]
        best = _best_member(context, _candidate_members(members), heads)
        if best is not None:
            accepted.append([best, *(member for member in members if member != best)])
            continue
        for scheme in members:
            del context.widths[scheme]
        alike = f" and {len(members) - 1} like it have" if len(members) > 1 else " has"
        context.reporter.log(f"{members[0]}{alike} more than one µop")
    return accepted


def _candidate_members(members: Sequence[str]) -> list[str]:
    """`MAX_TRIED` members: half of them the most preferred, the others spread over the class."""
    first = list(members[: MAX_TRIED // 2])
    candidates = members[len(first) :]
    remaining = MAX_TRIED - len(first)
    return first + [
        candidates[k * len(candidates) // remaining] for k in range(min(remaining, len(candidates)))
    ]


def _best_member(context: ExplainContext, members: Sequence[str], heads: Sequence[str]) -> str | None:
    """The member of one µop that delays the floods of `heads` least; None where each shows several µops."""
    slots: dict[str, dict[str, float]] = {scheme: {} for scheme in members}  # delay of each flood, in slots
    for (scheme, head), count in surpluses(context, list(itertools.product(members, heads))).items():
        slots[scheme][head] = count
    delayed = {scheme: [h for h, count in slots[scheme].items() if count > 1 - _NEARLY] for scheme in members}
    pairs_delayed = {pair for floods in delayed.values() for pair in itertools.combinations(floods, 2)}
    disjoint = _disjoint(context, pairs_delayed)

    def may_be_single(scheme: str) -> bool:
        return all(
            count <= 1 + _NEARLY + _WASTED or is_single(context, scheme, head)
            for head, count in slots[scheme].items()
        ) and disjoint.isdisjoint(itertools.combinations(delayed[scheme], 2))

    delays = {
        scheme: sum(max(0, round(count)) for count in slots[scheme].values())
        for scheme in members
        if may_be_single(scheme)
    }
    order = sorted(delays, key=lambda scheme: (delays[scheme], context.preference(scheme)))
    return next((scheme for scheme in order if not _is_limited_otherwise(context, scheme, heads)), None)


def is_single(context: ExplainContext, scheme: str, head: str) -> bool:
    """Whether times show that at most one µop of a scheme is confined to a blocking instruction's ports.

    Ports bound times from below, however much a core wastes: with two such µops, an experiment with other
    µops on these ports would take longer than it does. Waste alone can delay a flood by more than one µop: on
    a Zen 5 a multiplication delays one of six ports by two.
    """
    sampler, width = context.sampler, context.widths[head]
    beside = max(1, round(context.cycles(scheme) * width) - 1)
    experiment = Experiment.of([scheme, *[head] * beside])
    tests = {experiment: beside}
    if not sampler.has(experiment):
        partners = [other for other in sampler.partners(scheme) if sampler.floods(head, other)]
        delayed = surpluses(context, [(partner, head) for partner in partners])
        tests = {Experiment.of([scheme, partner]): 1 for (partner, _), n in delayed.items() if n >= MIN_DELAY}
    context.measure(
        {e: sampler.n_samples(e, 0.1 / width, context.settings.samples) for e in tests if sampler.has(e)}
    )
    return any(is_quicker(context, e, (2 + number) / width) for e, number in tests.items())


def _is_limited_otherwise(context: ExplainContext, scheme: str, heads: Sequence[str]) -> bool:
    """Whether a flood of the scheme is limited by something other than ports.

    Schemes with more ports can evade it. Where all of these delay it, issue slots are the limit: `xchg` takes
    two. Single delays may be a bad choice of ports. Where one makes the flood quicker, its copies wait for
    registers: there are only four like `ah`.
    """
    width = context.widths[scheme]
    wider = [(head, scheme) for head in heads if context.widths[head] > width]
    counts = surpluses(context, wider).values()
    return any(count < -_QUICKER for count in counts) or (
        bool(counts) and all(count > _NEARLY for count in counts)
    )


def _disjoint(context: ExplainContext, pairs: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """The pairs whose schemes run at full speed at once; those that the bottleneck slows are missing.

    Each mix has as many of both schemes as they have ports: it takes one cycle if the port sets are disjoint.
    """
    mixes = {
        pair: Experiment.of({scheme: context.widths[scheme] for scheme in pair}) for pair in sorted(pairs)
    }
    tolerance = {mix: context.settings.epsilon * mix.length for mix in mixes.values()}  # cycles
    context.measure(
        {
            mix: context.sampler.n_samples(mix, off / 4, context.settings.samples)
            for mix, off in tolerance.items()
        }
    )
    cycles = {pair: context.sampler.reading(mix).cycles for pair, mix in mixes.items()}
    return {
        pair
        for pair, mix in mixes.items()
        if (time := cycles[pair]) is not None and time <= 1 + min(tolerance[mix], 1 / (2 * mix.length))
    }
