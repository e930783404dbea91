"""Machine code of the chains that show the latency of a pair of operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from iced_x86 import Code, Encoder, Instruction

from inference.isa.chains import ChainLink, DependencyChain, PairChains
from inference.isa.scheme import TOP_OF_STACK, Scheme
from inference.isa.x86.assembling import pattern, put_register
from inference.isa.x86.chains.connectors import assembled, register_of
from inference.isa.x86.chains.ready import (
    SPARE_MASK,
    UNWRITTEN,
    stored_anew,
    stored_value,
    with_value,
    written_anew,
)
from inference.isa.x86.chains.values import OperandValues
from inference.isa.x86.chains.ways import CannotChainError, Families, Way, WaysBack
from inference.isa.x86.choosing import Fixed, RegisterChoice, aliases
from inference.isa.x86.demands import INDICES, Demands, demands, obstacle
from inference.isa.x86.forms import Form
from inference.isa.x86.holes import GPR32, GPR64, X87, XMM, ZMM
from inference.isa.x86.instances import ADDRESS_OF_CODE
from inference.isa.x86.operand_places import (
    ADDRESS,
    DATA,
    FLAGS,
    INDEX,
    MASK,
    MEMORY,
    Place,
    in_words,
    is_in_address,
    is_partial,
    places,
)

KEPT = (8, 9, 10, 11, 12, 5, 7, 6, 3, 2, 1, 0)
"""General-purpose registers, in the order in which operands take them that are not of the link."""
CHAINED = (3, 7, 5, 6, 12, 11, 10, 9, 8, 2, 1, 0)
BASE, LOW_BASE = 14, 6
VECTOR_SHIFT, VECTOR_SHIFT_BITS = re.compile(r"v?ps(ll|rl|ra)[wdq]"), 5
_NO_STORE = "no instruction stores a constant of {} bits"
_BANKS = frozenset({"general", "vector", "mmx", "x87", MASK, FLAGS, MEMORY})
_GROWING = frozenset({"fmul", "fdiv", "fdivr"})
_NOPS = 10
"""Behind what changes memory; on a Zen 4 more than six change nothing."""
_OF_STACK = "through the top of the stack, to which an exchange brings it back"


NOTHING = OperandValues(None, {})
"""Values do not matter."""


class ChainMaker:
    """Makes the chains of one link, which leads from `source` to `target`. Raises `CannotChainError`."""

    def __init__(
        self,
        link: ChainLink,
        scheme: Scheme,
        form: Form,
        source: Place,
        target: Place,
        values: OperandValues = NOTHING,
    ) -> None:
        self._link = link
        self._scheme = scheme
        self._form = form
        self._source = source
        self._target = target
        self._values = values.patterns
        self._immediate = values.immediate
        self._steady = values.steady
        self._legacy = scheme.encoding == "legacy"
        reason = obstacle(scheme, form, breaking=True)
        if reason and not reason.startswith(TOP_OF_STACK):
            raise CannotChainError(reason)
        for place in (self._source, self._target):
            if place.bank not in _BANKS or place.width > ZMM.width:
                raise CannotChainError(f"no connector for operands of the kind {place.operand.name}")
        self._demands: Demands = demands(scheme, form)
        if self._demands.memory == "RW" and self._is_address and self._demands.low_base:
            raise CannotChainError("what makes its memory ready waits for the address as well")

    def chains(self) -> PairChains:
        source, target = self._source, self._target
        if self._scheme.category == "x87" and not self._is_address:
            return self._on_stack()
        if source.bank == target.bank == FLAGS and self._demands.memory == "RW":
            why = "what it stores may take longer than its flags"
            return PairChains(self._link, self._direct(), isolated=False, why=why)
        if source.bank == target.bank and source.bank in {FLAGS, MEMORY}:
            spaced = self._direct(spaced=True) if source.bank == MEMORY else ()
            return PairChains(self._link, (*self._direct(), *spaced), isolated=True)
        if self._is_address and target.bank == "general":
            return self._through_address()
        if source.bank == target.bank and not self._is_address:
            closed = self._closed(WaysBack.within_class)
            return PairChains(self._link, (*self._direct(), *closed), isolated=True)
        why = f"from {in_words(source)} to {in_words(target)}: known only in sum with the way back"
        return PairChains(self._link, self._closed(WaysBack.between_classes), isolated=False, why=why)

    def _through_address(self) -> PairChains:
        chains = (*self._direct(), *self._closed(WaysBack.to_address))
        if self._demands.memory == "RW" or any(name.endswith(DATA) for name in self._values):
            why = "what it loads is stored just before, which can take longer than a mere load"
            return PairChains(self._link, chains, isolated=False, why=why)
        return PairChains(self._link, chains, isolated=True)

    def _on_stack(self) -> PairChains:
        """Of x87: what goes from one of its registers to another one is brought back by renaming alone."""
        source, target = self._source, self._target
        if {source.bank, target.bank} != {"x87"} or self._scheme.mnemonic == "fxch":
            raise CannotChainError("no instruction leads on from there and leaves the x87 stack where it is")
        if source.operand is target.operand:
            return PairChains(self._link, self._direct(), isolated=True)
        if self._scheme.mnemonic in _GROWING:
            raise CannotChainError("in a chain its results would soon be too large or too small")
        families = self._families(together=False)
        other = max(families.source, families.target)
        back = assembled(Code.FXCH_ST0_STI, (X87, 0), (X87, other))
        chain = DependencyChain(encoded([*self._instance(families), back]), (self._link,))
        return PairChains(self._link, (chain,), isolated=False, why=_OF_STACK)

    @property
    def _is_address(self) -> bool:
        return self._source.name.endswith(ADDRESS)

    def _direct(self, *, spaced: bool = False) -> tuple[DependencyChain, ...]:
        """The scheme with itself: its destination is its source.

        `spaced`: with NOPs behind it. A load that comes too early for what is stored tries again later, and
        loses by that where nothing else stands between.
        """
        source, target = self._source, self._target
        if self._is_address and (self._scheme.mnemonic != "mov" or target.width != GPR64.width):
            return ()  # only a plain load keeps the address what it is
        if source.name in self._values and not self._steady:
            return ()  # what it leaves there is another value
        if source.operand is not target.operand and "R" in target.operand.access and source.bank != FLAGS:
            return self._in_turn()  # one register would be two sources, or an idiom
        try:
            families = self._families(together=source.bank not in {FLAGS, MEMORY})
        except CannotChainError:
            return ()
        nops = [Instruction.create(Code.NOPD)] * _NOPS if spaced else []
        return (self._chain([*self._instance(families), *nops], (self._link,), target),)

    def _in_turn(self) -> tuple[DependencyChain, ...]:
        """Two of the scheme, each with the other's destination for its source: no connector delays it."""
        source, target = self._choice(self._source), self._choice(self._target)
        if source is None or target is None or self._source.register_class != self._target.register_class:
            return ()
        there = self._families(together=False)
        if there.source not in target.registers or there.target not in source.registers:
            return ()
        back = replace(there, source=there.target, target=there.source)
        code = [*self._instance(there), *self._instance(back)]
        return (self._chain(code, (self._link, self._link), self._target),)

    def _closed(self, way: Callable[[WaysBack], Way]) -> tuple[DependencyChain, ...]:
        families = self._families(together=False)
        ways = WaysBack(self._source, self._target, families, self._legacy)
        instance, constants = self._instance(families), self._constants(families)
        # The first copy needs a value as well, so what restores it stands before the instance; and the end
        # of a loop writes the flags, so that a turn which begins with them ends with the instance.
        instance_last = families.value is not None or self._source.bank == FLAGS
        held = self._target if instance_last else self._source
        made = []
        for back, links in way(ways):
            code = [*constants, *back, *instance] if instance_last else [*instance, *back]
            made.append(self._chain(code, (self._link, *links), held))
        return tuple(made)

    def _chain(
        self, code: Sequence[Instruction], links: tuple[ChainLink, ...], held: Place
    ) -> DependencyChain:
        """In a loop where that changes nothing: such chains settle sooner on a computer that is not quiet.

        `held`: what has the value between two turns; the end of a loop writes the flags. Operands whose value
        matters, the stack of x87, and pointers that instructions move have to begin anew.
        """
        moves = any(operand.kind == "memory" and operand.implicit for operand in self._scheme.operands)
        begins_anew = held.bank == FLAGS or moves or bool(self._values) or self._scheme.category == "x87"
        return DependencyChain(encoded(code), links, loop=not begins_anew)

    # Registers: those of the link, a base for memory, and all others apart from them.

    def _families(self, *, together: bool) -> Families:
        taken: set[tuple[str, int]] = {(each.bank, each.family) for each in self._demands.fixed}
        taken.add((MASK, SPARE_MASK))
        source, target = self._given(self._source), self._given(self._target)
        if self._source.name == self._target.name:
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
        zero = value = None
        if self._source.name in self._values:
            bank = self._bank_of_values
            zero, value = (self._constant(bank, taken) for _ in range(2))
        return Families(source, target, base, others, zero, value)

    @property
    def _bank_of_values(self) -> str:
        """The bank in which the source's value is restored."""
        if self._source.bank != MEMORY:
            return self._source.bank
        return "vector" if self._target.bank == "vector" else "general"

    def _constant(self, bank: str, taken: set[tuple[str, int]]) -> int:
        """A register for what nothing else writes."""
        return SPARE_MASK if bank == MASK else first_free(range(16), KEPT, bank, taken)

    def _given(self, place: Place) -> int | None:
        """The family of an operand that has no choice; for flags and memory any."""
        if place.bank in {FLAGS, MEMORY}:
            return BASE
        if place.name.endswith(ADDRESS):
            return LOW_BASE if self._demands.low_base else None
        if place.bank == "vector" and place.name.endswith(INDEX):
            return INDICES
        return Fixed.of(place.operand).family if place.operand.registers else None

    def _choice(self, place: Place) -> RegisterChoice | None:
        part = place.name.rpartition(" ")[2] if is_in_address(place) else "register"
        part = MASK if place.name == MASK else part
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
        before = [one for place in places(self._scheme) for one in self._made_ready(place, families)]
        instruction = pattern(self._form)
        if VECTOR_SHIFT.fullmatch(self._scheme.mnemonic) and any(
            hole.kind == "immediate" for hole in self._form.holes
        ):
            instruction.immediate8 = VECTOR_SHIFT_BITS  # what shifts everything out waits for nothing
        if self._immediate is not None:
            instruction.immediate8 = self._immediate
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
            if self._demands.index is not None:
                instruction.memory_index = self._demands.index
        return [*before, instruction]

    def _made_ready(self, place: Place, families: Families) -> list[Instruction]:
        """What writes an operand that is not the link's source, if something has to."""
        if place.name == self._source.name:
            return []
        if place.name in self._values:
            return self._given_value(place, families)
        reads = "R" in place.operand.access or is_partial(place)
        if not reads or is_in_address(place):
            return []
        if place.bank == FLAGS:
            if "W" not in place.operand.access and not self._is_address and not self._values:
                return []  # nothing in the chain writes them
            return [assembled(Code.TEST_RM32_R32, (GPR32, UNWRITTEN), (GPR32, UNWRITTEN))]
        return self._written_anew(place, families) if "W" in place.operand.access else []

    def _written_anew(self, place: Place, families: Families) -> list[Instruction]:
        if place.bank in {"general", "vector", "mmx"}:
            family = self._family(place, families)
            same = place.name == self._target.name and family == families.source
            return [] if same else [written_anew(place.bank, family, legacy=self._legacy)]
        if place.bank != MEMORY:
            return []
        try:
            return [stored_anew(place.width, self._constant_base, self._unused_vector(families))]
        except KeyError:
            raise CannotChainError(_NO_STORE.format(place.width)) from None

    def _given_value(self, place: Place, families: Families) -> list[Instruction]:
        """The value of an operand whose value matters."""
        value = self._values[place.name]
        if place.bank != MEMORY:
            family = self._family(place, families)
            return with_value(place.bank, place.width, family, value, legacy=self._legacy)
        try:
            spare = self._unused_vector(families)
            return stored_value(place.width, self._constant_base, value, spare, legacy=self._legacy)
        except KeyError:
            raise CannotChainError(_NO_STORE.format(place.width)) from None

    @property
    def _constant_base(self) -> int:
        """A register that nothing writes, with the address of memory: all registers begin with one."""
        return LOW_BASE if self._demands.low_base else BASE

    def _constants(self, families: Families) -> list[Instruction]:
        """What restores the source's value."""
        if families.zero is None or families.value is None or self._bank_of_values == MASK:
            return []
        bank, value = self._bank_of_values, self._values[self._source.name]
        width = max(self._source.width, XMM.width)
        return [
            one
            for family, held in ((families.zero, 0), (families.value, value))
            for one in with_value(bank, width, family, held, legacy=self._legacy)
        ]

    def _unused_vector(self, families: Families) -> int:
        used = {family for choice, family in families.others.items() if choice.bank == "vector"}
        used |= {families.source, families.target, families.zero or 0, families.value or 0, INDICES}
        return next(family for family in range(16) if family not in used)

    def _family(self, place: Place, families: Families) -> int:
        if place.operand.registers:
            return Fixed.of(place.operand).family
        if place.bank == "vector" and place.name.endswith(INDEX):
            return INDICES
        if place.name == self._source.name:
            return families.source
        if place.name == self._target.name:
            return families.target
        choice = self._choice(place)
        assert choice is not None, "operands without a choice are fixed"
        return families.others[choice]


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
