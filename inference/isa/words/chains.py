"""Chains from a source operand through a scheme of words to a destination, and back.

Chains are loop bodies in the frame of experiments. They are closed by connectors that are neither eliminated
nor idioms. An address is restored: two exclusive ORs of its register with the loaded value cancel. Between
classes of registers, flags and memory only sums with the way back are known. All lines are encoded in one
call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from inference.isa.chains import ChainLink, DependencyChain, NoChainError, PairChains
from inference.isa.document import OperandForm
from inference.isa.scheme import ONLY_IN_CHAINS, Scheme
from inference.isa.words.link_ends import (
    ADDRESS,
    BASE,
    DATA,
    FLAGS,
    INDEX,
    MEMORY,
    EndValues,
    OperandEnd,
    bank_in_words,
    is_source,
    is_target,
    link_ends,
)

REPEATED = (1, 3)
"""Numbers of connectors in a row: a chain that throughput limits does not grow with them."""

Steps = tuple[list[str], list[ChainLink]]
"""Lines, and the links that they are."""

_Way = Callable[[dict[str, int]], Iterator[Steps]]


class ConnectorStep(NamedTuple):
    """A line from a register to another one, `{0}` from `{1}`, and its link."""

    line: str
    link: ChainLink


class ChainSet(ABC):
    """The registers and connectors of an instruction set.

    Attributes:
        general: Numbers of general-purpose registers that links may use.
        others: {pool: the same of other registers}; see `pool_of`.
        scratch: Number of a general-purpose register for ways between classes.
        bases: Bases of registers that point to memory: of loads, of stores.
        connectors: {bank: steps within it}.
        exclusive_or: Lines `{0} ^= {1}`, linked from the second and from the first operand.
    """

    general: Sequence[int]
    others: Mapping[str, Sequence[int]]
    scratch: int
    bases: tuple[int, int]
    connectors: Mapping[str, Sequence[ConnectorStep]]
    exclusive_or: str
    from_second: ChainLink
    from_first: ChainLink

    @abstractmethod
    def schemes(self) -> Mapping[str, Scheme]: ...

    @abstractmethod
    def forms(self) -> Mapping[str, OperandForm]: ...

    def pool_of(self, form: OperandForm) -> str:
        """The registers among which an operand has its own: those of its bank, or of its width there."""
        return form.bank

    @abstractmethod
    def obstacle(self, text: str) -> str:
        """Why a scheme cannot be measured on any processor, "" where it can."""

    @abstractmethod
    def values_of(self, scheme: Scheme) -> tuple[EndValues, ...]:
        """The quick and the slow values; () where values make no difference."""

    @abstractmethod
    def encode(self, lines: set[str]) -> Mapping[str, bytes | str]:
        """{line: machine code, or the reason why it has none}. Raises `AssemblerError`."""

    @abstractmethod
    def with_value(self, end: OperandEnd, number: int, value: int) -> Iterator[str]:
        """Lines that write 64 bits to a register of an operand's bank."""

    @abstractmethod
    def initialized(self, end: OperandEnd, number: int) -> Iterator[str]:
        """Lines that overwrite an operand that is read and written: the flags have no number."""

    @abstractmethod
    def restoring(self, end: OperandEnd, value: int) -> tuple[list[str], list[str], list[ChainLink]]:
        """Lines for constants; lines that make this value in `{0}` of any in `{1}`; their links.

        Destination and source are in one bank. Raises `NoChainError`.
        """

    @abstractmethod
    def moved(self, bank: str, number: int, bits: int, place: tuple[int, int], *, stores: bool) -> Steps:
        """A load to a register or a store from it; `place`: number of the base, offset.

        Raises `NoChainError`.
        """

    @abstractmethod
    def to_scratch(self, end: OperandEnd, number: int) -> Steps: ...

    @abstractmethod
    def from_scratch(self, end: OperandEnd, number: int) -> Steps: ...

    def ends_of(self, scheme: Scheme) -> Iterator[OperandEnd]:
        """All operands in order, those of memory in their parts, the flags last."""
        return link_ends(scheme, self.forms())

    def links_of(self, text: str) -> tuple[ChainLink, ...]:
        """The pairs of source and destination operands of a scheme; () for an unknown one."""
        scheme = self.schemes().get(text)
        ends = [] if scheme is None else list(self.ends_of(scheme))
        return tuple(
            ChainLink(text, source.name, target.name)
            for source in ends
            if is_source(source)
            for target in ends
            if is_target(target)
        )

    def chains_of_pairs(self, links: Iterable[ChainLink]) -> list[PairChains]:
        """The chains for pairs of operands of `links_of`, in order. Raises `AssemblerError`."""
        drafts: list[tuple[ChainLink, list[_ChainText], bool, str]] = []
        for link in links:
            texts: list[_ChainText] = []
            try:
                for values in self.values_of(self.schemes()[link.scheme]) or (None,):
                    chain_texts, isolated, why = Linker(self, link, values).texts()
                    texts += chain_texts
                drafts.append((link, texts, isolated, why))
            except NoChainError as error:
                drafts.append((link, [], False, str(error)))
        codes = self.encode({line for _, texts, _, _ in drafts for text in texts for line in text.lines})
        return [
            self._pair(link, texts, codes, isolated=isolated, why=why)
            for link, texts, isolated, why in drafts
        ]

    def _pair(
        self,
        link: ChainLink,
        texts: Sequence[_ChainText],
        codes: Mapping[str, bytes | str],
        *,
        isolated: bool,
        why: str,
    ) -> PairChains:
        chains = []
        for text in texts:
            line_codes = [codes[line] for line in text.lines]
            refused = next((line_code for line_code in line_codes if isinstance(line_code, str)), None)
            if refused is not None:
                why = f"llvm-mc does not know it: {refused}"
                continue
            code = b"".join(line_code for line_code in line_codes if isinstance(line_code, bytes))
            chains.append(DependencyChain(code, text.links, loop=True, listing=text.lines))
        values = self.values_of(self.schemes()[link.scheme]) if chains else ()
        classes = tuple(value.kind for value in values)
        return PairChains(link, tuple(chains), isolated and bool(chains), why, classes)


