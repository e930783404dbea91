"""The abstract domain of an instruction set in one object (Definition 8.2), and that over every scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from random import Random
from typing import Any

from anica_app.core.domain import documents, features
from anica_app.core.domain.abstract import (
    FREE,
    AbstractBlock,
    AliasExpansion,
    Aliasing,
    DependencyExpansion,
    Expansion,
    FeatureExpansion,
    Operands,
    represent,
    subsumes,
)
from anica_app.core.domain.features import FeatureTable, full_vocabulary
from anica_app.core.domain.settings import FEATURES, MAX_EDITS, MAX_LOG, DomainSettings, SpaceSettings
from anica_app.core.domain.space import SampledBlock, SchemeSpace, block_of_code, obstacle, operands_of
from anica_app.core.errors import AnicaError
from anica_app.core.sampling import BlockSampler
from inference.core.protocols import Json
from inference.isa.targets import DEFAULT, target_of

_NAMES = ("scheme", "isa-set", "extension", "mnemonic", "category")
"""Features that identify an instruction by name, in the order in which `precedence` tries to relax them."""

_UOPS = "uops"
_NAMING = ("mnemonic", "scheme")


class BlockDomain:
    """Abstract blocks over the schemes of a space: a valid abstract domain in the sense of Definition 8.2.

    Values are immutable, and every method is a function of its arguments. `sampler` counts attempts and
    failures.
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
        isa: str = DEFAULT,
    ) -> BlockDomain:
        """The domain over all schemes that the settings allow.

        Args:
            settings: Features, and whether aliasing and dependencies are constrained; None for the defaults.
            schemes: Which schemes blocks may have; None for the defaults.
            among: Texts of schemes to restrict the space to; None for no restriction.
            uops: {scheme text: number of µops}; without it the feature `uops` is left out.
            isa: Name of the instruction set.

        Raises:
            AnicaError: No scheme remains, or blocks of `isa` cannot be abstracted.
        """
        return cls(SchemeSpace.of(schemes, among=among, uops=uops, isa=isa), settings)

    def restricted(self, texts: Iterable[str]) -> BlockDomain:
        """This domain restricted to some schemes, such as those that all tools support."""
        return BlockDomain(self.space.restricted(texts), self.settings)

    def represent(self, block: SampledBlock) -> AbstractBlock:
        """β: the most special abstract block that represents the block."""
        representing = self.table.represented
        instructions = tuple(representing[instruction.scheme] for instruction in block.instructions)
        return AbstractBlock(
            instructions,
            represent(self._operands(block)) if self.settings.aliasing else FREE,
            block.dependencies(self.space) if self.settings.says_dependencies else frozenset(),
        )

    def expansions(self, abstract: AbstractBlock) -> list[Expansion]:
        """The expansions that apply: features by instruction, then pairs of operands, then dependencies."""
        expansions: list[Expansion] = []
        for number, instruction in enumerate(abstract.instructions):
            expansions += self.vocabulary.expansions(instruction, number)
        expansions += [AliasExpansion(pair) for pair, _ in abstract.aliasing.pairs]
        return [*expansions, *map(DependencyExpansion, sorted(abstract.dependencies))]

    def precedence(self, expansion: Expansion) -> int:
        """The rank of an expansion where names go first; smaller ranks are tried earlier.

        Names and equal registers come first, then operands, which imply constraints on memory, then
        dependencies, then all other features.
        """
        match expansion:
            case FeatureExpansion(feature=feature) if feature in _NAMES:
                return _NAMES.index(feature)
            case AliasExpansion(pair=(place, _)) if place.kind == "register":
                return len(_NAMES)
            case FeatureExpansion(feature="operands"):
                return len(_NAMES) + 1
            case DependencyExpansion():
                return len(_NAMES) + 2
        return len(_NAMES) + 3

    def small_expansions(self, abstract: AbstractBlock) -> list[Expansion]:
        """The expansions by small steps, in the order to try them once no full expansion is left."""
        expansions: list[Expansion] = []
        for number, instruction in enumerate(abstract.instructions):
            expansions += self.vocabulary.small_expansions(instruction, number)
        return expansions

    def expand(self, abstract: AbstractBlock, expansion: Expansion) -> AbstractBlock:
        """The successor. Raises `ValueError` where the expansion does not apply."""
        if isinstance(expansion, AliasExpansion):
            if expansion.pair not in abstract.aliasing.value:
                raise ValueError(f"{expansion} does not apply: nothing is said of this pair")
            return replace(abstract, aliasing=abstract.aliasing.without(expansion.pair))
        if isinstance(expansion, DependencyExpansion):
            if expansion.dependency not in abstract.dependencies:
                raise ValueError(f"{expansion} does not apply: it is not asked for")
            return replace(abstract, dependencies=abstract.dependencies - {expansion.dependency})
        if expansion.instruction >= len(abstract):
            raise ValueError(f"{expansion} does not apply: there are {len(abstract)} instructions")
        instructions = list(abstract.instructions)
        instructions[expansion.instruction] = self.vocabulary.expand(
            instructions[expansion.instruction], expansion
        )
        return replace(abstract, instructions=tuple(instructions))

    def is_below(self, special: AbstractBlock, general: AbstractBlock) -> bool:
        """⊑: the same number of instructions, each as special, and aliasing and dependencies as well."""
        pairs = zip(special.instructions, general.instructions, strict=False)
        return (
            len(special) == len(general)
            and special.aliasing.is_below(general.aliasing)
            and special.dependencies >= general.dependencies
            and all(self.vocabulary.is_below(lower, upper) for lower, upper in pairs)
        )

    def sample(self, abstract: AbstractBlock, random: Random) -> SampledBlock | None:
        """γ̂: a random block that the abstract one represents; None where this attempt failed."""
        return self.sampler.sample(abstract, random)

    def sample_new(
        self, special: AbstractBlock, general: AbstractBlock, random: Random
    ) -> SampledBlock | None:
        """A random block that `general` represents and `special`, which it expands, most likely does not.

        The block has a scheme that `special` does not allow, breaks the dropped constraint on operands, or
        lacks the dropped dependency. None where this attempt failed.
        """
        meaning = self.table.meaning
        allowed = [
            meaning(after) & ~meaning(before) or meaning(after)
            for before, after in zip(special.instructions, general.instructions, strict=True)
        ]
        dropped = {
            pair: alias for pair, alias in special.aliasing.pairs if pair not in general.aliasing.value
        }
        aliasing = Aliasing(
            general.aliasing.must.union(pair for pair, alias in dropped.items() if not alias),
            general.aliasing.must_not.union(pair for pair, alias in dropped.items() if alias),
        )
        block = self.sampler.sample_of(allowed, aliasing, general.dependencies, random)
        lacking = special.dependencies - general.dependencies
        return None if block is None or lacking & block.dependencies(self.space) else block

    def contains(self, abstract: AbstractBlock, block: SampledBlock) -> bool:
        """γ: whether it represents the block."""
        if len(abstract) != len(block):
            return False
        pairs = zip(abstract.instructions, block.instructions, strict=True)
        if not all(self.table.meaning(general) >> concrete.scheme & 1 for general, concrete in pairs):
            return False
        if abstract.aliasing.pairs and not abstract.aliasing.holds(self._operands(block)):
            return False
        return not abstract.dependencies or abstract.dependencies <= block.dependencies(self.space)

    def same_meaning(self, first: AbstractBlock, second: AbstractBlock) -> bool:
        """Whether both provably represent the same blocks; False where that is unknown.

        An expansion without an effect needs no samples: if the original is interesting, so is the result.
        """
        return (
            first.aliasing == second.aliasing
            and first.dependencies == second.dependencies
            and [*map(self.table.meaning, first.instructions)]
            == [*map(self.table.meaning, second.instructions)]
        )

    def subsumes(self, general: AbstractBlock, special: AbstractBlock) -> bool:
        """Definition 8.7. Represent a concrete block first (`represent`)."""
        return subsumes(general, special, self.table.meaning)

    def generality(self, abstract: AbstractBlock) -> int:
        """The smallest number of schemes that one of its instructions represents (§8.1.7)."""
        return min(self.table.meaning(instruction).bit_count() for instruction in abstract.instructions)

    def without(self, block: SampledBlock, position: int) -> SampledBlock:
        """The block without one of its instructions."""
        return block.without(position)

    def unconstrained(self, length: int) -> AbstractBlock:
        """⊤ for blocks of this length."""
        return AbstractBlock((self.vocabulary.free,) * length)

    def code(self, block: SampledBlock) -> bytes:
        return block.code

    def block_of_code(self, code: bytes) -> SampledBlock | None:
        """The block with this machine code; None where an instruction is of no scheme of the space."""
        return block_of_code(code, self.space)

    def obstacle(self, code: bytes) -> str:
        """Why `block_of_code` returns None for this code, as a sentence; "" where it returns a block."""
        return obstacle(code, self.space)

    def instances(self) -> list[bytes]:
        """The code of a one-instruction block of each scheme, in the order of the space."""
        return [self.sampler.instance(number).code for number in range(len(self.space))]

    def document(self, abstract: AbstractBlock) -> Json:
        return documents.block_document(abstract, self.vocabulary)

    def read(self, document: Json) -> AbstractBlock:
        """Back from `document`. Raises `AnicaError`."""
        return documents.parse_block(document, self.vocabulary)

    def expansion_document(self, expansion: Expansion) -> Json:
        return documents.expansion_document(expansion, self.vocabulary)

    def read_expansion(self, document: Json) -> Expansion:
        """Back from `expansion_document`. Raises `AnicaError`."""
        return documents.parse_expansion(document, self.vocabulary)

    def _operands(self, block: SampledBlock) -> Operands:
        slots = self.space.slots
        return [(slots[instruction.scheme], instruction.contents) for instruction in block.instructions]


