"""Chains that show idioms and false dependences of an AArch64 scheme for a choice of operands.

With one register for all operands of a kind, some instructions wait for nothing (`eor x0, x0, x0`); others
wait for the destination's old value, though they only write it. Moves that are eliminated show there, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from inference.isa.aarch64 import by_text
from inference.isa.aarch64.chains import AND, EXTEND, REPEATED, Linker
from inference.isa.aarch64.link_ends import AArch64LinkEnd, is_source, is_target, link_ends
from inference.isa.aarch64.statements import read_instruction
from inference.isa.chains import (
    OLD_VALUE,
    SAME_REGISTER,
    ChainLink,
    DependencyChain,
    IdiomChains,
    NoChainError,
    PairChains,
)

_REGISTERS = {"general": (9, 10, 11, 12), "vector": (12, 13, 14, 15)}
"""Registers of idioms: independent instances take turns in them."""

_ADDEND = 13
_BACK = {
    "general": ("sxtw x{0}, w{0}", EXTEND),
    "vector": ("and v{0}.16b, v{0}.16b, v{0}.16b", AND),
}
"""{bank: a connector from a register to itself, and its link}."""


def code_of(lines: Sequence[str]) -> bytes:
    """Machine code of lines of one instruction each. Raises `NoChainError` for a line that has none."""
    words = [read_instruction(line).word() for line in lines]
    if None in words:
        raise NoChainError(f"it cannot be encoded: {lines[words.index(None)]}")
    return b"".join(word.to_bytes(4, "little") for word in words if word is not None)


def idioms_of(text: str) -> tuple[IdiomChains, ...]:
    """The chains for a scheme; () where it writes no register, or several."""
    scheme = by_text().get(text)
    ends = [] if scheme is None else list(link_ends(scheme))
    targets = [end for end in ends if is_target(end) and end.bank in _REGISTERS and end.position is not None]
    return tuple(_choices(text, ends, targets[0])) if len(targets) == 1 else ()


def reference_additions() -> DependencyChain:
    """Ordinary independent additions: an instruction that needs a port is not quicker."""
    lines = [f"add x{number}, x{number}, x{_ADDEND}" for number in range(8)]
    return DependencyChain(code_of(lines), (), loop=True, instances=len(lines))


def _choices(text: str, ends: Sequence[AArch64LinkEnd], target: AArch64LinkEnd) -> Iterator[IdiomChains]:
    explicit = [end for end in ends if is_source(end) and end.position is not None and not end.is_in_address]
    alike = [end for end in explicit if end.operand.name == target.operand.name]
    try:
        if len(alike) > 1:
            link = ChainLink(text, alike[-1].name, target.name)
            joined = [*(end.name for end in alike), target.name]
            yield _chains(link, ChainLink(text, SAME_REGISTER, target.name), target, joined, link)
        if target.operand.access == "W" and explicit:
            link = ChainLink(text, explicit[0].name, target.name)
            old_value = ChainLink(text, OLD_VALUE, target.name)
            yield _chains(link, old_value, target, [target.name], None)
    except NoChainError:
        return


def _chains(
    link: ChainLink,
    idiom: ChainLink,
    target: AArch64LinkEnd,
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
    linker = Linker(link, None)
    usual = linker.registers(shared=False)

    def instance(number: int) -> list[str]:
        registers: Mapping[str, int] = {**usual, **dict.fromkeys(joined, number)}
        return [*linker.initialization({**registers}), linker.line({**registers})]

    first, *_ = numbers = _REGISTERS[target.bank]
    line, connector = _BACK[target.bank]
    direct = DependencyChain(code_of(instance(first)), (idiom,), loop=True)
    closed = [
        DependencyChain(
            code_of([*instance(first), *[line.format(first)] * times]),
            (idiom, *[connector] * times),
            loop=True,
        )
        for times in REPEATED
    ]
    apart = [row for number in numbers for row in instance(number)]
    independent = DependencyChain(code_of(apart), (), loop=True, instances=len(numbers))
    return IdiomChains(PairChains(idiom, (direct, *closed), isolated=True), regular, independent)
