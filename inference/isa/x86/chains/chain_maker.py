"""Machine code of the chains that show the latency of a pair of operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from iced_x86 import Code, Encoder, Instruction

from inference.isa.chains import ChainLink, DependencyChain, NoChainError, PairChains
from inference.isa.scheme import TOP_OF_STACK, Scheme
from inference.isa.x86.assembling import pattern, set_register
from inference.isa.x86.chains.connectors import assemble, register_of
from inference.isa.x86.chains.initialization import (
    CONSTANT_MASK,
    UNWRITTEN,
    load_value,
    overwrite_memory,
    overwrite_register,
    store_value,
)
from inference.isa.x86.chains.return_paths import Families, ReturnPath, ReturnPaths
from inference.isa.x86.chains.values import OperandValues
from inference.isa.x86.demands import INDEX_VECTOR, Demands, demands, obstacle
from inference.isa.x86.forms import Form
from inference.isa.x86.holes import GPR32, GPR64, X87, XMM, ZMM
from inference.isa.x86.instances import ADDRESS_OF_CODE
from inference.isa.x86.link_ends import (
    ADDRESS,
    DATA,
    FLAGS,
    INDEX,
    MASK,
    MEMORY,
    LinkEnd,
    bank_in_words,
    is_in_address,
    is_partial,
    link_ends,
)
from inference.isa.x86.register_choices import Fixed, RegisterChoice, aliases

UNLINKED = (8, 9, 10, 11, 12, 5, 7, 6, 3, 2, 1, 0)
"""General-purpose registers, in the order of choice for operands outside the link."""

LINKED = (3, 7, 5, 6, 12, 11, 10, 9, 8, 2, 1, 0)
BASE, LOW_BASE = 14, 6
VECTOR_SHIFT, VECTOR_SHIFT_BITS = re.compile(r"v?ps(ll|rl|ra)[wdq]"), 5
_NO_STORE = "no instruction stores a constant of {} bits"
_BANKS = frozenset({"general", "vector", "mmx", "x87", MASK, FLAGS, MEMORY})
_GROWING = frozenset({"fmul", "fdiv", "fdivr"})
_NOPS = 10
"""Behind instructions that change memory; on a Zen 4 more than six make no difference."""

_THROUGH_STACK = "through the top of the stack, to which an exchange brings it back"


ANY_VALUES = OperandValues(None, {})
"""Values make no difference."""


class ChainMaker:
    """Makes the chains of one link, from `source` to `target`. Raises `NoChainError`."""

    def __init__(
        self,
        link: ChainLink,
        scheme: Scheme,
        form: Form,
        source: LinkEnd,
        target: LinkEnd,
        values: OperandValues = ANY_VALUES,
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
            raise NoChainError(reason)
        for end in (self._source, self._target):
            if end.bank not in _BANKS or end.width > ZMM.width:
                raise NoChainError(f"no connector for operands of the kind {end.operand.name}")
        self._demands: Demands = demands(scheme, form)
        if self._demands.memory == "RW" and self._is_address and self._demands.low_base:
            raise NoChainError("what makes its memory ready waits for the address as well")

    def chains(self) -> PairChains:
        """The chains through the link; isolated where a way back exists whose latency is known by itself."""
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
            closed = self._closed(ReturnPaths.within_class)
            return PairChains(self._link, (*self._direct(), *closed), isolated=True)
        why = f"from {bank_in_words(source)} to {bank_in_words(target)}: known only in sum with the way back"
        return PairChains(self._link, self._closed(ReturnPaths.between_classes), isolated=False, why=why)

    def _through_address(self) -> PairChains:
        chains = (*self._direct(), *self._closed(ReturnPaths.to_address))
        if self._demands.memory == "RW" or any(name.endswith(DATA) for name in self._values):
            why = "what it loads is stored just before, which can take longer than a mere load"
            return PairChains(self._link, chains, isolated=False, why=why)
        return PairChains(self._link, chains, isolated=True)

    def _on_stack(self) -> PairChains:
        """The chains of x87: renaming alone returns from one of its registers to another."""
        source, target = self._source, self._target
        if {source.bank, target.bank} != {"x87"} or self._scheme.mnemonic == "fxch":
            raise NoChainError("no instruction leads on from there and leaves the x87 stack where it is")
        if source.operand is target.operand:
            return PairChains(self._link, self._direct(), isolated=True)
        if self._scheme.mnemonic in _GROWING:
            raise NoChainError("in a chain its results would soon be too large or too small")
        families = self._families(shared=False)
        other = max(families.source, families.target)
        exchange = assemble(Code.FXCH_ST0_STI, (X87, 0), (X87, other))
        chain = DependencyChain(encode([*self._instance(families), exchange]), (self._link,))
        return PairChains(self._link, (chain,), isolated=False, why=_THROUGH_STACK)

    @property
    def _is_address(self) -> bool:
        return self._source.name.endswith(ADDRESS)

    def _direct(self, *, spaced: bool = False) -> tuple[DependencyChain, ...]:
        """The scheme alone: its destination is its source.

        `spaced`: with NOPs behind it. A load that is too early for its stored value is repeated later, and
        loses time where no other instruction stands between.
        """
        source, target = self._source, self._target
        if self._is_address and (self._scheme.mnemonic != "mov" or target.width != GPR64.width):
            return ()  # only a plain load keeps the address what it is
        if source.name in self._values and not self._steady:
            return ()  # what it leaves there is another value
        if source.operand is not target.operand and "R" in target.operand.access and source.bank != FLAGS:
            return self._in_turn()  # one register would be two sources, or an idiom
        try:
            families = self._families(shared=source.bank not in {FLAGS, MEMORY})
        except NoChainError:
            return ()
        nops = [Instruction.create(Code.NOPD)] * _NOPS if spaced else []
        return (self._chain([*self._instance(families), *nops], (self._link,), target),)

    def _in_turn(self) -> tuple[DependencyChain, ...]:
        """Two instances, each with the other's destination as source: no connector delays it."""
        source, target = self._choice(self._source), self._choice(self._target)
        if source is None or target is None or self._source.register_class != self._target.register_class:
            return ()
        forward = self._families(shared=False)
        if forward.source not in target.registers or forward.target not in source.registers:
            return ()
        backward = replace(forward, source=forward.target, target=forward.source)
        code = [*self._instance(forward), *self._instance(backward)]
        return (self._chain(code, (self._link, self._link), self._target),)

    def _closed(self, return_path: Callable[[ReturnPaths], ReturnPath]) -> tuple[DependencyChain, ...]:
        families = self._families(shared=False)
        paths = ReturnPaths(self._source, self._target, families, self._legacy)
        instance, constants = self._instance(families), self._constants(families)
        # The first copy needs a value as well, so what restores it stands before the instance; and the end
        # of a loop writes the flags, so that a turn which begins with them ends with the instance.
        instance_last = families.value is not None or self._source.bank == FLAGS
        carrier = self._target if instance_last else self._source
        chains = []
        for steps, links in return_path(paths):
            code = [*constants, *steps, *instance] if instance_last else [*instance, *steps]
            chains.append(self._chain(code, (self._link, *links), carrier))
        return tuple(chains)

    def _chain(
        self, code: Sequence[Instruction], links: tuple[ChainLink, ...], carrier: LinkEnd
    ) -> DependencyChain:
        """A chain, in a loop where possible: such chains settle sooner on a noisy computer.

        `carrier`: the operand that passes the value to the next iteration; a loop's end writes the flags.
        Operands with given values, the stack of x87, and moving pointers need a reset instead.
        """
        moves = any(operand.kind == "memory" and operand.implicit for operand in self._scheme.operands)
        needs_reset = carrier.bank == FLAGS or moves or bool(self._values) or self._scheme.category == "x87"
        return DependencyChain(encode(code), links, loop=not needs_reset)

    # Registers: those of the link, a base for memory, and all others apart from them.

    def _families(self, *, shared: bool) -> Families:
        used: set[tuple[str, int]] = {(register.bank, register.family) for register in self._demands.fixed}
        used.add((MASK, CONSTANT_MASK))
        source, target = self._fixed_family(self._source), self._fixed_family(self._target)
        if self._source.name == self._target.name:
            source = target = self._chosen_family(self._source, source, used)
        elif shared and (source is None or target is None):
            source = target = self._common_family(source, target, used)
        elif shared and source != target:
            raise NoChainError("its operands are different registers")
        else:
            source = self._chosen_family(self._source, source, used)
            target = self._chosen_family(self._target, target, used)
        base = source if self._is_address else BASE
        if self._demands.low_base:
            base = LOW_BASE
        other_families = {
            choice: first_free(choice.registers, UNLINKED, choice.bank, used)
            for choice in self._demands.choices
            if choice.part != "breaker" and not self._is_linked(choice)
        }
        zero = value = None
        if self._source.name in self._values:
            bank = self._bank_of_values
            zero, value = (self._constant(bank, used) for _ in range(2))
        return Families(source, target, base, other_families, zero, value)

    @property
    def _bank_of_values(self) -> str:
        if self._source.bank != MEMORY:
            return self._source.bank
        return "vector" if self._target.bank == "vector" else "general"

    def _constant(self, bank: str, used: set[tuple[str, int]]) -> int:
        """A register that nothing else writes."""
        return CONSTANT_MASK if bank == MASK else first_free(range(16), UNLINKED, bank, used)

    def _fixed_family(self, end: LinkEnd) -> int | None:
        """The family of a fixed operand; any for flags and memory."""
        if end.bank in {FLAGS, MEMORY}:
            return BASE
        if end.name.endswith(ADDRESS):
            return LOW_BASE if self._demands.low_base else None
        if end.bank == "vector" and end.name.endswith(INDEX):
            return INDEX_VECTOR
        return Fixed.of(end.operand).family if end.operand.registers else None

    def _choice(self, end: LinkEnd) -> RegisterChoice | None:
        part = end.name.rpartition(" ")[2] if is_in_address(end) else "register"
        part = MASK if end.name == MASK else part
        key = end.position, part
        return next(
            (choice for choice in self._demands.choices if (choice.position, choice.part) == key), None
        )

    def _is_linked(self, choice: RegisterChoice) -> bool:
        return choice in {self._choice(self._source), self._choice(self._target)}

    def _chosen_family(self, end: LinkEnd, fixed: int | None, used: set[tuple[str, int]]) -> int:
        if fixed is not None:
            return fixed
        choice = self._choice(end)
        fitting = aliases(GPR64.name, choosable=True) if choice is None else choice.registers
        return first_free(fitting, LINKED, end.bank, used)

    def _common_family(self, source: int | None, target: int | None, used: set[tuple[str, int]]) -> int:
        """One register for both operands of the link."""
        choices = [choice for choice in map(self._choice, (self._source, self._target)) if choice is not None]
        fitting = set.intersection(*(set(choice.registers) for choice in choices)) if choices else set(LINKED)
        fixed = source if source is not None else target
        if fixed is not None and fixed not in fitting and choices:
            raise NoChainError("its operands are different registers")
        return fixed if fixed is not None else first_free(fitting, LINKED, self._source.bank, used)

    # The instance of the scheme, behind what makes all other sources ready.

    def _instance(self, families: Families) -> list[Instruction]:
        operands = link_ends(self._scheme)
        before = [ready for end in operands for ready in self._initialization(end, families)]
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
            family = families.other_families.get(choice, linked)
            set_register(instruction, choice.part, choice.position, choice.registers[family])
        if self._demands.memory is not None:
            instruction.memory_base = register_of(GPR64, families.base)
            instruction.memory_displ_size = 0
            instruction.memory_displacement = 0
            if self._demands.index is not None:
                instruction.memory_index = self._demands.index
        return [*before, instruction]

    def _initialization(self, end: LinkEnd, families: Families) -> list[Instruction]:
        """Instructions that overwrite an operand other than the link's source, where needed."""
        if end.name == self._source.name:
            return []
        if end.name in self._values:
            return self._value_initialization(end, families)
        reads = "R" in end.operand.access or is_partial(end)
        if not reads or is_in_address(end):
            return []
        if end.bank == FLAGS:
            if "W" not in end.operand.access and not self._is_address and not self._values:
                return []  # nothing in the chain writes them
            return [assemble(Code.TEST_RM32_R32, (GPR32, UNWRITTEN), (GPR32, UNWRITTEN))]
        return self._overwriting_code(end, families) if "W" in end.operand.access else []

    def _overwriting_code(self, end: LinkEnd, families: Families) -> list[Instruction]:
        if end.bank in {"general", "vector", "mmx"}:
            family = self._family(end, families)
            is_same_register = end.name == self._target.name and family == families.source
            return [] if is_same_register else [overwrite_register(end.bank, family, legacy=self._legacy)]
        if end.bank != MEMORY:
            return []
        try:
            return [overwrite_memory(end.width, self._constant_base, self._unused_vector(families))]
        except KeyError:
            raise NoChainError(_NO_STORE.format(end.width)) from None

    def _value_initialization(self, end: LinkEnd, families: Families) -> list[Instruction]:
        """Instructions that load the required value of an operand."""
        value = self._values[end.name]
        if end.bank != MEMORY:
            family = self._family(end, families)
            return load_value(end.bank, end.width, family, value, legacy=self._legacy)
        try:
            vector = self._unused_vector(families)
            return store_value(end.width, self._constant_base, value, vector, legacy=self._legacy)
        except KeyError:
            raise NoChainError(_NO_STORE.format(end.width)) from None

    @property
    def _constant_base(self) -> int:
        """A constant register with the address of memory: all registers start with one."""
        return LOW_BASE if self._demands.low_base else BASE

    def _constants(self, families: Families) -> list[Instruction]:
        """Instructions that load the constants which restore the source's value."""
        if families.zero is None or families.value is None or self._bank_of_values == MASK:
            return []
        bank, value = self._bank_of_values, self._values[self._source.name]
        width = max(self._source.width, XMM.width)
        return [
            instruction
            for family, content in ((families.zero, 0), (families.value, value))
            for instruction in load_value(bank, width, family, content, legacy=self._legacy)
        ]

    def _unused_vector(self, families: Families) -> int:
        used = {family for choice, family in families.other_families.items() if choice.bank == "vector"}
        used |= {families.source, families.target, families.zero or 0, families.value or 0, INDEX_VECTOR}
        return next(family for family in range(16) if family not in used)

    def _family(self, end: LinkEnd, families: Families) -> int:
        if end.operand.registers:
            return Fixed.of(end.operand).family
        if end.bank == "vector" and end.name.endswith(INDEX):
            return INDEX_VECTOR
        if end.name == self._source.name:
            return families.source
        if end.name == self._target.name:
            return families.target
        choice = self._choice(end)
        assert choice is not None, "operands without a choice are fixed"
        return families.other_families[choice]


def encode(instructions: Iterable[Instruction]) -> bytes:
    """The machine code of a sequence. Raises `NoChainError`."""
    encoder, address = Encoder(64), ADDRESS_OF_CODE
    for instruction in instructions:
        try:
            address += encoder.encode(instruction, address)
        except ValueError as error:  # a high byte beside a register that needs a prefix
            raise NoChainError(f"cannot be encoded in a chain: {error}") from None
    return bytes(encoder.take_buffer())


def first_free(fitting: Iterable[int], order: Sequence[int], bank: str, used: set[tuple[str, int]]) -> int:
    """The first free family that fits; it is then used."""
    allowed = set(fitting)
    ordered = order if bank == "general" else range(16)
    for family in ordered:
        if family in allowed and (bank, family) not in used:
            used.add((bank, family))
            return family
    raise NoChainError("there are not enough registers")
