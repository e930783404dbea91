"""Machine code of the chains that show the latency of a pair of operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from iced_x86 import Code, Encoder, Instruction, MemoryOperand

from inference.isa.chains import ChainLink, DependencyChain, PairChains
from inference.isa.scheme import Scheme
from inference.isa.x86.assembling import pattern, put_register
from inference.isa.x86.chains.connectors import (
    CONSTANT_STORES,
    EXTEND,
    FLAG_COPIES,
    FROM_VECTOR,
    LEGACY_VECTORS,
    LOADS,
    TO_VECTOR,
    VECTOR_MOVES,
    VECTORS,
    WIDE_VECTORS,
    XOR_SAME,
    XOR_SOURCE,
    assembled,
    register_of,
    sign_extension,
    stored_anew,
    vector_step,
    without_reading,
)
from inference.isa.x86.chains.operands import (
    ADDRESS,
    DATA,
    FLAGS,
    MEMORY,
    Place,
    destinations,
    in_words,
    is_in_address,
    is_partial,
    places,
    sources,
)
from inference.isa.x86.choosing import Fixed, RegisterChoice, aliases
from inference.isa.x86.demands import Demands, demands, obstacle
from inference.isa.x86.forms import Form
from inference.isa.x86.holes import GPR8, GPR32, GPR64, XMM, YMM
from inference.isa.x86.instances import ADDRESS_OF_CODE
from inference.isa.x86.scheme_set import described

REPEATED = (1, 3)
"""How often connectors stand in a row: a chain that throughput limits does not grow with them."""

KEPT = (8, 9, 10, 11, 12, 5, 7, 6, 3, 2, 1, 0)
"""General-purpose registers, in the order in which operands take them that are not of the link."""
CHAINED = (3, 7, 5, 6, 12, 11, 10, 9, 8, 2, 1, 0)
BASE, LOW_BASE, _TEMPORARY, _KEPT_FLAGS = 14, 6, 13, 15
_VECTOR_SHIFT, _SHIFT = re.compile(r"v?ps(ll|rl|ra)[wdq]"), 5


class CannotChainError(Exception):
    """No chain can be made of this pair; the message says why."""


def pair_chains(link: ChainLink) -> PairChains:
    """The chains for a pair of operands of `links_of`."""
    found = described(link.scheme)
    assert found is not None, "links are of schemes that there are"
    scheme, form = found
    source = next(place for place in sources(scheme) if place.name == link.source)
    target = next(place for place in destinations(scheme) if place.name == link.destination)
    try:
        return ChainMaker(link, scheme, form, source, target).chains()
    except CannotChainError as error:
        return PairChains(link, (), isolated=False, why=str(error))


@dataclass(frozen=True, slots=True)
class Families:
    """Which register each operand has: `source` and `target` are the link's, `base` addresses memory."""

    source: int
    target: int
    base: int
    others: dict[RegisterChoice, int]


Way = Iterator[tuple[list[Instruction], tuple[ChainLink, ...]]]
"""Instructions from the destination back to the source, and the links that they are."""


