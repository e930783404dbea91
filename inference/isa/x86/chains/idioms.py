"""Chains that show idioms and false dependencies: what a scheme does with a choice of operands.

With one register for all operands that can be the same, some instructions wait for nothing (`xor r, r`).
Others wait for what their destination held before, though they only write it.
"""

from __future__ import annotations

from iced_x86 import Code

from inference.isa.chains import OLD_VALUE, ONE_REGISTER, ChainLink, DependencyChain, IdiomChains, PairChains
from inference.isa.scheme import Scheme
from inference.isa.x86.chains.connectors import assembled
from inference.isa.x86.chains.making import (
    BASE,
    CHAINED,
    KEPT,
    LOW_BASE,
    ChainMaker,
    encoded,
    first_free,
)
from inference.isa.x86.chains.ready import SPARE_MASK
from inference.isa.x86.chains.ways import REPEATED, CannotChainError, Families, WaysBack
from inference.isa.x86.forms import Form
from inference.isa.x86.holes import GPR64, ZMM
from inference.isa.x86.operand_places import MASK, Place, destinations, is_partial, sources
from inference.isa.x86.scheme_set import described

_APART = 4
"""Registers that instances take turns in where they shall not wait for each other."""
_ADDEND = 13


def idioms_of(text: str) -> tuple[IdiomChains, ...]:
    """What to ask of a scheme; () where it has no register that it writes."""
    found = described(text)
    if found is None:
        return ()
    scheme, form = found
    written = [place for place in destinations(scheme) if _is_chosen(place)]
    asked = [_one_register(scheme, form, written), *(_old_value(scheme, form, each) for each in written)]
    return tuple(one for one in asked if one is not None)


def plain_additions() -> DependencyChain:
    """Ordinary instructions, each with a register of its own: what needs a port is no quicker."""
    made = [assembled(Code.ADD_RM64_R64, (GPR64, family), (GPR64, _ADDEND)) for family in CHAINED]
    return DependencyChain(encoded(made), (), loop=True, instances=len(made))


def _is_chosen(place: Place) -> bool:
    """Whether any register of a class that chains are made of can be the operand."""
    explicit = place.position is not None and not place.operand.registers
    return explicit and place.bank in {"general", "vector"} and place.width <= ZMM.width


def _one_register(scheme: Scheme, form: Form, written: list[Place]) -> IdiomChains | None:
    """With the same register for the only operand that is written and all others of its kind."""
    if len(written) != 1:
        return None
    target = written[0]
    like = [one for one in sources(scheme) if _is_chosen(one) and one.register_class == target.register_class]
    source = next((one for one in like if one.operand is not target.operand), None)
    if source is None:
        return None
    link = ChainLink(scheme.text, ONE_REGISTER, target.name)
    usual = ChainLink(scheme.text, source.name, target.name)
    return _asked(_IdiomMaker(link, scheme, form, source, target, joined=True), usual)


def _old_value(scheme: Scheme, form: Form, target: Place) -> IdiomChains | None:
    if target.operand.access != "W":
        return None
    link = ChainLink(scheme.text, OLD_VALUE, target.name)
    try:
        maker = _IdiomMaker(link, scheme, form, target, target, joined=False)
    except CannotChainError:
        return None
    return _asked(maker, None)


def _asked(maker: _IdiomMaker, usual: ChainLink | None) -> IdiomChains | None:
    try:
        return maker.asked(usual)
    except CannotChainError:
        return None


class _IdiomMaker(ChainMaker):
    """Chains in which source and target are one register; `joined`: and all others of their kind."""

    def __init__(
        self, link: ChainLink, scheme: Scheme, form: Form, source: Place, target: Place, *, joined: bool
    ) -> None:
        super().__init__(link, scheme, form, source, target)
        self._joined = joined
        self._registers = self._some()
        self._turn = 0

    def asked(self, usual: ChainLink | None) -> IdiomChains:
        direct = self._chain(self._instance(self._families(together=True)), (self._link,), self._target)
        closed = self._closed(WaysBack.within_class)[: len(REPEATED)]
        pair = PairChains(self._link, (direct, *closed), isolated=True)
        return IdiomChains(pair, usual, self._apart(), is_partial(self._target))

    def _apart(self) -> DependencyChain:
        made = []
        for turn in range(len(self._registers)):
            self._turn = turn
            made += self._instance(self._families(together=True))
        self._turn = 0
        return DependencyChain(encoded(made), (), loop=True, instances=len(self._registers))

    def _families(self, *, together: bool) -> Families:
        del together
        bank, chosen = self._target.bank, self._registers[self._turn]
        taken: set[tuple[str, int]] = {(each.bank, each.family) for each in self._demands.fixed}
        taken |= {(MASK, SPARE_MASK), *((bank, family) for family in self._registers)}
        others = {}
        for choice in self._demands.choices:
            if choice.part == "breaker" or self._is_linked(choice):
                continue
            same = self._joined and choice.part == "register" and choice.hole == self._target.register_class
            others[choice] = chosen if same else first_free(choice.registers, KEPT, choice.bank, taken)
        return Families(chosen, chosen, LOW_BASE if self._demands.low_base else BASE, others)

    def _some(self) -> list[int]:
        """Registers that every operand which shares one can be."""
        shared = [
            one.registers
            for one in self._demands.choices
            if one.part == "register"
            and (self._is_linked(one) or (self._joined and one.hole == self._target.register_class))
        ]
        fixed = {each.family for each in self._demands.fixed if each.bank == self._target.bank}
        order = CHAINED if self._target.bank == "general" else range(16)
        fitting = [one for one in order if one not in fixed and all(one in each for each in shared)]
        if not fitting:
            raise CannotChainError("its operands are different registers")
        return fitting[:_APART]
