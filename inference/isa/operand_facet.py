"""The facet of an instruction set by which basic blocks of its schemes are abstracted and sampled."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from inference.isa.operand_slots import Content, Filling, Slots
from inference.isa.scheme import Scheme


class ChoiceError(Exception):
    """No scheme, register or address is left: this attempt failed, another may succeed."""


@dataclass(frozen=True)
class OperandNames:
    """How the operands of schemes name flags and registers.

    Attributes:
        flags: The names of all flags.
        register_kinds: {kind, such as `GPR`: the names of its registers, whatever their width}.
    """

    flags: Collection[str] = ()
    register_kinds: Mapping[str, re.Pattern[str]] = field(default_factory=dict)


class BlockScheme(Protocol):
    """A scheme as blocks are made of it: what encodes it is known to the folder alone."""

    @property
    def scheme(self) -> Scheme:
        """What is known of it without measuring."""
        ...

    @property
    def slots(self) -> Slots:
        """Its operands that can alias."""
        ...

    @property
    def prefix(self) -> str:
        """What stands before its mnemonic, such as `lock`; "" for nothing."""
        ...

    @property
    def isa_sets(self) -> Sequence[str]:
        """The CPU features that it needs, by the decoder's names."""
        ...

    @property
    def extension_family(self) -> str:
        """The family of CPU features that it belongs to, of which `isa_sets` are members."""
        ...

    def obstacle(self, groups: frozenset[str]) -> str:
        """Why blocks do not have it, "" where they do; `groups`: kinds of schemes that they may have."""
        ...


BlockSchemeT = TypeVar("BlockSchemeT", bound=BlockScheme)
FilledInstruction = tuple[tuple[Content, ...], bytes]
"""What stands in the slots of an instruction, and its machine code."""
DecodedOperands = tuple[str, tuple[Content, ...], bytes]
"""The text of an instruction's scheme, what stands in the slots of that, and its bytes."""


class OperandChooser(Protocol[BlockSchemeT]):
    """Schemes as blocks are made of them, and the operands of their instructions."""

    @property
    def names(self) -> OperandNames:
        """How schemes name flags and registers."""
        ...

    def block_schemes(self) -> Mapping[str, BlockSchemeT]:
        """{text: scheme} of all in the order of the catalogue; takes seconds."""
        ...

    def block_scheme(self, text: str) -> BlockSchemeT | None:
        """The scheme of a text, None where there is none; quicker than all of them."""
        ...

    def filler(self, schemes: Sequence[BlockSchemeT]) -> Callable[[int, Filling], FilledInstruction]:
        """Makes the instruction of a scheme, given by its place, with chosen operands; in one thread."""
        ...

    def independent_fillings(self, schemes: Sequence[BlockSchemeT]) -> list[Filling]:
        """Operands of a block's instructions such that as little as possible waits for something else.

        Raises `ChoiceError`.
        """
        ...

    def decoded(self, code: bytes, slots: Mapping[str, Slots]) -> Iterator[DecodedOperands | None]:
        """The instructions of machine code by the most special of some schemes, given with their slots.

        None for an instruction of another scheme, and for what is no instruction.
        """
        ...
