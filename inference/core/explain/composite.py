"""Without a µop counter: which candidates are no single µop after all.

A single µop delays a flood of blocking instructions by one slot at most, and has no business on two port sets
that have no port in common. Whoever breaks one of these has several µops, though it takes 1/n cycles.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

from inference.core.experiment import Experiment
from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import HELD_UP, is_quicker, is_wide, surpluses

MOST_TRIED = 12
"""Members of a class that are looked at for the one that is most like a single µop."""

_NEARLY = 0.35
_QUICKER = 0.5  # of a µop: five standard errors
_WASTED = 0.25  # of a slot, that a core loses beside by its choice of ports


def single_classes(
    context: ExplainContext, classes: Sequence[list[str]], r_max: float | None
) -> list[list[str]]:
    """The classes that have a member of one µop, as far as the others show; the best one comes first.

    The widest sets are looked at first: several µops take long, so what is quick is likely a single one. Of
    the members, the one that delays other floods least is the best: it has fewest µops beside the slow one.
    Whatever passes the bottleneck beside a flood as wide as that is delays it, so that such a flood tells
    nothing (§6.2.3).
    """
    accepted: list[list[str]] = []
    for members in sorted(classes, key=lambda each: -context.widths[each[0]]):
        heads = [each[0] for each in accepted if not is_wide(context.widths[each[0]], r_max)]
        best = _best(context, _some(members), heads)
        if best is not None:
            accepted.append([best, *(one for one in members if one != best)])
            continue
        for scheme in members:
            del context.widths[scheme]
        others = f" and {len(members) - 1} like it have" if len(members) > 1 else " has"
        context.teller.log(f"{members[0]}{others} more than one µop")
    return accepted


def _some(members: Sequence[str]) -> list[str]:
    """The most preferred half of those to be looked at, and others from all over the class."""
    first = list(members[: MOST_TRIED // 2])
    rest = members[len(first) :]
    left = MOST_TRIED - len(first)
    return first + [rest[k * len(rest) // left] for k in range(min(left, len(rest)))]


def _best(context: ExplainContext, members: Sequence[str], heads: Sequence[str]) -> str | None:
    found = surpluses(context, list(itertools.product(members, heads)))
    slots: dict[str, dict[str, float]] = {scheme: {} for scheme in members}
    for (scheme, head), count in found.items():
        slots[scheme][head] = count
    delayed = {scheme: [h for h, count in slots[scheme].items() if count > 1 - _NEARLY] for scheme in members}
    disjoint = _disjoint(context, {p for each in delayed.values() for p in itertools.combinations(each, 2)})
    delays = {
        scheme: sum(max(0, round(count)) for count in slots[scheme].values())
        for scheme in members
        if all(
            count <= 1 + _NEARLY + _WASTED or is_single(context, scheme, head)
            for head, count in slots[scheme].items()
        )
        and disjoint.isdisjoint(itertools.combinations(delayed[scheme], 2))
    }
    order = sorted(delays, key=lambda scheme: (delays[scheme], context.preference(scheme)))
    return next((scheme for scheme in order if not _is_limited_otherwise(context, scheme, heads)), None)


def is_single(context: ExplainContext, scheme: str, head: str) -> bool:
    """Whether no two µops of a scheme are confined to the ports of a blocking instruction, by its times.

    Ports bound times from below, however much a core wastes: with two of them an experiment that has as many
    other µops there would take longer than it does. A flood can be delayed by more than one µop's time by
    waste alone: on a Zen 5 a multiplication delays one of six ports by two.
    """
    sampler, width = context.sampler, context.widths[head]
    beside = max(1, round(context.cycles(scheme) * width) - 1)
    experiment = Experiment.of([scheme, *[head] * beside])
    tests = {experiment: beside}
    if not sampler.has(experiment):
        partners = [other for other in sampler.partners(scheme) if sampler.floods(head, other)]
        delayed = surpluses(context, [(partner, head) for partner in partners])
        tests = {Experiment.of([scheme, partner]): 1 for (partner, _), n in delayed.items() if n >= HELD_UP}
    context.measure(
        {e: sampler.enough(e, 0.1 / width, context.settings.samples) for e in tests if sampler.has(e)}
    )
    return any(is_quicker(context, e, (2 + number) / width) for e, number in tests.items())


def _is_limited_otherwise(context: ExplainContext, scheme: str, heads: Sequence[str]) -> bool:
    """Whether something else than ports limits a flood of it.

    What has more ports than itself can evade. Where all of that delays it, it is the slots in which it is
    issued: `xchg` has two of these. Some of it may do so: cores choose ports unluckily. Where some makes the
    flood quicker, as no ports do, its copies wait for their registers: there are four like `ah`.
    """
    width = context.widths[scheme]
    wider = [(head, scheme) for head in heads if context.widths[head] > width]
    counts = surpluses(context, wider).values()
    return any(count < -_QUICKER for count in counts) or (
        bool(counts) and all(count > _NEARLY for count in counts)
    )


def _disjoint(context: ExplainContext, pairs: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the pairs that can run at their full speeds at once; none where the bottleneck hides it."""
    both = {
        pair: Experiment.of({scheme: context.widths[scheme] for scheme in pair}) for pair in sorted(pairs)
    }
    needed = {each: context.settings.epsilon * each.length for each in both.values()}
    context.measure(
        {each: context.sampler.enough(each, needed[each] / 4, context.settings.samples) for each in needed}
    )
    cycles = {pair: context.sampler.reading(each).cycles for pair, each in both.items()}
    return {
        pair
        for pair, each in both.items()
        if (seen := cycles[pair]) is not None and seen <= 1 + min(needed[each], 1 / (2 * each.length))
    }
