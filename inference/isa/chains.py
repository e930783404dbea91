"""Chains of dependent instructions, from which latencies are read.

uops.info's definition (Abel and Reineke 2019, section 4.2): the latency from a source operand to a
destination operand is the number of cycles from when the source is ready until the destination is, where all
other sources were ready before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class NoChainError(Exception):
    """No chain can be made of a link; the message says why."""


@dataclass(frozen=True, slots=True, order=True)
class ChainLink:
    """The way through one instruction of a chain, from a source operand to a destination operand.

    Operands are named by their position in the scheme's text, from "1"; parts of memory operands as "2
    address" or "2 data"; implicit operands by their register, "flags" or "mask". `values`: the name of the
    operands' `ValueClass`, "" where values make no difference.
    """

    scheme: str
    source: str
    destination: str
    values: str = ""

    def __str__(self) -> str:
        way = f"{self.scheme}: {self.source} → {self.destination}"
        if self.values in (QUICK, SLOW):
            return f"{way}, {self.values} values"
        return f"{way}, {self.values}" if self.values else way


Latency = tuple[float, float]
"""The smallest and the largest documented number of cycles of a link."""

QUICK, SLOW = "quick", "slow"


@dataclass(frozen=True, slots=True)
class ValueClass:
    """Values with which an instruction takes equally long: `QUICK` or `SLOW`, or those of one immediate.

    Attributes:
        description: The values, in words.
        immediate: The only number that an instruction of the class has; its class is named "" where chains
            have that number anyway.
        count: The only number of bits that its shifts move by.
    """

    name: str
    description: str
    immediate: int | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class DependencyChain:
    """Machine code of one iteration of a chain, to be repeated, and the links that an iteration passes.

    Other instructions in the code break unwanted dependencies. Without links it is no chain: `instances` of
    independent instructions show the limit of throughput, in a `loop`.

    Attributes:
        listing: The code as text where its bytes cannot be decoded here.
        copies: The number of copies to measure, 0 for the usual number.
    """

    code: bytes
    links: tuple[ChainLink, ...]
    loop: bool = False
    instances: int = 1
    listing: tuple[str, ...] = ()
    copies: int = 0

    @property
    def values(self) -> str:
        """The class of the operands' values, "" where values make no difference."""
        return self.links[0].values if self.links else ""

    @property
    def closing_links(self) -> tuple[ChainLink, ...]:
        """All links but the first, whose latency is measured: connectors, or the first one again."""
        return self.links[1:]


@dataclass(frozen=True, slots=True)
class PairChains:
    """The chains that measure a link's latency.

    If not `isolated` they only bound sums, and `why` gives the reason.

    Without chains, `why` is the reason that it cannot be measured. `classes`: of values with chains of their
    own; () where values make no difference. Of immediates the first class is the usual one.
    """

    link: ChainLink
    chains: tuple[DependencyChain, ...]
    isolated: bool
    why: str = ""
    classes: tuple[ValueClass, ...] = ()

    @property
    def is_by_immediate(self) -> bool:
        """Whether there are chains for several immediates, whose latencies may be equal."""
        return any(value_class.immediate is not None for value_class in self.classes)


SAME_REGISTER, OLD_VALUE = "one register", "old value"
"""Sources that are no operands: one register for all operands that allow it; the destination's previous
value."""


@dataclass(frozen=True, slots=True)
class IdiomChains:
    """Chains that show whether a choice of operands makes a scheme an idiom, or falsely dependent.

    Attributes:
        pair: Pair from `SAME_REGISTER` or `OLD_VALUE` to a destination.
        regular_link: A link between different registers, None for an old value.
        independent: Instances that wait for nothing, with the same choice.
        partial: The destination is a part of a register.
    """

    pair: PairChains
    regular_link: ChainLink | None
    independent: DependencyChain
    partial: bool = False


SAME_LINE, LINES_IN_TURN = "one cache line", "two cache lines in turn"
HALVES_IN_TURN = "two halves of one cache line in turn"
THREE_THEN_OTHER = "three times one line, then another"
"""Addresses of stores alone."""

SAME_WORD = "one word"
"""The address of loads alone."""

PARTIAL_STORE = "a part, then the whole"
"""A store and a wider load, without waiting for the previous load."""

