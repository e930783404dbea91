"""Further schemes for an existing mapping, whose schemes of one µop block ports for them (§6.3.5)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inference.core.explain.alone import find_candidates, measure_alone, singleton
from inference.core.explain.blockers import Improper
from inference.core.explain.blocking_question import BlockingAnswer
from inference.core.explain.characterising import build_result
from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import Blocker, Floods, is_wide, sorted_blockers
from inference.core.explain.problem import BlockingClass, ExplainProblem, ExplainResult
from inference.core.explain.remaining import Remaining
from inference.core.explain.reporting import ExplainReporter
from inference.core.explain.run_verdict import RunVerdict
from inference.core.explain.sampling import MeasurementSampler
from inference.core.explain.settings import THROUGHPUT, ExplainSettings
from inference.core.explain.soundness import MAX_HEADS, FloodingMembers
from inference.core.mapping import PortMapping
from inference.core.pacing import PacedReporter
from inference.core.protocols import Measurer, Reporter

EXTENSION_SETTINGS = ExplainSettings(uops_from=THROUGHPUT, most_samples=7, seconds=60.0)
"""A user waits: a machine's results have settled, and only doubtful ones are tested again."""


def extend_mapping(
    mapping: PortMapping,
    schemes: Sequence[str],
    measurer: Measurer,
    reporter: Reporter,
    *,
    preferred: Sequence[str] = (),
    domains: Mapping[str, str] | None = None,
    settings: ExplainSettings = EXTENSION_SETTINGS,
) -> ExplainResult:
    """Infer the µops of further schemes on the ports of a mapping.

    Args:
        mapping: Its schemes of one µop flood their ports; those that take another time now than their ports
            allow are not used.
        schemes: Schemes to characterise, none of them in the mapping.
        measurer: Measures experiments on the core of the mapping.
        reporter: May interrupt the search.
        preferred: Schemes of the mapping to flood with, the best first.
        domains: The part of the core that a scheme is for.
        settings: Settings as of explainable inference.

    Returns:
        The result for `schemes` alone, on the ports of the mapping.
    """
    pace = PacedReporter(reporter)
    if settings.seconds is not None:
        pace.limit(settings.seconds)
    problem = ExplainProblem(
        tuple(schemes), settings, preferred=tuple(preferred), domains=dict(domains or {})
    )
    progress = ExplainReporter(pace, problem, 0, 0, 0.0, 0)
    sampler = MeasurementSampler(measurer, pace, settings.samples_at_most)
    context = ExplainContext(problem, sampler, progress)
    members = _flooding_schemes(context, mapping)
    singles = [singleton(scheme) for scheme in (*schemes, *itertools.chain(*members.values()))]
    sampler.sample(dict.fromkeys(singles, 2))
    measure_alone(context)
    find_candidates(context)
    # Stage 1 has estimated the noise from the few new schemes; the mapping's schemes show more of it.
    sampler.learn_noise(singles)
    blocking = _BlockersOfMapping(mapping.ports, _blockers(context, members, mapping.r_max))
    # In one batch: the last stage requests one blocking instruction after the other, and handing a batch over
    # takes as long as measuring it. What it requests then is already there.
    floods = Floods(context, mapping.ports)
    floods.measure([floods.test(s, blocker) for s in context.left for blocker in blocking.blockers], 1)
    conclusion = Remaining(context, blocking, mapping.r_max).run()
    return build_result(context, conclusion, mapping.r_max, progress.seconds())


def _flooding_schemes(context: ExplainContext, mapping: PortMapping) -> dict[int, list[str]]:
    """{port set: the best schemes of one µop on it}."""
    members: dict[int, list[str]] = {}
    for scheme in sorted(mapping.usage, key=context.preference):
        uops = mapping.usage[scheme]
        if len(uops) == 1 and uops[0][1] == 1 and mapping.slots_of(scheme) == 1:
            members.setdefault(uops[0][0], []).append(scheme)
    return {mask: schemes[:MAX_HEADS] for mask, schemes in members.items()}


def _blockers(
    context: ExplainContext, members: Mapping[int, list[str]], r_max: float | None
) -> list[Blocker]:
    """A blocker for each port set of which a flood takes as long as the ports need."""
    masks = {scheme: mask for mask, schemes in members.items() for scheme in schemes}
    readings = {scheme: context.sampler.reading(singleton(scheme)) for scheme in masks}
    context.alone |= {scheme: reading for scheme, reading in readings.items() if reading.cycles is not None}
    measured = [[scheme for scheme in schemes if scheme in context.alone] for schemes in members.values()]
    context.widths |= {scheme: mask.bit_count() for scheme, mask in masks.items() if scheme in context.alone}
    blockers = []
    for head, *substitutes in FloodingMembers(context).of([schemes for schemes in measured if schemes]):
        wide = is_wide(masks[head].bit_count(), r_max)
        blockers.append(Blocker(head, masks[head], wide, substitutes=tuple(substitutes)))
    return sorted_blockers(blockers)


@dataclass
class _BlockersOfMapping:
    """`BlockingInstructions` that are known beforehand."""

    ports: tuple[str, ...]
    blockers: list[Blocker]
    answer: BlockingAnswer | None = None
    improper: list[Improper] = field(default_factory=list)

    def extend(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        del context, verdicts
        return False

    def choose(self, context: ExplainContext, verdicts: Mapping[str, RunVerdict]) -> bool:
        del context, verdicts
        return False

    def table(self) -> list[BlockingClass]:
        return [
            BlockingClass(blocker.scheme, blocker.width, blocker.mask, (blocker.scheme, *blocker.substitutes))
            for blocker in self.blockers
        ]
