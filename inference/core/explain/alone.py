"""Stages 1 and 2: every scheme alone, its number of µops, and how many ports one µop has (§6.2.1, §6.3.1)."""

from __future__ import annotations

import math

from inference.core.errors import InsufficientDataError
from inference.core.experiment import Experiment
from inference.core.explain.context import ERRORS, ExplainContext, fact
from inference.core.explain.counting import counted, source_of_counts, whole, zen_extra
from inference.core.explain.problem import NotCharacterised
from inference.core.explain.settings import COUNTER, ISSUE, TABLE, THROUGHPUT, ZEN_MACRO_OPS

MOST_WIDTH = 12
"""Ports of one µop at most that can be told by time: 1/12 and 1/13 cycles are nearly the same."""

_NOISE_SAMPLE = 200
_CHUNK = 256
_SPARE_SLOTS = 6  # that the padding has more than the scheme leaves free: issue shall be the limit
_SLOT_ERROR = 0.1
_NEAR_WHOLE = 0.3  # of a slot
_LATENCY_ERROR = 0.05
"""Share by which chains may take longer than measured latencies say: these are off by some hundredths."""

_FASTER = 0.02
"""Share by which a scheme may be faster than its ports allow: clocks and medians are about as good."""


def singleton(scheme: str) -> Experiment:
    """One instance of a scheme."""
    return Experiment.of([scheme])