@dataclass(frozen=True, slots=True)
class _ChainText:
    lines: tuple[str, ...]
    links: tuple[ChainLink, ...]


class Linker:
    """Chains through one link of a scheme: alone, and closed by each connector that fits its two ends."""

    def __init__(self, chain_set: ChainSet, link: ChainLink, values: EndValues | None) -> None:
        self._set = chain_set
        self._link = link if values is None else replace(link, values=values.kind.name)
        self._values = {} if values is None else values.patterns
        self._scheme = chain_set.schemes()[link.scheme]
        self._ends = list(chain_set.ends_of(self._scheme))
        self._source = next(end for end in self._ends if is_source(end) and end.name == link.source)
        self._target = next(end for end in self._ends if is_target(end) and end.name == link.destination)
        reason = chain_set.obstacle(link.scheme)
        if reason and not reason.startswith(ONLY_IN_CHAINS):
            raise NoChainError(reason)
        stores = any(end.bank == MEMORY and "W" in end.operand.access for end in self._ends)
        self._base = chain_set.bases[stores]

    def texts(self) -> tuple[list[_ChainText], bool, str]:
        """The chains, whether they isolate the pair, and if not, why."""
        source, target = self._source, self._target
        if source.bank == target.bank == FLAGS:
            return self._direct(), True, ""
        if source.is_in_address and target.name == BASE:
            chains = self._direct() if source.name.endswith(ADDRESS) else []
            return [*chains, *self._close_chain(self._to_address)], True, ""
        if source.bank == target.bank and source.bank in self._set.connectors:
            return_path = self._to_address if source.is_in_address else self._within_bank
            return [*self._direct(), *self._close_chain(return_path)], True, ""
        why = f"from {bank_in_words(source)} to {bank_in_words(target)}: known only in sum with the way back"
        return self._close_chain(self._between_classes), False, why

    def _direct(self) -> list[_ChainText]:
        """The scheme alone: its destination is its source."""
        source, target = self._source, self._target
        if source.name in self._values:
            return []  # what it leaves there is another value
        is_same_operand = source.position == target.position and source.name == target.name
        moves = source.name.endswith(ADDRESS) and target.name == BASE
        if not (is_same_operand or moves or source.bank == FLAGS):
            if source.is_in_address or target.name == BASE or "R" in target.operand.access:
                return []
            forms = self._form(source), self._form(target)
            if forms[0].span != forms[1].span or self._set.pool_of(forms[0]) != self._set.pool_of(forms[1]):
                return []
        registers = self.registers(shared=True)
        return [_ChainText((*self.initialization(registers), self.line(registers)), (self._link,))]

    def _close_chain(self, path: _Way) -> list[_ChainText]:
        registers = self.registers(shared=False)
        if self._source.name in self._values:
            path = self._restore_source
        instance = [*self.initialization(registers), self.line(registers)]
        return [_ChainText((*instance, *lines), (self._link, *links)) for lines, links in path(registers)]

    # Registers, by (position of the operand, name of the part of an address or "").

    def _form(self, end: OperandEnd) -> OperandForm:
        return self._set.forms()[end.operand.name]

    def registers(self, *, shared: bool) -> dict[str, int]:
        """{name of an operand: its register, of a list the first one}."""
        free = {bank: list(numbers) for bank, numbers in self._set.others.items()}
        free["general"] = list(self._set.general)
        registers: dict[str, int] = {}
        order = [self._source, self._target, *self._ends]
        for end in order:
            if end.name in registers or end.bank in {FLAGS, MEMORY}:
                continue
            if end.name == BASE or end.name.endswith(ADDRESS):
                registers[end.name] = self._base
            elif shared and end is self._target and self._source.name in registers:
                registers[end.name] = registers[self._source.name]
            elif end.name.endswith(INDEX):
                registers[end.name] = free["general"].pop(0)
            else:
                form = self._form(end)
                registers[end.name] = _take_registers(
                    free[self._set.pool_of(form)], form.span, form.registers_below
                )
        return registers

    def line(self, registers: dict[str, int]) -> str:
        operands = []
        for number, operand in enumerate(self._scheme.operands):
            if operand.implicit:
                continue
            form = self._set.forms()[operand.name]
            name = str(number + 1)
            numbers = [registers.get(name, 0) + k for k in range(form.span)]
            base, index = registers.get(f"{name} {ADDRESS}", 0), registers.get(f"{name} {INDEX}", 0)
            fields = {"memory": f"x{base}", "base": f"x{base}", "offset": 0, "near": 0}
            fields |= {"index": f"x{index}", "index32": f"w{index}"}
            operands.append(form.assembly.format(*numbers, **fields))
        return f"{self._scheme.mnemonic} {', '.join(operands)}".rstrip()

    def initialization(self, registers: dict[str, int]) -> Iterator[str]:
        """Lines that overwrite read-write operands other than the link's source."""
        for end in self._ends:
            if end.name in self._values and end.name != self._source.name:
                yield from self._set.with_value(end, registers[end.name], self._values[end.name])
            if end.name.endswith(INDEX) and end.name != self._source.name:
                yield from self._set.with_value(end, registers[end.name], 0)
            if end.name in {self._source.name, BASE} or end.operand.access != "RW" or end.bank == MEMORY:
                continue
            number = registers.get(end.name)
            if number is None or number != registers.get(self._source.name):
                yield from self._set.initialized(end, number or 0)

    # Ways back from the destination to the source.

    def _within_bank(self, registers: dict[str, int]) -> Iterator[Steps]:
        source, target = registers[self._source.name], registers[self._target.name]
        for step in self._set.connectors[self._source.bank]:
            for times in REPEATED:
                order = (target, *[source] * (times - 1))
                yield [step.line.format(source, of) for of in order], [step.link] * times

    def _restore_source(self, registers: dict[str, int]) -> Iterator[Steps]:
        """The source's value made of any; destination and source are in one bank."""
        source, target = registers[self._source.name], registers[self._target.name]
        constants, steps, links = self._set.restoring(self._source, self._values[self._source.name])
        for times in REPEATED:
            lines: list[str] = []
            for _ in range(times):
                for step in steps:
                    lines.append(step.format(source, target if not lines else source))
            yield [*constants, *lines], links * times

    def _to_address(self, registers: dict[str, int]) -> Iterator[Steps]:
        is_own_base = registers[self._source.name] == registers[self._target.name]
        for times in REPEATED[:1] if is_own_base else REPEATED:
            yield self._through_address(registers, registers[self._target.name], times)

    def _through_address(self, registers: dict[str, int], of: int, times: int) -> Steps:
        address = registers[self._source.name]
        exclusive_or, second, first = self._set.exclusive_or, self._set.from_second, self._set.from_first
        if of == address:  # the base that moves: from itself to itself
            (copy, *_) = self._set.connectors["general"]
            scratch = self._set.scratch
            lines = [copy.line.format(scratch, of), *[exclusive_or.format(of, scratch)] * 2]
            return lines, [copy.link, second, first]
        return [exclusive_or.format(address, of)] * (2 * times), [second, *[first] * (2 * times - 1)]

    def _between_classes(self, registers: dict[str, int]) -> Iterator[Steps]:
        banks = {self._source.bank, self._target.bank}
        if MEMORY in banks and FLAGS not in banks and not self._source.is_in_address:
            yield self._through_memory(registers)
            return
        to_scratch, first = self._to_scratch(registers)
        from_scratch, second = self._from_scratch(registers)
        yield [*to_scratch, *from_scratch], [*first, *second]

    def _through_memory(self, registers: dict[str, int]) -> Steps:
        """A store of the loaded value, or a load of the stored value, at the operand's part of the memory."""
        loads = self._target.bank == MEMORY
        register = self._source if loads else self._target
        return self._move(register.bank, registers[register.name], register, stores=not loads)

    def _move(self, bank: str, number: int, register: OperandEnd, *, stores: bool) -> Steps:
        memory = next(end for end in self._ends if end.bank == MEMORY)
        parts = [end for end in self._ends if end.position is not None and not end.is_in_address]
        parts = [end for end in parts if end.bank not in {FLAGS, MEMORY}]
        if "R" in memory.operand.access and "W" in memory.operand.access:
            parts = [register]  # an atomic operation: all operands are as wide as the memory
        width = memory.operand.width // max(len(parts), self._form(register).span)
        if not any(end.name.endswith(ADDRESS) for end in self._ends):
            raise NoChainError(f"no instruction moves {width} bits between that memory and registers")
        offset = width // 8 * (parts.index(register) if register in parts else 0)
        return self._set.moved(bank, number, width, (self._base, offset), stores=stores)

    def _to_scratch(self, registers: dict[str, int]) -> Steps:
        target = self._target
        if target.bank != MEMORY:
            return self._set.to_scratch(target, registers.get(target.name, 0))
        stored = next(end for end in self._ends if end.position is not None and not end.is_in_address)
        if stored.bank == "general":
            return self._move("general", self._set.scratch, stored, stores=False)
        last = self._set.others[self._set.pool_of(self._form(stored))][-1]
        lines, links = self._move(stored.bank, last, stored, stores=False)
        moves, more_links = self._set.to_scratch(stored, last)
        return [*lines, *moves], [*links, *more_links]

    def _from_scratch(self, registers: dict[str, int]) -> Steps:
        source = self._source
        if source.is_in_address:
            return self._through_address(registers, self._set.scratch, 1)
        if source.bank == MEMORY:
            raise NoChainError("nothing that it writes can be stored where it loads")
        return self._set.from_scratch(source, registers.get(source.name, 0))


def move_link(mnemonic: str, register: str, bits: int, *, stores: bool) -> ChainLink:
    """The link of a load or store between a register, as its text calls it, and memory."""
    if stores:
        return ChainLink(f"{mnemonic} {register}:R, MEM[{bits}]:W", "1", f"2 {DATA}")
    return ChainLink(f"{mnemonic} {register}:W, MEM[{bits}]:R", f"2 {DATA}", "1")


def _take_registers(free: list[int], span: int, below: int) -> int:
    """The first of `span` free consecutive registers, all of which are then taken."""
    for first in free:
        candidates = range(first, first + span)
        if all(number in free and number < below for number in candidates):
            free[:] = [number for number in free if number not in candidates]
            return first
    raise NoChainError("there are not enough registers")
