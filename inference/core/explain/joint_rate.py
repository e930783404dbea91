"""The bottleneck beside the ports once these are known: blocking instructions on all ports at once.

Before, a scheme with several µops can be among those that pass fastest, which makes the rate too low, and as
many ports as the rate could be what limits it.
"""

from __future__ import annotations

from dataclasses import replace

from inference.core.bottleneck import NEARBY
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
    mix = _full(mapping)
    if not context.sampler.has(mix):
        return None
    context.measure({mix: context.sampler.enough(mix, CLOCK / (2 * ERRORS), context.settings.samples)})
    reading = context.sampler.reading(mix)
    if reading.cycles is None or context.is_unstable(mix):
        return None
    rate = mix.length / reading.cycles
    whole = round(rate)
    if abs(rate - whole) <= NEARBY * whole:
        rate = float(whole)
    if r_max is not None:
        return rate if rate > (1 + CLOCK) * r_max else None
    is_slower = reading.cycles > 1 + CLOCK + ERRORS * context.sampler.error(reading)
    return rate if is_slower and rate >= (1 - NEARBY) * highest else None


def limited(answer: BlockingAnswer, r_max: float) -> BlockingAnswer:
    """An answer with this bottleneck."""
    alternatives = tuple(replace(each, r_max=r_max) for each in answer.alternatives)
    return replace(answer, mapping=replace(answer.mapping, r_max=r_max), alternatives=alternatives)


def _full(mapping: PortMapping) -> Experiment:
    """As many of each of the widest kinds that share no ports as they have ports."""
    counts: dict[str, int] = {}
    busy = 0
    single = {scheme: uops[0][0] for scheme, uops in mapping.usage.items() if sum(n for _, n in uops) == 1}
    for scheme, mask in sorted(single.items(), key=lambda each: (-each[1].bit_count(), each[0])):
        if not mask & busy:
            counts[scheme] = mask.bit_count()
            busy |= mask
    return Experiment.of(counts)