class ChainMaker:
    """Makes the chains of one link, which leads from `source` to `target`. Raises `CannotChainError`."""

    def __init__(self, link: ChainLink, scheme: Scheme, form: Form, source: Place, target: Place) -> None:
        self._link = link
        self._scheme = scheme
        self._form = form
        self._source = source
        self._target = target
        if reason := obstacle(scheme, form, breaking=True):
            raise CannotChainError(reason)
        if scheme.category == "gather":
            raise CannotChainError("gathers use up their mask")
        for place in (self._source, self._target):
            if place.bank not in {"general", "vector", FLAGS, MEMORY} or place.width > YMM.width:
                raise CannotChainError(f"no connector for operands of the kind {place.operand.name}")
        self._demands: Demands = demands(scheme, form)
        if self._demands.memory == "RW" and self._is_address:
            raise CannotChainError("what makes its memory ready waits for the address as well")

    def chains(self) -> PairChains:
        """All of them."""
        source, target = self._source, self._target
        if source.bank == target.bank == FLAGS and self._demands.memory == "RW":
            why = "what it stores may take longer than its flags"
            return PairChains(self._link, self._direct(), isolated=False, why=why)
        if source.bank == target.bank and source.bank in {FLAGS, MEMORY}:
            return PairChains(self._link, self._direct(), isolated=True)
        if self._is_address and target.bank == "general":
            return PairChains(
                self._link, (*self._direct(), *self._closed(self._back_to_address)), isolated=True
            )
        if source.bank == target.bank and not self._is_address:
            return PairChains(self._link, (*self._direct(), *self._closed(self._within_class)), isolated=True)
        why = f"from {in_words(source)} to {in_words(target)}: known only in sum with the way back"
        return PairChains(self._link, self._closed(self._between_classes), isolated=False, why=why)

    @property
    def _is_address(self) -> bool:
        return self._source.name.endswith(ADDRESS)

    def _direct(self) -> tuple[DependencyChain, ...]:
        """The scheme with itself: its destination is its source."""
        source, target = self._source, self._target
        if self._is_address and (self._scheme.mnemonic != "mov" or target.width != GPR64.width):
            return ()  # only a plain load keeps the address what it is
        if source.operand is not target.operand and "R" in target.operand.access and source.bank != FLAGS:
            return ()  # one register would be two sources, or an idiom
        try:
            families = self._families(together=source.bank not in {FLAGS, MEMORY})
        except CannotChainError:
            return ()
        return (DependencyChain(encoded(self._instance(families)), (self._link,)),)

    def _closed(self, way: Callable[[Families], Way]) -> tuple[DependencyChain, ...]:
        families = self._families(together=False)
        instance = self._instance(families)
        return tuple(
            DependencyChain(encoded([*instance, *back]), (self._link, *links))
            for back, links in way(families)
        )

    # Registers: those of the link, a base for memory, and all others apart from them.

    def _families(self, *, together: bool) -> Families:
        taken: set[tuple[str, int]] = {(each.bank, each.family) for each in self._demands.fixed}
        source, target = self._given(self._source), self._given(self._target)
        if self._source.operand is self._target.operand and not self._is_address:
            source = target = self._chosen(self._source, source, taken)
        elif together and (source is None or target is None):
            source = target = self._common(source, target, taken)
        elif together and source != target:
            raise CannotChainError("its operands are different registers")
        else:
            source = self._chosen(self._source, source, taken)
            target = self._chosen(self._target, target, taken)
        base = source if self._is_address else BASE
        if self._demands.low_base:
            base = LOW_BASE
        others = {
            choice: first_free(choice.registers, KEPT, choice.bank, taken)
            for choice in self._demands.choices
            if choice.part != "breaker" and not self._is_linked(choice)
        }
        return Families(source, target, base, others)

    def _given(self, place: Place) -> int | None:
        """The family of an operand that has no choice; for flags and memory any."""
        if place.bank in {FLAGS, MEMORY}:
            return BASE
        if place.name.endswith(ADDRESS):
            return LOW_BASE if self._demands.low_base else None
        return Fixed.of(place.operand).family if place.operand.registers else None

    def _choice(self, place: Place) -> RegisterChoice | None:
        part = place.name.rpartition(" ")[2] if is_in_address(place) else "register"
        found = (one for one in self._demands.choices if one.position == place.position and one.part == part)
        return next(found, None)

    def _is_linked(self, choice: RegisterChoice) -> bool:
        return choice in {self._choice(self._source), self._choice(self._target)}

    def _chosen(self, place: Place, given: int | None, taken: set[tuple[str, int]]) -> int:
        if given is not None:
            return given
        choice = self._choice(place)
        fitting = aliases(GPR64.name, choosable=True) if choice is None else choice.registers
        return first_free(fitting, CHAINED, place.bank, taken)

    def _common(self, source: int | None, target: int | None, taken: set[tuple[str, int]]) -> int:
        """One register for both operands of the link."""
        choices = [one for one in (self._choice(self._source), self._choice(self._target)) if one is not None]
        fitting = set.intersection(*(set(one.registers) for one in choices)) if choices else set(CHAINED)
        given = source if source is not None else target
        if given is not None and given not in fitting and choices:
            raise CannotChainError("its operands are different registers")
        return given if given is not None else first_free(fitting, CHAINED, self._source.bank, taken)

    # The instance of the scheme, behind what makes all other sources ready.

    def _instance(self, families: Families) -> list[Instruction]:
        before: list[Instruction] = []
        for place in places(self._scheme):
            reads = "R" in place.operand.access or is_partial(place)
            if place.name == self._source.name or not reads or is_in_address(place):
                continue
            if place.bank == FLAGS:
                before.append(assembled(Code.TEST_RM32_R32, (GPR32, _KEPT_FLAGS), (GPR32, _KEPT_FLAGS)))
            elif "W" in place.operand.access and place.bank in {"general", "vector"}:
                family = self._family(place, families)
                if place.name != self._target.name or family != families.source:
                    before.append(without_reading(place.bank, family))
            elif place.bank == MEMORY and "W" in place.operand.access:
                if place.width not in CONSTANT_STORES:
                    raise CannotChainError(f"no instruction stores a constant of {place.width} bits")
                before.append(stored_anew(place.width, families.base))
        instruction = pattern(self._form)
        if _VECTOR_SHIFT.fullmatch(self._scheme.mnemonic) and any(
            hole.kind == "immediate" for hole in self._form.holes
        ):
            instruction.immediate8 = _SHIFT  # what shifts everything out waits for nothing
        for choice in self._demands.choices:
            if choice.part == "breaker":
                continue
            linked = families.source if choice == self._choice(self._source) else families.target
            family = families.others.get(choice, linked)
            put_register(instruction, choice.part, choice.position, choice.registers[family])
        if self._demands.memory is not None:
            instruction.memory_base = register_of(GPR64, families.base)
            instruction.memory_displ_size = 0
            instruction.memory_displacement = 0
        return [*before, instruction]

    def _family(self, place: Place, families: Families) -> int:
        if place.operand.registers:
            return Fixed.of(place.operand).family
        if place.name == self._source.name:
            return families.source
        if place.name == self._target.name:
            return families.target
        choice = self._choice(place)
        assert choice is not None, "operands without a choice are fixed"
        return families.others[choice]

    # Ways back from the destination to the source.

    def _within_class(self, families: Families) -> Way:
        source, target = families.source, families.target
        if self._source.bank == "general":
            first, link = sign_extension(source, target, self._target)
            again, same = assembled(EXTEND[32][0], (GPR64, source), (GPR32, source)), EXTEND[32][1]
            for times in REPEATED:
                yield [first, *[again] * (times - 1)], (link, *(same,) * (times - 1))
            return
        legacy = self._scheme.encoding == "legacy"
        wide = self._source.width == YMM.width
        for code, text in LEGACY_VECTORS if legacy else WIDE_VECTORS if wide else VECTORS:
            hole = YMM if wide else XMM
            for times in REPEATED:
                steps = [(source, target), *[(source, source)] * (times - 1)]
                made = [vector_step(code, hole, to, of, legacy=legacy) for to, of in steps]
                yield made, (ChainLink(text, "2", "1"),) * times

    def _back_to_address(self, families: Families) -> Way:
        """The base, from which what was loaded is taken away and given back: it stays the same address."""
        for times in REPEATED:
            pair = [assembled(Code.XOR_RM64_R64, (GPR64, families.source), (GPR64, families.target))] * 2
            yield pair * times, (XOR_SOURCE, *(XOR_SAME,) * (2 * times - 1))

    def _between_classes(self, families: Families) -> Way:
        if {self._source.bank, self._target.bank} == {"vector", MEMORY}:
            yield self._vector_in_memory(families)
            return
        there, first, temporary = self._to_general(families)
        back, second = self._from_general(families, temporary)
        yield [*there, *back], (*first, *second)

    def _vector_in_memory(self, families: Families) -> tuple[list[Instruction], tuple[ChainLink, ...]]:
        """A store or a load of the whole vector register, as wide as the other side is."""
        stores = self._target.bank == "vector"
        memory, vector = (self._source, families.target) if stores else (self._target, families.source)
        if memory.width not in VECTOR_MOVES:
            raise CannotChainError(
                f"no instruction moves {memory.width} bits between memory and vector registers"
            )
        store, load, hole, mnemonic = VECTOR_MOVES[memory.width]
        address, register = MemoryOperand(register_of(GPR64, families.base)), register_of(hole, vector)
        if stores:
            made = Instruction.create_mem_reg(store, address, register)
            return [made], (ChainLink(f"{mnemonic} MEM[{memory.width}]:W, {hole.name}:R", "2", f"1 {DATA}"),)
        made = Instruction.create_reg_mem(load, register, address)
        return [made], (ChainLink(f"{mnemonic} {hole.name}:W, MEM[{memory.width}]:R", f"2 {DATA}", "1"),)

    def _to_general(self, families: Families) -> tuple[list[Instruction], tuple[ChainLink, ...], int]:
        """The destination in a general-purpose register."""
        target, temporary = self._target, _TEMPORARY
        if target.bank == "general":
            made, link = sign_extension(temporary, families.target, target)
            return [made], (link,), temporary
        if target.bank == "vector":
            code, text = FROM_VECTOR[self._scheme.encoding == "legacy"]
            return (
                [assembled(code, (GPR64, temporary), (XMM, families.target))],
                (ChainLink(text, "2", "1"),),
                temporary,
            )
        if target.bank == FLAGS:
            flag = next((name for name in FLAG_COPIES if name in target.operand.registers), None)
            if flag is None:
                raise CannotChainError("it writes no flag that an instruction copies to a register")
            code, mnemonic = FLAG_COPIES[flag]
            copied = assembled(code, (GPR8, temporary))
            extended = assembled(Code.MOVZX_R32_RM8, (GPR32, temporary), (GPR8, temporary))
            links = (
                ChainLink(f"{mnemonic} GPR[8]:W", FLAGS, "1"),
                ChainLink("movzx GPR[32]:W, GPR[8]:R", "2", "1"),
            )
            return [copied, extended], links, temporary
        if target.width not in LOADS:
            raise CannotChainError("what it stores is wider than a general-purpose register")
        code, hole, text = LOADS[target.width]
        load = Instruction.create_reg_mem(
            code, register_of(hole, temporary), MemoryOperand(register_of(GPR64, families.base))
        )
        return [load], (ChainLink(text, f"2 {DATA}", "1"),), temporary

    def _from_general(
        self, families: Families, temporary: int
    ) -> tuple[list[Instruction], tuple[ChainLink, ...]]:
        """From there to the source."""
        source = self._source
        if self._is_address:
            pair = [assembled(Code.XOR_RM64_R64, (GPR64, families.source), (GPR64, temporary))] * 2
            return pair, (XOR_SOURCE, XOR_SAME)
        if source.bank == "general":
            made, link = assembled(EXTEND[32][0], (GPR64, families.source), (GPR32, temporary)), EXTEND[32][1]
            return [made], (link,)
        if source.bank == "vector":
            code, text = TO_VECTOR[self._scheme.encoding == "legacy"]
            return [assembled(code, (XMM, families.source), (GPR64, temporary))], (ChainLink(text, "2", "1"),)
        if source.bank == FLAGS:
            made = assembled(Code.TEST_RM32_R32, (GPR32, temporary), (GPR32, temporary))
            return [made], (ChainLink("test GPR[32]:R, GPR[32]:R", "1", FLAGS),)
        if source.width > GPR64.width:
            raise CannotChainError("what it loads is wider than a general-purpose register")
        store = Instruction.create_mem_reg(
            Code.MOV_RM64_R64, MemoryOperand(register_of(GPR64, families.base)), register_of(GPR64, temporary)
        )
        return [store], (ChainLink("mov MEM[64]:W, GPR[64]:R", "2", f"1 {DATA}"),)


def encoded(instructions: Iterable[Instruction]) -> bytes:
    """Their machine code, one behind the other. Raises `CannotChainError`."""
    encoder, address = Encoder(64), ADDRESS_OF_CODE
    for one in instructions:
        try:
            address += encoder.encode(one, address)
        except ValueError as error:  # a high byte beside a register that needs a prefix
            raise CannotChainError(f"cannot be encoded in a chain: {error}") from None
    return bytes(encoder.take_buffer())


def first_free(fitting: Iterable[int], order: Sequence[int], bank: str, taken: set[tuple[str, int]]) -> int:
    """The first family that fits and is free, which is taken then."""
    allowed = set(fitting)
    ordered = order if bank == "general" else range(16)
    for family in ordered:
        if family in allowed and (bank, family) not in taken:
            taken.add((bank, family))
            return family
    raise CannotChainError("there are not enough registers")
