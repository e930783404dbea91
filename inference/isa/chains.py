"""Chains of instructions each of which waits for the one before: what latencies are read from.

uops.info's definition (Abel and Reineke 2019, section 4.2): the latency from a source operand to a
destination operand is the number of cycles from when the source is ready until the destination is, where all
other sources were ready before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True, order=True)
class ChainLink:
    """The way through one instruction of a chain, from a source operand of its scheme to a destination.

    Operands are named by their place in the scheme's text, from "1", those of memory with what of it is meant
    ("2 address", "2 data"); implicit ones by their register, "flags" or "mask". `values`: of which
    `ValueClass` those are that operands hold, "" where that makes no difference.
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
"""The least and the most cycles that a document gives for a link."""

QUICK, SLOW = "quick", "slow"


@dataclass(frozen=True, slots=True)
class ValueClass:
    """Values with which an instruction takes as long as any others of this class: `QUICK` or `SLOW`.

    `told`: the values, in words. `immediate`: the only number that an instruction of the class has; its name
    is "" where chains have that anyway. `count`: the only number of bits that a shift of the class moves by.
    """

    name: str
    told: str
    immediate: int | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class DependencyChain:
    """Machine code of one turn of a chain, to be repeated, and the links that a turn passes.

    Other instructions in the code break dependencies that are not meant. Without any link it is no chain:
    `instances` that wait for nothing show what their throughput allows, in a `loop`. `listing`: the code as
    text where it cannot be read from its bytes here. `copies`: that are measured one behind the other, 0 for
    the usual number.
    """

    code: bytes
    links: tuple[ChainLink, ...]
    loop: bool = False
    instances: int = 1
    listing: tuple[str, ...] = ()
    copies: int = 0

    @property
    def values(self) -> str:
        """The class of values that operands hold, "" where that makes no difference."""
        return self.links[0].values if self.links else ""

    @property
    def others(self) -> tuple[ChainLink, ...]:
        """All links but the first, whose latency is wanted: connectors, or the same one again."""
        return self.links[1:]


@dataclass(frozen=True, slots=True)
class PairChains:
    """The chains that show a latency; of one that is not `isolated` they only show sums, `why` says it.

    Without any chain, `why` says what keeps it from being measured. `classes` of values for which there are
    chains each; () where values make no difference. Of immediates the first class is the usual one.
    """

    link: ChainLink
    chains: tuple[DependencyChain, ...]
    isolated: bool
    why: str = ""
    classes: tuple[ValueClass, ...] = ()

    @property
    def is_by_immediate(self) -> bool:
        """Whether there are chains for several immediates, which may be alike."""
        return any(one.immediate is not None for one in self.classes)


ONE_REGISTER, OLD_VALUE = "one register", "old value"
"""Sources that are no operands: all that can be are the same register; what the destination held before."""


@dataclass(frozen=True, slots=True)
class IdiomChains:
    """What shows whether a choice of operands makes a scheme an idiom, or wait for what it does not read.

    `pair`: from `ONE_REGISTER` or `OLD_VALUE` to a destination. `usual`: a link between different registers,
    None for an old value. `apart`: instances that wait for nothing, by the same choice. `partial`: the
    destination is a part of a register.
    """

    pair: PairChains
    usual: ChainLink | None
    apart: DependencyChain
    partial: bool = False


ONE_LINE, LINES_IN_TURN = "one cache line", "two cache lines in turn"
HALVES_IN_TURN, THREE_AND_ONE = "two halves of one cache line in turn", "three times one line, then another"
"""Where stores alone go."""
ONE_WORD = "one word"
"""What loads alone read."""
BLOCKED = "a part, then the whole"
"""What is stored and then loaded, without waiting for what was loaded before."""
OTHER_PAGE = "what was stored, by an address on another page of the same memory"
"""What is stored and then loaded, without waiting for what was loaded before."""
FORESEEN = "what was stored, by an address that the load before gave"
"""What a load reads that would have to wait for its address, if the core did not foresee what it reads."""
BEHIND_POP = "the stack pointer, behind a pop"
"""What a subtraction computes with that puts it back."""
POPS, PUSHES = "the stack, by pops that go on", "the stack, by pushes that go on"
"""What is loaded or stored by the stack pointer, which each instruction moves on."""
POP_AND_LOAD = "the stack, by a pop that goes on, beside another load"
"""What two instructions load, one of them by the stack pointer."""


class MemoryCondition(StrEnum):
    """What a chain through memory varies, beside widths and addresses; a number goes with most of them."""

    NONE = ""
    REWRITTEN = "register of the address written in between"
    OTHER_STORES = "other stores in between"
    PAIRS_IN_LOOP = "stores and loads by two registers in a loop"
    UPDATES_IN_LOOP = "updates by a register that is written before, in a loop"
    UPDATE = "an update of what was stored"
    REWRITTEN_UPDATE = "an update by a register that is written before"
    OVERTAKEN = "updates of one place by two registers in turn"
    LINES = "cache lines in turn"
    LINES_TWICE = "cache lines in turn, two stores to each"


@dataclass(frozen=True, slots=True)
class MemoryChain:
    """A chain through memory: loads alone, or a store whose value a load reads, with others between them;
    or no chain: loads or stores alone, or a load that wants more than the store before it wrote.

    `stored` bits (0: no store) and `loaded` bits (0: no load), the load `offset` bytes behind the store.
    `register_class`: "general" or "vector". `address`: how memory is addressed, in words. `between`:
    connectors from the load to the store. `isolated`: the latency follows, else it is a bound. `number`: of
    other stores, of pairs or updates in the loop, or of lines, as the `condition` says.
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
    """Makes chains of those of single instructions."""

    def mixed(self, first: DependencyChain, second: DependencyChain) -> DependencyChain | None:
        """Both in turn, each waiting for the other; None where they cannot."""

    def spaced(self, chain: DependencyChain, fillers: int) -> DependencyChain | None:
        """With so many instructions that wait for nothing; None where it is no single instruction."""


BITS = 64


@dataclass(frozen=True, slots=True)
class FloatValues:
    """A dividend and a divisor, or the same for a root, as 64 bits that repeat them.

    `quotient` and `root` are their classes.
    """

    dividend: int
    divisor: int
    quotient: ValueClass
    root: ValueClass


_ELEMENTS: Mapping[int, tuple[int, int, int]] = {
    # bits of an element: 1, √2, and 1.2360…: their quotient, and the root of √2, have no end
    16: (0x3C00, 0x3DA8, 0x3CF2),
    32: (0x3F800000, 0x3FB504F3, 0x3F9E3779),
    64: (0x3FF0000000000000, 0x3FF6A09E667F3BCD, 0x3FF3C6EF372FE94F),
}


def float_values(bits: int) -> tuple[FloatValues, FloatValues]:
    """The quick ones and the slow ones of elements of so many bits: 16, 32 or 64."""
    one, root, divisor = (_repeated(pattern, bits) for pattern in _ELEMENTS[bits])
    return (
        FloatValues(one, one, ValueClass(QUICK, "1 / 1"), ValueClass(QUICK, "root of 1")),
        FloatValues(root, divisor, ValueClass(SLOW, "√2 / 1.236…"), ValueClass(SLOW, "root of √2")),
    )


def _repeated(pattern: int, bits: int) -> int:
    return sum(pattern << at for at in range(0, BITS, bits))
