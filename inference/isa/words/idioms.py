"""Chains that show idioms and false dependences of a scheme of words for a choice of operands.

With one register for all operands of a kind, some instructions wait for nothing (`eor x0, x0, x0`); others
wait for the destination's old value, though they only write it. Moves that are eliminated show there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from inference.isa.chains import (
    OLD_VALUE,
    SAME_REGISTER,
    ChainLink,
    DependencyChain,
    IdiomChains,
    NoChainError,
    PairChains,
)
from inference.isa.words.chains import REPEATED, ChainSet, Linker
from inference.isa.words.link_ends import OperandEnd, is_source, is_target


class IdiomMaker:
    """Makes the chains of idioms of an instruction set.

    Args:
        chain_set: Chain set of the instruction set.
        registers: {pool: registers in which independent instances take turns}.
        code_of: Machine code of lines. Raises `NoChainError` for a line that has none.
        additions: Independent additions, a line each.
    """

    def __init__(
        self,
        chain_set: ChainSet,
        registers: Mapping[str, Sequence[int]],
        code_of: Callable[[Sequence[str]], bytes],
        additions: Sequence[str],
    ) -> None:
        self._set = chain_set
        self._registers = registers
        self._code_of = code_of
        self._additions = additions

    def idioms_of(self, text: str) -> tuple[IdiomChains, ...]:
        """The chains for a scheme; () where it writes no register, or several."""
        scheme = self._set.schemes().get(text)
        ends = [] if scheme is None else list(self._set.ends_of(scheme))
        written = [end for end in ends if is_target(end) and end.position is not None]
        targets = [end for end in written if self._pool_of(end) in self._registers]
        return tuple(self._choices(text, ends, targets[0])) if len(targets) == 1 else ()

    def _pool_of(self, end: OperandEnd) -> str:
        form = self._set.forms().get(end.operand.name)
        return "" if form is None else self._set.pool_of(form)

    def reference_additions(self) -> DependencyChain:
        """Ordinary independent additions: an instruction that needs a port is not quicker."""
        return DependencyChain(self._code_of(self._additions), (), loop=True, instances=len(self._additions))

    def _choices(self, text: str, ends: Sequence[OperandEnd], target: OperandEnd) -> Iterator[IdiomChains]:
        sources = [end for end in ends if is_source(end) and end.position is not None]
        explicit = [end for end in sources if not end.is_in_address]
        alike = [end for end in explicit if end.operand.name == target.operand.name]
        try:
            if len(alike) > 1:
                link = ChainLink(text, alike[-1].name, target.name)
                joined = [*(end.name for end in alike), target.name]
                yield self._chains(link, ChainLink(text, SAME_REGISTER, target.name), target, joined, link)
            if target.operand.access == "W" and explicit:
                link = ChainLink(text, explicit[0].name, target.name)
                old_value = ChainLink(text, OLD_VALUE, target.name)
                yield self._chains(link, old_value, target, [target.name], None)
        except NoChainError:
            return

    def _chains(
        self,
        link: ChainLink,
        idiom: ChainLink,
        target: OperandEnd,
        joined: Sequence[str],
        regular: ChainLink | None,
    ) -> IdiomChains:
        """Chains of instances whose `joined` operands are one register.

        Args:
            link: A pair of operands of the scheme.
            idiom: The way that the chains may show.
            target: The operand that the scheme writes.
            joined: Names of operands.
            regular: The link between different registers, None for an old value.
        """
        linker = Linker(self._set, link, None)
        usual = linker.registers(shared=False)

        def instance(number: int) -> list[str]:
            registers: Mapping[str, int] = {**usual, **dict.fromkeys(joined, number)}
            return [*linker.initialization({**registers}), linker.line({**registers})]

        first, *_ = numbers = self._registers[self._pool_of(target)]
        (connector, *_) = self._set.connectors[target.bank]
        back = connector.line.format(first, first)
        direct = DependencyChain(self._code_of(instance(first)), (idiom,), loop=True)
        closed = [
            DependencyChain(
                self._code_of([*instance(first), *[back] * times]),
                (idiom, *[connector.link] * times),
                loop=True,
            )
            for times in REPEATED
        ]
        apart = [row for number in numbers for row in instance(number)]
        independent = DependencyChain(self._code_of(apart), (), loop=True, instances=len(numbers))
        return IdiomChains(PairChains(idiom, (direct, *closed), isolated=True), regular, independent)
