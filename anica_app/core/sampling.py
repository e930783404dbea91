"""γ̂: random basic blocks that an abstract block represents: schemes, then operands that fit (§8.1.5)."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from random import Random

from anica_app.core.domain.abstract import FREE, AbstractBlock, Aliasing
from anica_app.core.domain.features import FeatureTable
from anica_app.core.domain.space import AbstractedInstruction, Bits, Dependency, SampledBlock, SchemeSpace
from anica_app.core.operand_choice import LinkedSchemes, fillings, links
from inference.isa.operand_facet import ChoiceError
from inference.isa.operand_slots import Filling

_KEPT = 1 << 16
"""So many instructions are remembered: random blocks repeat themselves, above all those of few schemes."""
_WAYS = 5
"""So many ways to have dependencies are tried: registers may not go together, or one write hide another."""


class Filler:
    """Makes instructions of the schemes of a space."""

    def __init__(self, space: SchemeSpace) -> None:
        self._filled = space.operands.filler(space.members)
        self._made: dict[tuple[int, Filling], AbstractedInstruction] = {}

    def instruction(self, scheme: int, filling: Filling) -> AbstractedInstruction:
        """The instruction of this scheme with these operands."""
        key = scheme, filling
        found = self._made.get(key)
        if found is None:
            if len(self._made) >= _KEPT:
                self._made.clear()
            contents, code = self._filled(scheme, filling)
            found = self._made[key] = AbstractedInstruction(scheme, contents, code)
        return found


class BlockSampler:
    """Samples blocks of the schemes of a space.

    `attempts` and `failures` count since the beginning. `independent`: operands are chosen such that as
    little as possible waits for something else, and what an abstract block says of aliasing does not count.
    """

    def __init__(self, table: FeatureTable, *, independent: bool = False) -> None:
        self._table = table
        self._space: SchemeSpace = table.space
        self._independent = independent
        self._filler = Filler(table.space)
        self._linked = LinkedSchemes(table.space)
        self.attempts = 0
        self.failures = 0

    def sample(self, abstract: AbstractBlock, random: Random) -> SampledBlock | None:
        """A random block that the abstract one represents, None where this attempt failed.

        Schemes are equally likely in each instruction, whatever the others are, but for dependencies.
        """
        meanings = [self._table.meaning(one) for one in abstract.instructions]
        return self.sample_of(meanings, abstract.aliasing, abstract.dependencies, random)

    def sample_of(
        self,
        allowed: Sequence[Bits],
        aliasing: Aliasing,
        wanted: AbstractSet[Dependency],
        random: Random,
    ) -> SampledBlock | None:
        """A random block of allowed schemes with these constraints, None where this attempt failed."""
        self.attempts += 1
        try:
            return self.block(self._linked.draw(allowed, wanted, random), aliasing, random, wanted)
        except ChoiceError:
            self.failures += 1
            return None

    def block(
        self,
        schemes: Sequence[int],
        aliasing: Aliasing,
        random: Random,
        wanted: AbstractSet[Dependency] = frozenset(),
    ) -> SampledBlock:
        """A block of these schemes. Raises `ChoiceError`."""
        if self._independent:
            members = [self._space.members[number] for number in schemes]
            made = self._made(schemes, self._space.operands.independent_fillings(members))
            if wanted and not made.dependencies(self._space) >= wanted:
                raise ChoiceError
            return made
        slots = [self._space.slots[number] for number in schemes]
        if not wanted:
            return self._made(schemes, fillings(slots, aliasing, random))
        uses = [self._space.uses[number] for number in schemes]
        for number in range(_WAYS):
            linked = links(uses, wanted, aliasing, random, always=number > 0)
            try:
                found = self._made(schemes, fillings(slots, aliasing, random, linked))
            except ChoiceError:
                continue
            if found.dependencies(self._space) >= wanted:
                return found
        raise ChoiceError

    def _made(self, schemes: Sequence[int], chosen: Sequence[Filling]) -> SampledBlock:
        make = self._filler.instruction
        return SampledBlock(tuple(make(number, each) for number, each in zip(schemes, chosen, strict=True)))

    def instance(self, scheme: int) -> SampledBlock:
        """A block of one instruction of this scheme, always the same one."""
        return self.block([scheme], FREE, Random(scheme))  # noqa: S311 (nothing is secret here)