@cache
def full_domain(isa: str = DEFAULT) -> BlockDomain:
    """The domain of all schemes that can be sampled, with every feature except `uops`.

    Numbers of µops come from the mapping of a campaign, which may not be stored here. Raises `AnicaError` for
    an instruction set whose blocks cannot be abstracted.
    """
    settings = DomainSettings(
        features=" ".join(name for name in FEATURES if name != _UOPS),
        edit_distance=MAX_EDITS,
        log_bound=MAX_LOG,
    )
    return BlockDomain.of(settings, SpaceSettings(groups=" ".join(target_of(isa).sampling_groups)), isa=isa)


def without_uops(document: Json | None) -> tuple[Json, bool]:
    """The document without constraints on µops, and whether it had any.

    Raises:
        AnicaError: `document` is None: the discovery cannot be expressed here.
    """
    if document is None:
        raise AnicaError("the discovery is not in our words")
    instructions = document.get("instructions", [])
    if not any(_UOPS in instruction for instruction in instructions if isinstance(instruction, dict)):
        return document, False
    without = [{key: part for key, part in entry.items() if key != _UOPS} for entry in instructions]
    return {**document, "instructions": without}, True


@dataclass(frozen=True, slots=True)
class RepresentedSchemes:
    """The schemes that one instruction of an abstract block represents: their number, and a few texts."""

    count: int
    schemes: tuple[str, ...]


