"""Dispatch slots of schemes: how much longer code takes that only slots limit, with an instruction more.

The rest of the code are instructions without a port, which a core handles as fast as it dispatches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil

from inference.core.core_model.model import CoreModel
from inference.core.experiment import Experiment
from inference.core.throughput import inverse_throughput

_FILLERS = 6
"""Most schemes that are tried as fillers."""
_FILLER_LENGTH = 12
_FULL_RATE = 0.97
"""Share of the core's width that a filler has to reach."""
_MAX_LENGTH = 40
_MIN_FILLER_RATIO = 1.3
"""Multiple of an instruction's time alone that the code around it takes at least."""
_TOLERANCE = 0.35
"""Slots by which a count may deviate from a whole number."""
_NOP = "nop"


def filler_experiments(model: CoreModel, schemes: Iterable[str]) -> list[Experiment]:
    """Candidates for the code around: schemes without a port, alone."""
    usable = {*schemes}
    candidates = sorted(model.moves & usable, key=lambda text: (len(text), text))
    if model.front_end is not None and not model.front_end.pairs_nops:
        candidates[:0] = sorted(text for text in usable if text.partition(" ")[0] == _NOP)
    return [Experiment.of({text: _FILLER_LENGTH}) for text in candidates[:_FILLERS]]


def quickest_filler(measured: Mapping[Experiment, float], width: int) -> tuple[str, float] | None:
    """The scheme with the most instructions per cycle, and their number; None where none fills the slots."""
    rates = [(mix.length / cycles, mix.schemes[0]) for mix, cycles in measured.items()]
    rate, filler = max(rates, default=(0.0, ""))
    return (filler, rate) if rate >= _FULL_RATE * width else None


def slot_experiments(model: CoreModel, filler: str, schemes: Iterable[str]) -> dict[str, Experiment]:
    """{scheme: the experiment that counts its slots}, of all that ports do not limit too much."""
    mapping, width = model.mapping, ceil(0.0 if model.front_end is None else model.front_end.slots or 0.0)
    assert mapping is not None, "schemes are counted where they are described"
    experiments = {}
    for text in schemes:
        if text == filler or text not in mapping.usage:
            continue
        alone = inverse_throughput(mapping, Experiment.of({text: 1}))
        length = max(2 * width - 1, ceil(_MIN_FILLER_RATIO * width * alone))
        if length < _MAX_LENGTH:
            experiments[text] = Experiment.of({filler: length, text: 1})
    return experiments


def counted_slots(
    experiments: Mapping[str, Experiment], measured: Mapping[Experiment, float], rate: float
) -> dict[str, int]:
    """{scheme: slots} of those that take several.

    Args:
        experiments: `slot_experiments`.
        measured: {experiment: cycles}.
        rate: Slots per cycle, as measured with the filler alone.
    """
    slots = {}
    for text, experiment in experiments.items():
        if experiment not in measured:
            continue
        exact = measured[experiment] * rate - (experiment.length - 1)
        number = round(exact)
        if number > 1 and abs(exact - number) <= _TOLERANCE:
            slots[text] = number
    return slots
