"""Two port mappings of 2,000 schemes of x86-64 that differ here and there, and mixes to judge them by."""

from __future__ import annotations

import random
from dataclasses import dataclass

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Value
from inference.core.mapping import Uops
from inference.core.throughput import inverse_throughput
from inference.models import ISA, ExperimentSet, InstructionScheme, PortMapping
from inference.storage.evaluating import evaluate
from inference.storage.rows import store_mapping, store_measurements

SCHEMES = 2000
PORTS = 10
_USAGES = 150  # as many groups as a published mapping has, and some more
_CHANGED = 0.15
_MIXES = 2000


@dataclass(frozen=True)
class Explorer:
    """`first` and `second` describe the same schemes, `scheme` is one that both have and mixes contain."""

    first: PortMapping
    second: PortMapping
    scheme: InstructionScheme


def generated_explorer(seed: int = 1) -> Explorer:
    """Stored in the database of now, which has x86-64."""
    dice = random.Random(seed)
    isa = ISA.objects.get(name="x86-64")
    texts = dice.sample(sorted(isa.schemes.filter(exclusion="").values_list("text", flat=True)), SCHEMES)
    usages = [_usage(dice) for _ in range(_USAGES)]
    usage = {text: dice.choice(usages) for text in texts}
    changed = {text: dice.choice(usages) if dice.random() < _CHANGED else usage[text] for text in texts}
    ports = tuple(str(port) for port in range(PORTS))
    first = Value(ports, usage)
    rows = [
        store_mapping(name, isa, value, origin=PortMapping.Origin.IMPORT)
        for name, value in (("first", first), ("second", Value(ports, changed)))
    ]
    made = ExperimentSet.objects.create(name="mixes", isa=isa, origin="upload")
    mixes = [Experiment.of(dice.sample(texts, 5)) for _ in range(_MIXES)]
    store_measurements(
        made, [Measured(each, inverse_throughput(first, each) * dice.uniform(0.9, 1.4)) for each in mixes]
    )
    for row in rows:
        evaluate(row, made)
    return Explorer(rows[0], rows[1], isa.schemes.get(text=mixes[0].schemes[0]))


def _usage(dice: random.Random) -> Uops:
    masks = {
        sum(1 << port for port in dice.sample(range(PORTS), dice.choice((1, 2, 2, 3, 4)))): dice.choice(
            (1, 1, 2)
        )
        for _ in range(dice.choice((1, 1, 2, 3)))
    }
    return tuple(sorted(masks.items()))
