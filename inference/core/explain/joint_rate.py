"""R_max once the ports are known, from blocking instructions on all ports at once.

Before, a scheme with several µops can be in the quickest mix, which makes the rate too low; and as many ports
as the rate could be the limit.
"""

from __future__ import annotations

from dataclasses import replace

from inference.core.bottleneck import RATE_TOLERANCE
from inference.core.experiment import Experiment
from inference.core.explain.blocking_question import BlockingAnswer
from inference.core.explain.context import ERRORS, ExplainContext
from inference.core.explain.flooding import CLOCK
from inference.core.mapping import PortMapping


def joint_rate(
    context: ExplainContext, mapping: PortMapping, r_max: float | None, highest: float
) -> float | None:
    """Instructions per cycle that pass beside the ports, where that is another rate than was thought.

    Args:
        context: Measures a mix that keeps all ports busy that widest kinds without a port in common have.
        mapping: Ports of the blocking instructions.
        r_max: The rate so far; None for none.
        highest: Instructions per cycle that were seen at most.

    Returns:
        None where the rate is as it was, or the mix cannot be measured.
    """
    mix = _saturating_mix(mapping)
    if not context.sampler.has(mix):
        return None
    context.measure({mix: context.sampler.n_samples(mix, CLOCK / (2 * ERRORS), context.settings.samples)})
    reading = context.sampler.reading(mix)
    if reading.cycles is None or context.is_unstable(mix):
        return None
    rate = mix.length / reading.cycles
    nearest = round(rate)
    if abs(rate - nearest) <= RATE_TOLERANCE * nearest:
        rate = float(nearest)
    if r_max is not None:
        return rate if rate > (1 + CLOCK) * r_max else None
    is_slower = reading.cycles > 1 + CLOCK + ERRORS * context.sampler.error(reading)
    return rate if is_slower and rate >= (1 - RATE_TOLERANCE) * highest else None


def with_r_max(answer: BlockingAnswer, r_max: float) -> BlockingAnswer:
    """The answer with another R_max, in instructions per cycle, in all its mappings."""
    alternatives = tuple(replace(alternative, r_max=r_max) for alternative in answer.alternatives)
    return replace(answer, mapping=replace(answer.mapping, r_max=r_max), alternatives=alternatives)


def _saturating_mix(mapping: PortMapping) -> Experiment:
    """A mix that fills ports for one cycle: disjoint classes, the widest first, as often as their width."""
    counts: dict[str, int] = {}
    busy = 0
    single = {scheme: uops[0][0] for scheme, uops in mapping.usage.items() if sum(n for _, n in uops) == 1}
    for scheme, mask in sorted(single.items(), key=lambda item: (-item[1].bit_count(), item[0])):
        if not mask & busy:
            counts[scheme] = mask.bit_count()
            busy |= mask
    return Experiment.of(counts)
