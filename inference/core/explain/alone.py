"""Stages 1 and 2: every scheme alone, its number of µops, and how many ports one µop has (§6.2.1, §6.3.1)."""

from __future__ import annotations

import math

from inference.core.errors import InsufficientDataError
from inference.core.experiment import Experiment
from inference.core.explain.context import ERRORS, ExplainContext, fact
from inference.core.explain.problem import NotCharacterised
from inference.core.explain.settings import COUNTER, ISSUE, TABLE, THROUGHPUT, ZEN_MACRO_OPS
from inference.core.explain.uop_counts import counted_uops, integer_count, source_of_counts, zen_extra

MAX_WIDTH = 12
"""Ports of one µop that times can resolve: 1/12 and 1/13 cycles are nearly the same."""

_NOISE_SAMPLE = (
    200  # schemes measured twice first, from whose differences the noise of all others is estimated
)
_CHUNK = 256  # schemes measured before progress is reported
_EXTRA_SLOTS = 6  # of padding beyond the scheme's time, so that issue is the limit
_SLOT_ERROR = 0.1  # standard error of a count of slots that enough samples are taken for
_INTEGER_TOLERANCE = 0.3  # of a slot: three of these standard errors

_LATENCY_ERROR = 0.05
"""Share by which chains may exceed their measured latencies, which are off by some hundredths."""

_FASTER = 0.02
"""Share by which a scheme may be faster than its ports allow: clocks and medians are about as good."""


def singleton(scheme: str) -> Experiment:
    return Experiment.of([scheme])


