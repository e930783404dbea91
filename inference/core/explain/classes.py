"""Stage 3: classes of candidates with the same ports, by times that add up (Theorem 6.3) or by counters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from inference.core.experiment import Experiment
from inference.core.explain.context import ExplainContext, fact
from inference.core.explain.flooding import MIN_DELAY, surpluses
from inference.core.explain.problem import BlockingClass, NotCharacterised, VerdictFact
from inference.core.explain.settings import THROUGHPUT
from inference.core.explain.uop_counts import PORT

BUSY = 0.04
"""Share of a µop from which a port counts as used: more than the loop's own µops contribute to a counter."""

_CHUNK = 64
"""Candidates measured together: each is paired with all classes that the chunks before have shown."""


def classes_by_time(context: ExplainContext) -> list[list[str]]:
    """Classes of equal port sets, the widest sets first, each with its best representative first.

    Each candidate is paired with one member of each class of its width: O(n · classes) experiments. Two
    schemes that take as long together as one after the other use the same ports. A candidate for which that
    holds with two classes contradicts itself, and is excluded.

    Without counts, members may have further µops, so that only the representative of a class matters. Then
    the first class is enough for a candidate, and the likeliest is tried first.
    """
    classes: list[list[str]] = []
    for width in sorted(set(context.widths.values()), reverse=True):
        order = sorted((s for s, n in context.widths.items() if n == width), key=context.preference)
        classes += _classes_of_width(context, order)
    return classes


def _classes_of_width(context: ExplainContext, order: Sequence[str]) -> list[list[str]]:
    """Classes of candidates with equally many ports, in the order in which their first members come.

    The first candidate of a chunk that joins no class founds one, and those after it are measured again with
    the new class, so that all experiments of a round can be measured at once.
    """
    is_uncounted = context.counts_from == THROUGHPUT
    classes: list[list[str]] = []
    waiting = list(order)
    while waiting:
        chunk, waiting = waiting[:_CHUNK], waiting[_CHUNK:]
        if is_uncounted:
            chunk = _unlike(context, chunk, classes)
        while chunk:
            representatives = [members[0] for members in classes]
            _measure_pairs(context, [(scheme, head) for scheme in chunk for head in representatives])
            new: str | None = None
            unpaired = []
            for scheme in chunk:
                if new is not None:
                    unpaired.append(scheme)  # not yet paired with the newest class
                elif not _joins(context, scheme, classes):
                    new = scheme
            if new is not None:
                classes.append([new])
            chunk = unpaired
        context.reporter.progress("classes", len(order) - len(waiting), len(order), "candidates")
    return classes


def _unlike(context: ExplainContext, chunk: Sequence[str], classes: Sequence[list[str]]) -> list[str]:
    """Put candidates into classes, trying the likeliest first; returns those that belong to none."""
    candidates = {scheme: sorted(classes, key=partial(_likeness, scheme), reverse=True) for scheme in chunk}
    for place in range(len(classes)):
        tried = {scheme: order[place] for scheme, order in candidates.items()}
        _measure_pairs(context, [(scheme, members[0]) for scheme, members in tried.items()])
        for scheme, members in tried.items():
            if _joins(context, scheme, [members]):
                del candidates[scheme]
    return list(candidates)


def _likeness(scheme: str, members: Sequence[str]) -> tuple[int, int, int]:
    """Sort key for classes that may have a scheme's ports: members with its mnemonic, its operands, any."""
    mnemonic, _, operands = scheme.partition(" ")
    parts = [member.partition(" ") for member in members]
    alike = sum(part[0] == mnemonic for part in parts), sum(part[2] == operands for part in parts)
    return *alike, len(members)


def _joins(context: ExplainContext, scheme: str, classes: Sequence[list[str]]) -> bool:
    """Put a candidate into the class with its ports, or exclude it; False where no class has its ports."""
    alike, facts = [], []
    for members in classes:
        if members[0] == scheme:
            return True
        pair = Experiment.of([scheme, members[0]])
        together = context.sampler.reading(pair).cycles
        if together is None:
            if _delays_recorded_flood(context, scheme, members[0]):
                alike.append(members)
            continue
        if context.is_unstable(pair):
            context.exclude(scheme, "classes", NotCharacterised.UNSTABLE, "", [fact(context, pair, None)])
            del context.widths[scheme]
            return True
        apart = context.cycles(scheme) + context.cycles(members[0])
        if abs(together - apart) <= context.settings.epsilon * pair.length:
            alike.append(members)
            facts.append(VerdictFact(pair, apart, together))
    if len(alike) > 1:
        _contradicts(context, scheme, alike, facts)
    elif alike:
        alike[0].append(scheme)
    return bool(alike)


def _delays_recorded_flood(context: ExplainContext, scheme: str, head: str) -> bool:
    """Whether a recorded flood of a class shows that a scheme has its ports, where no pair was recorded.

    Both have equally many ports, so that a µop that cannot evade the flood has no other port.
    """
    if not context.sampler.floods(head, scheme):
        return False
    return surpluses(context, [(scheme, head)]).get((scheme, head), 0.0) >= MIN_DELAY


def _contradicts(
    context: ExplainContext, scheme: str, alike: Sequence[list[str]], facts: Sequence[VerdictFact]
) -> None:
    """Exclude a candidate that takes as long with two classes as one after the other.

    Without counts, it is only no candidate any more: it may have a µop for each of the two.
    """
    if context.counts_from == THROUGHPUT:
        del context.widths[scheme]
        return
    heads = " and ".join(members[0] for members in alike[:2])
    text = f"takes as long with {heads} as after them, so it has the ports of both, which differ"
    context.exclude(scheme, "classes", NotCharacterised.CONTRADICTORY, text, facts)
    del context.widths[scheme]


def _measure_pairs(context: ExplainContext, pairs: Sequence[tuple[str, str]]) -> None:
    settings = context.settings
    experiments = [Experiment.of(pair) for pair in pairs if pair[0] != pair[1]]
    context.measure(
        {
            pair: context.sampler.n_samples(pair, settings.epsilon * pair.length / 4, settings.samples)
            for pair in experiments
        }
    )


def classes_by_counters(context: ExplainContext) -> tuple[list[BlockingClass], tuple[str, ...]]:
    """Classes by the ports on which their µop is counted, as by uops.info (§6.1), and the names of all ports.

    The counters decide, even where ports do not share a scheme's µop evenly, or where they are more than its
    time alone suggests. Both are empty without counters of ports.
    """
    names = sorted({n for r in context.alone.values() for n in r.counters if n.startswith(PORT)})
    ports = tuple(name.removeprefix(PORT) for name in names)
    members_by_mask: dict[int, list[str]] = {}
    for scheme in sorted(context.widths, key=context.preference):
        mask = busy_ports(context, scheme, names)
        if mask:
            members_by_mask.setdefault(mask, []).append(scheme)
    classes = [
        BlockingClass(members[0], mask.bit_count(), mask, tuple(members))
        for mask, members in members_by_mask.items()
    ]
    return sorted(classes, key=lambda blocking: (blocking.width, blocking.mask)), ports


def busy_ports(context: ExplainContext, scheme: str, names: Sequence[str]) -> int:
    """The ports on which a scheme's µops are counted, as a mask: bit k for `names[k]`."""
    counters = context.alone[scheme].counters
    return sum(1 << k for k, name in enumerate(names) if counters.get(name, 0.0) > BUSY)
