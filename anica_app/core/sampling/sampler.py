"""γ̂: random basic blocks that an abstract block represents (thesis §8.1.5)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.aliasing import FREE, Aliasing
from anica_app.core.domain.blocks import SampledBlock
from anica_app.core.domain.space import SchemeSpace
from anica_app.core.domain.table import FeatureTable
from anica_app.core.sampling.choosing import ChoiceError, fillings
from anica_app.core.sampling.encoding import Filler
from anica_app.core.sampling.independent import Independent


class Sampler:
    """Samples blocks of the schemes of a space.

    `attempts` and `failures` count since the beginning. `independent`: operands are chosen such that as
    little as possible waits for something else, and what an abstract block says of aliasing does not count.
    """

    def __init__(self, table: FeatureTable, *, independent: bool = False) -> None:
        self._table = table
        self._space: SchemeSpace = table.space
        self._independent = Independent(table.space) if independent else None
        self._filler = Filler(table.space)
        self.attempts = 0
        self.failures = 0

    def sample(self, abstract: AbstractBlock, random: Random) -> SampledBlock | None:
        """A random block that the abstract one represents, None where this attempt failed.

        Schemes are equally likely in each instruction, whatever the others are.
        """
        self.attempts += 1
        schemes = []
        for instruction in abstract.instructions:
            numbers = self._space.numbers(self._table.meaning(instruction))
            if not numbers:
                self.failures += 1
                return None
            schemes.append(numbers[int(random.random() * len(numbers))])
        try:
            return self.block(schemes, abstract.aliasing, random)
        except ChoiceError:
            self.failures += 1
            return None

    def block(self, schemes: Sequence[int], aliasing: Aliasing, random: Random) -> SampledBlock:
        """A block of these schemes. Raises `ChoiceError`."""
        if self._independent is not None:
            chosen = self._independent.fillings(schemes)
        else:
            chosen = fillings([self._space.slots[number] for number in schemes], aliasing, random)
        make = self._filler.instruction
        return SampledBlock(tuple(make(number, each) for number, each in zip(schemes, chosen, strict=True)))

    def instance(self, scheme: int) -> SampledBlock:
        """A block of one instruction of this scheme, always the same one."""
        return self.block([scheme], FREE, Random(scheme))  # noqa: S311 (nothing is secret here)