def measure_alone(context: ExplainContext) -> None:
    """Stage 1: measure and count all schemes alone; exclude those without a usable time or count.

    The median of a scheme alone is measured to ε / 4, since later experiments are compared with sums of such
    medians.
    """
    settings, sampler = context.settings, context.sampler
    experiments = {scheme: singleton(scheme) for scheme in context.problem.schemes}
    noise_samples = list(experiments.values())[:: max(1, len(experiments) // _NOISE_SAMPLE)]
    sampler.sample(dict.fromkeys(noise_samples, 2))
    sampler.learn_noise(noise_samples)
    schemes = list(experiments)
    for start in range(0, len(schemes), _CHUNK):
        chunk = schemes[start : start + _CHUNK]
        context.measure(
            {
                experiments[scheme]: sampler.n_samples(
                    experiments[scheme], settings.epsilon / 4, settings.samples
                )
                for scheme in chunk
            }
        )
        context.reporter.progress("alone", start + len(chunk), len(schemes), "schemes")
    readings = {scheme: sampler.reading(experiment) for scheme, experiment in experiments.items()}
    context.counts_from = source_of_counts(
        settings.uops_from, bool(context.problem.uops), any(r.counters for r in readings.values())
    )
    for scheme, reading in readings.items():
        context.alone[scheme] = reading
        if reading.cycles is None:
            context.exclude(scheme, "alone", NotCharacterised.UNMEASURED, reading.note)
        elif context.is_unstable(reading.experiment):
            context.exclude(
                scheme, "alone", NotCharacterised.UNSTABLE, "", [fact(context, reading.experiment, None)]
            )
    if context.counts_from == ISSUE:
        _count_slots(context)
    for scheme in context.left:
        _count(context, scheme)


def _count_slots(context: ExplainContext) -> None:
    """Measure the issue slots of each scheme, beside so many NOPs that issue is the limit.

    With k NOPs the experiment takes (k + slots) / rate cycles, with the rate of NOPs alone. Processors that
    issue several µops in one slot show fewer slots than µops.

    Raises:
        InsufficientDataError: The padding has no usable measurement.
    """
    settings, sampler = context.settings, context.sampler
    padding = singleton(settings.padding)
    context.measure({padding: max(settings.samples, sampler.n_samples(padding, 0.001, settings.samples))})
    cycles = sampler.reading(padding).cycles
    if cycles is None:
        raise InsufficientDataError(
            f"the padding {settings.padding!r} cannot be measured, so µops cannot be counted by issue: "
            f"{sampler.reading(padding).note}"
        )
    rate = 1 / cycles
    padded: dict[str, tuple[Experiment, int]] = {}
    for scheme in context.left:
        copies = math.ceil(rate * (context.cycles(scheme) + 1)) + _EXTRA_SLOTS
        if scheme != settings.padding and copies <= settings.most_copies:
            padded[scheme] = Experiment.of({scheme: 1, settings.padding: copies}), copies
    samples = {e: sampler.n_samples(e, _SLOT_ERROR / rate, settings.samples) for e, _ in padded.values()}
    context.measure(samples)
    for scheme, (experiment, copies) in padded.items():
        padded_cycles = sampler.reading(experiment).cycles
        if padded_cycles is not None:
            context.slots[scheme] = padded_cycles * rate - copies


def _count(context: ExplainContext, scheme: str) -> None:
    """Set a scheme's number of µops from the chosen source; exclude it where that has no whole number.

    A count of slots that is close to a whole number is rounded, since its error is known; any other is kept
    as it is, so that the exclusion can say what was counted. Counts from throughput come later, from floods.
    """
    if context.counts_from == THROUGHPUT:
        return
    reading = context.alone[scheme]
    count: float | None
    if context.counts_from == ISSUE:
        slots = context.slots.get(scheme)
        extra = zen_extra(scheme) if context.settings.uop_rule == ZEN_MACRO_OPS else 0
        count = slots
        if slots is not None and abs(slots - round(slots)) < _INTEGER_TOLERANCE:
            count = round(slots) + extra
        missing = "its slots among NOPs could not be counted"
    elif context.counts_from == TABLE:
        count = context.problem.uops.get(scheme)
        missing = "the table of µop counts does not have it"
    else:
        assert context.counts_from == COUNTER
        count = counted_uops(reading, context.settings.uop_rule)
        missing = "the µop counter did not count"
    if count is None:
        context.exclude(scheme, "alone", NotCharacterised.COUNT, missing)
    elif integer_count(count) is None:
        text = f"the µop counter shows {count:.3g}, no whole number"
        context.exclude(
            scheme, "alone", NotCharacterised.COUNT, text, [fact(context, reading.experiment, None)]
        )
    else:
        context.counts[scheme] = count


def find_candidates(context: ExplainContext) -> None:
    """Stage 2: find the schemes of one µop, each with the size of its port set, 1 / cycles.

    Without counts, every scheme that takes 1/n cycles is a candidate.
    """
    widest = context.settings.widest
    context.chained = _chained_schemes(context)
    for scheme in context.left:
        cycles, width = context.cycles(scheme), _width(context, scheme)
        alone = context.alone[scheme].experiment
        if widest is not None and width is not None and width > widest:
            # More instructions per cycle than ports for them: the core eliminates it without a port.
            text = f"{1 / cycles:.2g} per cycle, and no µop may use more than {widest} ports: it uses none"
            context.exclude(
                scheme, "candidates", NotCharacterised.NO_PORTS, text, [fact(context, alone, None)]
            )
            continue
        if context.counts_from == THROUGHPUT:
            if width is not None and scheme not in context.chained:
                context.widths[scheme] = width
        elif context.uops(scheme) == 1:
            if width is not None:
                context.widths[scheme] = width
                continue
            text = f"a single µop takes 1/n cycles on n ports; this one takes {cycles:.3g}"
            context.exclude(
                scheme, "candidates", NotCharacterised.SLOW, text, [fact(context, alone, _nearest(cycles))]
            )
        elif context.uops(scheme) == 0:
            text = f"no µop is counted; {1 / cycles:.2g} instructions per cycle"
            context.exclude(
                scheme, "candidates", NotCharacterised.NO_PORTS, text, [fact(context, alone, None)]
            )
        if scheme not in context.excluded and cycles > context.settings.slowest:
            text = (
                f"takes {cycles:.3g} cycles alone; the setting `slowest` allows {context.settings.slowest:g}"
            )
            context.exclude(
                scheme, "candidates", NotCharacterised.TOO_SLOW, text, [fact(context, alone, None)]
            )
    _refuse_long(context)


def _chained_schemes(context: ExplainContext) -> frozenset[str]:
    """Schemes whose copies wait for registers as long as they would take with one more port, or longer.

    Their time does not show their number of ports: with more ports it could be the same.
    """
    core = context.problem.core
    if core is None:
        return frozenset()
    alone = {scheme: context.alone[scheme].experiment for scheme in context.left}
    cycles = {experiment: context.cycles(scheme) for scheme, experiment in alone.items()}
    lower_bounds = core.least_cycles(cycles, pulse=context.reporter.pace.pulse)
    return frozenset(
        scheme
        for scheme, experiment in alone.items()
        if (width := _width(context, scheme)) is not None
        and (width + 1) * lower_bounds.get(experiment, 0.0) >= 1 - _LATENCY_ERROR
    )


def _width(context: ExplainContext, scheme: str) -> int | None:
    """The number of ports of a scheme if it is a single µop; None where it cannot be one."""
    noise = ERRORS * context.sampler.error(context.alone[scheme])
    return width_of(context.cycles(scheme), context.settings.epsilon, noise)


def _refuse_long(context: ExplainContext) -> None:
    """Exclude schemes that need more copies of a blocking instruction than allowed by (6.1)."""
    widest, max_copies = max(context.widths.values(), default=1), context.settings.most_copies
    for scheme in context.left:
        count = context.uops(scheme)
        if count is not None and widest * count > max_copies:
            copies = widest * count
            text = f"{count} µops on up to {widest} ports need {copies} copies to block; {max_copies} may be"
            alone = fact(context, context.alone[scheme].experiment, None)
            context.exclude(scheme, "candidates", NotCharacterised.TOO_SLOW, text, [alone])


def width_of(cycles: float, epsilon: float, noise: float = 0.0) -> int | None:
    """The number of ports n of a single µop that takes 1/n cycles; None for no such n up to `MAX_WIDTH`.

    A time must be within ε of 1/n, and within half of the gap to 1/(n+1). Ports bound it from below: a time
    more than `noise` cycles below 1/n means more ports, some of which are wasted.

    Example:
        >>> width_of(0.34, epsilon=0.02), width_of(0.4, epsilon=0.02)
        (3, None)
    """
    if cycles <= 0:
        return None
    n = max(1, round(1 / cycles))
    if n > MAX_WIDTH:
        return None
    gap = 1 / n - 1 / (n + 1)
    most_above = min(epsilon, gap / 2)
    most_below = min(most_above, max(noise, _FASTER / n))
    return n if -most_below <= cycles - 1 / n <= most_above else None


def _nearest(cycles: float) -> float:
    """The 1/n that is nearest to a time: what a single µop would take, for the text of an exclusion."""
    return 1 / max(1, round(1 / cycles)) if cycles > 0 else 0.0
