"""The abstract domain of x86-64 in one object, as the search wants it (`search.protocols.Domain`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from anica_app.core.domain import documents
from anica_app.core.domain.abstract import (
    AbstractBlock,
    AliasExpansion,
    Expansion,
    FeatureExpansion,
    subsumes,
)
from anica_app.core.domain.aliasing import FREE, Aliasing, Operands, represent
from anica_app.core.domain.blocks import SampledBlock, block_of_code, obstacle
from anica_app.core.domain.features import FeatureTable
from anica_app.core.domain.settings import DomainSettings, SpaceSettings
from anica_app.core.domain.space import SchemeSpace
from anica_app.core.sampling import BlockSampler, ChoiceError
from inference.core.protocols import Json

_PRECEDENCE = ("scheme", "isa-set", "extension", "mnemonic", "category", "operands")
"""Features in the order in which they are dropped: first what instructions are called, then operands, which
imply what is said of memory, then everything else."""


class X86Domain:
    """Abstract blocks over the schemes of a space: a valid abstract domain in the sense of Definition 8.2.

    All values are immutable, and every answer depends on the arguments alone. `sampler` counts the failures.
    """

    def __init__(self, space: SchemeSpace, settings: DomainSettings | None = None) -> None:
        self.settings = settings or DomainSettings()
        self.space = space
        self.table = FeatureTable(space, self.settings)
        self.vocabulary = self.table.vocabulary
        self.sampler = BlockSampler(self.table, independent=not self.settings.aliasing)

    @classmethod
    def of(
        cls,
        settings: DomainSettings | None = None,
        schemes: SpaceSettings | None = None,
        *,
        among: Iterable[str] | None = None,
        uops: Mapping[str, int] | None = None,
    ) -> X86Domain:
        """Over all schemes that the settings allow; `among`: of these texts alone. Raises `AnicaError`.

        `uops`: {scheme text: number of µops}.
        """
        return cls(SchemeSpace.of(schemes, among=among, uops=uops), settings)

    def restricted(self, texts: Iterable[str]) -> X86Domain:
        """The same over these schemes alone, such as those that all tools support."""
        return X86Domain(self.space.restricted(texts), self.settings)

    def represent(self, block: SampledBlock) -> AbstractBlock:
        """β: the most special abstract block that represents the block."""
        representing = self.table.representing
        instructions = tuple(representing[one.scheme] for one in block.instructions)
        return AbstractBlock(
            instructions, represent(self._operands(block)) if self.settings.aliasing else FREE
        )

    def expansions(self, abstract: AbstractBlock) -> list[Expansion]:
        """Those that apply: instruction by instruction and feature by feature, then pair by pair."""
        found: list[Expansion] = []
        for number, instruction in enumerate(abstract.instructions):
            found += self.vocabulary.expansions(instruction, number)
        return [*found, *(AliasExpansion(pair) for pair, _ in abstract.aliasing.pairs)]

    def precedence(self, expansion: Expansion) -> int:
        """See `_PRECEDENCE`."""
        if isinstance(expansion, FeatureExpansion) and expansion.feature in _PRECEDENCE:
            return _PRECEDENCE.index(expansion.feature)
        return len(_PRECEDENCE)

    def small_expansions(self, abstract: AbstractBlock) -> list[Expansion]:
        """Those that go less far, for where no other is possible any more, in the order to try them."""
        found: list[Expansion] = []
        for number, instruction in enumerate(abstract.instructions):
            found += self.vocabulary.small_expansions(instruction, number)
        return found

    def expand(self, abstract: AbstractBlock, expansion: Expansion) -> AbstractBlock:
        """The successor. Raises `ValueError` where the expansion does not apply."""
        if isinstance(expansion, AliasExpansion):
            if expansion.pair not in abstract.aliasing.value:
                raise ValueError(f"{expansion} does not apply: nothing is said of this pair")
            return AbstractBlock(abstract.instructions, abstract.aliasing.without(expansion.pair))
        if expansion.instruction >= len(abstract):
            raise ValueError(f"{expansion} does not apply: there are {len(abstract)} instructions")
        instructions = list(abstract.instructions)
        instructions[expansion.instruction] = self.vocabulary.expand(
            instructions[expansion.instruction], expansion
        )
        return AbstractBlock(tuple(instructions), abstract.aliasing)

    def is_below(self, special: AbstractBlock, general: AbstractBlock) -> bool:
        """⊑: the same number of instructions, each as special, and aliasing as well."""
        pairs = zip(special.instructions, general.instructions, strict=False)
        return (
            len(special) == len(general)
            and special.aliasing.is_below(general.aliasing)
            and all(self.vocabulary.is_below(one, other) for one, other in pairs)
        )

    def sample(self, abstract: AbstractBlock, random: Random) -> SampledBlock | None:
        """γ̂: a random block that it represents, None where this attempt failed."""
        return self.sampler.sample(abstract, random)

    def sample_new(
        self, special: AbstractBlock, general: AbstractBlock, random: Random
    ) -> SampledBlock | None:
        """A random block of `general`, an expansion of `special`, of what the expansion has added.

        It has a scheme that `special` does not allow, or breaks the constraint on operands that was dropped;
        None where this attempt failed.
        """
        meaning = self.table.meaning
        schemes = []
        for one, other in zip(special.instructions, general.instructions, strict=True):
            numbers = self.space.numbers(meaning(other) & ~meaning(one) or meaning(other))
            if not numbers:
                return None
            schemes.append(numbers[int(random.random() * len(numbers))])
        dropped = {
            pair: wanted for pair, wanted in special.aliasing.pairs if pair not in general.aliasing.value
        }
        aliasing = Aliasing(
            general.aliasing.must.union(pair for pair, wanted in dropped.items() if not wanted),
            general.aliasing.must_not.union(pair for pair, wanted in dropped.items() if wanted),
        )
        try:
            return self.sampler.block(schemes, aliasing, random)
        except ChoiceError:
            return None

    def contains(self, abstract: AbstractBlock, block: SampledBlock) -> bool:
        """γ: whether it represents the block."""
        if len(abstract) != len(block):
            return False
        pairs = zip(abstract.instructions, block.instructions, strict=True)
        if not all(self.table.meaning(one) >> other.scheme & 1 for one, other in pairs):
            return False
        return not abstract.aliasing.pairs or abstract.aliasing.holds(self._operands(block))

    def same_meaning(self, one: AbstractBlock, other: AbstractBlock) -> bool:
        """Whether both surely represent the same blocks, although they may be written differently.

        An expansion that changes nothing needs no sample: of what is interesting, the same stays interesting.
        """
        return one.aliasing == other.aliasing and [*map(self.table.meaning, one.instructions)] == [
            *map(self.table.meaning, other.instructions)
        ]

    def subsumes(self, general: AbstractBlock, special: AbstractBlock) -> bool:
        """Definition 8.7; for a concrete block ask with what represents it."""
        meaning = self.table.meaning
        return subsumes(
            [meaning(one) for one in general.instructions],
            general.aliasing,
            [meaning(one) for one in special.instructions],
            special.aliasing,
        )

    def generality(self, abstract: AbstractBlock) -> int:
        """The least number of schemes that one of its instructions represents (§8.1.7)."""
        return min(self.table.meaning(one).bit_count() for one in abstract.instructions)

    def without(self, block: SampledBlock, position: int) -> SampledBlock:
        """The block without one of its instructions."""
        return block.without(position)

    def unconstrained(self, length: int) -> AbstractBlock:
        """⊤ for blocks of this length."""
        return AbstractBlock((self.vocabulary.free,) * length)

    def code(self, block: SampledBlock) -> bytes:
        """Machine code."""
        return block.code

    def block_of_code(self, code: bytes) -> SampledBlock | None:
        """The block with this machine code; None where an instruction is of no scheme of the space."""
        return block_of_code(code, self.space)

    def obstacle(self, code: bytes) -> str:
        """Why `block_of_code` has no block, in words; "" where it has one."""
        return obstacle(code, self.space)

    def instances(self) -> list[bytes]:
        """For each scheme of the space, in its order, the code of a block of one instruction of it."""
        return [self.sampler.instance(number).code for number in range(len(self.space))]

    def document(self, abstract: AbstractBlock) -> Json:
        """As JSON, see `documents`."""
        return documents.document(abstract, self.vocabulary)

    def read(self, document: Json) -> AbstractBlock:
        """Back from `document`. Raises `AnicaError`."""
        return documents.read(document, self.vocabulary)

    def expansion_document(self, expansion: Expansion) -> Json:
        """As JSON, see `documents`."""
        return documents.expansion_document(expansion, self.vocabulary)

    def read_expansion(self, document: Json) -> Expansion:
        """Back from `expansion_document`. Raises `AnicaError`."""
        return documents.read_expansion(document, self.vocabulary)

    def _operands(self, block: SampledBlock) -> Operands:
        slots = self.space.slots
        return [(slots[one.scheme], one.contents) for one in block.instructions]
