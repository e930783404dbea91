"""What experiments have in common: the instruction that most of them contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from inference.core.experiment import Experiment

SHARE = 0.6
"""Of the experiments, at least: what fewer of them contain is a coincidence."""


@dataclass(frozen=True)
class InCommon:
    """`name` is a scheme, or the mnemonic of `schemes`, that `containing` of `total` experiments have.

    `here`: the median, over these, of the cycles that were measured for each instance of it.
    """

    name: str
    schemes: tuple[str, ...]
    containing: int
    total: int
    here: float

    @property
    def all_of_them(self) -> bool:
        """Whether every experiment contains it."""
        return self.containing == self.total


def in_common(measured: Sequence[tuple[Experiment, float]]) -> InCommon | None:
    """Of at least two experiments with their cycles; None where they have nothing in common.

    A scheme that as many contain as its mnemonic says more than that. Of several, the one with the longest
    name: of instructions that occur everywhere the plain ones say least.
    """
    total = len(measured)
    if total < 2:
        return None
    schemes = Counter(scheme for experiment, _ in measured for scheme in experiment.schemes)
    mnemonics = Counter(name for experiment, _ in measured for name in {*map(_mnemonic, experiment.schemes)})
    least = max(2.0, SHARE * total)
    found = [(count, 1, scheme) for scheme, count in schemes.items() if count >= least]
    found += [(count, 0, name) for name, count in mnemonics.items() if count >= least]
    if not found:
        return None
    count, is_scheme, name = max(found, key=lambda each: (each[0], each[1], len(each[2]), each[2]))
    own = {name} if is_scheme else {scheme for scheme in schemes if _mnemonic(scheme) == name}
    shares = []
    for experiment, cycles in measured:
        instances = sum(number for scheme, number in experiment.terms if scheme in own)
        if instances:
            shares.append(cycles / instances)
    return InCommon(name, tuple(sorted(own)), count, total, median(shares))


def _mnemonic(scheme: str) -> str:
    return scheme.partition(" ")[0]
