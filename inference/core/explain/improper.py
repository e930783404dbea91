"""Improper blocking instructions: for µops that no scheme has alone, such as stores (§6.3.4).

Schemes with exactly one µop that no blocking instruction accounts for, and that takes most of their time,
serve instead: beside their known µop, they flood the ports of the unknown one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from inference.core.experiment import Experiment
from inference.core.explain.alone import width_of
from inference.core.explain.blockers import Improper
from inference.core.explain.context import ExplainContext
from inference.core.explain.problem import NotCharacterised
from inference.core.explain.run_verdict import RunVerdict, alone_cycles
from inference.core.mapping import Uops

MAX_IMPROPER = 4
"""Improper blocking instructions in one question: each makes it much harder."""

_MAX_TRIED = 8  # schemes that are tested for the same unknown µop


def improper_schemes(
    context: ExplainContext,
    verdicts: Mapping[str, RunVerdict],
    known_masks: Collection[int],
    n_ports: int,
    r_max: float | None,
) -> list[Improper]:
    """At most `MAX_IMPROPER` improper blocking instructions: one per unknown port set, and partners of these.

    Args:
        context: State of the search.
        verdicts: {scheme: its verdict in this run}.
        known_masks: Port sets of the proper ones. A µop on a subset of one of these that no other scheme has
            looks like a µop on all of it, but then the scheme alone is slower than its µops explain.
        n_ports: Number of ports.
        r_max: Instructions per cycle, None for no limit.
    """
    groups: dict[tuple[int, Uops], list[str]] = {}
    for scheme in sorted(verdicts, key=lambda s: (s not in context.problem.improper, context.preference(s))):
        width = _unknown_width(context, scheme, verdicts[scheme], known_masks, n_ports, r_max)
        if width is not None:
            groups.setdefault((width, verdicts[scheme].usage), []).append(scheme)
    # The wider the ports of the µop beside, the less it is in the way.
    widest = sorted(groups.items(), key=lambda group: -max(mask.bit_count() for mask, _ in group[0][1]))
    firsts = _different(context, [Improper(members[0], width) for (width, _), members in widest])[
        :MAX_IMPROPER
    ]
    partners = [partner for first in firsts if (partner := _partner(context, first, verdicts)) is not None]
    return [*firsts, *(partner for partner in partners if partner not in firsts)][:MAX_IMPROPER]


def _unknown_width(
    context: ExplainContext,
    scheme: str,
    verdict: RunVerdict,
    known_masks: Collection[int],
    n_ports: int,
    r_max: float | None,
) -> int | None:
    """The size of the unknown µop's port set; None for schemes that are not suitable."""
    if verdict.reason not in (NotCharacterised.MISSING, NotCharacterised.SLOW) or scheme in context.chained:
        return None
    n_known = sum(count for _, count in verdict.usage)
    masks = [mask for mask, _ in verdict.usage]
    if context.uops(scheme) not in (2, None) or n_known not in (1, 2) or not set(masks) <= set(known_masks):
        return None
    cycles, alone = context.cycles(scheme), context.alone[scheme].experiment
    if cycles <= alone_cycles(verdict.usage, n_ports, r_max, alone) + context.settings.epsilon:
        return None
    width = width_of(cycles, context.settings.epsilon)
    widest = max(mask.bit_count() for mask in masks)
    return width if width is not None and (n_known == 1 or width < widest) else None


def _different(context: ExplainContext, candidates: Sequence[Improper]) -> list[Improper]:
    """One scheme for each unknown port set; schemes whose times add up share theirs."""
    firsts: list[Improper] = []
    for candidate in candidates:
        alike = (
            k for k in firsts if k.width == candidate.width and _add_up(context, k.scheme, candidate.scheme)
        )
        if next(alike, None) is None:
            firsts.append(candidate)
    return firsts


def _partner(context: ExplainContext, first: Improper, verdicts: Mapping[str, RunVerdict]) -> Improper | None:
    """A scheme with the same unknown µop and another known one; None for none.

    A single scheme does not show which of its µops is which (§6.3.4): a store with four additions looks like
    an addition on one port with a load.
    """
    tried: set[Uops] = {verdicts[first.scheme].usage}
    for scheme in sorted(verdicts, key=context.preference):
        usage = verdicts[scheme].usage
        if len(tried) > _MAX_TRIED:
            return None
        if usage in tried or sum(count for _, count in usage) not in (1, 2):
            continue
        if context.uops(scheme) not in (2, None) or scheme == first.scheme or len(usage) < 1:
            continue
        if width_of(context.cycles(scheme), context.settings.epsilon) != first.width:
            continue
        if context.uops(scheme) is None and len(usage) < 2:
            continue  # without counts, a single µop found may be all that there is
        tried.add(usage)
        if _add_up(context, first.scheme, scheme):
            return Improper(scheme, first.width)
    return None


def _add_up(context: ExplainContext, first: str, second: str) -> bool:
    """Whether two schemes take as long together as one after the other, so that they share the slow ports."""
    pair = Experiment.of([first, second])
    error = context.settings.epsilon * pair.length
    context.measure({pair: context.sampler.n_samples(pair, error / 4, context.settings.samples)})
    together = context.sampler.reading(pair).cycles
    return together is not None and abs(together - context.cycles(first) - context.cycles(second)) <= error