def measure_alone(context: ExplainContext) -> None:
    """Stage 1: times and counts of all schemes; leaves out those without a sensible one."""
    settings, sampler = context.settings, context.sampler
    asked = {scheme: singleton(scheme) for scheme in context.problem.schemes}
    some = list(asked.values())[:: max(1, len(asked) // _NOISE_SAMPLE)]
    sampler.ask(dict.fromkeys(some, 2))
    sampler.learn_noise(some)
    schemes = list(asked)
    for start in range(0, len(schemes), _CHUNK):
        chunk = schemes[start : start + _CHUNK]
        context.measure(
            {
                asked[scheme]: sampler.enough(asked[scheme], settings.epsilon / 4, settings.samples)
                for scheme in chunk
            }
        )
        context.teller.progress("alone", start + len(chunk), len(schemes), "schemes")
    readings = {scheme: sampler.reading(experiment) for scheme, experiment in asked.items()}
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
    """How many slots of the issue bottleneck each scheme takes, padded with NOPs until that is the limit.

    With k of them, (k + slots) / rate cycles; the rate is that of the NOPs alone. Processors that issue
    several µops in one slot show fewer.
    """
    settings, sampler = context.settings, context.sampler
    padding = singleton(settings.padding)
    context.measure({padding: max(settings.samples, sampler.enough(padding, 0.001, settings.samples))})
    cycles = sampler.reading(padding).cycles
    if cycles is None:
        raise InsufficientDataError(
            f"the padding {settings.padding!r} cannot be measured, so µops cannot be counted by issue: "
            f"{sampler.reading(padding).note}"
        )
    rate = 1 / cycles
    padded: dict[str, tuple[Experiment, int]] = {}
    for scheme in context.left:
        copies = math.ceil(rate * (context.cycles(scheme) + 1)) + _SPARE_SLOTS
        if scheme != settings.padding and copies <= settings.most_copies:
            padded[scheme] = Experiment.of({scheme: 1, settings.padding: copies}), copies
    wanted = {e: sampler.enough(e, _SLOT_ERROR / rate, settings.samples) for e, _ in padded.values()}
    context.measure(wanted)
    for scheme, (experiment, copies) in padded.items():
        seen = sampler.reading(experiment).cycles
        if seen is not None:
            context.slots[scheme] = seen * rate - copies


def _count(context: ExplainContext, scheme: str) -> None:
    if context.counts_from == THROUGHPUT:
        return
    reading = context.alone[scheme]
    count: float | None
    if context.counts_from == ISSUE:
        slots = context.slots.get(scheme)
        extra = zen_extra(scheme) if context.settings.uop_rule == ZEN_MACRO_OPS else 0
        count = slots
        if slots is not None and abs(slots - round(slots)) < _NEAR_WHOLE:
            count = round(slots) + extra
        missing = "its slots among NOPs could not be counted"
    elif context.counts_from == TABLE:
        count = context.problem.uops.get(scheme)
        missing = "the table of µop counts does not have it"
    else:
        assert context.counts_from == COUNTER
        count = counted(reading, context.settings.uop_rule)
        missing = "the µop counter did not count"
    if count is None:
        context.exclude(scheme, "alone", NotCharacterised.COUNT, missing)
    elif whole(count) is None:
        text = f"the µop counter shows {count:.3g}, no whole number"
        context.exclude(
            scheme, "alone", NotCharacterised.COUNT, text, [fact(context, reading.experiment, None)]
        )
    else:
        context.counts[scheme] = count


def find_candidates(context: ExplainContext) -> None:
    """Stage 2: schemes of one µop, each with the size of its port set, 1 / cycles.

    Without counts, whatever takes 1/n cycles is one for the time being.
    """
    widest = context.settings.widest
    context.chained = _chained(context)
    for scheme in context.left:
        cycles, width = context.cycles(scheme), _width(context, scheme)
        alone = context.alone[scheme].experiment
        if widest is not None and width is not None and width > widest:
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


def _chained(context: ExplainContext) -> frozenset[str]:
    """Schemes whose copies wait for their registers as long as one more port would let them take, or longer.

    Then their time shows no number of ports: with more of them it could be the same.
    """
    core = context.problem.core
    if core is None:
        return frozenset()
    alone = {scheme: context.alone[scheme].experiment for scheme in context.left}
    cycles = {experiment: context.cycles(scheme) for scheme, experiment in alone.items()}
    least = core.least_cycles(cycles, pulse=context.teller.pace.pulse)
    return frozenset(
        scheme
        for scheme, experiment in alone.items()
        if (width := _width(context, scheme)) is not None
        and (width + 1) * least.get(experiment, 0.0) >= 1 - _LATENCY_ERROR
    )


def _width(context: ExplainContext, scheme: str) -> int | None:
    """How many ports a scheme has if it is a single µop; None where it cannot be one."""
    noise = ERRORS * context.sampler.error(context.alone[scheme])
    return width_of(context.cycles(scheme), context.settings.epsilon, noise)


def _refuse_long(context: ExplainContext) -> None:
    """Leave out what cannot be flooded by as many copies as (6.1) asks for."""
    widest, most = max(context.widths.values(), default=1), context.settings.most_copies
    for scheme in context.left:
        count = context.uops(scheme)
        if count is not None and widest * count > most:
            text = (
                f"{count} µops on up to {widest} ports need {widest * count} copies to block; {most} may be"
            )
            alone = fact(context, context.alone[scheme].experiment, None)
            context.exclude(scheme, "candidates", NotCharacterised.TOO_SLOW, text, [alone])


def width_of(cycles: float, epsilon: float, noise: float = 0.0) -> int | None:
    """The number of ports n of a single µop that takes 1/n cycles; None where it takes none of them.

    Beside being within ε, a time must be nearer to 1/n than to its neighbours by half of the way to spare.
    Ports bound it from below: what is faster than 1/n by more than `noise` (cycles) has more ports, and
    wastes some of them.
    """
    if cycles <= 0:
        return None
    n = max(1, round(1 / cycles))
    if n > MOST_WIDTH:
        return None
    gap = 1 / n - 1 / (n + 1)
    off = min(epsilon, gap / 2)
    return n if -min(off, max(noise, _FASTER / n)) <= cycles - 1 / n <= off else None


def _nearest(cycles: float) -> float:
    return 1 / max(1, round(1 / cycles)) if cycles > 0 else 0.0
