"""Without a µop counter: which candidates are no single µop after all.

A single µop delays a flood of blocking instructions by one slot at most, and has no business on two port sets
that have no port in common. Whoever breaks one of these has several µops, though it takes 1/n cycles.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

from inference.core.experiment import Experiment
from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import copies_to_flood, flooded, is_wide, surplus_by_time

MOST_TRIED = 12
"""Members of a class that are looked at for the one that is most like a single µop."""

_NEARLY = 0.35
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
    found = _surpluses(context, list(itertools.product(members, heads)))
    slots: dict[str, dict[str, float]] = {scheme: {} for scheme in members}
    for (scheme, head), count in found.items():
        slots[scheme][head] = count
    delayed = {scheme: [h for h, count in slots[scheme].items() if count > 1 - _NEARLY] for scheme in members}
    disjoint = _disjoint(context, {p for each in delayed.values() for p in itertools.combinations(each, 2)})
    delays = {
        scheme: sum(max(0, round(count)) for count in slots[scheme].values())
        for scheme in members
        if all(count <= 1 + _NEARLY + _WASTED for count in slots[scheme].values())
        and disjoint.isdisjoint(itertools.combinations(delayed[scheme], 2))
    }
    order = sorted(delays, key=lambda scheme: (delays[scheme], context.preference(scheme)))
    return next((scheme for scheme in order if not _is_delayed(context, scheme, heads)), None)


def _is_delayed(context: ExplainContext, scheme: str, heads: Sequence[str]) -> bool:
    """Whether a flood of it is delayed by all that have more ports than itself, and can evade.

    Then it is not ports that limit it, but the slots in which it is issued: `xchg` has two of these. Some of
    them may delay it though they could evade: cores choose ports unluckily.
    """
    width = context.widths[scheme]
    wider = [(head, scheme) for head in heads if context.widths[head] > width]
    counts = _surpluses(context, wider).values()
    return bool(counts) and all(count > _NEARLY for count in counts)


def _surpluses(context: ExplainContext, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """{(scheme, flooding scheme): slots that the scheme delays the flood by}, as far as known.

    All are measured at once: asking takes about as long as measuring a few of them.
    """
    tests = {}
    for scheme, head in pairs:
        width = context.widths[head]
        copies = copies_to_flood(width, context.cycles(scheme), None, context.settings.most_copies)
        copies = context.sampler.copies(head, scheme, copies)
        tests[scheme, head] = flooded(head, copies), flooded(head, copies, scheme), width
    context.measure(
        {
            experiment: context.sampler.enough(experiment, 0.1 / width, context.settings.samples)
            for base, tested, width in tests.values()
            for experiment in (base, tested)
        }
    )
    slots = {}
    for pair, (base, tested, width) in tests.items():
        before, after = context.sampler.reading(base).cycles, context.sampler.reading(tested).cycles
        if before is not None and after is not None:
            slots[pair] = surplus_by_time(before, after, width)
    return slots


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