OTHER_PAGE = "what was stored, by an address on another page of the same memory"
"""A store and a load of the same memory by another page, without waiting for the previous load."""

PREDICTED_ADDRESS = "what was stored, by an address that the load before gave"
"""A load whose address the previous load gives: it would wait, unless the core predicts the value."""

AFTER_POP = "the stack pointer, behind a pop"
"""A subtraction from the stack pointer that undoes a pop."""

POPS, PUSHES = "the stack, by pops that go on", "the stack, by pushes that go on"
"""Loads or stores by the stack pointer, which each instruction moves."""

POP_AND_LOAD = "the stack, by a pop that goes on, beside another load"
"""Two loads, one of them by the stack pointer."""


class MemoryCondition(StrEnum):
    """The property that a chain through memory varies beside widths and addresses; most have a number."""

    NONE = ""
    REWRITTEN = "register of the address written in between"
    OTHER_STORES = "other stores in between"
    PAIRS_IN_LOOP = "stores and loads by two registers in a loop"
    UPDATES_IN_LOOP = "updates by a register that is written before, in a loop"
    COMPUTING = "an operation on the loaded value"
    UPDATE = "an update of what was stored"
    REWRITTEN_UPDATE = "an update by a register that is written before"
    OVERTAKEN = "updates of one place by two registers in turn"
    LINES = "cache lines in turn"
    LINES_TWICE = "cache lines in turn, two stores to each"


@dataclass(frozen=True, slots=True)
class MemoryChain:
    """A chain through memory: loads alone, or a store whose value a load reads, with connectors.

    Or no chain: independent loads or stores, or a load that is wider than the store before it.

    Attributes:
        stored: Bits of the store, 0 for none.
        loaded: Bits of the load, 0 for none; `offset` bytes behind the store.
        register_class: "general" or "vector".
        address: How memory is addressed, in words.
        between: Number of connectors from the load to the store.
        isolated: The latency follows; else it is a bound.
        number: Number of other stores, pairs or updates in the loop, or lines, as the `condition` says.
    """

    stored: int
    loaded: int
    register_class: str
    address: str
    chain: DependencyChain
    offset: int = 0
    between: int = 0
    isolated: bool = True
    condition: MemoryCondition = MemoryCondition.NONE
    number: int = 0


class ChainMixer(Protocol):
    def mixed(self, first: DependencyChain, second: DependencyChain) -> DependencyChain | None:
        """Both instructions in turn, each waiting for the other; None where they cannot be combined."""

    def spaced(self, chain: DependencyChain, fillers: int) -> DependencyChain | None:
        """The chain with so many independent instructions; None unless it is a single instruction."""


BITS = 64  # of a general-purpose register


@dataclass(frozen=True, slots=True)
class FloatValues:
    """A dividend and a divisor, as 64 bits that repeat them; the dividend also serves as a radicand.

    `quotient` and `root` are their classes.
    """

    dividend: int
    divisor: int
    quotient: ValueClass
    root: ValueClass


_ELEMENT_PATTERNS: Mapping[int, tuple[int, int, int]] = {
    # bits of an element: 1, √2, and 1.2360…: their quotient, and the root of √2, have no end
    16: (0x3C00, 0x3DA8, 0x3CF2),
    32: (0x3F800000, 0x3FB504F3, 0x3F9E3779),
    64: (0x3FF0000000000000, 0x3FF6A09E667F3BCD, 0x3FF3C6EF372FE94F),
}


def float_values(bits: int) -> tuple[FloatValues, FloatValues]:
    """The quick and the slow values for elements of 16, 32 or 64 bits.

    >>> float_values(64)[0].quotient.description
    '1 / 1'
    """
    unit, root, divisor = (_repeat(pattern, bits) for pattern in _ELEMENT_PATTERNS[bits])
    return (
        FloatValues(unit, unit, ValueClass(QUICK, "1 / 1"), ValueClass(QUICK, "root of 1")),
        FloatValues(root, divisor, ValueClass(SLOW, "√2 / 1.236…"), ValueClass(SLOW, "root of √2")),
    )


def _repeat(pattern: int, bits: int) -> int:
    return sum(pattern << shift for shift in range(0, BITS, bits))
