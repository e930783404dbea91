"""Instruction schemes that do not follow the port mapping model, as thesis §6.3 met them on Zen+.

A simulated processor can be given some, to see what an algorithm makes of them.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from enum import StrEnum

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, uops_of

FRONT_END = 4
"""µops that a microcode sequencer emits per cycle, while nothing else is decoded."""

_LEAST_MICROCODE = 6
_WAIT = 0.3
_TWO_SPEEDS = 1.5
_BUSY = 3  # cycles for which a unit that is not pipelined takes nothing else


class Quirk(StrEnum):
    TWO_SPEEDS = "two speeds"  # conditional moves, conversions: unstable beside other instructions
    NOT_PIPELINED = "not pipelined"  # divisions, square roots: slower than the ports permit
    THIRD_PORT = "third port"  # fused multiply-add: keeps the data lines of another port busy
    WAITS = "waits"  # scalar multiplication: 4*add; 1*imul takes 1.5 cycles, neither 1.0 nor 1.25
    MICROCODE = "microcode"  # horizontal additions, bit scans: stops everything else while it is decoded


def misbehaving(mapping: PortMapping, share: float, seed: int) -> dict[str, Quirk]:
    """That share of the mapping's schemes, each with a quirk, in turn; the same seed chooses the same."""
    schemes = sorted(scheme for scheme, uops in mapping.usage.items() if uops)
    chosen = random.Random(seed).sample(schemes, round(share * len(schemes)))  # noqa: S311  no secret
    kinds = list(Quirk)
    return {scheme: kinds[k % len(kinds)] for k, scheme in enumerate(chosen)}


def keeping_ports_busy(mapping: PortMapping, quirks: Mapping[str, Quirk]) -> PortMapping:
    """The mapping with a port more in use by those that keep one busy beside their own."""
    usage = dict(mapping.usage)
    for scheme, quirk in quirks.items():
        if quirk is Quirk.THIRD_PORT:
            own = 0
            for mask, _ in usage[scheme]:
                own |= mask
            other = next((1 << k for k in range(len(mapping.ports)) if not own >> k & 1), 1)
            usage[scheme] = uops_of([*usage[scheme], (other, 1)])
    return dataclasses.replace(mapping, usage=usage)


def without_microcode(experiment: Experiment, quirks: Mapping[str, Quirk]) -> Experiment | None:
    """What is left for the ports while the sequencer is idle; None for nothing."""
    rest = {scheme: count for scheme, count in experiment.terms if quirks.get(scheme) is not Quirk.MICROCODE}
    return Experiment.of(rest) if rest else None


def slowed_down(
    experiment: Experiment, cycles: float, quirks: Mapping[str, Quirk], uops: Mapping[str, int], chance: float
) -> float:
    """The cycles of an experiment with its misbehaving schemes; `chance` in [0, 1) decides between speeds."""
    mixed = len(experiment.terms) > 1
    for scheme, count in experiment.terms:
        quirk = quirks.get(scheme)
        if quirk is Quirk.NOT_PIPELINED:
            cycles = max(cycles, count * (_BUSY + uops[scheme]))
        elif quirk is Quirk.WAITS and mixed:
            cycles += _WAIT * count
        elif quirk is Quirk.MICROCODE:
            cycles += count * max(_LEAST_MICROCODE, uops[scheme]) / FRONT_END
    unstable = any(quirks.get(scheme) is Quirk.TWO_SPEEDS for scheme, _ in experiment.terms)
    return cycles * _TWO_SPEEDS if unstable and mixed and chance < 0.5 else cycles
