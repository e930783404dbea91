"""Without a µop counter: which candidates are no single µop after all.

A single µop delays a flood of blocking instructions by one slot at most, and has no business on two port sets
that have no port in common. Whoever breaks one of these has several µops, though it takes 1/n cycles.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from inference.core.experiment import Experiment
from inference.core.explain.bench import Bench
from inference.core.explain.flooding import copies_to_flood, flooded, surplus_by_time

MOST_TRIED = 12
"""Members of a class that are looked at for the one that is most like a single µop."""

_NEARLY = 0.35
_WASTED = 0.25  # of a slot, that a core loses beside by its choice of ports


def single_classes(bench: Bench, classes: Sequence[list[str]]) -> list[list[str]]:
    """The classes that have a member of one µop, as far as the others show; the best one comes first.

    The widest sets are looked at first: several µops take long, so what is quick is likely a single one. Of
    the members, the one that delays other floods least is the best: it has fewest µops beside the slow one.
    """
    accepted: list[list[str]] = []
    for members in sorted(classes, key=lambda each: -bench.widths[each[0]]):
        heads = [each[0] for each in accepted]
        best = _best(bench, _some(members), heads)
        if best is not None:
            accepted.append([best, *(one for one in members if one != best)])
            continue
        for scheme in members:
            del bench.widths[scheme]
        bench.teller.log(f"{members[0]} and {len(members) - 1} like it have more than one µop")
    return accepted


def _some(members: Sequence[str]) -> list[str]:
    """The most preferred half of those to be looked at, and others from all over the class."""
    first = list(members[: MOST_TRIED // 2])
    rest = members[len(first) :]
    left = MOST_TRIED - len(first)
    return first + [rest[k * len(rest) // left] for k in range(min(left, len(rest)))]


def _best(bench: Bench, members: Sequence[str], heads: Sequence[str]) -> str | None:
    delays = {}
    for scheme in members:
        slots = _slots(bench, scheme, heads)
        if not _is_composite(bench, slots):
            delays[scheme] = sum(max(0, round(count)) for count in slots.values())
    order = sorted(delays, key=lambda scheme: (delays[scheme], bench.preference(scheme)))
    return next((scheme for scheme in order if not _is_delayed(bench, scheme, heads)), None)


def _is_delayed(bench: Bench, scheme: str, heads: Sequence[str]) -> bool:
    """Whether a flood of it is delayed by one that has more ports than itself, and can evade.

    Then it is not ports that limit it, but the slots in which it is issued: `xchg` has two of these.
    """
    width = bench.widths[scheme]
    wider = [head for head in heads if bench.widths[head] > width]
    return any(count > _NEARLY for count in _delays(bench, scheme, wider).values())


def _delays(bench: Bench, head: str, schemes: Sequence[str]) -> dict[str, float]:
    """By how many slots each scheme delays a flood of the head."""
    width = bench.widths[head]
    tests = {}
    for scheme in schemes:
        copies = copies_to_flood(width, bench.cycles(scheme), None, bench.settings.most_copies)
        tests[scheme] = flooded(head, copies), flooded(head, copies, scheme)
    return _surpluses(bench, {scheme: (*test, width) for scheme, test in tests.items()})


def _is_composite(bench: Bench, slots: Mapping[str, float]) -> bool:
    if any(count > 1 + _NEARLY + _WASTED for count in slots.values()):
        return True
    delayed = [head for head, count in slots.items() if count > 1 - _NEARLY]
    pairs = list(itertools.combinations(delayed, 2))
    return any(_are_disjoint(bench, first, second) for first, second in pairs)


def _slots(bench: Bench, scheme: str, heads: Sequence[str]) -> dict[str, float]:
    """By how many slots the scheme delays a flood of each head."""
    tests = {}
    for head in heads:
        width = bench.widths[head]
        copies = copies_to_flood(width, bench.cycles(scheme), None, bench.settings.most_copies)
        tests[head] = flooded(head, copies), flooded(head, copies, scheme), width
    return _surpluses(bench, tests)


def _surpluses(bench: Bench, tests: Mapping[str, tuple[Experiment, Experiment, int]]) -> dict[str, float]:
    """{name: slots that a flood of that width takes longer with the scheme than without}, as far as known."""
    bench.measure(
        {
            experiment: bench.sampler.enough(experiment, 0.1 / width, bench.settings.samples)
            for base, tested, width in tests.values()
            for experiment in (base, tested)
        }
    )
    slots = {}
    for head, (base, tested, width) in tests.items():
        before, after = bench.sampler.reading(base).cycles, bench.sampler.reading(tested).cycles
        if before is not None and after is not None:
            slots[head] = surplus_by_time(before, after, width)
    return slots


def _are_disjoint(bench: Bench, first: str, second: str) -> bool:
    """Whether both can run at their full speeds at once; False where the bottleneck hides it."""
    both = Experiment.of({first: bench.widths[first], second: bench.widths[second]})
    needed = bench.settings.epsilon * both.length
    bench.measure({both: bench.sampler.enough(both, needed / 4, bench.settings.samples)})
    cycles = bench.sampler.reading(both).cycles
    return cycles is not None and cycles <= 1 + min(needed, 1 / (2 * both.length))
