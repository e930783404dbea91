"""What the search needs of an abstract domain (thesis §8.1.2, Definition 8.2)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Sized
from random import Random
from typing import Protocol, TypeVar

from inference.core.protocols import Json

BlockT = TypeVar("BlockT", bound=Sized)
AbstractT = TypeVar("AbstractT", bound=Hashable)
ExpansionT = TypeVar("ExpansionT", bound=Hashable)


class AbstractDomain(Protocol[BlockT, AbstractT, ExpansionT]):
    """A valid abstract domain over basic blocks (Definition 8.2), with its sampler.

    All three kinds of values are immutable. `len` of a block is its number of instructions, at least 1.
    Abstract blocks and expansions compare by value. Every answer depends on the arguments alone.
    """

    def represent(self, block: BlockT) -> AbstractT:
        """β: the most special abstract block that represents the block."""
        ...

    def expansions(self, abstract: AbstractT) -> Sequence[ExpansionT]:
        """Those that apply, each leading to an immediate successor; always in the same order.

        The same expansion (the component and the value that it gets) may apply to several abstract blocks:
        once rejected, it is not tried again (§8.1.3). Empty for an abstract block without constraints.
        """
        ...

    def precedence(self, expansion: ExpansionT) -> int:
        """The lower, the more it relaxes of names and the less of what instructions do."""
        ...

    def small_expansions(self, abstract: AbstractT) -> Sequence[ExpansionT]:
        """Those that go less far than one of `expansions`, in the order in which to try them.

        They are for an abstract block that none of `expansions` leaves interesting, and are monotone too.
        """
        ...

    def expand(self, abstract: AbstractT, expansion: ExpansionT) -> AbstractT:
        """The successor that one of its expansions, be it a small one, leads to."""
        ...

    def sample(self, abstract: AbstractT, random: Random) -> BlockT | None:
        """γ̂ (§8.1.5): a random block that it represents; None where this attempt failed."""
        ...

    def sample_new(self, special: AbstractT, general: AbstractT, random: Random) -> BlockT | None:
        """A random block of `general`, an expansion of `special`, such as the latter does not represent.

        None where this attempt failed, or where there is hardly any.
        """
        ...

    def contains(self, abstract: AbstractT, block: BlockT) -> bool:
        """Whether it represents the block: membership in γ."""
        ...

    def same_meaning(self, one: AbstractT, other: AbstractT) -> bool:
        """Whether both surely represent the same blocks, although they are written differently.

        An expansion that changes nothing is taken without a look. False may mean that it is hard to tell.
        """
        ...

    def subsumes(self, general: AbstractT, special: AbstractT) -> bool:
        """Definition 8.7, rotation included; for a concrete block ask with what represents it."""
        ...

    def without(self, block: BlockT, position: int) -> BlockT:
        """The block without one of its instructions; it has at least two."""
        ...

    def unconstrained(self, length: int) -> AbstractT:
        """The abstract block of so many instructions that represents all blocks of this length."""
        ...

    def generality(self, abstract: AbstractT) -> int:
        """The least number of schemes that one of its abstract instructions represents (§8.1.7)."""
        ...

    def code(self, block: BlockT) -> bytes:
        """Machine code, which is what predictors get."""
        ...

    def block_of_code(self, code: bytes) -> BlockT | None:
        """The block with this machine code, as if it had been sampled; None where the domain lacks it."""
        ...

    def document(self, abstract: AbstractT) -> Json:
        """The abstract block as JSON."""
        ...

    def read(self, document: Json) -> AbstractT:
        """Back from `document`. Raises `AnicaError` for what is none."""
        ...

    def expansion_document(self, expansion: ExpansionT) -> Json: ...

    def read_expansion(self, document: Json) -> ExpansionT:
        """Back from `expansion_document`. Raises `AnicaError` for what is none."""
        ...
