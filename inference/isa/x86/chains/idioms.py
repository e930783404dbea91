"""Chains that show idioms and false dependencies of a scheme for a choice of operands.

With one register for all operands that allow it, some instructions wait for nothing (`xor r, r`). Others wait
for the destination's old value, though they only write it.
"""

from __future__ import annotations

from iced_x86 import Code

from inference.isa.chains import (
    OLD_VALUE,
    SAME_REGISTER,
    ChainLink,
    DependencyChain,
    IdiomChains,
    NoChainError,
    PairChains,
)
from inference.isa.scheme import Scheme
from inference.isa.x86.chains.chain_maker import (
    BASE,
    LINKED,
    LOW_BASE,
    UNLINKED,
    ChainMaker,
    encode,
    first_free,
)
from inference.isa.x86.chains.connectors import assemble
from inference.isa.x86.chains.initialization import CONSTANT_MASK
from inference.isa.x86.chains.return_paths import REPEATED, Families, ReturnPaths
from inference.isa.x86.forms import Form
from inference.isa.x86.holes import GPR64, ZMM
from inference.isa.x86.link_ends import MASK, LinkEnd, destinations, is_partial, sources
from inference.isa.x86.scheme_set import scheme_and_form

_MAX_INSTANCES = 4
"""Registers that independent instances take turns in."""

_ADDEND = 13  # register that additions only read: r13


def idioms_of(text: str) -> tuple[IdiomChains, ...]:
    """The chains for a scheme; () where it writes no register."""
    scheme_form = scheme_and_form(text)
    if scheme_form is None:
        return ()
    scheme, form = scheme_form
    targets = [end for end in destinations(scheme) if _is_chosen(end)]
    old_values = (_old_value(scheme, form, target) for target in targets)
    chains = [_same_register(scheme, form, targets), *old_values]
    return tuple(candidate for candidate in chains if candidate is not None)


def reference_additions() -> DependencyChain:
    """Ordinary independent additions: an instruction that needs a port is not quicker."""
    additions = [assemble(Code.ADD_RM64_R64, (GPR64, family), (GPR64, _ADDEND)) for family in LINKED]
    return DependencyChain(encode(additions), (), loop=True, instances=len(additions))


def _is_chosen(end: LinkEnd) -> bool:
    """Whether any register of a supported class can be the operand."""
    explicit = end.position is not None and not end.operand.registers
    return explicit and end.bank in {"general", "vector"} and end.width <= ZMM.width


def _same_register(scheme: Scheme, form: Form, targets: list[LinkEnd]) -> IdiomChains | None:
    """The only written operand and all others of its kind share one register."""
    if len(targets) != 1:
        return None
    target = targets[0]
    alike = (end for end in sources(scheme) if end.register_class == target.register_class)
    free_ends = (end for end in alike if _is_chosen(end))
    source = next((end for end in free_ends if end.operand is not target.operand), None)
    if source is None:
        return None
    link = ChainLink(scheme.text, SAME_REGISTER, target.name)
    regular = ChainLink(scheme.text, source.name, target.name)
    return _chains_or_none(_IdiomMaker(link, scheme, form, source, target, joined=True), regular)


def _old_value(scheme: Scheme, form: Form, target: LinkEnd) -> IdiomChains | None:
    if target.operand.access != "W":
        return None
    link = ChainLink(scheme.text, OLD_VALUE, target.name)
    try:
        maker = _IdiomMaker(link, scheme, form, target, target, joined=False)
    except NoChainError:
        return None
    return _chains_or_none(maker, None)


def _chains_or_none(maker: _IdiomMaker, regular: ChainLink | None) -> IdiomChains | None:
    try:
        return maker.idiom_chains(regular)
    except NoChainError:
        return None


class _IdiomMaker(ChainMaker):
    """Chains whose source and target are one register; `joined`: as are all others of their kind."""

    def __init__(
        self, link: ChainLink, scheme: Scheme, form: Form, source: LinkEnd, target: LinkEnd, *, joined: bool
    ) -> None:
        super().__init__(link, scheme, form, source, target)
        self._joined = joined
        self._registers = self._shareable_registers()
        self._instance_number = 0

    def idiom_chains(self, regular: ChainLink | None) -> IdiomChains:
        direct = self._chain(self._instance(self._families(shared=True)), (self._link,), self._target)
        closed = self._closed(ReturnPaths.within_class)[: len(REPEATED)]
        pair = PairChains(self._link, (direct, *closed), isolated=True)
        return IdiomChains(pair, regular, self._independent(), is_partial(self._target))

    def _independent(self) -> DependencyChain:
        instructions = []
        for turn in range(len(self._registers)):
            self._instance_number = turn
            instructions += self._instance(self._families(shared=True))
        self._instance_number = 0
        return DependencyChain(encode(instructions), (), loop=True, instances=len(self._registers))

    def _families(self, *, shared: bool) -> Families:
        del shared
        bank, old_register = self._target.bank, self._registers[self._instance_number]
        used: set[tuple[str, int]] = {(register.bank, register.family) for register in self._demands.fixed}
        used |= {(MASK, CONSTANT_MASK), *((bank, family) for family in self._registers)}
        other_families = {}
        for choice in self._demands.choices:
            if choice.part == "breaker" or self._is_linked(choice):
                continue
            is_shared = (
                self._joined and choice.part == "register" and choice.hole == self._target.register_class
            )
            other_families[choice] = (
                old_register if is_shared else first_free(choice.registers, UNLINKED, choice.bank, used)
            )
        return Families(
            old_register, old_register, LOW_BASE if self._demands.low_base else BASE, other_families
        )

    def _shareable_registers(self) -> list[int]:
        """Registers that fit all operands that share one."""
        shared = [
            choice.registers
            for choice in self._demands.choices
            if choice.part == "register"
            and (self._is_linked(choice) or (self._joined and choice.hole == self._target.register_class))
        ]
        fixed = {register.family for register in self._demands.fixed if register.bank == self._target.bank}
        order = LINKED if self._target.bank == "general" else range(16)
        free = (family for family in order if family not in fixed)
        fitting = [family for family in free if all(family in registers for registers in shared)]
        if not fitting:
            raise NoChainError("its operands are different registers")
        return fitting[:_MAX_INSTANCES]