def represented_schemes(document: Json | None, limit: int, isa: str = DEFAULT) -> list[RepresentedSchemes]:
    """The schemes that each instruction of an abstract block represents, ignoring constraints on µops.

    Args:
        document: The abstract block (`documents`).
        limit: Number of texts to list per instruction; `count` is of all.
        isa: Name of the instruction set.

    Raises:
        AnicaError: `document` is None or not an abstract block.
    """
    domain = full_domain(isa)
    abstract = domain.read(without_uops(document)[0])
    represented = []
    for instruction in abstract.instructions:
        bits = domain.table.meaning(instruction)
        texts = [text for place, text in enumerate(domain.space.texts) if bits >> place & 1]
        represented.append(RepresentedSchemes(len(texts), tuple(sorted(texts)[:limit])))
    return represented


def generality_of(document: Json | None) -> int | None:
    """The smallest number of schemes that an instruction represents (§8.1.7).

    None for an unreadable document.
    """
    try:
        return min((instruction.count for instruction in represented_schemes(document, 0)), default=None)
    except AnicaError:
        return None


class Mention(StrEnum):
    """How an abstract block mentions a scheme: by name, or as one of a class that constraints describe."""

    NAMED = "named"
    AMONG = "among"


def mention_of(text: str, isa: str = DEFAULT) -> Callable[[Json], Mention | None] | None:
    """A function that returns the strongest mention of a scheme in the document of an abstract block.

    An unconstrained instruction mentions no scheme. The returned function raises `AnicaError` for a document
    that cannot be read.

    Args:
        text: The scheme.
        isa: Name of its instruction set.

    Returns:
        None where there is no such scheme.
    """
    member = operands_of(isa).block_scheme(text)
    if member is None:
        return None
    vocabulary = full_vocabulary(isa)
    values = {name: features.feature_value(name, member, {}) for name in vocabulary.names if name != _UOPS}
    kinds = list(zip(vocabulary.names, vocabulary.abstractions, strict=True))

    def mention_in(constraints: tuple[Any, ...]) -> Mention | None:
        constrained = [
            (name, kind, constraint)
            for (name, kind), constraint in zip(kinds, constraints, strict=True)
            if constraint is not None and name != _UOPS
        ]
        if not constrained or not all(kind.represents(part, values[key]) for key, kind, part in constrained):
            return None
        return Mention.NAMED if any(name in _NAMING for name, _, _ in constrained) else Mention.AMONG

    def mention(document: Json) -> Mention | None:
        instructions = documents.parse_block(document, vocabulary).instructions
        mentions = {mention_in(instruction.values) for instruction in instructions}
        return next((kind for kind in Mention if kind in mentions), None)

    return mention
