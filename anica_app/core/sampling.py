"""γ̂: random basic blocks that an abstract block represents: schemes, then operands that fit (§8.1.5)."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import starmap
from random import Random

from anica_app.core.domain.abstract import FREE, AbstractBlock, Aliasing
from anica_app.core.domain.features import FeatureTable
from anica_app.core.domain.space import AbstractedInstruction, Bits, Dependency, SampledBlock, SchemeSpace
from anica_app.core.operand_choice import DependentSchemes, fillings, links
from inference.isa.operand_slots import ChoiceError, Filling

_CACHE_SIZE = 1 << 16
"""Instructions in the cache; blocks of a small space repeat them often."""

_LINK_ATTEMPTS = 5
"""Attempts to create dependencies: registers may not go together, or one write may hide another."""


class Filler:
    def __init__(self, space: SchemeSpace) -> None:
        self._fill = space.operands.filler(space.members)
        self._instructions: dict[tuple[int, Filling], AbstractedInstruction] = {}

    def instruction(self, scheme: int, filling: Filling) -> AbstractedInstruction:
        key = scheme, filling
        instruction = self._instructions.get(key)
        if instruction is None:
            if len(self._instructions) >= _CACHE_SIZE:
                self._instructions.clear()
            contents, code = self._fill(scheme, filling)
            instruction = self._instructions[key] = AbstractedInstruction(scheme, contents, code)
        return instruction


class BlockSampler:
    """Samples blocks of the schemes of a space.

    `attempts` and `failures` count over the sampler's life. `independent`: operands are chosen to have as few
    dependencies as possible, and constraints on aliasing are ignored.
    """

    def __init__(self, table: FeatureTable, *, independent: bool = False) -> None:
        self._table = table
        self._space: SchemeSpace = table.space
        self._independent = independent
        self._filler = Filler(table.space)
        self._schemes = DependentSchemes(table.space)
        self.attempts = 0
        self.failures = 0

    def sample(self, abstract: AbstractBlock, random: Random) -> SampledBlock | None:
        """A random block that the abstract one represents; None where this attempt failed.

        Each instruction's schemes are equally likely, independently of the others except for dependencies.
        """
        meanings = [self._table.meaning(instruction) for instruction in abstract.instructions]
        return self.sample_of(meanings, abstract.aliasing, abstract.dependencies, random)

    def sample_of(
        self,
        allowed: Sequence[Bits],
        aliasing: Aliasing,
        dependencies: AbstractSet[Dependency],
        random: Random,
    ) -> SampledBlock | None:
        """A random block of allowed schemes with these constraints, None where this attempt failed."""
        self.attempts += 1
        try:
            schemes = self._schemes.choose_schemes(allowed, dependencies, random)
            return self.block(schemes, aliasing, random, dependencies)
        except ChoiceError:
            self.failures += 1
            return None

    def block(
        self,
        schemes: Sequence[int],
        aliasing: Aliasing,
        random: Random,
        dependencies: AbstractSet[Dependency] = frozenset(),
    ) -> SampledBlock:
        """A block of these schemes. Raises `ChoiceError`."""
        if self._independent:
            members = [self._space.members[number] for number in schemes]
            block = self._filled_block(schemes, self._space.operands.independent_fillings(members))
            if dependencies and not block.dependencies(self._space) >= dependencies:
                raise ChoiceError
            return block
        slots = [self._space.slots[number] for number in schemes]
        if not dependencies:
            return self._filled_block(schemes, fillings(slots, aliasing, random))
        uses = [self._space.uses[number] for number in schemes]
        for number in range(_LINK_ATTEMPTS):
            linked = links(uses, dependencies, aliasing, random, always=number > 0)
            try:
                candidate = self._filled_block(schemes, fillings(slots, aliasing, random, linked))
            except ChoiceError:
                continue
            if candidate.dependencies(self._space) >= dependencies:
                return candidate
        raise ChoiceError

    def _filled_block(self, schemes: Sequence[int], slot_fillings: Sequence[Filling]) -> SampledBlock:
        make = self._filler.instruction
        return SampledBlock(tuple(starmap(make, zip(schemes, slot_fillings, strict=True))))

    def instance(self, scheme: int) -> SampledBlock:
        """A block of one instruction of this scheme, always the same one."""
        return self.block([scheme], FREE, Random(scheme))  # noqa: S311 (nothing is secret here)
