"""Without a µop counter: which candidates are no single µop after all.

A single µop delays a flood of blocking instructions by one slot at most, and has no business on two port sets
that have no port in common. Whoever breaks one of these has several µops, though it takes 1/n cycles.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from inference.core.experiment import Experiment
from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import copies_to_flood, flooded, surplus_by_time

MOST_TRIED = 12
"""Members of a class that are looked at for the one that is most like a single µop."""

_NEARLY = 0.35
_WASTED = 0.25  # of a slot, that a core loses beside by its choice of ports


def single_classes(context: ExplainContext, classes: Sequence[list[str]]) -> list[list[str]]:
    """The classes that have a member of one µop, as far as the others show; the best one comes first.

    The widest sets are looked at first: several µops take long, so what is quick is likely a single one. Of
    the members, the one that delays other floods least is the best: it has fewest µops beside the slow one.
    """
    accepted: list[list[str]] = []
    for members in sorted(classes, key=lambda each: -context.widths[each[0]]):
        heads = [each[0] for each in accepted]
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
    delays = {}
    for scheme in members:
        slots = _slots(context, scheme, heads)
        if not _is_composite(context, slots):
            delays[scheme] = sum(max(0, round(count)) for count in slots.values())
    order = sorted(delays, key=lambda scheme: (delays[scheme], context.preference(scheme)))
    return next((scheme for scheme in order if not _is_delayed(context, scheme, heads)), None)


def _is_delayed(context: ExplainContext, scheme: str, heads: Sequence[str]) -> bool:
    """Whether a flood of it is delayed by one that has more ports than itself, and can evade.

    Then it is not ports that limit it, but the slots in which it is issued: `xchg` has two of these.
    """
    width = context.widths[scheme]
    wider = [head for head in heads if context.widths[head] > width]
    return any(count > _NEARLY for count in _delays(context, scheme, wider).values())


def _delays(context: ExplainContext, head: str, schemes: Sequence[str]) -> dict[str, float]:
    """By how many slots each scheme delays a flood of the head."""
    width = context.widths[head]
    tests = {}
    for scheme in schemes:
        copies = copies_to_flood(width, context.cycles(scheme), None, context.settings.most_copies)
        tests[scheme] = flooded(head, copies), flooded(head, copies, scheme)
    return _surpluses(context, {scheme: (*test, width) for scheme, test in tests.items()})


def _is_composite(context: ExplainContext, slots: Mapping[str, float]) -> bool:
    if any(count > 1 + _NEARLY + _WASTED for count in slots.values()):
        return True
    delayed = [head for head, count in slots.items() if count > 1 - _NEARLY]
    pairs = list(itertools.combinations(delayed, 2))
    return any(_are_disjoint(context, first, second) for first, second in pairs)


def _slots(context: ExplainContext, scheme: str, heads: Sequence[str]) -> dict[str, float]:
    """By how many slots the scheme delays a flood of each head."""
    tests = {}
    for head in heads:
        width = context.widths[head]
        copies = copies_to_flood(width, context.cycles(scheme), None, context.settings.most_copies)
        tests[head] = flooded(head, copies), flooded(head, copies, scheme), width
    return _surpluses(context, tests)


def _surpluses(
    context: ExplainContext, tests: Mapping[str, tuple[Experiment, Experiment, int]]
) -> dict[str, float]:
    """{name: slots that a flood of that width takes longer with the scheme than without}, as far as known."""
    context.measure(
        {
            experiment: context.sampler.enough(experiment, 0.1 / width, context.settings.samples)
            for base, tested, width in tests.values()
            for experiment in (base, tested)
        }
    )
    slots = {}
    for head, (base, tested, width) in tests.items():
        before, after = context.sampler.reading(base).cycles, context.sampler.reading(tested).cycles
        if before is not None and after is not None:
            slots[head] = surplus_by_time(before, after, width)
    return slots


def _are_disjoint(context: ExplainContext, first: str, second: str) -> bool:
    """Whether both can run at their full speeds at once; False where the bottleneck hides it."""
    both = Experiment.of({first: context.widths[first], second: context.widths[second]})
    needed = context.settings.epsilon * both.length
    context.measure({both: context.sampler.enough(both, needed / 4, context.settings.samples)})
    cycles = context.sampler.reading(both).cycles
    return cycles is not None and cycles <= 1 + min(needed, 1 / (2 * both.length))
