"""Chains through memory of instruction sets of words: loads, stored values that are loaded again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inference.isa.chains import (
    HALVES_IN_TURN,
    LINES_IN_TURN,
    PARTIAL_STORE,
    SAME_LINE,
    SAME_WORD,
    THREE_THEN_OTHER,
    ChainLink,
    DependencyChain,
    MemoryChain,
)
from inference.isa.words.chains import ChainSet, ConnectorStep
from inference.isa.words.link_ends import ADDRESS

_SAME = "same base"
_BETWEEN = (1, 10)
"""Connectors between a load and the next store."""

_LINE = 64
GENERAL_PAIRS = (
    # bits stored, bits loaded, bytes from the one to the other
    *((width, width, 0) for width in (64, 32, 16, 8)),
    *((64, 32, 0), (64, 16, 0), (64, 8, 0), (64, 32, 4), (64, 8, 7), (32, 16, 2)),
    *((32, 64, 0), (16, 64, 0), (8, 64, 0), (8, 32, 0)),
    *((64, 64, 4), (64, 64, 1), (32, 32, 2)),
)
_STORE_OFFSETS = {
    SAME_LINE: (0, 8),
    HALVES_IN_TURN: (0, _LINE // 2),
    LINES_IN_TURN: (0, _LINE),
    THREE_THEN_OTHER: (0, 8, 16, _LINE),
}


@dataclass(frozen=True, slots=True)
class MemoryRegisters:
    """The registers of an instruction set's memory chains.

    Attributes:
        chain_set: Chain set of the instruction set.
        code_of: Machine code of lines.
        value: Number of the register that is stored and loaded, of each bank.
        free: Numbers of general-purpose registers that loads may write.
        bank: Name of the other bank.
        bits: Bits of its loads.
        pairs: As `GENERAL_PAIRS`, of that bank.
        to_general: {bits: a line from its register to the general-purpose one, and its link}.
    """

    chain_set: ChainSet
    code_of: Callable[[Sequence[str]], bytes]
    value: Mapping[str, int]
    free: Sequence[int]
    bank: str
    bits: Sequence[int]
    pairs: Sequence[tuple[int, int, int]]
    to_general: Mapping[int, ConnectorStep]

    def chains(self) -> tuple[MemoryChain, ...]:
        return (*self._loads(), *self._forwarding_chains(), *self._throughput_codes())

    def _loads(self) -> Iterator[MemoryChain]:
        chain_set, general = self.chain_set, self.value["general"]
        base = chain_set.bases[0]
        restore = [chain_set.exclusive_or.format(base, general)] * 2
        for bits in (64, 32, 16, 8):
            line, link = self._move("general", general, bits, base)
            links = (link, chain_set.from_second, chain_set.from_first)
            yield MemoryChain(0, bits, "general", "[base]", self._chain([line, *restore], links))
        for bits in self.bits:
            line, link = self._move(self.bank, self.value[self.bank], bits, base)
            out = self.to_general[bits]
            way = (link, out.link, chain_set.from_second, chain_set.from_first)
            chain = self._chain([line, out.line, *restore], way)
            yield MemoryChain(0, bits, self.bank, "[base]", chain, isolated=False)

    def _forwarding_chains(self) -> Iterator[MemoryChain]:
        for bank, pairs in (("general", GENERAL_PAIRS), (self.bank, self.pairs)):
            number, base = self.value[bank], self.chain_set.bases[1]
            (connector, *_) = self.chain_set.connectors[bank]
            for stored, loaded, offset in pairs:
                lines = [
                    self._move(bank, number, stored, base, stores=True)[0],
                    self._move(bank, number, loaded, base, offset)[0],
                ]
                yield from self._forwarding_chain(stored, loaded, offset, bank, lines, connector)

    def _forwarding_chain(
        self, stored: int, loaded: int, offset: int, bank: str, lines: Sequence[str], connector: ConnectorStep
    ) -> Iterator[MemoryChain]:
        """A store and a load of its value, with connectors from the one to the other."""
        number = self.value[bank]
        words = f"store of {stored} and load of {loaded} bits, {bank} registers, {_SAME}, "
        words += f"{offset} bytes apart"
        for between in _BETWEEN:
            links = (ChainLink(words, "stored", "loaded"), *[connector.link] * between)
            chain = self._chain([*lines, *[connector.line.format(number, number)] * between], links)
            yield MemoryChain(stored, loaded, bank, _SAME, chain, offset, between)

    def _throughput_codes(self) -> Iterator[MemoryChain]:
        """Codes for throughput: loads and stores alone, and a load that is wider than the store before it."""
        number, (load_base, base) = self.value["general"], self.chain_set.bases
        for name, offsets in _STORE_OFFSETS.items():
            stores = [self._move("general", number, 64, base, offset, stores=True)[0] for offset in offsets]
            yield MemoryChain(64, 0, "general", name, self._chain(stores, (), len(stores)))
        loads = [self._move("general", free, 64, load_base)[0] for free in self.free]
        yield MemoryChain(0, 64, "general", SAME_WORD, self._chain(loads, (), len(loads)))
        partial = [
            self._move("general", number, 8, base, stores=True)[0],
            self._move("general", self.free[-1], 64, base)[0],
        ]
        yield MemoryChain(8, 64, "general", PARTIAL_STORE, self._chain(partial, ()))

    def _move(
        self, bank: str, number: int, bits: int, base: int, offset: int = 0, *, stores: bool = False
    ) -> tuple[str, ChainLink]:
        """The line, and the link from the address."""
        (line,), (link,) = self.chain_set.moved(bank, number, bits, (base, offset), stores=stores)
        return line, replace(link, source=f"2 {ADDRESS}")

    def _chain(
        self, lines: Sequence[str], links: tuple[ChainLink, ...], instances: int = 1
    ) -> DependencyChain:
        return DependencyChain(
            self.code_of(lines), links, loop=True, instances=instances, listing=tuple(lines)
        )
